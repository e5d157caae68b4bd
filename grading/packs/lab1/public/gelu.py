"""Public cases of question 4.3.1."""

from collections.abc import Iterator

import torch

from grading.kinds.implementation.case import Case


def cases() -> Iterator[Case]:
    yield Case("-1, 0, 1", (torch.tensor([-1.0, 0.0, 1.0]),))
    yield Case("-3 to 3", (torch.linspace(-3, 3, 12).reshape(3, 4),))
    yield Case("-3 to 3, float64", (torch.linspace(-3, 3, 13, dtype=torch.float64),))
    yield Case("100 and -100", (torch.tensor([100.0, -100.0]),), "extreme")
