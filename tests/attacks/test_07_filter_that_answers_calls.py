"""Line 7. Wants to answer the runner's own system calls: a seccomp filter that traps, and a handler for the trap."""

from court import Court


def test_no_further_filter_can_be_put_on(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import signal
        import struct

        def trap():
            libc = ctypes.CDLL(None)
            signal.signal(signal.SIGSYS, lambda number, frame: None)
            code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x00030000), 8)
            program = struct.pack("@HP", 1, ctypes.addressof(code))
            return [
                libc.prctl(22, 2, program, 0, 0),
                libc.syscall(317, 1, 0, program),
                libc.syscall(317, 1, 8, program),
                libc.prctl(59, 1, 0, ctypes.c_ulong((1 << 63) - 1), None),
            ]

        def gemm_mac(x, y):
            results = trap()
            raise RuntimeError(f"{sum(result >= 0 for result in results)} of {len(results)} worked")
        """,
        named="it raised RuntimeError: 0 of 4 worked",
    )
