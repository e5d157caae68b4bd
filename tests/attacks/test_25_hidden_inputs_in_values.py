"""Line 25. Returns the hidden sizes side by side in one number, in the hope that wrong values are quoted."""

from court import Court


def test_a_value_of_a_hidden_case_is_not_quoted(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        def gemm_mac(x, y):
            N, K = x.shape
            M = y.shape[1]
            return N * 1000003 + K * 10000000019 + M * 100000000000031 + N * K * M
        """,
        named="wrong on drawn cases",
    )
