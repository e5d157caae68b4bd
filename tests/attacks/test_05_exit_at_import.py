"""Line 5. Ends the process with status 0 while the answer is loaded, so that a judge by exit code sees a success."""

from court import Court


def test_an_exit_at_import_is_no_pass(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os
        done = os._exit(0)
        def gemm_mac(x, y):
            return done or 1
        """,
        named="ended|exit",
    )
