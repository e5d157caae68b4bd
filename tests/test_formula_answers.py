"""Answers as students write them, each with the verdict that it deserves."""

from decimal import Decimal

import pytest
from formula_world import code, grade, said_in, source, with_choices

from grading.kinds.formula.reasons import LOOKED_AT

S = "B*H*L_q*L_kv"


def io(passes: object, more: str = "") -> str:
    return f"4*(2*B*H*L_q*D_h + 2*B*H*L_kv*D_h + {passes}*{S}{more})"


def variant(id: str, *names: str) -> str:
    return code(with_choices(id, *names).total)


# question, what is said above the function, what it returns, the points, and whether a person looks
ANSWERS = {
    "a product forgotten, in floats": ("3.1b", "", f"int(1.0*{S}*D_h)", "2", True),
    "a division that is exact": ("3.1b", "", f"int(4*{S}*D_h/2)", "4", False),
    "softmax forgotten, in floats": ("3.2", "", "int(4.0*B*H*(2*L_q*D_h + 2*L_kv*D_h + 2*L_q*L_kv))", "2.5", True),
    # Lists and lines
    "a numbered list": ("3.2", "# Assumptions:\n# 1. no mask read\n# 2. softmax: 3 passes\n", io(5), "5", True),
    "a list with a denial first": ("3.2", "# - ignore the scaling\n# - softmax in 3 passes\n", io(5), "5", True),
    "lines without bullets": ("3.2", "# ignore the scaling\n# softmax in 3 passes\n", io(5), "5", True),
    "a mask denied first": ("3.2", "# no mask is used\n# softmax needs 3 passes over the scores\n", io(5), "5", True),
    "a wrapped denial": ("3.2", "# we do not assume\n# softmax in 3 passes\n", io(5), "4", True),
    "a denied list": (
        "bonus-3.1",
        "# K/V projected for all kv_len tokens. RMSNorm, RoPE and softmax are not counted.\n",
        variant("bonus-3.1", "kv-all"),
        "2.5",
        True,
    ),
    "a denied list of bullets": (
        "bonus-3.1",
        "# - do not count norm/rope/softmax\n# - K/V projected for all kv_len\n",
        variant("bonus-3.1", "kv-all"),
        "2.5",
        True,
    ),
    "what is left out, after a colon": (
        "bonus-3.1",
        "# RoPE: ignored\n# K/V projected for all kv_len\n",
        variant("bonus-3.1", "kv-all"),
        "2.5",
        True,
    ),
    "a denied list asserts nothing": (
        "bonus-3.1",
        "# RMSNorm, RoPE and softmax are not counted.\n",
        variant("bonus-3.1", "norm-1"),
        "2",
        True,
    ),
    "the half that is not needed": (
        "3.2",
        "# Causal: we don't need the upper half of the scores\n",
        f"4*(2*B*H*L_q*D_h + 2*B*H*L_kv*D_h + 7*({S}//2))",
        "5",
        True,
    ),
    "the triangle that is skipped": (
        "3.1b",
        "# Causal attention: we skip the upper triangle\n",
        f"{S}*D_h",
        "4",
        True,
    ),
    "a fused projection under a denial": (
        "bonus-3.2",
        "# norms and RoPE are ignored\n# QKV fused: input read once\n",
        variant("bonus-3.2", "input-once"),
        "2.5",
        True,
    ),
    # Softmax, read once and written once
    **{
        f"softmax as {said}": ("3.2", f"# {said}\n", io(4), "5", True)
        for said in (
            "softmax: read S, write P",
            "softmax reads the scores once and writes the probabilities once",
            "softmax is one read and one write",
            "softmax: load + store",
            "softmax in place: read once, write once",
            "1 read + 1 write for softmax",
        )
    },
    "a softmax that reads twice": ("3.2", "# softmax: read for max, read for the sum, write\n", io(4), "4", True),
    "the hint said again": (
        "3.2",
        "# softmax reads and writes 5*B*H*L_q*L_kv elements, the mask is read\n",
        io(8),
        "5",
        True,
    ),
    # Assumptions that are not the commonest
    "a softmax of 4 passes": (
        "3.2",
        "# softmax: 4 passes: max, subtract+exp, sum, divide\n",
        io("(1 + 4 + 1)"),
        "5",
        True,
    ),
    "a softmax of 6 passes": ("3.2", "# softmax: 6 passes\n", io(8), "5", True),
    "a mask read once": ("3.2", "# mask (L_q, L_kv) read once and broadcast\n", io(7, "+ L_q*L_kv"), "5", True),
    "a mask read once a sequence": ("3.2", "# the mask is read\n", io(7, "+ B*L_q*L_kv"), "5", True),
    "norms at 3 MAC": ("bonus-3.1", "# RMSNorm at 3 MAC per element\n", variant("bonus-3.1", "norm-3"), "2.5", True),
    "heads repeated in the products": (
        "bonus-3.1",
        "# K/V projected for all kv_len; heads are repeated (repeat_kv) before the matmul\n",
        variant("bonus-3.1", "kv-all"),
        "2.5",
        True,
    ),
    "a module of flash attention": (
        "bonus-3.2",
        "# flash attention: S not materialised\n",
        variant("bonus-3.2", "flash"),
        "1.25",
        True,
    ),
    # Assumptions that Rooflab does not know: a person sees them
    "a count of masked tokens": (
        "3.1b",
        "# masked: each token sees (L_kv+1)/2 keys\n",
        "B*H*L_q*(L_kv+1)*D_h",
        "0",
        True,
    ),
    "K transposed": ("3.2", "# K transposed first: read + write K\n", io(7, "+ 2*B*H*L_kv*D_h"), "0", True),
    "a sliding window": (
        "bonus-3.1",
        "# sliding window: last 512\n",
        "2*B*L_q*D*d*(n_h + n_kv) + 2*B*n_h*L_q*min(L_kv, 5)*d",
        "0",
        True,
    ),
    "everything fused": (
        "bonus-3.2",
        "# everything fused: x, weights once, output once\n",
        "2*(2*B*L*D + 2*D*d*(n_h + n_kv))",
        "0",
        True,
    ),
    "a known assumption beside a mistake": ("3.2", "# softmax: 3 passes\n", io(5, "+ 3*B"), "0", True),
    "a mistake without an assumption": ("3.2", "# Q, K, then the scores\n", io(7, "+ 3*B"), "0", False),
    "two assumptions unstated, or a read forgotten": ("3.2", "", io("(2 + 3 + 1)"), "0", True),
}
# A comment that touches every assumption, so that one of them must fit.
STUFFED = {
    "each beyond a denial": "".join(f"# never dropout and softmax takes {n} passes.\n" for n in ("2", "3", "five")),
    "each in a clause of its own": "# softmax takes 2 passes, softmax takes 3 passes\n",
    "each on a line": "# softmax takes 2 passes\n# softmax takes 3 passes\n# softmax is fused\n",
    "one clear, one doubtful": "# softmax takes 3 passes\n# never dropout and softmax takes 2 passes.\n",
}


