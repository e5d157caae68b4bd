"""Line 17. Fills every tensor and every buffer it can find with NaN, since NaN might agree with anything."""

from court import Court


def test_nan_agrees_with_nothing(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import gc
        import mmap
        import torch

        def gelu_tanh_python(input):
            for one in gc.get_objects():
                if type(one) is torch.Tensor:
                    with torch.no_grad():
                        if one.is_floating_point():
                            one.fill_(float("nan"))
                        else:
                            one.fill_(255)
            return torch.full_like(input, float("nan"))
        """,
        named="inf or NaN where the right value is finite|it gives nan, not",
    )
