"""The kind `formula`: every honest spelling passes, every single slip is named, and nothing hidden is told.

Answers run in this process through `DirectRun`, a stand-in for the sandbox that is as strict about types; one test
holds it to the real sandbox.
"""

import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
import yaml
from formula_world import HEADS, IDS, PACK, SEED, DirectRun, code, grade, question, said_in, source, with_choices
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grading import outline, pack
from grading.answers import reading
from grading.answers.model import Answer
from grading.kinds import formula
from grading.kinds.formula.count import Combination
from grading.kinds.formula.planning import DRAWN, LARGE, PROBE, parts
from grading.kinds.formula.reading import look
from grading.kinds.formula.reasons import NOT_A_POLYNOMIAL, NOT_READ_OFF, USED_UP, Hidden
from grading.kinds.formula.slips import WIDTHS, Slip, Slips
from grading.kinds.formula.statements import said, stated
from grading.polynomial import Polynomial, symbol
from grading.verdict import State
from labcore.runner.protocol import (
    Config,
    Ending,
    Job,
    Note,
    Observation,
    Outcome,
    Returned,
    Tensor,
)
from worker.sandbox.slot import Slot


def plain(id: str) -> Combination:
    return parts(question(id))[1].plain


def symbols_of(id: str) -> list[str]:
    return list(question(id).spec.degrees)


# --- Right answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", IDS)
def test_the_plain_count_passes_with_full_points(id: str) -> None:
    verdict = grade(id, source(id, code(plain(id).total)))
    assert (verdict.state, verdict.points) == (State.PASSED, verdict.out_of), verdict.headline
    assert verdict.needs_review is None and not verdict.explained
    assert all(check.passed for check in verdict.checks)


@pytest.mark.parametrize("id", IDS)
def test_what_was_read_off_is_the_polynomial_itself(id: str) -> None:
    asked = question(id)
    text = source(id, code(plain(id).total))
    answer = Answer(question=id, found=True, source=text, definition=text)
    ran = [(job, DirectRun()(job)) for job in formula.plan(asked, answer, SEED)]
    assert look(asked.spec, ran).formula == plain(id).total


SPELLINGS = {
    "1.3": [
        "def gemm_mac(x, y):\n    return x.numel() * y.shape[1]",
        "def gemm_mac(x, y):\n    return x.shape[0] * x.size(1) * y.size(-1)",
        "gemm_mac = lambda x, y: x.shape[0] * y.shape[0] * y.shape[1]",
        "import math\ndef gemm_mac(x, y):\n    return math.prod(x.shape) * y.shape[1]",
        "import numpy as np\ndef gemm_mac(x, y):\n    return np.prod(x.shape) * y.shape[1]",
        "import torch\ndef gemm_mac(x, y):\n    return torch.tensor([*x.shape, y.shape[1]]).prod()",
        "def gemm_mac(x, y):\n    total = 0\n    for _ in range(x.shape[0]):\n        for _ in range(y.shape[1]):\n"
        "            for _ in range(x.shape[1]):\n                total += 1\n    return total",
        "def gemm_mac(x, y):\n    def mac(a, b, c):\n        return a * b * c\n    return mac(*x.shape, y.shape[1])",
    ],
    "1.4": [
        "def gemm_io(A, B):\n    return 4 * (A.numel() + B.numel() + A.shape[0] * B.shape[1])",
        "def gemm_io(A, B):\n    s = A.element_size()\n    return s * A.numel() + s * B.numel() + s * (A @ B).numel()",
        "def gemm_io(A, B):\n    n, k = A.shape\n    _, m = B.shape\n    return (n*k + k*m + n*m) * 32 // 8",
        "def gemm_io(A, B):\n    return A.nbytes + B.nbytes + 4 * len(A) * len(B[0])",
        "def gemm_io(A, B):\n    return int(4 * (A.numel() + B.numel() + A.shape[0] * B.shape[1]))",
    ],
    "3.1b": [
        "def calc_attn_mac(B, H, L_q, L_kv, D_h):\n    mac = B*H*L_q*L_kv*D_h\n    mac *= 2\n    return mac",
        "def calc_attn_mac(B, H, L_q, L_kv, D_h):\n    return sum(2 * L_q * L_kv * D_h for _ in range(B * H))",
        "import numpy as np\ndef calc_attn_mac(*a):\n    return 2 * np.prod(a)",
        "def calc_attn_mac(B, H, L_q, L_kv, D_h):\n    return (4 * B * H * L_q * L_kv * D_h) // 2",
    ],
    "3.2": [
        "def calc_attn_io(B, H, L_q, L_kv, D_h):\n    b = 4\n    qk = B*H*L_q*D_h + B*H*L_kv*D_h + B*H*L_q*L_kv\n"
        "    sm = 5*B*H*L_q*L_kv\n    av = B*H*L_q*L_kv + B*H*L_kv*D_h + B*H*L_q*D_h\n    return (qk + sm + av) * b",
        "def calc_attn_io(b, h, q, k, d):\n    return sum(4 * (2*q*d + 2*k*d + 7*q*k) for _ in range(b*h))",
        "def calc_attn_io(b, h, q, k, d):\n    return 8*b*h*(q + k)*d + 28*b*h*q*k",
        "# no causal mask here\ndef calc_attn_io(b, h, q, k, d):\n    return 8*b*h*(q + k)*d + 28*b*h*q*k  # not fused",
    ],
}


@pytest.mark.parametrize(("id", "text"), [(id, text) for id, texts in SPELLINGS.items() for text in texts])
def test_honest_spellings_pass(id: str, text: str) -> None:
    verdict = grade(id, text + "\n")
    assert verdict.state is State.PASSED, said_in(verdict)
    assert verdict.needs_review is None


