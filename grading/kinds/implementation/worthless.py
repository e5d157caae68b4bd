"""Results that are worth nothing: a pack whose cases or tolerances give one of them a point is no good."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

import torch

from grading.answers.model import Answer
from grading.kinds.contract import Question
from grading.kinds.implementation.judging import judge
from grading.kinds.implementation.planning import arguments_of, bytes_of, plan
from labcore.runner.protocol import Call, Ending, Job, Observation, Outcome, Returned, TensorWanted

Result = Callable[[Question, Call, TensorWanted], torch.Tensor]


def unproved(question: Question, seed: bytes = b"proof") -> list[str]:
    """What is wrong with a question: worthless results that get points, parts that cost more than there is."""
    problems = []
    costs = sum((part.points for part in question.spec.parts), question.spec.changed_input or Decimal(0))
    if costs >= question.points:
        problems.append(f"question {question.id}: its parts cost {costs} points of {question.points}")
    answer = Answer(question=question.id, found=True)
    jobs = plan(question, answer, seed)
    for name, result in WORTHLESS.items():
        verdict = judge(question, answer, [(job, _observed(question, job, result)) for job in jobs], explain=False)
        if verdict.points:
            problems.append(f"question {question.id}: {name} gets {verdict.points} points")
    verdict = judge(question, answer, [(job, _observed(question, job, _right)) for job in jobs], explain=False)
    if verdict.points != question.points:
        problems.append(f"question {question.id}: its own reference gets {verdict.points} points: {verdict.headline}")
    return problems


def _observed(question: Question, job: Job, result: Result) -> Observation:
    return Observation(Ending.FINISHED, tuple(_returned(question, call, result) for call in job.calls), seconds=60.0)


def _returned(question: Question, call: Call, result: Result) -> Returned:
    assert isinstance(call.wanted, TensorWanted)
    dtype = getattr(torch, call.wanted.dtype)
    return Returned(Outcome.RETURNED, bytes_of(result(question, call, call.wanted).to(dtype).contiguous()))


def _right(question: Question, call: Call, wanted: TensorWanted) -> torch.Tensor:
    made: torch.Tensor = question.hidden.reference(*arguments_of(call))  # type: ignore[union-attr]
    return made


def _constant(value: float) -> Result:
    return lambda question, call, wanted: torch.full(wanted.shape, value)


def _copy(question: Question, call: Call, wanted: TensorWanted) -> torch.Tensor:
    """The first input that has the right number of elements, or as much of the first as there is."""
    inputs = [one for one in arguments_of(call) if one is not None]
    room = torch.Size(wanted.shape).numel()
    for one in inputs:
        if one.numel() == room:
            return one.reshape(wanted.shape)
    flat = torch.zeros(room, dtype=inputs[0].dtype)
    part = inputs[0].reshape(-1)[:room]
    flat[: part.numel()] = part
    return flat.reshape(wanted.shape)


def _shortcut(dtype: torch.dtype) -> Result:
    def result(question: Question, call: Call, wanted: TensorWanted) -> torch.Tensor:
        inputs = [one.to(dtype) if one is not None and one.is_floating_point() else one for one in arguments_of(call)]
        made: torch.Tensor = question.hidden.reference(*inputs)  # type: ignore[union-attr]
        return made

    return result


WORTHLESS: Final[dict[str, Result]] = {
    "a result of zeros": _constant(0.0),
    "a result of ones": _constant(1.0),
    "a result of NaN": _constant(float("nan")),
    "a copy of an input": _copy,
    "a float16 shortcut": _shortcut(torch.float16),
    "a bfloat16 shortcut": _shortcut(torch.bfloat16),
}
