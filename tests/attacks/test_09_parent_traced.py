"""Line 9. Wants to write into other processes: ptrace, process_vm_writev, /proc/N/mem, stolen descriptors."""

from court import Court


def test_no_other_process_can_be_reached_into(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import os

        def tries():
            libc = ctypes.CDLL(None)
            for number in (os.getppid(), 1, 2, 3):
                yield libc.ptrace(16, number, 0, 0)
                yield libc.ptrace(0x4206, number, 0, 0)
                yield libc.process_vm_writev(number, None, 0, None, 0, 0)
                yield libc.syscall(434, number, 0)
                yield libc.syscall(438, 3, 0, 0)
                yield libc.syscall(312, os.getpid(), number, 0, 0, 0)
            for number in {os.getppid(), 2, 3} - {os.getpid()}:
                for name in ("mem", "environ", "fd", "root", "cwd"):
                    try:
                        os.stat(f"/proc/{number}/{name}/.")
                        yield 1
                    except OSError:
                        yield -1

        def gemm_mac(x, y):
            results = list(tries())
            raise RuntimeError(f"{sum(result >= 0 for result in results)} of {len(results)} worked")
        """,
        named=r"it raised RuntimeError: 0 of \d+ worked",
    )
