"""The count of question 1.4: both operands read once, the result written once, four bytes an element."""

from collections.abc import Mapping, Sequence
from random import Random

from grading.kinds.formula.count import Count, RightOnlyWhere, Term, Values
from grading.polynomial import symbols

N, K, M = symbols("N K M")


def terms(chosen: Mapping[str, str]) -> tuple[Term, ...]:
    return (
        Term("read-a", 4 * N * K, "A", "read"),
        Term("read-b", 4 * K * M, "B", "read"),
        Term("write-result", 4 * N * M, "the result", "written"),
    )


def ordinary(random: Random) -> Sequence[Values]:
    cases = [dict.fromkeys(("N", "K", "M"), side) for side in random.sample(range(5, 20), 3)]
    for _ in range(9):
        cases.append(dict(zip(("N", "K", "M"), random.sample(range(2, 40), 3), strict=True)))
    return cases


def large(random: Random) -> Sequence[Values]:
    return [{"N": random.randrange(500, 900), "K": random.randrange(500, 900), "M": random.randrange(500, 900)}]


COUNT = Count(
    terms,
    ordinary,
    large,
    right_only_where=(
        RightOnlyWhere(
            "square-only",
            "Right for square matrices only: A is N×K, B is K×M and the result N×M",
            lambda sizes: sizes["N"] == sizes["K"] == sizes["M"],
        ),
    ),
    names={"N": "N (rows of A)", "K": "K (the inner size)", "M": "M (columns of B)"},
)
