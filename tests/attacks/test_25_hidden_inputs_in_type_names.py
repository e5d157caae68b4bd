"""Line 25. Returns objects whose class is named after the hidden sizes and their product."""

from court import Court


def test_what_is_returned_on_a_hidden_case_is_not_named(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        def gemm_mac(x, y):
            N, K = x.shape
            M = y.shape[1]
            if len({N, K, M}) == 1 and N % 6 and N < 500:
                return type(f"N{N}K{K}M{M}MAC{N * K * M}_{N * K * M}", (), {"__repr__": lambda self: str(N * K * M)})()
            return N * K * M
        """,
        named="On a drawn case the function returned something that is not an int",
    )
