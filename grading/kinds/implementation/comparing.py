"""How far a result is from right: an fp64 reference, and a tolerance that the dtype and the case itself give."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import torch

from grading.kinds.implementation.planning import exactly
from grading.kinds.implementation.spec import Spec

OWN_ERROR: Final = 6.0  # an answer may be this many times as far off as the reference is in the same dtype


@dataclass(frozen=True, slots=True)
class Expected:
    """What is right for one call, and how far off each element may be. Where `right` is not finite, nothing counts."""

    right: torch.Tensor
    allowed: torch.Tensor

    @property
    def counts(self) -> torch.Tensor:
        return torch.isfinite(self.right)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element that is off, and how many are."""

    index: tuple[int, ...]
    got: float | int
    expected: float | int
    wrong: int
    of: int
    not_finite: bool

    def text(self) -> str:
        where = f"at index {self.index if len(self.index) != 1 else f'({self.index[0]})'}" if self.index else "there"
        rest = f"; {self.wrong} of {self.of} elements are wrong" if self.of > 1 else ""
        return f"{where} it gives {self.got:.6g}, not {self.expected:.6g}{rest}"


def expected(spec: Spec, hidden: ModuleType, args: list[torch.Tensor | None], dtype: str) -> Expected:
    """What is right for these arguments when a result of this dtype is wanted."""
    wide = exactly(args)
    right: torch.Tensor = hidden.reference(*wide)
    if not right.is_floating_point():
        return Expected(right, torch.zeros_like(right))
    tolerance = spec.tolerances[dtype]  # type: ignore[index]
    scale: Callable[..., torch.Tensor] | None = getattr(hidden, "scale", None)
    magnitude = right.abs() if scale is None else scale(*wide)
    own = hidden.reference(*args).to(torch.float64)
    error = (own - right).abs()
    error = error[torch.isfinite(error)]
    slack = OWN_ERROR * float(error.max()) if error.numel() else 0.0
    return Expected(right, tolerance.relative * magnitude + tolerance.absolute + slack)


def mismatch(got: torch.Tensor, against: Expected) -> Mismatch | None:
    """The first element that is off, or None. NaN never agrees with a finite value."""
    wide = got.to(against.right.dtype)
    near = (wide - against.right).abs() <= against.allowed
    wrong = against.counts & ~near
    count = int(wrong.sum())
    if not count:
        return None
    index = tuple(int(place) for place in torch.nonzero(wrong)[0])
    first: Any = wide[index].item()
    return Mismatch(
        index=index,
        got=first,
        expected=against.right[index].item(),
        wrong=count,
        of=wrong.numel(),
        not_finite=bool((wrong & ~torch.isfinite(wide)).any()),
    )
