"""Reference, drawn cases and known slips of question 4.3.1."""

import math
from collections.abc import Callable, Iterator

import torch

from grading.kinds.implementation.case import Case, Draw, Slip

ROOT = math.sqrt(2 / math.pi)


def reference(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3)))


def scale(x: torch.Tensor) -> torch.Tensor:
    return x.abs()


def cases(draw: Draw) -> Iterator[Case]:
    yield Case("normal", (draw.normal((draw.size(20, 40),)),))
    yield Case("wide", (draw.uniform((draw.size(3, 6), draw.size(5, 9)), -6, 6),))
    yield Case("three axes", (draw.normal((2, draw.size(2, 4), draw.size(3, 7)), spread=2.0),))
    yield Case("near zero", (draw.uniform((32,), -1e-3, 1e-3),))
    yield Case("fp64", (draw.uniform((96,), -4, 4, torch.float64),))

    for dtype in (torch.float16, torch.bfloat16):
        yield Case(str(dtype), (draw.uniform((64,), -5, 5, dtype),), "half")

    yield Case("tens", (draw.uniform((40,), -90, 90),), "extreme")
    yield Case("millions", (draw.uniform((40,), -1e7, 1e7),), "extreme")

    yield Case("transposed", (draw.normal((draw.size(4, 6), 3)).T,), "edge")
    yield Case("every third", (draw.normal((30,))[::3],), "edge")
    yield Case("expanded", (draw.normal((1, 5)).expand(4, 5),), "edge")
    yield Case("no axis", (draw.normal(()),), "edge")
    yield Case("empty", (draw.normal((0, 3)),), "edge")


def _like(root: float, cube: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: 0.5 * x * (1 + torch.tanh(root * (x + cube * x**3)))


SLIPS = (
    Slip(
        "the exact GeLU",
        "These are the values of the exact GeLU, by the error function; the tanh approximation is asked for.",
        lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
    ),
    Slip("0.0447", "The coefficient of the cube is 0.0447; it is 0.044715.", _like(ROOT, 0.0447)),
    Slip("0.44715", "The coefficient of the cube is ten times too large; it is 0.044715.", _like(ROOT, 0.44715)),
    Slip("no cube", "The term with the cube is missing.", _like(ROOT, 0.0)),
    Slip(
        "root of 2/pi", "The factor before the bracket is 2/π; its square root is needed.", _like(2 / math.pi, 0.044715)
    ),
    Slip("no root", "The factor √(2/π) before the bracket is missing.", _like(1.0, 0.044715)),
    Slip("no half", "The result is twice what it should be: the factor 1/2 is missing.", lambda x: 2 * reference(x)),
    Slip(
        "x squared",
        "The cube is a square: x² stands where x³ should.",
        lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**2))),
    ),
    Slip("no one", "The 1 before the tanh is missing.", lambda x: reference(x) - 0.5 * x),
    Slip(
        "no x",
        "The factor x before the bracket is missing.",
        lambda x: 0.5 * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3))),
    ),
    Slip(
        "sigmoid form",
        "x·sigmoid(1.702·x) is another approximation than the one asked for.",
        lambda x: x * torch.sigmoid(1.702 * x),
    ),
)
