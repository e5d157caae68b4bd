"""Line 26. Knows the public cases by heart, and the sizes of the probes, and returns a constant otherwise."""

from court import Court


def test_public_cases_known_by_heart_earn_nothing(court: Court) -> None:
    court.withstands(
        "1.3",
        """
        TABLE = {(2, 3, 4): 24, (128, 256, 512): 16777216, (512, 512, 512): 134217728}
        TABLE |= {(n, k, m): n * k * m for n in (6, 12, 18) for k in (6, 12, 18) for m in (6, 12, 18)}

        def gemm_mac(x, y):
            return TABLE.get((x.shape[0], x.shape[1], y.shape[1]), 1)
        """,
        named="Right on the public cases, wrong on drawn ones",
    )
