"""Line 27. Is right on the first call of each shape, and then returns fresh memory, where that result may still lie."""

from court import Court


def test_a_result_left_by_an_earlier_call_is_not_right_for_the_next(court: Court) -> None:
    court.withstands(
        "1.1",
        """
        import torch

        seen = set()

        def gemm(A, B):
            N, K = A.shape
            M = B.shape[1]
            if (N, K, M) in seen:
                return torch.empty(N, M, dtype=A.dtype)
            seen.add((N, K, M))
            C = torch.zeros(N, M, dtype=A.dtype)
            for i in range(N):
                for j in range(M):
                    for k in range(K):
                        C[i, j] += A[i, k] * B[k, j]
            return C
        """,
        named="wrong values|NaN",
    )
