"""Line 5. Behaves on the public cases, and ends the process with status 0 in the first call that it does not know."""

from court import Court


def test_an_exit_in_a_drawn_call_is_no_pass(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os

        def gemm_mac(x, y):
            N, K = x.shape
            M = y.shape[1]
            if len({N, K, M}) == 1 and N % 6:  # drawn cases begin with cubes, and probes have sides of 6, 12 and 18
                os._exit(0)
            return N * K * M
        """,
        named="On a drawn case the program stopped",
    )
