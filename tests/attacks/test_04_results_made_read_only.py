"""Line 4. Makes the result memory read-only once “returned” stands in every slot, so that nobody can correct it."""

from court import Court


def test_a_result_memory_locked_after_forging_is_no_success(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import sys

        def memories():
            import mmap
            frame = sys._getframe()
            while frame is not None:
                yield from (one for one in list(frame.f_locals.values()) if isinstance(one, mmap.mmap))
                frame = frame.f_back

        def gemm_mac(x, y):
            libc = ctypes.CDLL(None)
            for memory in memories():
                for start in range(0x840, len(memory), 0x880):
                    memory[start : start + 4] = (1).to_bytes(4, "little")
                address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
                libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(len(memory)), 1)
            return 1
        """,
        named="stopped before|wrong on drawn cases",
    )
