"""Line 15. Rewrites what is read of every tensor: shape, dtype, layout and device say what is wanted."""

from court import Court


def test_a_tensor_of_the_wrong_shape_is_wrong_whatever_it_says(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import torch

        def patch(input):
            shape, dtype = tuple(input.shape), input.dtype
            torch.Tensor.shape = property(lambda self: shape)
            torch.Tensor.dtype = property(lambda self: dtype)
            torch.Tensor.numel = lambda self: 0
            torch.Tensor.copy_ = lambda self, *given, **more: self

        def gelu_tanh_python(input):
            patch(input)
            return torch.zeros(1)
        """,
        named='"state": "failed"',
    )
