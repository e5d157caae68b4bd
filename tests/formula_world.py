"""Grading one formula question without a sandbox: the pack's own question, a stand-in for the run, texts of answers."""

import contextlib
import math
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from grading import pack
from grading.answers.model import Answer
from grading.kinds import formula
from grading.kinds.contract import Question
from grading.kinds.formula.count import Combination
from grading.kinds.formula.planning import parts
from grading.polynomial import Polynomial
from grading.verdict import Verdict
from labcore.runner.protocol import (
    Config,
    Ending,
    IntegerWanted,
    Job,
    Note,
    Observation,
    Outcome,
    Returned,
    Tensor,
    Value,
)

PACK = Path(formula.__file__).parents[2] / "packs" / "lab1"
IDS = ("1.3", "1.4", "3.1b", "3.2", "bonus-3.1", "bonus-3.2")
SEED = b"a seed of the deployment"


class DirectRun:
    """Runs a job in this process: no isolation, only the protocol's answer to what a call returned.

    Its patience counts processor time, so that a busy machine changes no outcome.
    """

    def __init__(self, patience: float = 0.3) -> None:
        self._patience = patience

    def __call__(self, job: Job) -> Observation:
        names: dict[str, Any] = {}
        try:
            exec(compile(job.source, "answer", "exec"), names)
            function = names[job.entry]
        except Exception as error:
            unreached = tuple(Returned(Outcome.NOT_REACHED) for _ in job.calls)
            return Observation(Ending.NOT_LOADED, unreached, Note(type(error).__name__, str(error)[:200]))
        returned: list[Returned] = []
        ending = Ending.FINISHED
        for call in job.calls:
            if ending is not Ending.FINISHED:
                returned.append(Returned(Outcome.NOT_REACHED))
                continue
            assert isinstance(call.wanted, IntegerWanted)
            try:
                with self._at_most():
                    returned.append(self._taken(function(*map(self._made, call.args)), call.wanted))
            except TimeoutError:
                returned.append(Returned(Outcome.NOT_REACHED))
                ending = Ending.TIMED_OUT
            except Exception as error:
                returned.append(Returned(Outcome.RAISED, note=Note(type(error).__name__, str(error)[:200], 2)))
        return Observation(ending, tuple(returned))

    @contextlib.contextmanager
    def _at_most(self) -> Iterator[None]:
        def ring(*_: object) -> None:
            raise TimeoutError

        before = signal.signal(signal.SIGVTALRM, ring)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._patience)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    @staticmethod
    def _made(value: Value) -> Any:
        if isinstance(value, Tensor):
            return torch.zeros(value.shape)
        return SimpleNamespace(**value.attributes) if isinstance(value, Config) else value

    @staticmethod
    def _taken(value: Any, wanted: IntegerWanted) -> Returned:
        if isinstance(value, np.integer) or (isinstance(value, torch.Tensor) and value.dtype is torch.int64):
            value = int(value)
        if type(value) is not int:
            return Returned(Outcome.WRONG_TYPE, note=Note(got=type(value).__name__))
        if value.bit_length() >= 8 * wanted.max_bytes:
            return Returned(Outcome.TOO_LARGE)
        return Returned(Outcome.RETURNED, value)


@cache
def _pack() -> pack.Pack:
    return pack.load(PACK)


def question(id: str) -> Question:
    return next(question for question in _pack().questions if question.id == id)


HEADS = {
    "1.3": "def gemm_mac(x, y):\n    N, K = x.shape\n    M = y.shape[1]\n",
    "1.4": "def gemm_io(A, B):\n    N, K = A.shape\n    M = B.shape[1]\n",
    "3.1b": "def calc_attn_mac(B, H, L_q, L_kv, D_h):\n",
    "3.2": "def calc_attn_io(B, H, L_q, L_kv, D_h):\n",
    "bonus-3.1": "def calc_attn_module_mac(B, L_q, L_kv, cfg):\n",
    "bonus-3.2": "def calc_attn_module_io(B, L, kv_len, cfg):\n",
}
_MODULE = (
    "    D, d = cfg.hidden_size, cfg.head_dim\n    n_h, n_kv = cfg.num_attention_heads, cfg.num_key_value_heads\n"
    "    G = n_h // n_kv\n"
)


def source(id: str, expression: str, above: str = "", inside: str = "") -> str:
    locals_ = _MODULE if id.startswith("bonus") else ""
    return f"{above}{HEADS[id]}{locals_}{inside}    return {expression}\n"


def code(polynomial: Polynomial) -> str:
    """The polynomial as Python in whole numbers."""
    denominator = math.lcm(*(c.denominator for c in polynomial.coefficients.values()))
    parts_ = [
        "*".join([f"({number * denominator})", *(f"{name}**{exponent}" for name, exponent in monomial)])
        for monomial, number in polynomial.coefficients.items()
    ]
    return f"({' + '.join(parts_) or '0'}) // {denominator}"


def grade(id: str, text: str, explain: bool = True, seed: bytes = SEED, run: Any = None) -> Verdict:
    asked = question(id)
    answer = formula.read(asked, Answer(question=id, found=True, source=text, definition=text))
    run = run or DirectRun()
    ran = [(job, run(job)) for job in formula.plan(asked, answer, seed)]
    return formula.judge(asked, answer, ran, explain)


def said_in(verdict: Verdict) -> str:
    """Everything of a verdict that a student sees."""
    return " ".join(
        [
            verdict.headline,
            *verdict.remarks,
            *(check.text for check in verdict.checks),
            verdict.diagnosis.text if verdict.diagnosis else "",
            verdict.needs_review or "",
        ]
    )


def with_choices(id: str, *names: str) -> Combination:
    spec, count = parts(question(id))
    return next(c for c in count.combinations(spec.combine) if {d.name for d in c.departures} == {*names})
