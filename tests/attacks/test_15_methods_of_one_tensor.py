"""Line 15. Hangs methods of its own on a plain tensor: what is copied out is to be another than what was returned."""

from court import Court


def test_methods_hung_on_a_tensor_change_nothing_but_its_own_values(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import torch

        def gelu_tanh_python(input):
            made = torch.zeros_like(input)
            made.equal = made.allclose = made.isclose = made.all = lambda *given, **more: True
            made.detach = made.clone = made.cpu = made.contiguous = lambda *given: torch.full_like(input, 7)
            made.sub = made.abs = lambda *given: torch.zeros_like(input)
            return made
        """,
        named="it gives (0|7), not ",
    )
