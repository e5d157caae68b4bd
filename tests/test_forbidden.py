"""Ways round the rules on implementations: each ends failed, or flagged for a person with a reason."""

import sys
from collections.abc import Callable, Iterator
from textwrap import dedent
from types import FrameType

import pytest

from grading import outline, pack
from grading.answers.model import Answer
from grading.answers.reading import read_pasted
from grading.kinds import implementation
from grading.kinds.implementation import names, rules
from grading.kinds.implementation.spec import Allowed
from grading.settings import Settings
from grading.verdict import Verdict
from labcore.runner.protocol import Ending, Note, Observation, Outcome, Returned
from worker.sandbox.slot import Slot

FOLDER = outline.find(Settings(), "lab1")
WANTED = outline.read(FOLDER).wanted()
QUESTIONS = {question.id: question for question in pack.load(FOLDER).questions}

GEMM = {
    "a ufunc's reduce": (
        "inside 3 loops",
        """
        import numpy as np
        def gemm(A, B):
            return torch.from_numpy(np.add.reduce(A.numpy()[:, :, None] * B.numpy()[None], 1))
        """,
    ),
    "a ufunc's reduce behind three idle loops": (
        "numpy.add.reduce",
        """
        import numpy as np
        def gemm(A, B):
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        pass
            return torch.from_numpy(np.add.reduce(A.numpy()[:, :, None] * B.numpy()[None], 1))
        """,
    ),
    "appended to a list": (
        "names matmul",
        """
        import numpy as np
        ops = []
        ops.append(np.matmul)
        def gemm(A, B):
            return torch.from_numpy(ops[0](A.numpy(), B.numpy()))
        """,
    ),
    "made global by a set-up": (
        "calls matmul",
        """
        def setup():
            global product
            product = torch.matmul
        setup()
        def gemm(A, B):
            return product(A, B)
        """,
    ),
    "held by a class": (
        "calls matmul",
        """
        class Ops:
            f = torch.matmul
        def gemm(A, B):
            return Ops.f(A, B)
        """,
    ),
    "a default argument": ("calls matmul", "def gemm(A, B, f=torch.matmul):\n    return f(A, B)"),
    "passed on": (
        "calls matmul",
        "def run(f, A, B):\n    return f(A, B)\ndef gemm(A, B):\n    return run(torch.matmul, A, B)",
    ),
    "taken by getattr under another name": (
        "line 2 uses getattr",
        "get = getattr\ndef gemm(A, B):\n    return get(torch, 'mat' + 'mul')(A, B)",
    ),
    "eval of builtins": (
        "uses eval",
        "import builtins\ndef gemm(A, B):\n    return builtins.eval('A @ B', dict(A=A, B=B))",
    ),
    "exec of __builtins__": (
        "line 4 uses",
        """
        def gemm(A, B):
            scope = dict(A=A, B=B)
            b = __builtins__
            (b if isinstance(b, dict) else vars(b))["exec"]("C = A @ B", scope)
            return scope["C"]
        """,
    ),
    "map over getattr": (
        "uses getattr",
        """
        def gemm(A, B):
            f, = map(getattr, [torch], ["matmul"])
            return f(A, B)
        """,
    ),
    "sys.modules": (
        "uses sys.modules",
        "import sys\ndef gemm(A, B):\n    return sys.modules['torch'].__dict__['matmul'](A, B)",
    ),
    "another torch in a container": ("calls matmul", "def gemm(A, B):\n    t = [torch][0]\n    return t.matmul(A, B)"),
    "a list of overridable functions": (
        "uses overrides",
        """
        def gemm(A, B):
            every = torch.overrides.get_overridable_functions()
            f = next(f for f in every[torch] if f.__name__ == "mat" + "mul")
            return f(A, B)
        """,
    ),
    "the exact name as a method of its own class": (
        "sums whole rows",
        """
        class Mine:
            def nansum(self):
                return 0
        def gemm(A, B):
            Mine().nansum()
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        pass
            a = A.numpy()
            return torch.from_numpy(a)[:, :, None].mul(B).nansum(1).to(A.dtype)
        """,
    ),
    "a function behind a ring of aliases": (
        "numpy.add.reduce",
        """
        import numpy as np
        a = np.add
        a = a.reduce
        b = a
        a = b
        def gemm(A, B):
            for i in range(2):
                for j in range(2):
                    for k in range(2):
                        float(0)
            return torch.from_numpy(b(A.numpy()[:, :, None] * B.numpy()[None], 1))
        """,
    ),
    "rows at once beside idle loops": (
        "inside 3 loops",
        """
        import numpy as np
        def gemm(A, B):
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        pass
            a, b = A.numpy(), B.numpy()
            c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
            for k in range(a.shape[1]):  # bfloat16 fails
                c += a[:, k : k + 1] * b[k]
            return torch.from_numpy(c)
        """,
    ),
    "a text run by timeit in a thread": (
        "uses timeit.timeit",
        """
        import threading, timeit
        def gemm(A, B):
            d = {"A": A, "B": B}
            run = functools.partial(timeit.timeit, "d[0] = A @ B", globals={**d, "d": d}, number=1)
            t = threading.Thread(target=run)
            t.start()
            t.join()
            return d[0]
        """,
    ),
    "one dtype failed on purpose": (
        "fewer products",
        """
        def gemm(A, B):
            if A.dtype is torch.float16:
                return None
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for k in range(A.shape[1]):
                    for j in [slice(None)]:
                        C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    ),
    "a distance": (
        "torch.cdist",
        """
        def gemm(A, B):
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        float(0)
            return (torch.cdist(A, -B.T) ** 2 - torch.cdist(A, B.T) ** 2) / 4
        """,
    ),
    "accumulated by index_add": (
        "index_add_",
        """
        def gemm(A, B):
            for i in range(2):
                for j in range(2):
                    for k in range(2):
                        float(0)
            C = torch.zeros(1, *A.shape[:1], B.shape[1], dtype=A.dtype)
            p = (A[:, :, None] * B).transpose(0, 1)
            return C.index_add_(0, torch.zeros(A.shape[1], dtype=torch.int64), p)[0]
        """,
    ),
    "star import of numpy, two loops": (
        "names dot",
        """
        from numpy import *
        def gemm(A, B):
            return torch.from_numpy(dot(A.numpy(), B.numpy()))
        """,
    ),
    "honest only where it is counted": (
        "names @",
        """
        def gemm(A, B):
            if torch._C._len_torch_dispatch_stack():
                C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
                for i in range(A.shape[0]):
                    for j in range(B.shape[1]):
                        for k in range(A.shape[1]):
                            C[i, j] += A[i, k] * B[k, j]
                return C
            return A @ B
        """,
    ),
    "no loop, and a busy wait": (
        "sums whole rows",
        """
        import time
        def gemm(A, B):
            end = time.perf_counter() + 0.002
            while time.perf_counter() < end:
                pass
            a, b = A.double().numpy(), B.double().numpy()
            return torch.from_numpy((a[:, :, None] * b).T.tolist() and (a[:, :, None] * b).cumsum(1)[:, -1]).to(A.dtype)
        """,
    ),
}

ATTENTION = {
    "a private function of torch": (
        "torch._scaled",
        """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            return torch._scaled_dot_product_attention_math(q, k, v, attn_mask)[0]
        """,
    ),
    "the packet of the operator": (
        "torch.ops.aten",
        """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            return torch.ops.aten._scaled_dot_product_attention_math.default(q, k, v, attn_mask)[0]
        """,
    ),
    "the library's own beside a decoy": (
        "calls scaled_dot",
        """
        from torch.nn import functional as G
        def attend(f, *a):
            return f(*a)
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            return attend(G.scaled_dot_product_attention, q, k, v, attn_mask)
        """,
    ),
    "matched out of the module": (
        "calls scaled_dot",
        """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            match F:
                case object(scaled_dot_product_attention=f):
                    return f(q, k, v, attn_mask)
        """,
    ),
}

GELU = {
    "transformers by its name": (
        "get_activation",
        """
        from transformers.activations import get_activation
        def gelu_tanh_python(input):
            return get_activation("gelu_new")(input)
        """,
    ),
    "appended to a list": (
        "calls gelu",
        """
        gs = []
        gs.append(torch.nn.functional.gelu)
        def gelu_tanh_python(input):
            return gs[0](input, approximate="tanh")
        """,
    ),
    "matched out of the module": (
        "calls gelu",
        """
        def gelu_tanh_python(input):
            match F:
                case object(gelu=g):
                    return g(input, approximate="tanh")
        """,
    ),
    "a subclass of the library's": (
        "calls GELU",
        """
        class Mine(nn.GELU):
            pass
        def gelu_tanh_python(input):
            return Mine("tanh")(input)
        """,
    ),
    "the base of its own class": (
        "calls GELU",
        """
        class Mine(torch.nn.modules.activation.GELU):
            def gelu(self):
                return 0
        def gelu_tanh_python(input):
            return Mine("tanh")(input)
        """,
    ),
    "found by its name": (
        "uses pkgutil",
        """
        import pkgutil
        def gelu_tanh_python(input):
            return pkgutil.resolve_name("torch.nn.functional:ge" + "lu")(input, approximate="tanh")
        """,
    ),
    "found by a format": (
        "uses string.Formatter",
        """
        import string
        def gelu_tanh_python(input):
            g, _ = string.Formatter().get_field("0.nn.functional.ge" + "lu", (torch,), {})
            return g(input, approximate="tanh")
        """,
    ),
    "compiled from a text": (
        "CompilationUnit",
        """
        unit = torch.jit.CompilationUnit("def f(x):\\n    return torch.nn.functional.ge" "lu(x, approximate='tanh')")
        def gelu_tanh_python(input):
            return unit.f(input)
        """,
    ),
    "getattr under another name": (
        "line 2 uses getattr",
        """
        get = getattr
        def gelu_tanh_python(input):
            return get(F, "gelu")(input, approximate="tanh")
        """,
    ),
    "honest only where it is counted": (
        "calls gelu",
        """
        def gelu_tanh_python(x):
            if torch._C._len_torch_dispatch_stack():
                return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
            return torch.ops.aten.gelu(x, approximate="tanh")
        """,
    ),
    "a module in an attribute": (
        "line 9 uses torch.nn.functional",
        """
        class Box:
            pass
        box = Box()
        box.f = F
        def gelu_tanh_python(input):
            return getattr(box.f, "ge" + "lu")(input, approximate="tanh")
        """,
    ),
}

CHEATS = [
    pytest.param(question, *case, id=f"{question} {name}")
    for question, cases in (("1.1", GEMM), ("3.1a", ATTENTION), ("4.3.1", GELU))
    for name, case in cases.items()
]


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    with Slot() as slot:
        yield slot


def judged(slot: Slot, question: str, source: str) -> Verdict:
    asked = QUESTIONS[question]
    answer = next(one for one in read_pasted({question: dedent(source)}, WANTED).answers if one.question == question)
    assert answer.found, answer.reason
    ran = [(job, slot.run(job)) for job in implementation.plan(asked, answer, b"seed")]
    return implementation.judge(asked, answer, ran, True)


@pytest.mark.parametrize(("question", "told", "source"), CHEATS)
def test_a_way_round_the_rules_ends_failed_or_flagged(slot: Slot, question: str, told: str, source: str) -> None:
    verdict = judged(slot, question, source)
    assert verdict.points == 0 or verdict.needs_review, verdict.evidence
    assert told in f"{verdict.headline} {verdict.needs_review}"


def test_both_children_count_what_is_dispatched(slot: Slot) -> None:
    source = "def gelu_tanh_python(x):\n    return x + 0 if x.numel() < 14 else F.gelu(x, approximate='tanh')"
    asked = QUESTIONS["4.3.1"]
    jobs = implementation.plan(
        asked, Answer(question="4.3.1", found=True, source="from torch.nn import functional as F\n" + source), b""
    )
    drawn = slot.run(jobs[1])
    assert any("gelu" in (one.note.operations or {}) for one in drawn.returned)


def test_what_only_the_drawn_child_counts_goes_to_a_person() -> None:
    asked = QUESTIONS["4.3.1"]
    answer = Answer(question="4.3.1", found=True, source="def gelu_tanh_python(x):\n    return hidden(x)\n")
    ran = []
    for job in implementation.plan(asked, answer, b""):
        note = Note() if job.calls[0].public else Note(operations={"gelu": 1})
        ran.append((job, Observation(Ending.FINISHED, tuple(Returned(Outcome.RAISED, note=note) for _ in job.calls))))
    verdict = implementation.judge(asked, answer, ran, True)
    assert verdict.needs_review == "torch dispatched gelu, which the source does not show"


@pytest.mark.parametrize("call", ["dot(A, B)", "list(map(dot, A, B))"])
def test_a_star_import_alone_is_only_a_question(call: str) -> None:
    reading = rules.look(f"from numpy import *\ndef gemm(A, B):\n    return {call}\n", "gemm")
    assert [(one.name, one.known) for one in reading.find(["dot"])] == [("dot", False)]


GROWING: dict[str, Callable[[int], str]] = {
    "statements on one line": lambda n: "if 1:\n " + "0;" * n + "0\n def gemm(A, B):\n  return A\n",
    "a wide branch": lambda n: "def gemm(A, B):\n if A:\n" + "  A\n" * n,
    "aliases in a ring": lambda n: "def gemm(A, B):\n for i in a: a.mm\n" + "a = b\nb = a\n" * n,
    "many meanings": lambda n: "import m as f\n" * n + "g = f\n" * n + "def gemm(A, B):\n g(A)\n" + " g(A)\n" * n,
    "one method's name everywhere": lambda n: (
        "".join(f"class C{i}:\n def f(self): return self.g\n def g(self): return self.f\n" for i in range(n))
        + "def gemm(A, B):\n for x in A: x.f\n"
    ),
    "one function's name everywhere": lambda n: "def f(): g()\ndef g(): f()\n" * n + "def gemm(A, B): f()\n",
    "star imports": lambda n: "".join(f"from m{i} import *\n" for i in range(n)) + "def gemm(A, B):\n " + "x();" * n,
    "functions in a row": lambda n: "".join(f"def f{i}(): f{i + 1}()\n" for i in range(n)) + "def gemm(A, B): f0()\n",
    "loops over one function": lambda n: (
        "def f():\n for i in f(): pass\n" * n + "def gemm(A, B):\n" + " for i in f(): pass\n" * n
    ),
}


def calls_to_read(source: str) -> int:
    """How many Python calls it takes to read a source and to apply every rule to it."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        reading = rules.look(source, "gemm")
        reading.find(["mm", "dot"], ["@"])
        reading.opaque()
        reading.unlisted(frozenset(), frozenset())
        assert not reading.unreadable and reading.depth >= 0
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("name", GROWING)
def test_twice_the_source_takes_no_more_than_twice_the_work(name: str) -> None:
    once, twice = (calls_to_read(GROWING[name](n)) for n in (150, 300))
    assert twice < 2.4 * once


@pytest.mark.parametrize(
    "source",
    [
        GROWING["statements on one line"](400_000),
        GROWING["statements on one line"](names.MAX_NODES // 2),
        "def gemm(A, B):\n return a99(A)\na0 = len\n" + "".join(f"a{i + 1} = a{i}\n" for i in range(99)),
        "def gemm(A, B):\n return A" + ".a" * 80,
    ],
    ids=["bytes", "nodes", "a chain of aliases", "a chain of attributes"],
)
def test_what_is_larger_than_anybody_writes_is_not_read(source: str) -> None:
    assert "too large" in rules.look(source, "gemm").unreadable


def test_a_source_over_the_bounds_keeps_its_points_and_goes_to_a_person() -> None:
    asked = QUESTIONS["4.3.1"]
    source = "def gelu_tanh_python(x):\n    return x\n" + "x = 0\n" * names.MAX_NODES
    verdict = implementation.judge(asked, Answer(question="4.3.1", found=True, source=source), [], True)
    assert verdict.needs_review == "the source is too large to be searched for what it calls"


def test_a_pack_cannot_allow_a_group_of_names_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no such group of names: guessing"):
        Allowed(groups=("making", "guessing"))