def test_an_answer_that_counts_by_looping_passes_and_is_told_how_it_was_judged() -> None:
    verdict = grade("1.3", SPELLINGS["1.3"][6] + "\n")
    assert verdict.state is State.PASSED
    assert Hidden.LARGE_UNSEEN in verdict.remarks


def test_public_facts_of_the_lab_hold() -> None:
    results = {id: [case.result for case in question(id).public.CASES] for id in IDS}  # type: ignore[union-attr]
    assert 134_217_728 in results["1.3"] and {3_145_728, 917_504} <= {*results["1.4"]}
    assert 45_350_912 in results["3.1b"] and 44 in results["3.2"]
    for id in IDS:
        for case in question(id).public.CASES:  # type: ignore[union-attr]
            assert plain(id).total.at(case.values) == case.result


# --- Reading off -------------------------------------------------------------------------------------------------


@st.composite
def pack_polynomials(draw: st.DrawFn) -> tuple[str, Polynomial]:
    """A sum of the pack's own terms with small coefficients, halves and thirds among them."""
    id = draw(st.sampled_from(IDS))
    total = Polynomial()
    for term in plain(id).terms:
        number = draw(st.integers(-9, 9)) if len(plain(id).terms) < 9 else draw(st.integers(-2, 3))
        total = total + term.size * Fraction(number, draw(st.sampled_from([1, 1, 2, 3])))
    return id, total


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pack_polynomials())
def test_any_polynomial_of_the_packs_terms_is_recovered_exactly(drawn: tuple[str, Polynomial]) -> None:
    id, wanted = drawn
    asked, text = question(id), source(id, code(wanted))
    answer = Answer(question=id, found=True, source=text, definition=text)
    ran = [(job, DirectRun()(job)) for job in formula.plan(asked, answer, SEED)[:1]]
    assert look(asked.spec, ran).formula == wanted


def test_equal_seeds_give_equal_jobs_and_other_seeds_other_sizes() -> None:
    text = source("3.2", "0")
    answer = Answer(question="3.2", found=True, source=text, definition=text)
    one, again, other = (formula.plan(question("3.2"), answer, seed) for seed in (SEED, SEED, b"another"))
    assert one == again
    assert [c.args for c in one[1].calls] != [c.args for c in other[1].calls]
    assert one[0] == other[0], "what may be told of public cases is safe because nothing drawn is in their child"


@pytest.mark.parametrize("id", IDS)
def test_cases_are_in_the_domain_and_reach_far(id: str) -> None:
    asked, text = question(id), source(id, "0")
    jobs = formula.plan(asked, Answer(question=id, found=True, source=text, definition=text), SEED)
    calls = [call for job in jobs for call in job.calls]
    assert {call.label for call in calls if not call.public} == {PROBE, DRAWN, LARGE}
    sizes = [plain(id).total.at(asked.spec.values(call.args)) for call in calls if call.label == LARGE]
    assert max(sizes) > 1 << (21 if id == "1.4" else 31)
    for call in calls:
        for value in call.args:
            if isinstance(value, Tensor):
                assert len(value.shape) == 2 and value.dtype == "float32"
            if isinstance(value, Config):
                assert value.attributes["num_attention_heads"] % value.attributes["num_key_value_heads"] == 0
        if tensors := [value for value in call.args if isinstance(value, Tensor)]:
            assert tensors[0].shape[1] == tensors[1].shape[0]


@pytest.mark.parametrize(
    "trap",
    [
        "if max(L_q, L_kv) > 10**9: raise OverflowError('too large')",
        "if max(L_q, L_kv) > 10**9: return 7",
        "if max(L_q, L_kv) > 10**9: return None",
        "while max(L_q, L_kv) > 10**9: pass",
        "float(L_q) * 1.0",
    ],
)
def test_a_probe_that_fails_costs_nothing(trap: str) -> None:
    verdict = grade("3.2", source("3.2", code(plain("3.2").total), inside=f"    {trap}\n"))
    assert verdict.state is State.PASSED, said_in(verdict)


# --- Single slips are named --------------------------------------------------------------------------------------


def slips() -> Iterator[tuple[str, str, str, Polynomial]]:
    for id in IDS:
        base, width = plain(id), question(id).spec.width
        for term in base.terms:
            if len(base.terms) > 1:
                yield id, "missing", term.name, base.total - term.size
            yield id, "doubled", term.name, base.total + term.size
            if question(id).spec.unit == "bytes":
                for wrong in WIDTHS:
                    if wrong != width:
                        yield id, f"width-{wrong}", term.name, base.total + term.size * Fraction(wrong - width, width)


@pytest.mark.parametrize(("id", "kind", "term", "answer"), list(slips()))
def test_every_single_slip_is_named(id: str, kind: str, term: str, answer: Polynomial) -> None:
    verdict = grade(id, source(id, code(answer)))
    assert verdict.state in (State.FAILED, State.PARTIAL) and verdict.explained
    assert verdict.diagnosis is not None
    wanted = "flops" if (id, kind) == ("1.3", "doubled") else f"{kind}:{term}"
    assert wanted in verdict.diagnosis.code.split("|"), verdict.diagnosis
    thing = next(one.thing for one in plain(id).terms if one.name == term)
    assert thing.casefold() in verdict.diagnosis.text.casefold() or wanted == "flops"


