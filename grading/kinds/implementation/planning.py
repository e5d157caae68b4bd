"""What to run for an implementation, and how tensors become a job's bytes and come back from them.

Two children, both of which count operations, so that an answer cannot tell one from the other by that. The first has
the public cases: nothing in it is secret, so what goes wrong there may be told word for word. The second has the drawn
cases, ordinary ones first, so that a hang costs little.
"""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

import torch

from grading.answers.model import Answer
from grading.kinds.contract import Question
from grading.kinds.implementation.case import MAIN, Case, Draw
from grading.kinds.implementation.spec import Spec
from labcore.runner.protocol import ITEM_BYTES, Call, Job, Tensor, TensorWanted, Value

BETWEEN: Final = ": "  # a call's label is its group, this, and the case's own label


def read(question: Question, answer: Answer) -> Answer:
    """The answer as it is: reading the file has found the definition and what it needs."""
    return answer


def plan(question: Question, answer: Answer, seed: bytes) -> list[Job]:
    """The jobs for an answer; the drawn cases follow from the seed alone."""
    if not answer.found:
        return []
    spec: Spec = question.spec
    groups = [MAIN, *(part.group for part in spec.parts)]
    drawn = sorted(_drawn(question, seed), key=lambda case: groups.index(case.group))
    calls = (_calls(question, public_cases(question), True), _calls(question, drawn, False))
    return [Job(answer.source, question.entry, each, spec.profile, count_operations=True) for each in calls]


def public_cases(question: Question) -> list[Case]:
    """The pack's public cases, in its order."""
    return list(question.public.cases()) if question.public is not None else []


def tensor_of(given: Tensor) -> torch.Tensor:
    """A tensor made of a job's own bytes."""
    dtype = getattr(torch, given.dtype)
    flat = torch.frombuffer(bytearray(given.data), dtype=dtype) if given.data else torch.empty(0, dtype=dtype)
    return torch.as_strided(flat, given.shape, given.strides, given.offset)


def arguments_of(call: Call) -> list[torch.Tensor | None]:
    return [tensor_of(value) if isinstance(value, Tensor) else None for value in call.args]


def result_of(wanted: TensorWanted, raw: object) -> torch.Tensor | None:
    """A result made of the bytes that came back, or None where they are not what was wanted."""
    if not isinstance(raw, bytes) or len(raw) != ITEM_BYTES[wanted.dtype] * prod(wanted.shape):
        return None
    dtype = getattr(torch, wanted.dtype)
    flat = torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    return flat.reshape(wanted.shape)


def bytes_of(tensor: torch.Tensor) -> bytes:
    """A tensor's whole storage."""
    raw = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
    return bytes(raw.numpy().tobytes())


def exactly(args: Iterable[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """The arguments in the dtype in which the reference is taken to be exact: fp64, or int64 for integers."""
    wide = []
    for one in args:
        if one is None or one.dtype == torch.bool:
            wide.append(one)
        else:
            wide.append(one.to(torch.float64 if one.is_floating_point() else torch.int64))
    return wide


def _drawn(question: Question, seed: bytes) -> Sequence[Case]:
    if question.hidden is None:
        raise TypeError(f"question {question.id} is no implementation question: it needs a hidden module")
    return list(question.hidden.cases(Draw(seed)))


def _calls(question: Question, cases: Iterable[Case], public: bool) -> tuple[Call, ...]:
    calls = []
    for case in cases:
        right = question.hidden.reference(*exactly(case.args))  # type: ignore[union-attr]
        first = next(one for one in case.args if one is not None)
        wanted = TensorWanted(_name(first.dtype), tuple(right.shape))
        calls.append(
            Call(tuple(_value(one) for one in case.args), wanted, f"{case.group}{BETWEEN}{case.label}", public)
        )
    return tuple(calls)


def _value(given: torch.Tensor | None) -> Value:
    if given is None:
        return None
    return Tensor(
        dtype=_name(given.dtype),
        shape=tuple(given.shape),
        strides=tuple(given.stride()),
        data=bytes_of(given),
        offset=int(given.storage_offset()),
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
