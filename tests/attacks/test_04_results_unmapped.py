"""Line 4. Takes the result memory away from under the runner, so that its own write of the result fails."""

from court import Court


def test_a_result_that_cannot_be_written_is_no_success(court: Court) -> None:
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
                address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
                libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(len(memory)))
            return 1
        """,
        named="stopped before the function returned",
    )
