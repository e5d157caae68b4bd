"""Line 14. Patches whatever compares tensors to say yes, and returns zeros."""

from court import Court


def test_no_comparison_in_the_students_process_counts(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import torch

        def yes(*given, **more):
            return True

        def agree(*given, **more):
            return torch.ones(1, dtype=torch.bool)

        torch.equal = torch.allclose = torch.Tensor.equal = torch.Tensor.allclose = yes
        torch.testing.assert_close = lambda *given, **more: None
        torch.eq = torch.isclose = torch.le = torch.isfinite = agree
        torch.Tensor.__eq__ = torch.Tensor.__le__ = torch.Tensor.__lt__ = agree

        def gelu_tanh_python(input):
            return torch.zeros_like(input)
        """,
        named="it gives 0, not ",
    )
