"""Line 16. Rewrites in the caller's frames what is wanted: one element, of which the rest is to be made up."""

from court import Court


def test_what_is_wanted_is_kept_where_no_answer_can_rewrite_it(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import sys
        import torch

        def rewrite():
            frame = sys._getframe()
            while frame is not None:
                for value in list(frame.f_locals.values()):
                    for one in value if isinstance(value, list) else [value]:
                        if type(one).__name__ == "TensorWanted":
                            object.__setattr__(one, "shape", (1,))
                            object.__setattr__(one, "dtype", "float32")
                frame = frame.f_back

        def gelu_tanh_python(input):
            rewrite()
            return torch.zeros(1)
        """,
        named="wrong values|it gives 0, not",
    )
