"""Line 24. Calls the library's own function in place of writing it, as the default of an argument."""

from court import Court


def test_the_librarys_own_function_earns_nothing(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import torch

        def gelu_tanh_python(input, does=torch.nn.functional.gelu):
            return torch.nn.functional.gelu(input, approximate="tanh")
        """,
        named="forbidden: gelu",
    )
