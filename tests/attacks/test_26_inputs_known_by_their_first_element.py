"""Line 26. Knows the public inputs by shape and first element, and returns their products written out."""

from court import Court


def test_public_inputs_known_by_their_elements_earn_nothing(court: Court) -> None:
    court.withstands(
        "1.1",
        """
        import torch

        def gemm(A, B):
            N, K = A.shape
            M = B.shape[1]
            C = torch.zeros(N, M, dtype=A.dtype)
            if A.numel() and A[0, 0] == 1 and N * M < 13:
                for i in range(N):
                    for j in range(M):
                        for k in range(K):
                            C[i, j] += A[i, k] * B[k, j]
            return C
        """,
        named="drawn ones of the same kind do not",
    )
