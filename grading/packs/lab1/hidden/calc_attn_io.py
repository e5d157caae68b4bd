"""The bytes of question 3.2: standard attention in fp32, every operand read and every result written."""

from collections.abc import Mapping

from grading.kinds.formula.count import Count, RightOnlyWhere, Term
from grading.polynomial import symbols

from ._assumptions import (
    CAUSAL,
    KERNEL,
    MASK,
    PASSES,
    SCALE,
    SOFTMAX,
    large_sizes,
    mask_heads,
    ordinary_sizes,
    scores,
)

B, H, L_q, L_kv, D_h = symbols("B H L_q L_kv D_h")


def terms(chosen: Mapping[str, str]) -> tuple[Term, ...]:
    queries, keys = 4 * B * H * L_q * D_h, 4 * B * H * L_kv * D_h
    head = 4 * scores(chosen["causal"], L_q, L_kv)
    matrix = (0 if chosen["kernel"] == "flash" else 1) * B * H * head
    return (
        Term("read-q", queries, "Q", "read"),
        Term("read-k", keys, "K", "read"),
        Term("write-scores", matrix, "the matrix of scores", "written by Q·Kᵀ"),
        Term("scale", (2 if chosen["scale"] == "scale-own" else 0) * matrix, "the pass that scales the scores"),
        Term("read-mask", mask_heads(chosen["mask"], B, H) * head, "the mask", "read"),
        Term("softmax", PASSES[chosen["softmax"]] * matrix, "the traffic of softmax"),
        Term("read-scores", matrix, "the matrix of probabilities", "read by A·V"),
        Term("read-v", keys, "V", "read"),
        Term("write-output", queries, "the output of A·V", "written"),
    )


COUNT = Count(
    terms,
    ordinary_sizes,
    large_sizes,
    axes=(SOFTMAX, SCALE, MASK, CAUSAL, KERNEL),
    right_only_where=(
        RightOnlyWhere(
            "equal-lengths-only",
            "Right only at L_q = L_kv: Q and the output have L_q rows, K and V have L_kv",
            lambda sizes: sizes["L_q"] == sizes["L_kv"],
        ),
    ),
    names={"B": "B (batch)", "H": "H (heads)", "L_q": "L_q", "L_kv": "L_kv", "D_h": "D_h (head size)"},
)
