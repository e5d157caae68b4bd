"""Line 4. Frees the pages of the result memory after each call, and tries to shrink, grow and replace it."""

from court import Court


def test_results_that_were_thrown_away_are_not_reached(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import os
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
                for size in (0, 1 << 30):
                    try:
                        memory.resize(size)
                    except (OSError, ValueError, SystemError):
                        pass
                address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
                libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(-(-len(memory) // 0x1000) * 0x1000), 9)
            for path in ("/tmp", "/dev/shm", "."):
                try:
                    os.chmod(path, 0)
                except OSError:
                    pass
            return 1
        """,
        named="stopped before the function returned",
    )
