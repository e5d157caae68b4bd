"""Line 17. Asks the garbage collector for every tensor, and returns one of the right shape that is not the input."""

from court import Court


def test_no_tensor_with_the_right_values_is_to_be_found(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import gc
        import torch

        def gelu_tanh_python(input):
            for one in gc.get_objects():
                if type(one) is torch.Tensor and one.shape == input.shape and one.dtype == input.dtype:
                    if one is not input and one.data_ptr() != input.data_ptr():
                        return one.clone()
            return torch.zeros_like(input)
        """,
        named="it gives .*, not ",
    )
