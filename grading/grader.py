"""Grades one submission: for each question of the pack read, plan, run, judge. One verdict each, whatever happens.

Only a named fault of the infrastructure leaves this module as an exception, or on the last try as a question that
counts in no total. Whatever a student's bytes make our own
code raise is a failed question with a reason, flagged for a person: never a free retry, and never a zero in silence.
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from traceback import extract_tb
from typing import Final, Protocol

from grading.answers.model import Answer, Answers
from grading.kinds import KINDS
from grading.kinds.contract import Question, Ran
from grading.verdict import State, Verdict
from labcore.runner.protocol import Ending, Job, Observation, Outcome, Returned

Run = Callable[[Job], Observation]
MOST_REMARKS: Final = 20
KILLED: Final = (
    "Your code's process was killed from outside, twice, though it had taken little memory: the machine may have been "
    "short of it. A person will look at this."
)
KILLED_FOR_STAFF: Final = "killed from outside twice: short of memory here, or a limit that the answer set itself"


class OurFault(Exception):
    """A fault of the infrastructure: the grading is tried again, and no student loses a point. `cause` is for staff."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Loaded(Protocol):
    """What the grader needs of a loaded pack."""

    @property
    def questions(self) -> Sequence[Question]: ...


def grade(
    pack: Loaded,
    answers: Answers,
    run: Run,
    seed: bytes,
    explanations_left: Callable[[str], int],
    progress: Callable[[int], None],
    last: bool = False,
) -> list[Verdict]:
    """A verdict on every question of the pack, in its order. `seed` must be secret and new for each submission.

    Raises OurFault at once, unless this is the last try: then a fault costs only the questions that it met, and is
    raised where nothing but faults came of all that was answered.
    """
    given: dict[str, Answer] = {}
    for answer in answers.answers:
        given.setdefault(answer.question, answer)
    verdicts = []
    faults = []
    for question in pack.questions:
        answer = given.get(question.id) or Answer(question=question.id, found=False)
        try:
            verdicts.append(_graded(question, answer, run, seed_for(seed, question.id), explanations_left))
        except OurFault as fault:
            if not last:
                raise
            faults.append(fault)
            verdicts.append(_ours(question, fault))
        progress(len(verdicts))
    if faults and all(verdict.state in (State.OURS, State.NOT_ANSWERED) for verdict in verdicts):
        raise faults[0]
    return verdicts


def seed_for(seed: bytes, question: str) -> bytes:
    """The seed of one question's drawn cases."""
    return hmac.digest(seed, question.encode(), hashlib.sha256)


def _graded(
    question: Question, answer: Answer, run: Run, seed: bytes, explanations_left: Callable[[str], int]
) -> Verdict:
    try:
        kind = KINDS[question.kind]
        taken = kind.read(question, answer)
        if not taken.found:
            return _not_answered(question, taken)
        ran = _run_all(kind.plan(question, taken, seed), run)
        explain = explanations_left(question.id) > 0
        return _if_killed(_with_notes(kind.judge(question, taken, ran, explain), taken), ran)
    except OurFault:
        raise
    except Exception as error:
        return _not_judged(question, error)


def _run_all(jobs: Sequence[Job], run: Run) -> list[tuple[Job, Observation]]:
    """Each job with what came back. After one that reached no result at all, the rest are spared the wait."""
    ran: list[tuple[Job, Observation]] = []
    for job in jobs:
        stuck = bool(ran) and all(one.outcome is Outcome.NOT_REACHED for one in ran[-1][1].returned)
        seen = replace(ran[-1][1], returned=(Returned(Outcome.NOT_REACHED),) * len(job.calls)) if stuck else run(job)
        ran.append((job, seen))
    return ran


def _not_answered(question: Question, answer: Answer) -> Verdict:
    entry = f"`{question.entry}` was not found in what you handed in." if question.entry else "No answer was found."
    return Verdict(
        question=question.id,
        state=State.NOT_ANSWERED,
        points=Decimal(0),
        out_of=question.points,
        headline=answer.reason or entry,
        remarks=answer.notes[:MOST_REMARKS],
    )


def _with_notes(verdict: Verdict, answer: Answer) -> Verdict:
    """The verdict with what reading the file found, such as names that are nowhere defined."""
    said = dict.fromkeys((*verdict.remarks, *answer.notes))
    return verdict.model_copy(update={"remarks": tuple(said)[:MOST_REMARKS]})


def _if_killed(verdict: Verdict, ran: Ran) -> Verdict:
    """The verdict, for a person to look at where something outside may have cost it points."""
    if verdict.state is State.PASSED or all(seen.ending is not Ending.KILLED for _, seen in ran):
        return verdict
    return verdict.model_copy(
        update={
            "remarks": (KILLED, *verdict.remarks),
            "needs_review": "; ".join(filter(None, [verdict.needs_review, KILLED_FOR_STAFF])),
        }
    )


def _ours(question: Question, fault: OurFault) -> Verdict:
    return Verdict(
        question=question.id,
        state=State.OURS,
        points=Decimal(0),
        out_of=question.points,
        headline="A fault of ours kept this answer from being judged. It costs you no points, and course staff see it.",
        evidence={"fault": fault.cause},
    )


def _not_judged(question: Question, error: Exception) -> Verdict:
    return Verdict(
        question=question.id,
        state=State.FAILED,
        points=Decimal(0),
        out_of=question.points,
        headline="This answer could not be judged: it made the grader itself stop. A person will look at it.",
        needs_review=f"the grader raised {type(error).__name__}",
        evidence={"raised": type(error).__name__, "at": _place(error)},
    )


def _place(error: Exception) -> str:
    """Where it was raised, for staff: file and line, never the message, which may hold a student's bytes."""
    frames = extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
