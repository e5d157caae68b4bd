"""Public cases of question 3.1, the code."""

from collections.abc import Iterator

import torch

from grading.kinds.implementation.case import Case


def cases() -> Iterator[Case]:
    one = torch.arange(8.0).reshape(1, 1, 2, 4) / 4
    yield Case("2 queries, 3 keys", (one, torch.arange(12.0).reshape(1, 1, 3, 4) / 6 - 1, _values(1, 1, 3, 4)))
    q = torch.sin(torch.arange(48.0)).reshape(2, 2, 3, 4)
    k = torch.cos(torch.arange(64.0)).reshape(2, 2, 4, 4)
    yield Case("2 batches of 2 heads", (q, k, _values(2, 2, 4, 4)))
    attend = torch.tensor([[True, False, False, False], [True, True, False, False], [True, True, True, False]])
    yield Case("boolean mask", (q, k, _values(2, 2, 4, 4), attend), "mask")
    added = torch.zeros(3, 4).masked_fill(~attend, float("-inf"))
    yield Case("additive mask", (q, k, _values(2, 2, 4, 4), added), "mask")


def _values(*shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)
