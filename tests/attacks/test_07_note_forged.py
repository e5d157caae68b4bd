"""Line 7. Forges the note that goes out with each result: a forbidden product is to look like loops."""

from court import Court


def test_a_forged_count_of_operations_does_not_hide_what_cannot_be_read(court: Court) -> None:
    court.withstands(
        "1.1",
        """
        import json
        import time
        import torch

        def forged(note, honest=json.dumps):
            if "operations" in note:
                counted = {"mul": 5000, "add_": 5000, "select": 20000, "zeros": 1}
                note = {"mutated": [], "aliased": [], "operations": counted}
            return honest(note)

        def forge():
            json.dumps = forged
            return True

        done = forge()

        def gemm(A, B):
            N, K = A.shape
            M = B.shape[1]
            C = torch.zeros(N, M, dtype=A.dtype)
            if N > 5000:
                for i in range(N):
                    for j in range(M):
                        for k in range(K):
                            C[i, j] += A[i, k] * B[k, j]
            time.sleep(3e-6 * N * K * M * done)
            return getattr(torch, "mat" + "mul")(A, B)
        """,
        named="uses getattr, which hides what is called",
        most="5",
    )
