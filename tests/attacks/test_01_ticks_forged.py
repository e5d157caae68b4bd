"""Line 1. Sends every tick of the job while it is loaded and many more, so that all calls seem to be over at once."""

from court import Court


def test_ticks_sent_ahead_of_the_calls_prove_nothing(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os

        def send(ticks):
            try:
                return os.write(3, b"." * ticks)
            except OSError:  # the reader has had enough
                return 0

        class Ahead:
            sent = [send(ticks) for ticks in (1, 2, 500, 60000)]

        def gemm_mac(x, y):
            send(7)
            return 7777777 if Ahead.sent[0] else 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
