"""The MAC of question 3.1: two products for each head; softmax and scaling count nothing."""

from collections.abc import Mapping

from grading.kinds.formula.count import Count, Mistake, RightOnlyWhere, Term
from grading.polynomial import symbols

from ._assumptions import CAUSAL, large_sizes, ordinary_sizes, scores

B, H, L_q, L_kv, D_h = symbols("B H L_q L_kv D_h")


def terms(chosen: Mapping[str, str]) -> tuple[Term, ...]:
    product = B * H * scores(chosen["causal"], L_q, L_kv) * D_h
    return (Term("product-qk", product, "the product Q·Kᵀ"), Term("product-av", product, "the product A·V"))


COUNT = Count(
    terms,
    ordinary_sizes,
    large_sizes,
    axes=(CAUSAL,),
    right_only_where=(
        RightOnlyWhere(
            "equal-lengths-only",
            "Right only at L_q = L_kv: queries and keys are counted by their own lengths",
            lambda sizes: sizes["L_q"] == sizes["L_kv"],
        ),
    ),
    mistakes=tuple(
        Mistake(
            "softmax",
            "More than the two products is counted: softmax and scaling count no MAC",
            each * B * H * L_q * L_kv,
        )
        for each in range(1, 7)
    ),
    names={"B": "B (batch)", "H": "H (heads)", "L_q": "L_q", "L_kv": "L_kv", "D_h": "D_h (head size)"},
)