@pytest.mark.parametrize(
    ("id", "expression", "code_", "words"),
    [
        ("1.3", "2*N*K*M", "flops", "FLOPs"),
        ("1.3", "N**3", "square-only", "square matrices only"),
        ("1.3", "N*K*N", "square-only", "square matrices only"),
        ("1.3", "N*M", "factor:K", "K (the inner size) is missing"),
        ("1.3", "N*M*(2*K - 1)", "operations", "a multiply and its add are one MAC"),
        ("1.4", "N*K + K*M + N*M", "width-1", "elements, not bytes"),
        ("1.4", "2*(N*K + K*M + N*M)", "width-2", "2 bytes an element where 4 belong"),
        ("1.4", "8*(N*K + K*M + N*M)", "width-8", "8 bytes an element where 4 belong"),
        ("1.4", "32*(N*K + K*M + N*M)", "bits", "bits, not bytes"),
        ("1.4", "12*N*N", "square-only", "square matrices only"),
        ("1.4", "4*(N*K + K*M)", "missing:write-result", "the result is never written"),
        ("1.4", "4*(N*K + K*M + 2*N*M)", "doubled:write-result", "the result is written twice"),
        ("3.1b", "4*B*H*L_q*L_kv*D_h", "flops", "FLOPs"),
        ("3.1b", "2*B*L_q*L_kv*D_h", "factor:H", "H (heads) is missing"),
        ("3.1b", "2*H*L_q*L_kv*D_h", "factor:B", "B (batch) is missing"),
        ("3.1b", "2*B*H*L_q*L_q*D_h", "equal-lengths-only", "only at L_q = L_kv"),
        ("3.1b", "B*H*L_q*L_kv*(2*D_h + 5)", "softmax", "softmax and scaling count no MAC"),
        ("3.1b", "B*H*L_q*L_kv*(2*D_h + 1)", "softmax", "softmax and scaling count no MAC"),
        (
            "bonus-3.1",
            "2*B*L_q*D*d*(n_h + n_kv) + 2*B*L_q*L_kv*n_kv*d",
            "kv-heads",
            "each of num_attention_heads query heads",
        ),
        ("3.2", "4*B*H*(4*L_q*D_h + 7*L_q*L_kv)", "equal-lengths-only", "only at L_q = L_kv"),
        ("3.2", "4*B*H*(2*L_q*D_h + 2*L_kv*D_h + 7*L_q*L_q)", "equal-lengths-only", "only at L_q = L_kv"),
        ("3.2", "4*B*(2*L_q*D_h + 2*L_kv*D_h + 7*L_q*L_kv)", "factor:H", "H (heads) is missing"),
    ],
)
def test_common_mistakes_are_named(id: str, expression: str, code_: str, words: str) -> None:
    verdict = grade(id, source(id, expression))
    assert verdict.state is State.FAILED and verdict.points == 0
    assert verdict.diagnosis is not None and code_ in verdict.diagnosis.code.split("|")
    assert words in verdict.headline


def test_the_missing_output_is_told_with_its_bytes() -> None:
    verdict = grade("3.2", source("3.2", "4*B*H*(L_q*D_h + 2*L_kv*D_h + 7*L_q*L_kv)"))
    assert verdict.headline.startswith("Short of 4·B·H·L_q·D_h bytes")
    assert "the output of A·V is never written" in verdict.headline


def test_the_part_that_is_wrong_is_told_with_what_it_holds() -> None:
    verdict = grade("3.2", source("3.2", "4*(2*B*H*L_q*D_h + 2*B*H*L_kv*D_h + 90*B*H*L_q*L_kv)"))
    assert "the matrix of scores written by Q·Kᵀ" in verdict.headline, verdict.headline
    holds = verdict.headline.partition("It holds: ")[2].rstrip(".").split("; ")
    assert len(holds) == len(set(holds)) > 1


def test_a_head_size_worked_out_wrongly_is_named() -> None:
    text = source("bonus-3.1", code(plain("bonus-3.1").total), inside="    d = D // n_h\n")
    verdict = grade("bonus-3.1", text)
    assert verdict.diagnosis is not None and verdict.diagnosis.code == "head-dim"


def test_two_bytes_in_3_2_are_an_excusable_slip() -> None:
    verdict = grade("3.2", source("3.2", "2*B*H*(2*L_q*D_h + 2*L_kv*D_h + 7*L_q*L_kv)"))
    assert (verdict.state, verdict.points) == (State.PARTIAL, Decimal("4.00"))
    assert "2 bytes an element where 4 belong" in verdict.headline


def test_an_answer_that_loops_and_slips_is_explained_from_cases() -> None:
    text = "def gemm_io(A, B):\n    n = 0\n    for _ in range(A.shape[0]):\n        for _ in range(A.shape[1]):\n"
    text += "            n += 4\n    return n + 4 * B.numel()\n"
    verdict = grade("1.4", text)
    assert "the result is never written" in verdict.headline


def test_floats_on_the_way_are_told_apart_from_a_wrong_formula() -> None:
    verdict = grade(
        "3.1b", source("3.1b", "int(2.0*B*H*L_q*L_kv*D_h + 0.5*0)", inside="    D_h = D_h * 1.0000000000001\n")
    )
    assert verdict.state in (State.FAILED, State.PARTIAL)
    narrow = "import numpy as np\n" + source("3.1b", "int(np.float32(2 * B * H * L_q * L_kv * D_h))")
    verdict = grade("3.1b", narrow)
    assert (verdict.state, verdict.points, verdict.headline) == (State.PARTIAL, Decimal("3.20"), Hidden.ROUNDED)


@pytest.mark.parametrize(
    "expression",
    ["int(B * H * (L_q / 7) * L_kv * D_h * 14 + 0.5)", "int(4*B*H*L_q*L_kv*D_h / 2)", "int(2.0*B*H*L_q*L_kv*D_h)"],
)
def test_a_float_that_is_exact_to_2_to_the_53_passes_with_a_remark(expression: str) -> None:
    verdict = grade("3.1b", source("3.1b", expression))
    assert (verdict.state, verdict.points) == (State.PASSED, verdict.out_of), said_in(verdict)
    assert Hidden.ROUNDED_FAR in verdict.remarks


