"""Line 1. Finds the result memory in the caller's frames, writes “returned” and a value into every slot, and ends."""

from court import Court


def test_a_slot_forged_by_hand_is_compared_like_any_other(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os
        import sys

        def result_memory():
            import mmap
            frame = sys._getframe()
            while frame is not None:
                for value in list(frame.f_locals.values()):
                    if isinstance(value, mmap.mmap) and len(value) > 0x1000:
                        try:
                            value[0:4] = value[0:4]
                            yield value
                        except TypeError:
                            pass
                frame = frame.f_back

        def gemm_mac(x, y):
            for memory in result_memory():
                for start in range(0x840, len(memory), 0x880):
                    memory[start : start + 8] = (1).to_bytes(8, "little")
                    memory[start + 0x808 : start + 0x848] = (7777777).to_bytes(64, "little")
                os._exit(0)
            return 1
        """,
        named="returned 7777777; .*wrong on drawn cases",
    )
