"""Reference, drawn cases and known slips of question 3.1, the code."""

from collections.abc import Callable, Iterator
from decimal import Decimal

import torch

from grading.kinds.implementation.case import Case, Draw, Slip

Mask = torch.Tensor | None


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    result: torch.Tensor = _weights(q, k, mask) @ v
    return result


def scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    """Besides the values' magnitude, that of the scores: their rounding errors are multiplied by the softmax."""
    scores = q.abs() @ k.abs().transpose(-2, -1) * q.shape[-1] ** -0.5
    magnitude: torch.Tensor = _weights(q, k, mask) @ v.abs()
    magnitude = magnitude * (1 + scores.amax(-1, keepdim=True) / 8)
    return magnitude


def _weights(q: torch.Tensor, k: torch.Tensor, mask: Mask, factor: float | None = None) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if factor is None else factor)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return torch.softmax(scores, -1)


def cases(draw: Draw) -> Iterator[Case]:
    b, h = draw.size(2, 3), draw.size(2, 4)
    yield Case("as many queries as keys", _three(draw, b, h, 9, 9, 8))
    yield Case("more keys", _three(draw, b, h, draw.size(3, 6), draw.size(10, 20), draw.size(5, 7)))
    yield Case("more queries", _three(draw, 1, h, draw.size(17, 30), draw.size(3, 8), draw.size(12, 20)))
    yield Case("sharp", _three(draw, b, 1, 6, 11, 16, spread=3.0))
    q, k, v = _three(draw, 1, 3, 7, 13, 8)
    yield Case("values of many sizes", (q, k, v * torch.logspace(-3, 3, 8)))
    yield Case("values far from zero", (q, k, v + 100))

    q, k, v = _three(draw, 2, 3, 6, 9, 8)
    attend = draw.uniform((6, 9), 0, 1) < 0.6
    attend[:, draw.size(0, 8)] = True
    yield Case("boolean, one for all", (q, k, v, attend), "mask")
    each = draw.uniform((2, 1, 6, 9), 0, 1) < 0.5
    each[..., draw.size(0, 8)] = True
    yield Case("boolean, one for each batch", (q, k, v, each), "mask")
    yield Case("additive, finite", (q, k, v, draw.normal((2, 3, 6, 9))), "mask")
    causal = torch.zeros(6, 9).masked_fill(~torch.ones(6, 9, dtype=torch.bool).tril(3), float("-inf"))
    yield Case("additive, causal", (q, k, v, causal), "mask")

    yield Case("large scores", _three(draw, 1, 2, 5, 8, 16, spread=30.0), "stable")
    q, k, v = _three(draw, 1, 2, 5, 8, 16)
    yield Case("scores far above zero", (q + 40, k + 40, v), "stable")
    yield Case("scores far below zero", (q + 40, k - 40, v), "stable")

    q, k, v = (one.transpose(1, 2) for one in _three(draw, 2, 7, 3, 3, 8))
    yield Case("heads behind positions", (q, k, v), "edge")
    q, k, v = _three(draw, 2, 3, 5, 6, 16)
    yield Case("every other element", (q[..., ::2], k[..., ::2], v[..., ::2]), "edge")
    yield Case("keys of one head expanded", (q, k[:, :1].expand(-1, 3, -1, -1), v[:, :1].expand(-1, 3, -1, -1)), "edge")
    yield Case("one query", _three(draw, 2, 2, 1, 9, 4), "edge")
    yield Case("one key", _three(draw, 2, 2, 5, 1, 4), "edge")


def _three(
    draw: Draw, b: int, h: int, queries: int, keys: int, d: int, spread: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        draw.normal((b, h, queries, d), spread=spread),
        draw.normal((b, h, keys, d), spread=spread),
        draw.normal((b, h, keys, d)),
    )


def _scaled_by(factor: Callable[[int], float]) -> Callable[..., torch.Tensor]:
    return lambda q, k, v, mask=None: _weights(q, k, mask, factor(q.shape[-1])) @ v


def _over_queries(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -2) @ v


def _without_softmax(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    result: torch.Tensor = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 @ v
    return result


def _scaled_after(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    result: torch.Tensor = torch.softmax(q @ k.transpose(-2, -1), -1) * q.shape[-1] ** -0.5 @ v
    return result


def _mask_turned(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    return reference(q, k, v, ~mask if mask is not None and mask.dtype == torch.bool else mask)


def _mask_ignored(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    return reference(q, k, v)


def _mask_added(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = None) -> torch.Tensor:
    return reference(q, k, v, mask.to(q.dtype) if mask is not None else None)


_CLOSE = Decimal(3)  # points that an answer keeps whose one mistake is in the scaling

SLIPS = (
    Slip(
        "no scaling",
        "The scores are not scaled: divide them by the square root of D_h before the softmax.",
        _scaled_by(lambda d: 1.0),
        points=_CLOSE,
    ),
    Slip(
        "scaled by D_h",
        "The scores are divided by D_h, not by its square root.",
        _scaled_by(lambda d: 1 / d),
        points=_CLOSE,
    ),
    Slip(
        "multiplied by the root",
        "The scores are multiplied by the square root of D_h where they should be divided.",
        _scaled_by(lambda d: d**0.5),
        points=_CLOSE,
    ),
    Slip("scaled after the softmax", "The scaling comes after the softmax; it belongs before it.", _scaled_after),
    Slip(
        "softmax over queries",
        "The softmax runs over the queries; it should run over the keys, the last axis.",
        _over_queries,
    ),
    Slip("no softmax", "The softmax is left out: scores go straight to the values.", _without_softmax),
    Slip("mask ignored", "`attn_mask` is not used.", _mask_ignored, "mask"),
    Slip("mask turned round", "A boolean mask is read the wrong way round: `True` means attend.", _mask_turned, "mask"),
    Slip(
        "boolean mask added",
        "A boolean mask is added as 0 and 1; it should set scores to -inf where it is `False`.",
        _mask_added,
        "mask",
    ),
)