FLOATS = ("int({})", "int(np.float32({}))", "int(np.array({}, dtype=object).astype(np.int64).astype(np.int32))")


@pytest.mark.parametrize("wrapped", FLOATS)
@pytest.mark.parametrize(
    ("id", "names", "above", "points"),
    [
        ("3.1b", ("causal-half",), "", "2"),
        ("3.2", ("softmax-fused",), "", "2.5"),
        ("3.2", ("flash",), "# flash attention is assumed\n", "2.5"),
        ("bonus-3.2", ("softmax-3",), "", "2"),
        ("3.2", ("softmax-3",), "# softmax: 3 passes\n", "5"),
    ],
)
def test_a_float_never_raises_points_nor_drops_a_review(
    wrapped: str, id: str, names: tuple[str, ...], above: str, points: str
) -> None:
    whole = code(with_choices(id, *names).total)
    exact = grade(id, source(id, whole, above))
    text = "import numpy as np\n" + source(
        id, wrapped.format(f"1.0 * ({whole})" if wrapped == FLOATS[0] else whole), above
    )
    verdict = grade(id, text)
    assert exact.points == Decimal(points) and verdict.points <= exact.points, said_in(verdict)
    assert exact.needs_review and verdict.needs_review == exact.needs_review
    assert verdict.diagnosis == exact.diagnosis
    if verdict.state is not State.FAILED:
        assert verdict.points == (
            exact.points if wrapped == FLOATS[0] else min(exact.points, exact.out_of * Decimal("0.8"))
        )


@pytest.mark.parametrize("id", ["3.1b", "3.2"])
@pytest.mark.parametrize(
    "trouble", ["raise MemoryError", "raise OverflowError", "return None", "while True: pass", "return 10**5000"]
)
def test_no_result_at_large_sizes_is_told_as_that_and_costs_nothing(id: str, trouble: str) -> None:
    verdict = grade(id, source(id, code(plain(id).total), inside=f"    if L_q > 1000:\n        {trouble}\n"))
    assert (verdict.state, verdict.points) == (State.PASSED, verdict.out_of), said_in(verdict)
    assert Hidden.LARGE_UNSEEN in verdict.remarks and Hidden.LARGE_WRAPS not in verdict.remarks


def test_what_could_not_be_probed_is_not_called_no_polynomial() -> None:
    printing = '    r = 4*B*H*(2*L_q*D_h + 2*L_kv*D_h + 7*L_q*L_kv)\n    print(f"{r / 1e6:.2f} MB")\n'
    verdict = grade("3.2", source("3.2", "r", inside=printing))
    assert verdict.state is State.PASSED and NOT_READ_OFF in verdict.remarks and NOT_A_POLYNOMIAL not in verdict.remarks
    assert NOT_A_POLYNOMIAL in grade("3.2", source("3.2", "L_q % 7")).remarks


def test_wrong_at_large_sizes_is_right_on_drawn_cases() -> None:
    verdict = grade("3.1b", source("3.1b", "2*B*H*L_q*L_kv*D_h * (L_q < 1000)"))
    assert (verdict.state, verdict.points, verdict.headline) == (State.FAILED, Decimal(0), Hidden.LARGE_DIFFERS)
    assert {check.label: check.passed for check in verdict.checks if not check.public} == {
        "drawn cases": True,
        "large drawn cases": False,
    }


def test_integers_of_64_bits_are_wide_enough_and_those_of_32_are_not() -> None:
    head = "import numpy as np\n" + HEADS["3.1b"]
    wide = grade("3.1b", head + "    return 2 * np.prod([B, H, L_q, L_kv, D_h])\n")
    assert wide.state is State.PASSED and Hidden.LARGE_WRAPS in wide.remarks
    narrow = grade("3.1b", head + "    return int((2 * np.prod([B, H, L_q, L_kv, D_h])).astype(np.int32))\n")
    assert (narrow.state, narrow.points, narrow.headline) == (State.PARTIAL, Decimal("3.20"), Hidden.WRAPS_EARLY)


# --- Collisions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "expression", "both"),
    [
        ("3.2", "4*B*H*(2*L_q*D_h + 2*L_kv*D_h + 2*L_q*L_kv)", ("fused", "traffic of softmax is never counted")),
        ("3.2", "4*B*H*(2*L_q*D_h + 2*L_kv*D_h + 8*L_q*L_kv)", ("mask that is read", "written by Q·Kᵀ twice")),
        ("3.1b", "B*H*L_q*L_kv*D_h", ("causal", "A·V is never counted")),
    ],
)
def test_where_two_readings_fit_both_are_named(id: str, expression: str, both: tuple[str, str]) -> None:
    verdict = grade(id, source(id, expression))
    assert verdict.state is State.PARTIAL and verdict.needs_review
    assert all(words in verdict.headline for words in both), verdict.headline


def test_a_three_pass_softmax_with_a_scaling_pass_passes_and_both_readings_are_named() -> None:
    above = "# softmax takes 3 passes over the scores; the scaling is a pass of its own\n"
    verdict = grade("3.2", source("3.2", "4*B*H*(2*L_q*D_h + 2*L_kv*D_h + (2 + 3 + 2)*L_q*L_kv)", above))
    assert verdict.state is State.PASSED
    assert any("a softmax of 3 passes and the scaling in a pass of its own" in remark for remark in verdict.remarks)


# --- Variants and statements -------------------------------------------------------------------------------------

