"""Line 8. Tries every way to leave a process behind that could write results later."""

from court import Court


def test_no_process_can_be_left_behind(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import ctypes
        import multiprocessing
        import os
        import subprocess

        def by_system_call(number, *arguments):
            if ctypes.CDLL(None).syscall(number, *arguments) < 0:
                raise OSError

        WAYS = [
            os.fork,
            os.forkpty,
            lambda: os.posix_spawn("/opt/python/bin/python3", ["python3", "-c", "1"], {}),
            lambda: subprocess.Popen(["/opt/python/bin/python3", "-c", "1"], start_new_session=True),
            lambda: multiprocessing.get_context("fork").Process(target=print).start(),
            lambda: by_system_call(435, bytes(88), 88),
        ]

        def gemm_mac(x, y):
            began = 0
            for way in WAYS:
                try:
                    if way() == 0:
                        while True:
                            pass
                    began += 1
                except OSError:
                    pass
            raise RuntimeError(f"{began} of {len(WAYS)} began")
        """,
        named="it raised RuntimeError: 0 of 6 began",
    )
