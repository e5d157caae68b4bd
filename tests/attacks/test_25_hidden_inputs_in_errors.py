"""Line 25. Carries hidden inputs out in an error's text, in an exception's class and on both streams."""

from court import Court


def test_what_is_raised_on_a_hidden_case_is_not_repeated(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        import sys
        def gemm_mac(x, y):
            N, K = x.shape
            M = y.shape[1]
            right = N * K * M
            print(f"N={N} K={K} M={M} MAC={right}")
            print(f"N={N} K={K} M={M} MAC={right}", file=sys.stderr)
            if N % 12:
                raise type(f"Sizes_{right}", (ValueError,), {})(f"N={N} K={K} M={M} MAC={right}")
            return 1
        """,
        named="stopped|raised|error",
    )