STATED = [
    ("3.2", "softmax-3", "# I assume softmax makes 3 passes over the scores.\n"),
    ("3.2", "softmax-2", "# online version: softmax needs two passes\n"),
    ("3.2", "softmax-fused", "# softmax is fused into the products\n"),
    ("3.2", "softmax-fused", "# we ignore softmax, it runs on chip\n"),
    ("3.2", "scale-own", "# scaling by 1/sqrt(d) is done in a separate pass\n"),
    ("3.2", "mask-read", "# the mask is read once as well\n"),
    ("3.2", "causal-half", "# causal attention: only half of the scores are computed\n"),
    ("3.1b", "causal-half", "# Assume causal attention\n"),
    ("3.1b", "causal-triangle", "# causal: the triangle is counted exactly\n"),
    ("bonus-3.1", "kv-all", "# no KV cache: K and V are projected for all kv_len tokens\n"),
    ("bonus-3.1", "kv-expanded", "# GQA: K and V are expanded to all heads first\n"),
    ("bonus-3.1", "norm-1", "# q/k norms are counted with one MAC an element\n"),
    ("bonus-3.1", "rope-2", "# rotary embedding: 2 MAC an element\n"),
    ("bonus-3.2", "weights-resident", "# projection weights stay resident on chip\n"),
    ("bonus-3.2", "input-once", "# fused QKV: the input is read once\n"),
    ("bonus-3.2", "kv-expanded", "# K and V are repeated for every head\n"),
    ("bonus-3.2", "norm-pass", "# norms read and write q and k\n"),
    ("bonus-3.2", "rope-pass", "# RoPE reads and writes q and k\n"),
    ("bonus-3.2", "softmax-3", "# softmax: three passes\n"),
]


@pytest.mark.parametrize(("id", "choice", "comment"), STATED)
def test_a_stated_variant_gets_full_points_and_is_flagged_with_the_sentence(id: str, choice: str, comment: str) -> None:
    verdict = grade(id, source(id, code(with_choices(id, choice).total), above=comment))
    assert (verdict.state, verdict.points) == (State.PASSED, verdict.out_of), said_in(verdict)
    assert verdict.needs_review is not None and comment.strip("# \n")[:30] in verdict.needs_review
    assert verdict.diagnosis is not None and choice in verdict.diagnosis.code


@pytest.mark.parametrize("inside", ['    """Softmax makes 3 passes."""\n', "    # softmax: 3 passes\n"])
def test_a_statement_may_stand_inside_the_definition(inside: str) -> None:
    verdict = grade("3.2", source("3.2", code(with_choices("3.2", "softmax-3").total), inside=inside))
    assert verdict.state is State.PASSED and verdict.needs_review


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "# a softmax\n",
        "# softmax does not take 3 passes\n",
        "# softmax: 5 passes\n",
        "# softmax: 3 passes. Or rather, softmax: 5 passes.\n",
        "# not causal, softmax\n",
        "# if softmax took 3 passes, this would be less\n",
        "# softmax 3 passes, softmax 2 passes, softmax fused, causal, the mask is read, scaling in a separate pass\n",
    ],
)
def test_a_variant_that_is_not_clearly_stated_is_partial_and_flagged(comment: str) -> None:
    verdict = grade("3.2", source("3.2", code(with_choices("3.2", "softmax-3").total), above=comment))
    assert (verdict.state, verdict.points) == (State.PARTIAL, Decimal("4.00")), said_in(verdict)
    assert verdict.needs_review and "3 passes" in verdict.headline


@pytest.mark.parametrize(
    ("id", "choice", "sentence"),
    [
        ("3.1b", "causal-half", "Assumption: a causal mask, so only half of Q @ K.T is computed."),
        ("3.1b", "causal-half", "Lower triangular attention matrix"),
        ("3.2", "softmax-3", "I assumed that softmax is computed in 3 passes (max, exp and sum, normalise)"),
        ("3.2", "softmax-3", "softmax: read twice, write once -> 3*B*H*L_q*L_kv"),
        ("3.2", "softmax-3", "softmax counted as 3 passes instead of 5 passes"),
        ("3.2", "softmax-3", "Softmax needs only three memory accesses per element, no mask is read"),
        ("3.2", "softmax-3", "3 passes over the scores, attention is not causal"),
        ("3.2", "softmax-3", "for each element of the current count, softmax takes 3 passes"),
        ("3.2", "softmax-3", "to count an element softmax takes 3 passes"),
        ("3.2", "softmax-fused", "fused softmax"),
        ("3.2", "softmax-fused", "Softmax is assumed to be done on-chip, so 0 bytes"),
        ("3.2", "softmax-fused", "softmax is not counted since it is fused"),
        ("3.2", "softmax-fused", "We don't count the softmax"),
        ("3.2", "softmax-fused", "ignoring softmax I/O"),
        ("3.2", "scale-own", "scaling by sqrt(d) as a separate elementwise operation"),
        ("3.2", "mask-read", "attn_mask is loaded too"),
        ("3.2", "flash", "This is FlashAttention: scores stay on chip"),
        ("bonus-3.1", "kv-all", "Without KV cache, all kv_len tokens need a K and a V projection"),
        ("bonus-3.1", "kv-expanded", "GQA: repeat_interleave K and V to all heads"),
        ("bonus-3.2", "weights-resident", "weight loading is ignored: weights are resident"),
        ("bonus-3.2", "weights-resident", "We do not count the weights, and norm and rope are ignored"),
        ("bonus-3.2", "rope-pass", "RoPE reads and writes q and k; norms are not counted"),
    ],
)
def test_sentences_that_people_write_state_their_assumption(id: str, choice: str, sentence: str) -> None:
    text = f"# {sentence}\n" + source(id, "0")
    answer = Answer(question=id, found=True, source=text, definition=text)
    statements = said(question(id), answer, parts(question(id))[1].axes)
    assert choice in stated(statements, with_choices(id, choice)), statements


