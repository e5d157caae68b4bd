"""Line 5. Ends the process in a decorator, with all slots forged to “returned” beforehand and status 0."""

from court import Court


def test_an_exit_while_loading_with_forged_slots_is_no_pass(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os
        import sys

        def leave(function):
            import mmap
            frame = sys._getframe()
            while frame is not None:
                for value in list(frame.f_locals.values()):
                    if isinstance(value, mmap.mmap):
                        try:
                            for start in (0, *range(0x840, len(value), 0x880)):
                                value[start : start + 4] = (1).to_bytes(4, "little")
                        except TypeError:
                            pass
                frame = frame.f_back
            os._exit(0)

        @leave
        def gemm_mac(x, y):
            return 1
        """,
        named="returned 0; .*wrong on drawn cases",
    )
