"""Line 10. Returns a subclass of Tensor that calls itself Tensor and would run code when it is loaded."""

from court import Court


def test_no_returned_tensor_is_unpickled(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import os
        import torch

        class Loot(torch.Tensor):
            def __reduce_ex__(self, protocol):
                return os._exit, (0,)
            def __deepcopy__(self, memo):
                os._exit(0)

        def named():
            Loot.__name__ = Loot.__qualname__ = "Tensor"
            Loot.__module__ = "torch"
            return Loot

        Named = named()

        def gelu_tanh_python(input):
            return torch.zeros_like(input).as_subclass(Named)
        """,
        named="it returns Tensor float32 .*no plain CPU tensor",
    )