@pytest.mark.parametrize(
    ("id", "choice", "sentence"),
    [
        ("3.1b", "causal-half", "This does not assume causal attention"),
        ("3.1b", "causal-half", "non-causal attention"),
        ("3.1b", "causal-half", "causal=False"),
        ("3.1b", "causal-half", "without a causal mask"),
        ("3.1b", "causal-half", "a causal mask is not applied"),
        ("3.1b", "causal-half", "if it were causal, this would be half"),
        ("3.2", "softmax-fused", "softmax is not fused"),
        ("3.2", "softmax-fused", "do not ignore softmax"),
        ("3.2", "softmax-3", "softmax takes 5 passes, not 3 passes"),
        ("3.2", "mask-read", "no mask is read"),
        ("3.2", "scale-own", "scaling needs no pass of its own"),
        ("3.2", "flash", "not FlashAttention"),
        ("bonus-3.1", "kv-all", "K and V are not projected for all kv_len tokens: there is a KV cache"),
        ("bonus-3.1", "kv-expanded", "K and V are not expanded"),
        ("bonus-3.2", "rope-pass", "norm and rope are ignored"),
    ],
)
def test_sentences_that_deny_an_assumption_do_not_state_it(id: str, choice: str, sentence: str) -> None:
    text = f"# {sentence}\n" + source(id, "0")
    answer = Answer(question=id, found=True, source=text, definition=text)
    statements = said(question(id), answer, parts(question(id))[1].axes)
    assert choice not in stated(statements, with_choices(id, choice)), statements


def test_a_statement_elsewhere_does_not_count() -> None:
    text = source("3.2", code(with_choices("3.2", "softmax-3").total))
    asked = question("3.2")
    answer = Answer(question="3.2", found=True, source="# softmax: 3 passes\nx = 1\n" + text, definition=text)
    ran = [(job, DirectRun()(job)) for job in formula.plan(asked, answer, SEED)]
    assert formula.judge(asked, answer, ran, True).state is State.PARTIAL


def test_two_stated_assumptions_pass_together_and_one_of_two_is_partial() -> None:
    total = code(with_choices("3.2", "softmax-2", "mask-read").total)
    both = grade("3.2", source("3.2", total, "# softmax: 2 passes\n# the mask is read\n"))
    assert both.state is State.PASSED and both.needs_review and both.needs_review.count("“") >= 1
    one = grade("3.2", source("3.2", total, "# softmax: 2 passes\n"))
    assert one.state is State.PARTIAL


@pytest.mark.parametrize(
    "expression",
    [
        "2*B*H*D_h*(L_q*L_kv//2)",
        "2*B*H*L_q*D_h*(L_kv//2)",
        "2*B*H*D_h*sum(min(i + 1, L_kv) for i in range(L_q))",
        "B*H*D_h*L_q*(L_q + 1)",
        "2*B*H*D_h*sum(max(0, L_kv - L_q + i + 1) for i in range(L_q))",
    ],
)
def test_causal_by_floor_division_or_exact_triangle_is_the_causal_variant(expression: str) -> None:
    verdict = grade("3.1b", source("3.1b", expression, "# causal attention\n"))
    assert verdict.state is State.PASSED and verdict.needs_review, said_in(verdict)


def test_two_unstated_assumptions_are_no_excuse_for_two_slips() -> None:
    verdict = grade("3.2", source("3.2", "4*B*H*(2*L_q*D_h + 2*L_kv*D_h + 3*L_q*L_kv)", "# softmax: 3 passes\n"))
    assert verdict.state is State.FAILED
    assert verdict.headline.startswith(
        "With what your comments state, more than one thing differs. One of them: short of"
    )


def test_the_shape_is_told_in_the_packs_own_symbols() -> None:
    base = plain("bonus-3.2")
    verdict = grade("bonus-3.2", source("bonus-3.2", code(base.total - base.terms[0].size)))
    shape = next(remark for remark in verdict.remarks if "expected shape" in remark)
    assert "D·d·n_h" in shape and "B·L^2·n_h" in shape


def test_a_flash_attention_count_goes_to_review_at_half_the_points() -> None:
    total = code(with_choices("3.2", "flash").total)
    verdict = grade("3.2", source("3.2", total, "# counted for FlashAttention, the scores stay on chip\n"))
    assert (verdict.state, verdict.points) == (State.PARTIAL, Decimal("2.50")) and verdict.needs_review


def test_the_comments_of_the_template_state_nothing() -> None:
    asked = question("3.2")
    stub = '# softmax: 3 passes\ndef calc_attn_io(B, H, L_q, L_kv, D_h):\n    """Softmax: 3 passes."""\n    raise X\n'
    text = source("3.2", code(with_choices("3.2", "softmax-3").total), "# softmax: 3 passes\n")
    answer = Answer(question="3.2", found=True, source=text, definition=text)
    ran = [(job, DirectRun()(job)) for job in formula.plan(asked, answer, SEED)]
    assert formula.judge(asked.model_copy(update={"stubs": (stub,)}), answer, ran, True).state is State.PARTIAL


# --- Answers that are none ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", IDS)
def test_a_template_left_alone_is_not_answered(id: str) -> None:
    stub = question(id).stubs[0]
    for text in (stub, "# my notes\n" + stub.replace("    ###", "\n    ### ~")):
        verdict = grade(id, text)
        assert verdict.state is State.NOT_ANSWERED and verdict.points == 0 and "template" in verdict.headline


def test_an_answer_that_was_not_found_says_why() -> None:
    asked = question("3.2")
    answer = Answer(question="3.2", found=False, reason="There is no calc_attn_io in the file.")
    assert formula.plan(asked, answer, SEED) == []
    assert formula.judge(asked, answer, [], True).headline == "There is no calc_attn_io in the file."


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize(
    "expression", ["0", "1", "-1", "44", "10**9", "10**5000", "None", "'44'", "[]", "True", "1.5", "float('nan')"]
)
def test_worthless_answers_fail_with_a_reason(id: str, expression: str) -> None:
    verdict = grade(id, source(id, expression))
    assert (verdict.state, verdict.points) == (State.FAILED, Decimal(0))
    assert len(verdict.headline) > 20 and not verdict.explained
    assert plain(id).total.text() not in said_in(verdict)


