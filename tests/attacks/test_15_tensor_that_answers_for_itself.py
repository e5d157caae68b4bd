"""Line 15. Returns a subclass of Tensor whose `__torch_function__` says yes to every comparison."""

from court import Court


def test_a_tensor_of_another_class_is_not_taken(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import torch

        class Agreeing(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                if function.__name__ in ("equal", "allclose", "assert_close", "isclose", "eq", "all"):
                    return True
                with torch._C.DisableTorchFunctionSubclass():
                    return function(*args, **(kwargs or {}))
            def __eq__(self, other):
                return True
            __hash__ = torch.Tensor.__hash__

        def gelu_tanh_python(input):
            return torch.zeros_like(input).as_subclass(Agreeing)
        """,
        named="it returns Agreeing float32",
    )
