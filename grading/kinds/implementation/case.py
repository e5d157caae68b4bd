"""The words in which a pack gives an implementation question's cases.

A public module has `cases()`. A hidden module has `cases(draw)` and `reference(*args)`, which is right in every dtype
it is given; it may have `scale(*args)` (the magnitude against which an element's error counts; its own without),
`steps(*args)` (inner steps that honest loops take) and `SLIPS`.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Final

import torch

MAIN: Final = "main"


@dataclass(frozen=True, slots=True)
class Case:
    """One call: tensors with strides of their own, or None. `group` is `main` or one of the spec's parts."""

    label: str
    args: tuple[torch.Tensor | None, ...]
    group: str = MAIN


@dataclass(frozen=True, slots=True)
class Slip:
    """A known mistake: what it computes, and how to say so. `points` stay for an answer that makes it."""

    code: str
    text: str
    function: Callable[..., torch.Tensor]
    group: str = MAIN
    points: Decimal = Decimal(0)


class Draw:
    """Sizes and tensors drawn from a seed: equal seeds give equal cases."""

    def __init__(self, seed: bytes) -> None:
        number = int.from_bytes(hashlib.sha256(seed).digest()[:8], "little")
        self.random: Final = Random(number)
        self._generator: Final = torch.Generator().manual_seed(number >> 1)

    def size(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def normal(self, shape: Sequence[int], dtype: torch.dtype = torch.float32, spread: float = 1.0) -> torch.Tensor:
        made = torch.randn(tuple(shape), generator=self._generator, dtype=torch.float64) * spread
        return made.to(dtype)

    def uniform(
        self, shape: Sequence[int], low: float, high: float, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        made = torch.rand(tuple(shape), generator=self._generator, dtype=torch.float64) * (high - low) + low
        return made.to(dtype)

    def integers(self, shape: Sequence[int], low: int, high: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(low, high + 1, tuple(shape), generator=self._generator, dtype=torch.int64).to(dtype)
