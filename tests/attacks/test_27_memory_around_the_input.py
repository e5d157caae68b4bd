"""Line 27. Returns what lies before, behind and in freed memory around the input, where a reference might have been."""

from court import Court


def test_no_right_value_lies_around_the_input(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import ctypes
        import torch

        def gelu_tanh_python(input):
            length = input.numel() * input.element_size()
            freed = [torch.empty_like(input) for _ in range(50)]
            for one in freed:
                if one.abs().sum() > 0 and not torch.equal(one, input):
                    return one
            behind = ctypes.string_at(input.data_ptr() + length, length) if length else b""
            if not behind:
                return torch.empty_like(input)
            return torch.frombuffer(bytearray(behind), dtype=input.dtype).reshape(input.shape)
        """,
        named="it gives .*, not |inf or NaN|wrong values",
    )
