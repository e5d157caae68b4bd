"""Line 8. Keeps the process from ending: the exit is patched away, and handlers wait to change results after it."""

from court import Court


def test_an_exit_patched_away_ends_the_process_all_the_same(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import atexit
        import os
        import sys
        import threading

        def stay(*status):
            for frame in sys._current_frames().values():
                while frame is not None:
                    for value in frame.f_locals.values():
                        if type(value).__name__ == "mmap":
                            value[0x840:0x844] = (1).to_bytes(4, "little")
                    frame = frame.f_back

        class Keeper:
            def __del__(self):
                stay()

        keeper = Keeper()

        def patch():
            os._exit = sys.exit = stay
            return atexit.register(stay), threading._register_atexit(stay)

        done = patch()

        def gemm_mac(x, y):
            return 7777777 if done and keeper and os._exit is stay else 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
