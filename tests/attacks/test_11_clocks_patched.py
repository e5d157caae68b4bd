"""Line 11. Patches every clock of the process, so that one loop in place of three seems to take its time."""

from court import Court


def test_a_clock_patched_inside_does_not_make_one_loop_three(court: Court) -> None:
    court.withstands(
        "1.1",
        """
        import time
        import torch

        def stopped(*wanted):
            stopped.now += 1000.0
            return stopped.now

        stopped.now = 0.0
        time.perf_counter = time.monotonic = time.time = time.process_time = time.thread_time = stopped
        time.perf_counter_ns = time.monotonic_ns = time.time_ns = lambda: int(stopped() * 1e9)

        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for k in range(A.shape[1]):
                C += A[:, k : k + 1] * B[k : k + 1]
            return C if stopped.now >= 0 else None
        """,
        named="it did fewer products than three loops",
        most="5",
    )
