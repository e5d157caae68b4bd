"""Public cases of question 1.1."""

from collections.abc import Iterator

import torch

from grading.kinds.implementation.case import Case


def cases() -> Iterator[Case]:
    """No element is zero: loops that skip zeros make no fewer products here."""
    yield Case("1×2 · 2×1", (torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])))
    yield Case("2×3 · 3×4", (torch.arange(6.0).reshape(2, 3) + 1, torch.arange(12.0).reshape(3, 4) - 5.5))
    yield Case("3×2 · 2×3, int64", (torch.arange(6).reshape(3, 2) + 1, torch.arange(6).reshape(2, 3) - 7), "dtypes")
