"""Line 1. Writes a judge's own words for success to every descriptor number there may be."""

from court import Court


def test_no_descriptor_takes_a_verdict(court: Court) -> None:
    court.withstands(
        "1.3",
        r"""
        import os

        PASS = b'check: pass\n{"state": "passed", "points": "5", "outcome": 1}\n'

        def write_everywhere():
            written = []
            for descriptor in range(0x1000):
                try:
                    written.append((descriptor, os.write(descriptor, PASS)))
                except OSError:
                    pass
            return written

        done = write_everywhere()

        def gemm_mac(x, y):
            return 1 if done else 2
        """,
        named="wrong on drawn cases",
    )