def test_a_float_is_refused_with_advice_and_the_public_case() -> None:
    verdict = grade("1.4", source("1.4", "4.0*(N*K + K*M + N*M)"))
    assert verdict.state is State.FAILED
    assert "“2×3 · 3×4”" in verdict.headline and "float" in verdict.headline and "//" in verdict.headline


def test_a_forgotten_return_is_told() -> None:
    assert "is a `return` missing" in grade("1.3", "def gemm_mac(x, y):\n    x.numel()\n").headline


def test_an_exception_in_a_public_case_is_told_in_full() -> None:
    headline = grade("1.3", source("1.3", "N * K * Q")).headline
    assert "NameError" in headline and "'Q'" in headline and "2×3 · 3×4" in headline


def test_code_that_does_not_load_names_what_is_missing() -> None:
    asked, text = question("1.3"), "helper()\ndef gemm_mac(x, y):\n    return 1\n"
    answer = Answer(question="1.3", found=True, source=text, definition=text)
    ran = [(job, DirectRun()(job)) for job in formula.plan(asked, answer, SEED)]
    verdict = formula.judge(asked, answer, ran, True)
    assert verdict.headline == "The code could not be loaded: NameError: name 'helper' is not defined."


# --- Nothing hidden is told --------------------------------------------------------------------------------------

LEAKS = [
    "raise ValueError(f'{B} {H} {L_q} {L_kv} {D_h}')",
    "return str((B, H, L_q, L_kv, D_h))",
    "return B * 10**12 + H * 10**9 + L_q * 10**6 + L_kv * 10**3 + D_h",
    "return 4*B*H*(2*L_q*D_h + 2*L_kv*D_h + 7*L_q*L_kv) + (B > 2)",
    "assert L_q == 1, (B, H, L_q, L_kv, D_h)",
    "return 10**600 + L_q",
]


@pytest.mark.parametrize("leak", LEAKS)
def test_reasons_for_hidden_cases_hold_no_hidden_value(leak: str) -> None:
    guard = "if (B, H, L_q, L_kv, D_h) not in [(1,1,1,1,1), (2,3,4,5,6), (1,4,173,256,128)]:"
    text = source("3.2", code(plain("3.2").total), inside=f"    {guard}\n        {leak}\n")
    asked = question("3.2")
    answer = Answer(question="3.2", found=True, source=text, definition=text)
    ran = [(job, DirectRun()(job)) for job in formula.plan(asked, answer, SEED)]
    verdict = formula.judge(asked, answer, ran, True)
    assert verdict.state is State.FAILED
    told = said_in(verdict)
    for call in ran[1][0].calls:
        values = asked.spec.values(call.args)
        assert str(tuple(values.values())) not in told and " ".join(map(str, values.values())) not in told
        assert str(plain("3.2").total.at(values)) not in told.split()
    assert all(check.text in set(Hidden) for check in verdict.checks if not check.public)


def test_a_table_of_the_public_cases_fails() -> None:
    table = {tuple(case.values.values()): case.result for case in question("3.2").public.CASES}  # type: ignore[union-attr]
    verdict = grade("3.2", source("3.2", f"{table}.get((B, H, L_q, L_kv, D_h), 0)"))
    assert verdict.state is State.FAILED and not verdict.explained
    assert Hidden.DIFFERS in {check.text for check in verdict.checks}


@pytest.mark.parametrize(
    "expression",
    ["4*B*H*(L_q*D_h + 2*L_kv*D_h + 7*L_q*L_kv)", "4*B*H*(2*L_q*D_h + 2*L_kv*D_h + 5*L_q*L_kv)", "B*H*L_q", "0", "4*B"],
)
def test_without_explanations_nothing_compares_with_the_reference(expression: str) -> None:
    told, silent = (grade("3.2", source("3.2", expression), explain) for explain in (True, False))
    assert not silent.explained and (silent.state, silent.points) == (told.state, told.points)
    if told.explained:
        assert USED_UP in silent.headline and silent.diagnosis is None
        words = ("never", "twice", "softmax", "passes", "Short of", "shape")
        assert not any(word in said_in(silent) for word in words), said_in(silent)


@pytest.mark.parametrize("expression", ["0", "7", "B*H", "L_q**2", "B*H*L_q*L_kv*D_h + 1", "B + H + L_q"])
def test_an_answer_far_away_gets_a_hint_and_never_the_reference(expression: str) -> None:
    verdict = grade("3.2", source("3.2", expression))
    assert verdict.state is State.FAILED and not verdict.explained
    assert question("3.2").spec.hints[0] in said_in(verdict)
    assert "is never" not in said_in(verdict) and "expected shape" not in said_in(verdict)


def test_one_thing_at_a_time_is_told() -> None:
    verdict = grade("3.2", source("3.2", "4*B*H*(1*L_q*D_h + 1*L_kv*D_h + 7*L_q*L_kv)"))
    assert verdict.diagnosis is not None and "|" not in verdict.diagnosis.code
    assert verdict.headline.startswith("More than one thing differs. One of them:")


def test_the_students_formula_is_shown_only_where_the_pack_allows() -> None:
    shown = grade("3.2", source("3.2", "4*B*H*(L_q*D_h + 2*L_kv*D_h + 7*L_q*L_kv)"))
    assert any("4·B·H·L_q·D_h" in remark for remark in shown.remarks)
    assert any("expected shape" in remark for remark in shown.remarks)
    assert not any("reads as" in remark for remark in grade("1.3", source("1.3", "2*N*K*M")).remarks)


