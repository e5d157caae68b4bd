"""Reference, drawn cases and known slips of question 1.1.

An honest inner step on tensor elements takes some 25 µs while operations are counted, so all cases together have
about eight thousand.
"""

from collections.abc import Iterator

import torch

from grading.kinds.implementation.case import Case, Draw, Slip


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def scale(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.abs() @ b.abs()


def steps(a: torch.Tensor, b: torch.Tensor) -> int:
    return a.shape[0] * a.shape[1] * b.shape[1]


def cases(draw: Draw) -> Iterator[Case]:
    n, k, m = draw.size(5, 8), draw.size(9, 13), draw.size(14, 17)
    for label in ("first", "second, where the first one's memory lies about"):
        yield Case(f"rectangle, {label}", (draw.normal((n, k)), draw.normal((k, m))))
    yield Case("tall and thin", (draw.normal((draw.size(6, 9), 1)), draw.normal((1, draw.size(3, 5)))))
    yield Case("one row", (draw.uniform((1, 9), -50, 100), draw.uniform((9, draw.size(2, 4)), 0, 1e-3)))
    yield Case("one column", (draw.normal((draw.size(3, 5), 7), spread=1e4), draw.normal((7, 1))))
    n, k, m = draw.size(8, 9), draw.size(12, 14), draw.size(40, 44)
    yield Case("wide", (draw.normal((n, k)), draw.normal((k, m), spread=3)))

    n, k, m = draw.size(2, 4), draw.size(5, 8), draw.size(3, 6)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        yield Case(str(dtype), (draw.normal((n, k), dtype), draw.normal((k, m), dtype)), "dtypes")
    for dtype in (torch.int64, torch.int32):
        yield Case(str(dtype), (draw.integers((n, k), -9, 9, dtype), draw.integers((k, m), -9, 9, dtype)), "dtypes")

    yield Case("transposed", (draw.normal((k, n)).T, draw.normal((m, k)).T), "edge")
    yield Case("every other row and column", (draw.normal((2 * n, k))[::2], draw.normal((k, 2 * m))[:, ::2]), "edge")
    yield Case("expanded row", (draw.normal((1, k)).expand(n, k), draw.normal((k, m))), "edge")
    yield Case("no inner size", (draw.normal((n, 0)), draw.normal((0, m))), "edge")
    yield Case("no rows", (draw.normal((0, k)), draw.normal((k, m))), "edge")


SLIPS = (
    Slip(
        "last inner step left out",
        "The inner loop stops one step early: the last of K is never added.",
        lambda a, b: a[:, :-1] @ b[:-1],
    ),
    Slip(
        "first inner step left out",
        "The inner loop starts one step late: the first of K is never added.",
        lambda a, b: a[:, 1:] @ b[1:],
    ),
    Slip(
        "only the last step kept",
        "Each element keeps its last product only: add to it (`+=`) rather than set it.",
        lambda a, b: a[:, -1:] @ b[-1:],
    ),
    Slip(
        "last row left out",
        "The last row is never filled: the loop over rows stops one early.",
        lambda a, b: torch.cat([(a @ b)[:-1], torch.zeros(1, b.shape[1], dtype=a.dtype)]),
    ),
    Slip(
        "last column left out",
        "The last column is never filled: the loop over columns stops one early.",
        lambda a, b: torch.cat([(a @ b)[:, :-1], torch.zeros(a.shape[0], 1, dtype=a.dtype)], 1),
    ),
)
