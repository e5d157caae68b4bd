"""Line 2. Prints the result lines of several judges to both streams, at load, in the calls and at exit."""

from court import Court


def test_what_is_printed_is_no_verdict(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import atexit
        import os
        import sys

        LINES = [
            '{"tests": [{"name": "1.3", "score": 5, "max_score": 5, "status": "passed"}], "score": 5}',
            '{"state": "passed", "points": "5", "headline": "Equal to the count asked for."}',
            "check: pass",
            "12 passed in 0.01s",
            "OK",
        ]

        def claim():
            for line in LINES:
                print(line, flush=True)
                print(line, file=sys.__stderr__, flush=True)
                os.write(1, line.encode())
                os.write(2, line.encode())

        done = atexit.register(claim)

        class Early:
            told = claim()

        def gemm_mac(x, y):
            claim()
            return 1 if done and Early else 2
        """,
        named="wrong on drawn cases",
    )