@pytest.mark.parametrize(("id", "above", "expression", "points", "review"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_gets_what_it_deserves(id: str, above: str, expression: str, points: str, review: bool) -> None:
    verdict = grade(id, source(id, expression, above))
    assert (verdict.points, verdict.needs_review is not None) == (Decimal(points), review), said_in(verdict)


@pytest.mark.parametrize("above", STUFFED.values(), ids=STUFFED)
def test_stuffed_comments_state_nothing_and_staff_read_them(above: str) -> None:
    verdict = grade("3.2", source("3.2", io(5), above))
    assert verdict.points == 4 and verdict.needs_review, said_in(verdict)
    for line in above.splitlines():
        assert line.strip("# ") in verdict.needs_review


def test_two_unstated_assumptions_are_named_beside_a_mistake() -> None:
    verdict = grade("3.2", source("3.2", io("(2 + 3 + 1)")))
    assert "a softmax of 3 passes and an attention mask that is read" in verdict.headline
    assert "If not: short of" in verdict.headline and LOOKED_AT in verdict.remarks


def test_two_plain_mistakes_come_before_a_mistake_beside_an_assumption() -> None:
    verdict = grade("3.2", source("3.2", "4*(B*H*L_q*D_h + 2*B*H*L_kv*D_h + 6*B*H*L_q*L_kv)"))
    assert "More than one thing differs. One of them: ".lower() in verdict.headline.lower()
    assert "wrong size" not in verdict.headline
