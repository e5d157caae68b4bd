"""Implementations: honest spellings are not accused, slips are named, cheats are told why, cases stay hidden.

Answers run in the real sandbox, with the questions of the shipped pack.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading import grader, pack
from grading.answers.model import Answer
from grading.kinds import implementation
from grading.kinds.contract import Question
from grading.kinds.implementation import rules
from grading.kinds.implementation.judging import ADVICE_ON_DEVICES, Reason
from grading.verdict import State, Verdict
from labcore.runner.protocol import Ending, Note, Observation, Outcome, Returned, value_bytes
from worker.sandbox.slot import Slot

FOLDER = Path(grader.__file__).parent / "packs" / "lab1"
QUESTIONS = {question.id: question for question in pack.load(FOLDER).questions}
REASONS = {"", *Reason}

GEMM, ATTENTION, GELU = "1.1", "3.1a", "4.3.1"
HEAD = (
    "import math, itertools\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
)


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    with Slot() as slot:
        yield slot


def judged(slot: Slot, question: str, source: str, seed: bytes = b"seed", explain: bool = True) -> Verdict:
    asked = QUESTIONS[question]
    answer = Answer(question=question, found=True, source=HEAD + dedent(source).strip() + "\n")
    ran = [(job, slot.run(job)) for job in implementation.plan(asked, answer, seed)]
    return implementation.judge(asked, answer, ran, explain)


HONEST = {
    "gemm, indices": (
        GEMM,
        """
        def gemm(A, B):
            N, K = A.shape
            M = B.shape[1]
            C = torch.zeros((N, M), dtype=A.dtype, device=A.device)
            for i in range(N):
                for j in range(M):
                    for k in range(K):
                        C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    ),
    "gemm, a sum of its own": (
        GEMM,
        """
        def gemm(A, B):
            C = A.new_zeros(A.size(0), B.size(1))
            for i in range(A.size(0)):
                for j in range(B.size(1)):
                    acc = 0
                    for k in range(A.size(1)):
                        acc = acc + A[i][k] * B[k][j]
                    C[i][j] = acc
            return C
        """,
    ),
    "gemm, product of ranges": (
        GEMM,
        """
        def gemm(A, B):
            (N, K), (_, M) = A.shape, B.shape
            C = torch.zeros(N, M).to(A)
            for i, j, k in itertools.product(range(N), range(M), range(K)):
                C[i, j] = C[i, j] + torch.mul(A[i, k], B[k, j])
            return C
        """,
    ),
    "gemm, plain numbers": (
        GEMM,
        """
        def gemm(A, B):
            a, b = A.tolist(), B.tolist()
            out = [[sum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(B.shape[1])] for i in range(len(a))]
            return torch.tensor(out, dtype=A.dtype).reshape(A.shape[0], B.shape[1])
        """,
    ),
    "gemm, items and while": (
        GEMM,
        """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            i = 0
            while i < A.shape[0]:
                for j in range(B.shape[1]):
                    total = 0
                    for k in range(A.shape[1]):
                        total += A[i, k].item() * B[k, j].item()
                    C[i, j] = total
                i += 1
            return C
        """,
    ),
    "gemm, helper named dot": (
        GEMM,
        """
        class Loops:
            def dot(self, row, column):
                total = row.new_zeros(())
                for x, y in zip(row, column):
                    total += x * y
                return total

        def gemm(A, B):
            loops = Loops()
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    C[i, j] = loops.dot(A[i], B[:, j])
            return C
        """,
    ),
    "gemm, another order, zeros skipped": (
        GEMM,
        """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for k in range(A.shape[1]):
                for i in range(A.shape[0]):
                    if A[i, k] == 0:
                        continue
                    for j in range(B.shape[1]):
                        C[i, j] += A[i, k] * B[k, j]
            return C

        def compared(A, B):
            return torch.allclose(gemm(A, B), A @ B) and torch.allclose(gemm(A, B), torch.matmul(A, B))
        """,
    ),
    "gemm, a function inside": (
        GEMM,
        """
        def gemm(A, B):
            def one(i, j):
                total = 0
                for k in range(A.shape[1]):
                    total += A[i, k] * B[k, j]
                return total
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    C[i, j] = one(i, j)
            return C
        """,
    ),
    "attention, operators": (
        ATTENTION,
        """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            s = (q @ k.mT) / q.shape[-1] ** 0.5
            if attn_mask is not None:
                s = torch.where(attn_mask, s, float("-inf")) if attn_mask.dtype is torch.bool else s + attn_mask
            return s.softmax(-1) @ v
        """,
    ),
    "attention, einsum and own softmax": (
        ATTENTION,
        """
        def softmax(x):
            e = (x - x.amax(-1, keepdim=True)).exp()
            return e / e.sum(-1, keepdim=True)

        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            s = torch.einsum("bhqd,bhkd->bhqk", q, k) * (1 / math.sqrt(q.size(-1)))
            if attn_mask is not None:
                if attn_mask.dtype == torch.bool:
                    attn_mask = torch.zeros(attn_mask.shape).masked_fill(attn_mask.logical_not(), -1e9)
                s = s + attn_mask
            return torch.einsum("bhqk,bhkd->bhqd", softmax(s), v)
        """,
    ),
    "attention, queries scaled and bmm": (
        ATTENTION,
        """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            B, H, L, D = q.shape
            S = k.shape[2]
            q = (q / math.sqrt(D)).reshape(B * H, L, D)
            s = torch.bmm(q, k.reshape(B * H, S, D).transpose(1, 2)).reshape(B, H, L, S)
            if attn_mask is not None:
                bias = torch.zeros_like(s)
                if attn_mask.dtype == torch.bool:
                    bias = bias.masked_fill(~attn_mask, -torch.inf)
                else:
                    bias = bias + attn_mask
                s += bias
            p = torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))
            return torch.bmm(p.reshape(B * H, L, S), v.reshape(B * H, S, D)).reshape(B, H, L, D)
        """,
    ),
    "attention, loop over heads": (
        ATTENTION,
        """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            out = torch.empty_like(q)
            for b in range(q.shape[0]):
                for h in range(q.shape[1]):
                    s = torch.mm(q[b, h], k[b, h].T).div(math.sqrt(q.shape[3]))
                    if attn_mask is not None:
                        m = attn_mask.expand(q.shape[0], q.shape[1], *s.shape)[b, h]
                        s = s.masked_fill(m == False, -float("inf")) if m.dtype == torch.bool else s + m
                    out[b, h] = F.softmax(s, dim=1).mm(v[b, h])
            return out
        """,
    ),
    "gelu, as written": (
        GELU,
        """
        def gelu_tanh_python(input):
            return 0.5 * input * (1 + torch.tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input ** 3)))
        """,
    ),
    "gelu, short constant": (
        GELU,
        """
        def gelu_tanh_python(x):
            return 0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * torch.pow(x, 3.0))))
        """,
    ),
    "gelu, factored": (
        GELU,
        """
        def gelu_tanh_python(x):
            return x * 0.5 * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))
        """,
    ),
    "gelu, constants in a tensor": (
        GELU,
        """
        def gelu_tanh_python(x):
            c = torch.sqrt(torch.tensor(2.0) / torch.pi)
            return torch.mul(torch.mul(x, 0.5), torch.add(torch.tanh(c * (x + 0.044715 * x.pow(3))), 1))
        """,
    ),
    "gelu, computed wide": (
        GELU,
        """
        def gelu_tanh_python(x):
            y = x.double()
            return (0.5 * y * (1 + torch.tanh((2 / math.pi) ** 0.5 * (y + 0.044715 * y**3)))).to(x.dtype)
        """,
    ),
    "gelu, in place on a copy": (
        GELU,
        """
        def gelu_tanh_python(x):
            y = x.clone()
            y.pow_(3).mul_(0.044715).add_(x).mul_(math.sqrt(2 / math.pi)).tanh_().add_(1)
            return y.mul_(x).mul_(0.5)
        """,
    ),
    "gelu, a module of its own": (
        GELU,
        """
        class GELU(nn.Module):
            def forward(self, x):
                return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

        def gelu(x):
            return GELU()(x)

        gelu_tanh_python = gelu
        """,
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_spelling_gets_all_points_and_is_not_accused(slot: Slot, name: str) -> None:
    question, source = HONEST[name]
    for seed in (b"one", b"two"):
        verdict = judged(slot, question, source, seed)
        assert (verdict.state, verdict.points) == (State.PASSED, verdict.out_of), (verdict.headline, verdict.evidence)
        assert verdict.needs_review is None


REFUSED = {
    "operator": (GEMM, "def gemm(A, B):\n    return A @ B", "`return A @ B`"),
    "operator, in a helper": (GEMM, "def f(A, B):\n    return A @ B\ndef gemm(A, B):\n    return f(A, B)", "line 7"),
    "method": (GEMM, "def gemm(A, B):\n    return A.mm(B)", "mm"),
    "function": (GEMM, "def gemm(A, B):\n    return torch.matmul(A, B)", "matmul"),
    "renamed import": (GEMM, "from torch import matmul as f\ndef gemm(A, B):\n    return f(A, B)", "matmul"),
    "alias of a module": (GEMM, "import torch as t\ndef gemm(A, B):\n    return t.einsum('nk,km->nm', A, B)", "einsum"),
    "alias of a function": (GEMM, "p = torch.mm\ndef gemm(A, B):\n    return p(A, B)", "mm"),
    "star import": (GEMM, "from torch import *\ndef gemm(A, B):\n    return matmul(A, B)", "matmul"),
    "numpy": (GEMM, "def gemm(A, B):\n    return torch.from_numpy(np.dot(A.numpy(), B.numpy()))", "dot"),
    "two loops and a dot": (
        GEMM,
        """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    C[i, j] = torch.dot(A[i], B[:, j])
            return C
        """,
        "dot",
    ),
    "lambda": (GEMM, "gemm = lambda A, B: A.__matmul__(B)", "__matmul__"),
    "behind a condition": (GEMM, "def gemm(A, B):\n    if A.numel():\n        return A @ B\n    return A @ B", "@"),
    "attention": (
        ATTENTION,
        "def scaled_dot_product_attention(q, k, v, attn_mask=None):\n"
        "    return F.scaled_dot_product_attention(q, k, v, attn_mask)",
        "from scratch",
    ),
    "gelu": (GELU, "def gelu_tanh_python(x):\n    return F.gelu(x, approximate='tanh')", "gelu"),
    "gelu module": (GELU, "act = nn.GELU(approximate='tanh')\ndef gelu_tanh_python(x):\n    return act(x)", "GELU"),
    "gelu by its constant name": (
        GELU,
        "def gelu_tanh_python(x):\n    return getattr(F, 'gelu')(x, approximate='tanh')",
        "gelu",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_library_call_in_place_of_the_work_gets_nothing_and_is_told_where(slot: Slot, name: str) -> None:
    question, source, told = REFUSED[name]
    verdict = judged(slot, question, source)
    assert (verdict.state, verdict.points) == (State.FAILED, Decimal(0))
    assert told.lower() in verdict.headline.lower()
    assert verdict.headline.startswith("Line ")
    assert verdict.diagnosis is not None and verdict.diagnosis.code.startswith("forbidden: ")


FLAGGED = {
    "numpy in a helper": (
        GEMM,
        """
        def product(a, b):
            return torch.from_numpy(np.dot(a, b))

        def gemm(A, B):
            if A.dtype == torch.bfloat16:
                return product(A.float().numpy(), B.float().numpy()).to(A.dtype)
            return product(A.numpy(), B.numpy())
        """,
        "not seen to run",
    ),
    "name put together": (GEMM, "def gemm(A, B):\n    return getattr(torch, 'mat' + 'mul')(A, B)", "getattr"),
    "exec": (
        GEMM,
        "def gemm(A, B):\n    scope = dict(A=A, B=B)\n    exec('C = A @ B', scope)\n    return scope['C']",
        "exec",
    ),
    "broadcasting": (GEMM, "def gemm(A, B):\n    return (A[:, :, None] * B).sum(1).to(A.dtype)", "sums whole rows"),
    "two loops and a sum": (
        GEMM,
        """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    C[i, j] = torch.sum(A[i] * B[:, j])
            return C
        """,
        "sums whole rows",
    ),
    "two loops over rows": (
        GEMM,
        """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for k in range(A.shape[1]):
                    C[i] += A[i, k] * B[k]
            return C
        """,
        "fewer products",
    ),
    "named where it does not run": (
        GEMM,
        """
        def gemm(A, B):
            if A.device.type == "cuda":
                return A @ B
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        C[i, j] += A[i, k] * B[k, j]
            return C
        """,
        "not seen to run",
    ),
    "checked against the library inside": (
        GEMM,
        """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        C[i, j] += A[i, k] * B[k, j]
            assert (C - A @ B).abs().max() < 1 if C.is_floating_point() and C.numel() else True
            return C
        """,
        "line",
    ),
    "sigmoid identity": (
        GELU,
        "def gelu_tanh_python(x):\n    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))",
        "exact",
    ),
}


@pytest.mark.parametrize("name", FLAGGED)
def test_what_is_only_suspicious_keeps_its_points_and_goes_to_a_person(slot: Slot, name: str) -> None:
    question, source, told = FLAGGED[name]
    verdict = judged(slot, question, source)
    assert (verdict.state, verdict.points) == (State.PASSED, verdict.out_of), verdict.headline
    assert verdict.needs_review is not None and told in verdict.needs_review


SLIPS = {
    "no scaling": (
        ATTENTION,
        "def scaled_dot_product_attention(q, k, v, attn_mask=None):\n    return (q @ k.mT).softmax(-1) @ v",
        "3",
    ),
    "softmax over queries": (
        ATTENTION,
        "def scaled_dot_product_attention(q, k, v, attn_mask=None):\n"
        "    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v",
        "0",
    ),
    "mask turned round": (
        ATTENTION,
        """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            s = q @ k.mT / q.shape[-1] ** 0.5
            if attn_mask is not None:
                s = s.masked_fill(attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else s + attn_mask
            return s.softmax(-1) @ v
        """,
        "5",
    ),
    "0.0447": (
        GELU,
        "def gelu_tanh_python(x):\n    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.0447 * x**3)))",
        "0",
    ),
    "the exact GeLU": (GELU, "def gelu_tanh_python(x):\n    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))", "0"),
    "only the last step kept": (
        GEMM,
        """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        C[i, j] = A[i, k] * B[k, j]
            return C
        """,
        "0",
    ),
}


@pytest.mark.parametrize("code", SLIPS)
def test_a_known_slip_is_named_unless_explanations_are_used_up(slot: Slot, code: str) -> None:
    question, source, points = SLIPS[code]
    verdict = judged(slot, question, source)
    assert verdict.diagnosis is not None and verdict.diagnosis.code == f"slip: {code}"
    assert verdict.explained
    assert verdict.points == Decimal(points)
    silent = judged(slot, question, source, explain=False)
    assert (silent.diagnosis, silent.explained, silent.points) == (None, False, verdict.points)
    assert verdict.diagnosis.text not in silent.model_dump_json()


PARTS = {
    "another dtype": (GEMM, "4", "dtype"),
    "overflow": (GELU, "2.5", "overflow"),
    "input changed": (GELU, "2.5", "changes its input"),
    "no mask taken": (ATTENTION, "5", "masks"),
    "strides refused": (GELU, "2.5", "strided"),
}
PART_SOURCES = {
    "another dtype": """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1])
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    "overflow": """
        def gelu_tanh_python(x):
            u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
            return 0.5 * x * (1 + (torch.exp(u) - torch.exp(-u)) / (torch.exp(u) + torch.exp(-u)))
        """,
    "input changed": """
        def gelu_tanh_python(x):
            y = 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
            if x.numel() and x.stride() and x.stride()[0] == 0:
                return x * y
            return x.mul_(y)
        """,
    "no mask taken": """
        def scaled_dot_product_attention(q, k, v):
            return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
        """,
    "strides refused": """
        def gelu_tanh_python(x):
            x = x.view(-1).view(x.shape)
            return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        """,
}


@pytest.mark.parametrize("name", PARTS)
def test_an_odd_input_costs_its_own_part_only_and_is_told(slot: Slot, name: str) -> None:
    question, points, told = PARTS[name]
    verdict = judged(slot, question, PART_SOURCES[name])
    assert (verdict.state, verdict.points) == (State.PARTIAL, Decimal(points)), verdict.evidence
    assert told in " ".join([verdict.headline, *verdict.remarks])


def test_a_result_that_shares_memory_with_its_input_is_named(slot: Slot) -> None:
    source = """
        def gelu_tanh_python(x):
            if x.numel() == 0:
                return x
            y = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
            return x.copy_(y) if x.is_contiguous() else y
        """
    verdict = judged(slot, GELU, source)
    assert verdict.state is State.PARTIAL
    assert any("changes its input" in remark for remark in verdict.remarks)
    aliased = judged(slot, GELU, "def gelu_tanh_python(x):\n    return x.view(x.shape)")
    assert any("shares its memory" in remark for remark in aliased.remarks)


def test_a_public_case_is_told_word_for_word(slot: Slot) -> None:
    verdict = judged(slot, GELU, "def gelu_tanh_python(x):\n    return x + missing")
    check = next(check for check in verdict.checks if check.public)
    assert check.text == "NameError: name 'missing' is not defined (line 7: `return x + missing`)"
    verdict = judged(slot, GELU, "def gelu_tanh_python(x):\n    return x.float() * 0")
    texts = [check.text for check in verdict.checks if check.public]
    assert texts[0] == "at index (0) it gives -0, not -0.158808; 2 of 3 elements are wrong"
    assert texts[2] == "it returns tensor float32 (13,), not tensor float64 (13,)"


def test_nothing_of_a_drawn_case_is_told_but_a_reason_of_the_closed_list(slot: Slot) -> None:
    source = """
        def gelu_tanh_python(x):
            if x.numel() > 13:
                raise RuntimeError("LEAK" + str(x.tolist()))
            return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        """
    verdict = judged(slot, GELU, source)
    assert verdict.state is State.FAILED
    assert all(check.text in REASONS for check in verdict.checks if not check.public)
    assert "LEAK" in str(verdict.evidence)
    assert "LEAK" not in verdict.model_copy(update={"evidence": {}}).model_dump_json()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os; os._exit(0)", Reason.STOPPED),
        ("raise SystemExit", Reason.RAISED),
        ("import ctypes; ctypes.string_at(0)", Reason.CRASHED),
        ("return torch.zeros(1 << 40)", Reason.RAISED),
        ("return x.tolist()", Reason.WRONG_TYPE),
        ("return x.sum()", Reason.WRONG_SHAPE),
        ("return x * float('nan')", Reason.NOT_FINITE),
    ],
)
def test_each_way_of_failing_has_its_own_reason(slot: Slot, body: str, reason: Reason) -> None:
    # The public cases pass, so that what is told comes from the drawn ones.
    source = f"""
        def gelu_tanh_python(x):
            if x.numel() < 14:
                return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))
            {body}
        """
    verdict = judged(slot, GELU, source)
    ordinary = next(check for check in verdict.checks if not check.public)
    assert (verdict.state, ordinary.text) == (State.FAILED, reason)
    assert str(reason) in verdict.headline


def test_running_out_of_time_is_told_once_and_what_came_before_stands() -> None:
    asked, answer = QUESTIONS[GELU], Answer(question=GELU, found=True)
    public, drawn = implementation.plan(asked, answer, b"seed")
    ran = [(public, Observation(Ending.TIMED_OUT, ())), (drawn, Observation(Ending.FINISHED, ()))]
    verdict = implementation.judge(asked, answer, ran, True)
    public_texts = [check.text for check in verdict.checks if check.public]
    assert public_texts == [Reason.TOO_SLOW] + [Reason.NOT_REACHED] * 3
    assert verdict.headline == "The public case “-1, 0, 1” fails: too slow."


@pytest.mark.parametrize(
    "source",
    [
        "def gelu_tanh_python(x):\n    return torch.zeros(x.shape, device='cuda')",
        "def gelu_tanh_python(x):\n    return x.cuda()",
        "def gelu_tanh_python(x):\n    return x.to(torch.device('cuda:0'))",
        "scale = torch.tensor(0.5).cuda()\ndef gelu_tanh_python(x):\n    return scale * x",
    ],
)
def test_an_answer_that_asks_for_a_gpu_is_told_that_it_is_graded_on_a_cpu(slot: Slot, source: str) -> None:
    verdict = judged(slot, GELU, source)
    assert verdict.state is State.FAILED
    assert verdict.remarks[0] == ADVICE_ON_DEVICES


def test_a_torch_that_knows_cuda_and_finds_no_driver_gives_the_same_advice() -> None:
    asked, answer = QUESTIONS[GELU], Answer(question=GELU, found=True)
    public, drawn = implementation.plan(asked, answer, b"seed")
    note = Note(error="RuntimeError", message="Found no NVIDIA driver on your system. Please check that you have one")
    raised = Observation(Ending.FINISHED, tuple(Returned(Outcome.RAISED, note=note) for _ in public.calls))
    silent = Observation(Ending.FINISHED, ())
    assert ADVICE_ON_DEVICES in implementation.judge(asked, answer, [(public, raised), (drawn, silent)], True).remarks
    hidden = [(public, silent), (drawn, raised)]
    assert ADVICE_ON_DEVICES not in implementation.judge(asked, answer, hidden, True).remarks


def test_an_answer_that_asks_first_whether_there_is_a_gpu_needs_no_advice(slot: Slot) -> None:
    source = """
        device = "cuda" if torch.cuda.is_available() else "cpu"
        def gelu_tanh_python(x):
            return (x + torch.zeros(1, dtype=x.dtype, device=device)) * 0
        """
    assert ADVICE_ON_DEVICES not in judged(slot, GELU, source).remarks


def test_code_that_does_not_load_says_so(slot: Slot) -> None:
    verdict = judged(slot, GELU, "scale = undefined_name\ndef gelu_tanh_python(x):\n    return x")
    assert verdict.headline == "Your code cannot be loaded: NameError: name 'undefined_name' is not defined."
    assert verdict.state is State.FAILED


@pytest.mark.parametrize("question", [GEMM, ATTENTION, GELU])
def test_worthless_results_get_nothing_and_the_reference_gets_everything_for_any_seed(question: str) -> None:
    for seed in range(6):
        assert implementation.unproved(QUESTIONS[question], str(seed).encode()) == []


@pytest.mark.parametrize("question", [GEMM, ATTENTION, GELU])
def test_equal_seeds_give_equal_jobs_and_others_other_inputs(question: str) -> None:
    asked, answer = QUESTIONS[question], Answer(question=question, found=True, source="pass")
    first, again, other = (implementation.plan(asked, answer, seed) for seed in (b"a", b"a", b"b"))
    assert first == again
    assert first[0] == other[0], "public cases are the same for everybody"
    drawn = {call.args for call in first[1].calls} & {call.args for call in other[1].calls}
    assert all(not argument.data for args in drawn for argument in args if argument is not None)  # type: ignore[union-attr]
    assert implementation.plan(asked, answer.model_copy(update={"found": False}), b"a") == []


def test_no_public_case_is_in_the_child_that_has_drawn_ones() -> None:
    for question in (GEMM, ATTENTION, GELU):
        public, drawn = implementation.plan(QUESTIONS[question], Answer(question=question, found=True), b"a")
        assert all(call.public for call in public.calls)
        assert not any(call.public for call in drawn.calls)


notes = st.builds(
    Note,
    error=st.text(max_size=5),
    message=st.text(max_size=5),
    line=st.none() | st.integers(1, 1_000_000),
    got=st.text(max_size=5),
    mutated=st.lists(st.integers(0, 63), max_size=3).map(tuple),
    aliased=st.lists(st.integers(0, 63), max_size=3).map(tuple),
    operations=st.none() | st.dictionaries(st.text(max_size=5) | st.just("mm"), st.integers(1, 1 << 52), max_size=3),
)
returneds = st.builds(
    Returned,
    outcome=st.sampled_from(Outcome),
    value=st.none() | st.integers() | st.binary(max_size=200),
    note=notes,
    seconds=st.none() | st.floats(0, 100),
)
observations = st.builds(
    Observation,
    ending=st.sampled_from(Ending),
    returned=st.lists(returneds, max_size=30).map(tuple),
    load=notes,
    output=st.text(max_size=10),
    seconds=st.floats(0, 100),
    signal=st.none() | st.integers(1, 64),
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([GEMM, ATTENTION, GELU]), st.tuples(observations, observations), st.text(max_size=40), st.booleans()
)
def test_judging_is_total_over_whatever_comes_back(
    question: str, seen: tuple[Observation, Observation], source: str, explain: bool
) -> None:
    asked = QUESTIONS[question]
    answer = Answer(question=question, found=True, source=source)
    jobs = implementation.plan(asked, answer, b"seed")
    verdict = implementation.judge(asked, answer, list(zip(jobs, seen, strict=True)), explain)
    assert verdict.headline
    assert 0 <= verdict.points <= verdict.out_of
    assert all(check.text in REASONS for check in verdict.checks if not check.public)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([GEMM, ATTENTION, GELU]), st.binary(min_size=1, max_size=64))
def test_arbitrary_bytes_of_the_right_length_get_nothing(question: str, pattern: bytes) -> None:
    asked: Question = QUESTIONS[question]
    answer = Answer(question=question, found=True)
    ran = []
    for job in implementation.plan(asked, answer, b"seed"):
        sizes = [value_bytes(call.wanted) for call in job.calls]
        values = [(pattern * (size // len(pattern) + 1))[:size] for size in sizes]
        ran.append((job, Observation(Ending.FINISHED, tuple(Returned(Outcome.RETURNED, one) for one in values))))
    assert implementation.judge(asked, answer, ran, True).points == 0


def test_no_result_at_all_is_no_pass() -> None:
    verdict = implementation.judge(QUESTIONS[GELU], Answer(question=GELU, found=True), [], True)
    assert (verdict.state, verdict.headline) == (State.FAILED, "No case was run.")


@pytest.mark.parametrize("source", ["(" * 5000, "def gemm(:", "x = '\ud800'", "-" * 100_000 + "1", "a" + ".a" * 50_000])
def test_hostile_source_is_read_without_an_exception(source: str) -> None:
    reading = rules.look(source, "gemm")
    assert reading.unreadable
