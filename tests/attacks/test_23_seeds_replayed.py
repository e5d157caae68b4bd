"""Line 23. Draws its inputs again from likely seeds, and from the generators it inherited, to know what comes next."""

from court import Court


def test_no_likely_seed_draws_the_inputs(court: Court) -> None:
    court.withstands(
        "4.3.1",
        """
        import hashlib
        import torch

        def likely():
            yield from range(300)
            yield from (1234, 12345, 31337, 0xC0FFEE, 2024, 2025, 2026)
            for text in ("", "4.3.1", "lab1", "rooflab", "gelu", "seed"):
                number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
                yield number >> 1
                yield number & ((1 << 63) - 1)

        def gelu_tanh_python(input):
            states = [torch.Generator().manual_seed(seed).get_state() for seed in likely()] + [torch.get_rng_state()]
            for state in states:
                generator = torch.Generator()
                generator.set_state(state)
                for drawn in (
                    torch.randn(input.shape, generator=generator, dtype=torch.float64),
                    torch.rand(input.shape, generator=generator, dtype=torch.float64),
                ):
                    if input.numel() and torch.allclose(drawn.to(input.dtype), input):
                        return drawn
            raise LookupError(f"no seed of {len(states)} draws this")
        """,
        named=r"LookupError: no seed of \d+ draws this",
    )
