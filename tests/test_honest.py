"""Honest answers, as students write them, get all points and are not accused. The sandbox is the real one."""

from collections.abc import Iterator
from textwrap import dedent

import pytest

from grading import outline, pack
from grading.answers.reading import read_pasted
from grading.kinds import implementation
from grading.settings import Settings
from grading.verdict import State
from worker.sandbox.slot import Slot

FOLDER = outline.find(Settings(), "lab1")
WANTED = outline.read(FOLDER).wanted()
QUESTIONS = {question.id: question for question in pack.load(FOLDER).questions}

GEMM = {
    "names of a library's products as variables": """
        from numpy import *
        import torch

        def gemm(A, B):
            N, inner = A.shape
            outer = B.shape[1]
            C = torch.zeros(N, outer, dtype=A.dtype)
            for i in range(N):
                for j in range(outer):
                    dot = 0
                    for mm in range(inner):
                        dot += A[i, mm] * B[mm, j]
                    C[i, j] = dot
            return C
        """,
    "a loop variable and a parameter named as functions": """
        from torch import dot, einsum
        def one(matmul, einsum):
            total = 0
            for kron in range(len(matmul)):
                total = total + matmul[kron] * einsum[kron]
            return total
        def gemm(A, B):
            C = torch.empty(A.shape[0], B.shape[1], dtype=A.dtype)
            for mv in range(A.shape[0]):
                for dot in range(B.shape[1]):
                    C[mv, dot] = one(A[mv], B[:, dot])
            return C
        """,
    "an object's data named as functions": """
        class Sizes:
            def __init__(self, A, B):
                self.outer, self.inner = (A.shape[0], B.shape[1]), A.shape[1]
        def gemm(A, B):
            sizes = Sizes(A, B)
            C = torch.zeros(sizes.outer, dtype=A.dtype)
            for i in range(sizes.outer[0]):
                for j in range(sizes.outer[1]):
                    for k in range(sizes.inner):
                        C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    "methods that call each other": """
        class Product:
            def __init__(self, A, B):
                self.A, self.B = A, B
            def dot(self, i, j):
                total = 0
                for k in range(self.A.shape[1]):
                    total += self.A[i, k] * self.B[k, j]
                return total
            def row(self, i):
                return [self.dot(i, j) for j in range(self.B.shape[1])]
            def __call__(self):
                C = torch.zeros(self.A.shape[0], self.B.shape[1], dtype=self.A.dtype)
                for i in range(self.A.shape[0]):
                    for j, x in enumerate(self.row(i)):
                        C[i, j] = x
                return C
        def gemm(A, B):
            return Product(A, B)()
        """,
    "numpy and back": """
        import numpy as np
        def gemm(A, B):
            a, b = A.detach().cpu().to(torch.float64).numpy(), B.detach().cpu().to(torch.float64).numpy()
            N, K = a.shape
            M = b.shape[1]
            c = np.zeros((N, M), dtype=np.float64)
            for i in range(N):
                for j in range(M):
                    for k in range(K):
                        c[i, j] += a[i, k] * b[k, j]
            return torch.from_numpy(c).to(A.dtype).to(A.device)
        """,
    "checks before": """
        def gemm(A, B):
            assert isinstance(A, torch.Tensor) and isinstance(B, torch.Tensor), "tensors are wanted"
            assert A.dim() == 2 and B.ndim == 2
            if A.size(1) != B.size(0):
                raise ValueError(f"inner sizes differ: {A.shape} and {tuple(B.shape)}")
            if A.dtype != B.dtype or A.device != B.device:
                raise TypeError("dtype or device differ")
            C = torch.zeros((A.size(0), B.size(1)), dtype=A.dtype, device=A.device)
            for i in range(A.size(0)):
                for j in range(B.size(1)):
                    for k in range(A.size(1)):
                        C[i][j] += A[i][k] * B[k][j]
            return C
        """,
    "logging and warnings": """
        import logging, warnings, time
        log = logging.getLogger(__name__)
        def gemm(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
            begun = time.perf_counter()
            if A.numel() > 1_000_000:
                warnings.warn("this will take long")
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        C[i, j] += A[i, k] * B[k, j]
            log.info("took %s s", time.perf_counter() - begun)
            return C
        """,
    "recursion": """
        def total(row, column, k):
            if k == 0:
                return row.new_zeros(())
            return total(row, column, k - 1) + row[k - 1] * column[k - 1]
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    C[i, j] = total(A[i], B[:, j], A.shape[1])
            return C
        """,
    "a generator of indices": """
        def places(n, m, k):
            for i in range(n):
                for j in range(m):
                    for l in range(k):
                        yield i, j, l
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i, j, k in places(A.shape[0], B.shape[1], A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    "math.prod and one flat loop": """
        import math
        def gemm(A, B):
            N, K, M = *A.shape, B.shape[1]
            C = torch.zeros(N, M, dtype=A.dtype)
            if math.prod(C.shape) == 0:
                return C
            for t in range(N * M * K):
                i, rest = divmod(t, M * K)
                j, k = divmod(rest, K)
                C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    "product of ranges under another name": """
        from itertools import product as inner
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            every = inner(range(A.shape[0]), range(B.shape[1]), range(A.shape[1]))
            for i, j, k in every:
                C[i, j] += A[i, k] * B[k, j]
            return C
        """.replace("every = inner(", "every = itertools.product(").replace(
        "from itertools import product as inner", "import itertools"
    ),
    "ndindex": """
        import numpy as np
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i, j, k in np.ndindex(A.shape[0], B.shape[1], A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    "threads joined": """
        import threading
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            def row(i):
                for j in range(B.shape[1]):
                    acc = 0
                    for k in range(A.shape[1]):
                        acc += A[i, k].item() * B[k, j].item()
                    C[i, j] = acc
            threads = [threading.Thread(target=row, args=(i,)) for i in range(A.shape[0])]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return C
        """,
    "a cache that harms nobody": """
        from functools import lru_cache
        @lru_cache(maxsize=None)
        def places(n, m):
            return [(i, j) for i in range(n) for j in range(m)]
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i, j in places(A.shape[0], B.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    "words in comments and strings": '''
        def gemm(A, B):
            """Not by eval, exec or getattr(torch, "matmul"), nor a stream.

            >>> torch.allclose(gemm(A, B), A @ B)
            """
            # torch.matmul(A, B) and np.dot would be quicker; exec("A @ B") is not allowed
            note = "compile exec stream getattr torch.mm einsum __builtins__"
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        C[i, j] += A[i, k] * B[k, j]
            return C
        ''',
    "reduce and operator": """
        import operator
        from functools import reduce
        def gemm(A, B):
            a, b = A.tolist(), B.t().tolist()
            c = [[reduce(operator.add, map(operator.mul, row, column), 0) for column in b] for row in a]
            return torch.tensor(c, dtype=A.dtype).view(A.shape[0], B.shape[1])
        """,
    "a lambda for the inner loop": """
        def gemm(A, B):
            cell = lambda i, j: sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    C[i, j] = cell(i, j)
            return C
        """,
    "three while loops without gradients": """
        @torch.no_grad()
        def gemm(A, B):
            C = torch.zeros((A.shape[0], B.shape[1])).type_as(A)
            i = 0
            while i < A.shape[0]:
                j = 0
                while j < B.shape[1]:
                    k = 0
                    while k < A.shape[1]:
                        C[i, j].add_(A[i, k].mul(B[k, j]))
                        k += 1
                    j += 1
                i += 1
            return C
        """,
    "a cell made by partial": """
        from functools import partial
        def cell(A, B, i, j):
            return sum(a * b for a, b in zip(A[i], B[:, j]))
        def gemm(A, B):
            at = partial(cell, A, B)
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    C[i, j] = at(i, j)
            return C
        """,
    "rows in a pool": """
        from concurrent.futures import ThreadPoolExecutor
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            def row(i):
                for j in range(B.shape[1]):
                    C[i, j] = sum([float(A[i, k]) * float(B[k, j]) for k in range(A.shape[1])])
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(row, range(A.shape[0])))
            return C
        """,
    "a bar of progress that may be missing": """
        try:
            from tqdm import tqdm
        except ImportError:
            tqdm = lambda x: x
        def gemm(A, B):
            total = A.shape[0] * A.shape[1] * B.shape[1]
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for t in tqdm(range(total)):
                i, j, k = t // (A.shape[1] * B.shape[1]), t // A.shape[1] % B.shape[1], t % A.shape[1]
                C[i, j] += A[i, k] * B[k, j]
            return C
        """,
    "a check of its own beside it": """
        def gemm(A, B):
            C = torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
            for i in range(A.shape[0]):
                for j in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        C[i, j] += A[i, k] * B[k, j]
            return C
        A, B = torch.randn(3, 4), torch.randn(4, 5)
        assert torch.allclose(gemm(A, B), A @ B, atol=1e-5)
        print((gemm(A, B) - torch.matmul(A, B)).abs().max())
        """,
}

ATTENTION = {
    "softmax of torch, masked_fill": """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
            if attn_mask is not None:
                if attn_mask.dtype == torch.bool:
                    scores = scores.masked_fill(~attn_mask, float("-inf"))
                else:
                    scores = scores + attn_mask
            return torch.matmul(torch.softmax(scores, dim=-1), v)
        """,
    "F.softmax": """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            if attn_mask is not None and attn_mask.dtype is torch.bool:
                s.masked_fill_(attn_mask.logical_not(), -torch.inf)
            elif attn_mask is not None:
                s += attn_mask
            return F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype) @ v
        """,
    "nn.Softmax": """
        softmax = nn.Softmax(dim=-1)
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            s = q.matmul(k.mT).div(math.sqrt(k.shape[-1]))
            if attn_mask is not None:
                bias = torch.zeros_like(attn_mask, dtype=q.dtype)
                s = s + (bias.masked_fill(~attn_mask, torch.finfo(q.dtype).min) if attn_mask.dtype == torch.bool
                         else attn_mask)
            return softmax(s).matmul(v)
        """,
    "softmax by hand": """
        def softmax(x, dim=-1):
            x = x - x.max(dim=dim, keepdim=True).values
            e = torch.exp(x)
            return e / torch.sum(e, dim=dim, keepdim=True)
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            d_k = torch.tensor(q.shape[-1], dtype=q.dtype, device=q.device)
            scores = (q @ k.permute(0, 1, 3, 2)) / torch.sqrt(d_k)
            if attn_mask is not None:
                if attn_mask.dtype == torch.bool:
                    scores = torch.where(attn_mask, scores, torch.tensor(-torch.inf))
                else:
                    scores = scores + attn_mask.to(scores.dtype)
            return softmax(scores) @ v
        """,
    "a module of its own, dropout off": """
        class Attention(nn.Module):
            def __init__(self, dropout=0.0):
                super().__init__()
                self.dropout = nn.Dropout(dropout)
            def forward(self, q, k, v, mask=None):
                s = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1))
                if mask is not None:
                    s = s.masked_fill(mask == 0, float("-inf")) if mask.dtype == torch.bool else s.add(mask)
                return torch.einsum("...qk,...kd->...qd", self.dropout(s.softmax(-1)), v)
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            return Attention().eval()(q, k, v, attn_mask)
        """,
    "queries one by one": """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            rows = []
            for i in range(q.shape[-2]):
                s = (q[:, :, i : i + 1] * k).sum(-1) / q.shape[-1] ** 0.5
                if attn_mask is not None:
                    m = attn_mask.expand(*q.shape[:2], q.shape[2], k.shape[2])[:, :, i]
                    s = s.masked_fill(~m, -math.inf) if m.dtype == torch.bool else s + m
                rows.append((s.softmax(dim=-1).unsqueeze(-1) * v).sum(dim=-2))
            return torch.stack(rows, dim=-2)
        """,
    "log-softmax": """
        def scaled_dot_product_attention(query, key, value, attn_mask=None):
            gelu = 1 / math.sqrt(query.shape[-1])
            scores = torch.einsum("bhid,bhjd->bhij", query * gelu, key)
            if attn_mask is not None:
                scores = scores + (torch.log(attn_mask.float()) if attn_mask.dtype == torch.bool else attn_mask)
            return torch.einsum("bhij,bhjd->bhid", torch.log_softmax(scores, -1).exp(), value)
        """,
    "heads folded, device and dtype kept": """
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            device, dtype = q.device, q.dtype
            if q.is_cuda and not torch.cuda.is_available():
                raise RuntimeError("no GPU")
            B, H, L, D = q.shape
            flat = [x.contiguous().view(B * H, -1, D) for x in (q, k, v)]
            s = torch.bmm(flat[0], flat[1].transpose(1, 2)).view(B, H, L, -1) / torch.tensor(D, device=device).sqrt()
            if attn_mask is not None:
                m = attn_mask.to(device)
                s = s.masked_fill(torch.logical_not(m), float("-inf")) if m.dtype == torch.bool else s + m
            p = nn.functional.softmax(s, dim=-1).to(dtype)
            return torch.bmm(p.view(B * H, L, -1), flat[2]).view(B, H, L, D).contiguous()
        """,
    "a name imported and not used": """
        from torch.nn.functional import softmax, scaled_dot_product_attention as reference
        def scaled_dot_product_attention(q, k, v, attn_mask=None):
            s = q @ k.mT / q.shape[-1] ** 0.5
            if attn_mask is not None:
                s = s.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else s + attn_mask
            return softmax(s, -1) @ v
        def check(q, k, v):
            return torch.testing.assert_close(scaled_dot_product_attention(q, k, v), reference(q, k, v))
        """,
}

GELU = {
    "a star and a local named gelu": """
        from torch import *
        from torch.nn.functional import *
        def gelu_tanh_python(input):
            gelu = 0.5 * input * (1 + tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)))
            return gelu
        """,
    "torch.pow": """
        def gelu_tanh_python(input):
            return 0.5 * input * (1 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * torch.pow(input, 3))))
        """,
    "a product of three": """
        def gelu_tanh_python(x):
            inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
            return 0.5 * x * (1 + torch.tanh(inner))
        """,
    "functions throughout": """
        def gelu_tanh_python(input):
            cube = torch.mul(torch.mul(input, input), input)
            inner = torch.mul(torch.add(input, torch.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
            return torch.mul(torch.mul(input, 0.5), torch.add(torch.tanh(inner), 1.0))
        """,
    "addcmul and square": """
        def gelu_tanh_python(x):
            u = torch.addcmul(x, torch.square(x), x, value=0.044715)
            return (u * (2 / torch.pi) ** 0.5).tanh().add(1).mul(x).div(2)
        """,
    "numpy's constants": """
        import numpy as np
        def gelu_tanh_python(x):
            return 0.5 * x * (1 + torch.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * x**3)))
        """,
    "a tensor constant on the device": """
        def gelu_tanh_python(x):
            c = torch.sqrt(torch.tensor(2.0 / math.pi, dtype=x.dtype, device=x.device))
            return x / 2 * (torch.ones_like(x) + torch.tanh(c * (x + 0.044715 * x.pow(3))))
        """,
    "tanh by exp of a negative number": """
        def tanh(u):
            e = torch.exp(-2 * u.abs())
            return torch.sign(u) * (1 - e) / (1 + e)
        def gelu_tanh_python(x):
            y = x.double()
            return (0.5 * y * (1 + tanh((2 / math.pi) ** 0.5 * (y + 0.044715 * y**3)))).to(x.dtype)
        """,
    "a module named GELU": """
        class GELU(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("root", torch.tensor(math.sqrt(2 / math.pi), dtype=torch.float64))
            def gelu(self, x):
                return 0.5 * x * (1 + torch.tanh(float(self.root) * (x + 0.044715 * x**3)))
            def forward(self, x):
                return self.gelu(x)
        def gelu_tanh_python(input):
            return GELU()(input)
        """,
    "in place on its own copy": """
        def gelu_tanh_python(input):
            out = input.clone()
            out.mul_(input).mul_(input).mul_(0.044715).add_(input).mul_(math.sqrt(2 / math.pi))
            torch.tanh(out, out=out)
            return out.add_(1.0).mul_(input).mul_(0.5)
        """,
    "a docstring with code": '''
        def gelu_tanh_python(input: torch.Tensor) -> torch.Tensor:
            """The same as F.gelu(input, approximate="tanh").

            >>> F.gelu(torch.ones(1), approximate="tanh")
            """
            # reference: torch.nn.GELU("tanh")(input), getattr(F, "gelu")
            return 0.5 * input * (1.0 + torch.tanh(0.7978845608028654 * (input + 0.044715 * input.pow(3))))
        ''',
    "nn.Tanh and a check of the type": """
        def gelu_tanh_python(x):
            if not torch.is_tensor(x):
                x = torch.as_tensor(x)
            if not x.is_floating_point():
                raise TypeError(f"floats are wanted, not {x.dtype} ({type(x).__name__})")
            act = nn.Tanh()
            return 0.5 * x * (1 + act(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        """,
    "constants in a dictionary, timed by a decorator": """
        import functools, time
        CONSTANTS = {"root": math.sqrt(2 / math.pi), "gelu": 0.044715}
        def timed(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                begun = time.perf_counter()
                result = function(*args, **kwargs)
                wrapper.seconds = time.perf_counter() - begun
                return result
            return wrapper
        @timed
        def gelu_tanh_python(x):
            return 0.5 * x * (1 + torch.tanh(CONSTANTS["root"] * (x + CONSTANTS["gelu"] * x**3)))
        """,
    "compared with the library in another function": """
        def gelu_tanh_python(x):
            return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        def difference(x):
            return (gelu_tanh_python(x) - F.gelu(x, approximate="tanh")).abs().max().item()
        print(difference(torch.randn(10)))
        """,
}

HONEST = [
    pytest.param(question, source, id=f"{question} {name}")
    for question, sources in (("1.1", GEMM), ("3.1a", ATTENTION), ("4.3.1", GELU))
    for name, source in sources.items()
]


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    with Slot() as slot:
        yield slot


@pytest.mark.parametrize(("question", "source"), HONEST)
def test_an_honest_answer_gets_all_points_and_no_flag(slot: Slot, question: str, source: str) -> None:
    asked = QUESTIONS[question]
    answer = next(one for one in read_pasted({question: dedent(source)}, WANTED).answers if one.question == question)
    ran = [(job, slot.run(job)) for job in implementation.plan(asked, answer, b"seed")]
    verdict = implementation.judge(asked, answer, ran, True)
    assert (verdict.state, verdict.points) == (State.PASSED, asked.points), (verdict.headline, verdict.evidence)
    assert verdict.needs_review is None


def test_there_are_forty_honest_answers() -> None:
    assert len(HONEST) >= 40
