"""Line 25. Ends the process on a hidden case with a status, and by signals, that spell its sizes."""

from court import Court


def test_how_the_process_ended_on_a_hidden_case_is_told_in_one_sentence(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import os

        def gemm_mac(x, y):
            N, K = x.shape
            M = y.shape[1]
            if len({N, K, M}) == 1 and N % 6 and N < 500:
                print(N * K * M, N, K, M, flush=True)
                os._exit(N * K * M & 255)
            return N * K * M
        """,
        named="On a drawn case the program stopped",
    )