def test_long_integers_are_abridged() -> None:
    verdict = grade("1.3", source("1.3", "N * 10**100"))
    assert "0000000000000" not in said_in(verdict)


# --- Whatever comes back -----------------------------------------------------------------------------------------

_texts = st.text(max_size=20)
_notes = st.builds(Note, _texts, _texts, st.none() | st.integers(), _texts)
_returned = st.builds(
    Returned,
    st.sampled_from(Outcome),
    st.none() | st.integers() | st.binary(max_size=8) | st.integers(1 << 4000, 1 << 4001),
    _notes,
)
_observations = st.builds(
    Observation, st.sampled_from(Ending), st.lists(_returned, max_size=30).map(tuple), _notes, _texts
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.sampled_from(IDS), st.lists(_observations, max_size=2), st.booleans(), _texts)
def test_any_observation_gets_a_verdict_with_a_reason(
    id: str, observations: list[Observation], explain: bool, text: str
) -> None:
    asked = question(id)
    answer = Answer(question=id, found=True, source=text, definition=text)
    jobs = formula.plan(asked, answer, SEED)
    verdict = formula.judge(asked, answer, list(zip(jobs, observations, strict=False)), explain)
    assert verdict.headline and verdict.points <= verdict.out_of


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.sampled_from(IDS))
def test_any_text_can_be_read_for_statements(text: str, id: str) -> None:
    asked = question(id)
    answer = formula.read(asked, Answer(question=id, found=True, source=text, definition=text))
    list(said(asked, answer, parts(asked)[1].axes))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["3.1b", "3.2"]), st.integers(0, 2**32))
def test_drawn_sizes_suit_every_assumption(id: str, seed: int) -> None:
    spec, count = parts(question(id))
    drawn = count.ordinary(Random(seed))
    for combination in count.combinations(spec.combine):
        assert sum(combination.exact_at(values) for values in drawn) >= 3
    assert any(v["L_q"] < v["L_kv"] for v in drawn) and any(v["L_q"] > v["L_kv"] for v in drawn)
    assert sum(v["L_q"] == v["L_kv"] for v in drawn) >= 2


def test_symbols_are_the_packs() -> None:
    assert {name for id in IDS for name in plain(id).total.variables()} == {
        name for id in IDS for name in symbols_of(id)
    }
    assert symbol("B") * 2 == symbol("B") + symbol("B")


# --- The stand-in is held to the real thing ----------------------------------------------------------------------


@pytest.fixture
def real_slot() -> Iterator[Callable[[Job], Observation]]:
    with Slot(allow_reduced=True) as slot:
        yield slot.run


def test_the_real_sandbox_gives_the_verdicts_of_the_stand_in(real_slot: Callable[[Job], Observation]) -> None:
    for id in IDS:
        for text in (source(id, code(plain(id).total)), source(id, "0"), source(id, "1.5"), source(id, "None")):
            assert grade(id, text, run=real_slot).state is grade(id, text).state


@pytest.mark.parametrize(
    ("inside", "expression"),
    [
        ("    import torch\n", "2 * torch.zeros(B, H, L_q, L_kv).numel() * D_h"),
        ("    for i in range(L_q):\n        print('row', i, 'of the scores')\n", "2*B*H*L_q*L_kv*D_h"),
    ],
    ids=["memory", "output"],
)
def test_too_much_memory_or_output_at_large_sizes_costs_nothing(
    real_slot: Callable[[Job], Observation], inside: str, expression: str
) -> None:
    verdict = grade("3.1b", source("3.1b", expression, inside=inside), run=real_slot)
    assert (verdict.state, verdict.points) == (State.PASSED, verdict.out_of), said_in(verdict)
    assert Hidden.LARGE_UNSEEN in verdict.remarks


# --- The pack's own samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", sorted((PACK / "samples").glob("formula-*")), ids=lambda folder: folder.name)
def test_the_samples_of_the_pack_get_what_they_expect(folder: Path) -> None:
    expected = yaml.safe_load((folder / "expect.yaml").read_text())
    answers = reading.read(folder / "answers.py", "answers.py", outline.read(PACK).wanted())
    for answer in answers.answers:
        if answer.question in expected:
            asked = question(answer.question)
            answer = formula.read(asked, answer)
            ran = [(job, DirectRun()(job)) for job in formula.plan(asked, answer, SEED)]
            verdict = formula.judge(asked, answer, ran, True)
            got = {"points": verdict.points, "state": verdict.state.value, "review": verdict.needs_review is not None}
            wanted = expected[answer.question]
            assert got == {**wanted, "points": Decimal(wanted["points"])}, said_in(verdict)


def test_questions_of_a_pack_share_a_module_and_its_faults_are_told(tmp_path: Path) -> None:
    mac, io = (parts(question(id))[1].axes for id in ("3.1b", "3.2"))
    assert mac[0] in io and any(mac[0] is axis for axis in io), "loaded once"
    folder = tmp_path / "lab"
    shutil.copytree(PACK, folder)
    (folder / "hidden" / "_assumptions.py").write_text("raise ValueError('half written')\n")
    with pytest.raises(outline.PackError, match=r"hidden/_assumptions\.py raises ValueError: half written"):
        pack.load(folder)


def test_work_stays_bounded_whatever_comments_announce(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Combination] = []
    of = Slips.of

    def counted(slips: Slips, base: Combination) -> list[Slip]:
        tried.append(base)
        return of(slips, base)

    monkeypatch.setattr(Slips, "of", counted)
    comments = "# Norms are counted. RoPE is counted. Causal attention. GQA.\n"  # fits 36 combinations
    grade("bonus-3.1", source("bonus-3.1", "B*L_q*D*7 + 1", comments))
    assert 9 <= len(tried) <= 20
