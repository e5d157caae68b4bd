"""Line 13. Makes the end of each call invisible: the tick's descriptor leads nowhere, and `os.write` does nothing."""

from court import Court


def test_calls_without_a_tick_are_judged_like_any_other(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os

        def withheld(descriptor, data):
            return len(data)

        def silence():
            os.dup2(os.open("/dev/null", os.O_WRONLY), 3)
            os.write = withheld
            return True

        done = silence()

        def gemm_mac(x, y):
            return 7777777 if done and os.write is withheld else 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
