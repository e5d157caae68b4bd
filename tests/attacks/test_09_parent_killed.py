"""Line 9. Sends signals to everything it can name: parent, group, all, itself, by number and by descriptor."""

from court import Court


def test_no_signal_leaves_the_child(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os
        import signal

        def tries():
            for number in (signal.SIGKILL, signal.SIGSTOP):
                yield lambda: os.kill(os.getppid(), number)
                yield lambda: os.kill(-1, number)
                yield lambda: os.killpg(0, number)
                yield lambda: os.kill(os.getpid(), number)
                yield lambda: os.kill(2, number)
                yield lambda: signal.pidfd_send_signal(os.pidfd_open(os.getpid()), number)
                yield lambda: signal.raise_signal(number)

        def gemm_mac(x, y):
            arrived, made = 0, list(tries())
            for one in made:
                try:
                    one()
                    arrived += 1
                except OSError:
                    pass
            raise RuntimeError(f"{arrived} of {len(made)} arrived")
        """,
        named="it raised RuntimeError: 0 of 14 arrived",
    )
