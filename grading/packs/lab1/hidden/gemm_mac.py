"""The count of question 1.3: one multiply-accumulate for each element of the result and each step of its sum."""

from collections.abc import Mapping, Sequence
from random import Random

from grading.kinds.formula.count import Count, Mistake, RightOnlyWhere, Term, Values
from grading.polynomial import symbols

N, K, M = symbols("N K M")


def terms(chosen: Mapping[str, str]) -> tuple[Term, ...]:
    return (Term("product", N * K * M, "the product"),)


def ordinary(random: Random) -> Sequence[Values]:
    cases = [dict.fromkeys(("N", "K", "M"), side) for side in random.sample(range(5, 20), 3)]
    for _ in range(9):
        cases.append(dict(zip(("N", "K", "M"), random.sample(range(2, 24), 3), strict=True)))
    return cases


def large(random: Random) -> Sequence[Values]:
    # The inner size is small: results pass 2^31 while the tensors, which are real, stay near 2 MB each.
    return [{"N": random.randrange(4000, 4400), "K": random.randrange(140, 150), "M": random.randrange(4000, 4400)}]


COUNT = Count(
    terms,
    ordinary,
    large,
    right_only_where=(
        RightOnlyWhere(
            "square-only",
            "Right for square matrices only: x is N×K and y is K×M, three sizes that may differ",
            lambda sizes: sizes["N"] == sizes["K"] == sizes["M"],
        ),
    ),
    mistakes=(
        Mistake(
            "operations",
            "Multiplications and additions are counted apart, N·M·(2K − 1): a multiply and its add are one MAC",
            N * K * M - N * M,
        ),
    ),
    names={"N": "N (rows of x)", "K": "K (the inner size)", "M": "M (columns of y)"},
)
