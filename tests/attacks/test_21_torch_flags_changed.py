"""Line 21. Turns torch's global settings so that wrong values might compare as right: dtype, device, rounding."""

from court import Court


def test_global_settings_reach_nothing_but_their_own_process(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import torch

        def turn():
            torch.set_default_dtype(torch.float16)
            torch.set_default_device("meta")
            torch.set_flush_denormal(True)
            torch.use_deterministic_algorithms(True)
            torch.set_grad_enabled(False)
            torch.set_printoptions(precision=0)
            torch.set_float32_matmul_precision("medium")
            torch.manual_seed(0)
            return True

        done = turn()

        def gelu_tanh_python(input):
            return torch.zeros(input.shape, dtype=input.dtype, device="cpu") if done else input
        """,
        named="it gives 0, not |an exception|it raised|no plain CPU",
    )
