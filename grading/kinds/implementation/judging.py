"""The verdict on an implementation: computed here from raw results, in words that give no drawn case away.

What goes wrong in a public case is told word for word. Of drawn cases only a reason of a closed list is told, once for
each group: exception texts, lines, values and times of theirs go to staff alone.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from pydantic import JsonValue

from grading.answers.model import Answer
from grading.kinds.contract import Question, Ran
from grading.kinds.implementation import rules
from grading.kinds.implementation.case import MAIN, Slip
from grading.kinds.implementation.comparing import Expected, Mismatch, expected, mismatch
from grading.kinds.implementation.planning import BETWEEN, arguments_of, exactly, result_of
from grading.kinds.implementation.spec import Loops, Spec
from grading.verdict import Check, Diagnosis, State, Verdict
from labcore.runner.protocol import Call, Ending, Note, Observation, Outcome, Returned, TensorWanted

MOST_EVIDENCE: Final = 20
ADVICE_ON_DEVICES: Final = (
    "Your answer is graded on a CPU, without a GPU: make new tensors where the input is (`device=x.device`), and leave "
    "out `.cuda()` and `.to('cuda')`."
)
_DEVICES: Final = re.compile(r"\bcuda\b|\bnvidia\b|\bmps\b|\bxpu\b", re.IGNORECASE)


class Reason(StrEnum):
    """All that is ever said of why drawn cases fail."""

    WRONG_VALUES = "wrong values"
    NOT_FINITE = "inf or NaN where the right value is finite"
    WRONG_SHAPE = "a result of the wrong shape"
    WRONG_DTYPE = "a result of the wrong dtype"
    WRONG_TYPE = "a result that is no plain CPU tensor"
    RAISED = "an exception"
    NOT_LOADED = "the code cannot be loaded"
    TOO_SLOW = "too slow"
    TOO_MUCH_MEMORY = "too much memory"
    TOO_MUCH_OUTPUT = "too much printed"
    KILLED = "its process was killed from outside"
    CRASHED = "a crash of the interpreter"
    STOPPED = "the process was ended from inside"
    NOT_REACHED = "not reached"


_OF_OUTCOME: Final = {
    Outcome.RAISED: Reason.RAISED,
    Outcome.WRONG_TYPE: Reason.WRONG_TYPE,
    Outcome.WRONG_SHAPE: Reason.WRONG_SHAPE,
    Outcome.WRONG_DTYPE: Reason.WRONG_DTYPE,
    Outcome.TOO_LARGE: Reason.WRONG_TYPE,
}
_OF_ENDING: Final = {
    Ending.NOT_LOADED: Reason.NOT_LOADED,
    Ending.TIMED_OUT: Reason.TOO_SLOW,
    Ending.OUT_OF_MEMORY: Reason.TOO_MUCH_MEMORY,
    Ending.FLOODED: Reason.TOO_MUCH_OUTPUT,
    Ending.KILLED: Reason.KILLED,
    Ending.CRASHED: Reason.CRASHED,
    Ending.EXITED: Reason.STOPPED,
}


@dataclass(frozen=True, slots=True)
class Result:
    """One call and what became of it."""

    group: str
    label: str
    call: Call
    returned: Returned
    reason: Reason | None
    against: Expected | None = None
    off: Mismatch | None = None


@dataclass(frozen=True, slots=True)
class Fired:
    """What the rules say: a refusal, or reasons for a person to look."""

    refused: str | None = None
    code: str = ""
    reviews: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


def judge(question: Question, answer: Answer, ran: Ran, explain: bool) -> Verdict:
    """The verdict on what came back."""
    spec: Spec = question.spec
    results = [result for job, seen in ran for result in _results(question, job.calls, seen)]
    fired = _rules(question, answer, ran, results)
    failing = {result.group for result in results if result.reason}
    if not any(result.group == MAIN and not result.call.public for result in results):
        failing.add(MAIN)  # nothing drawn was run: nothing is proved
    changed = any(result.returned.note.mutated for result in results)
    slip = _slip(question, results, failing)
    points = _points(question, failing, changed, slip)
    state = State.PASSED if points == question.points else State.PARTIAL if points else State.FAILED
    if fired.refused:
        state, points = State.FAILED, Decimal(0)
    diagnosis = None
    if fired.refused:
        diagnosis = Diagnosis(code=fired.code, text=fired.refused)
    elif slip and explain:
        diagnosis = Diagnosis(code=f"slip: {slip.code}", text=slip.text)
    return Verdict(
        question=question.id,
        state=state,
        points=points,
        out_of=question.points,
        headline=fired.refused or _headline(question, answer, ran, results, failing, changed, points),
        checks=tuple(_checks(spec, answer, results)),
        remarks=tuple(_remarks(spec, ran, results, failing, changed)),
        diagnosis=diagnosis,
        explained=diagnosis is not None and not fired.refused,
        needs_review="; ".join(fired.reviews)[:500] if fired.reviews and not fired.refused else None,
        evidence=_evidence(ran, results, fired),
    )


def _results(question: Question, calls: Sequence[Call], seen: Observation) -> Iterable[Result]:
    """Every call of a job with its fate; an observation that lacks one leaves it not reached."""
    ended = False
    for place, call in enumerate(calls):
        returned = seen.returned[place] if place < len(seen.returned) else Returned(Outcome.NOT_REACHED)
        group, _, label = call.label.partition(BETWEEN)
        reason, against, off = _fate(question, call, returned)
        if returned.outcome is Outcome.NOT_REACHED:
            reason = Reason.NOT_REACHED if ended else _OF_ENDING.get(seen.ending, Reason.STOPPED)
            ended = ended or seen.ending is not Ending.NOT_LOADED
        yield Result(group, label, call, returned, reason, against, off)


def _fate(question: Question, call: Call, returned: Returned) -> tuple[Reason | None, Expected | None, Mismatch | None]:
    if returned.outcome is not Outcome.RETURNED:
        return _OF_OUTCOME.get(returned.outcome, Reason.NOT_REACHED), None, None
    if not isinstance(call.wanted, TensorWanted) or question.hidden is None:
        raise TypeError(f"question {question.id}: an implementation's calls want tensors and a hidden reference")
    got = result_of(call.wanted, returned.value)
    if got is None:
        return Reason.WRONG_TYPE, None, None
    against = expected(question.spec, question.hidden, arguments_of(call), call.wanted.dtype)
    off = mismatch(got, against)
    if off is None:
        return None, against, None
    return Reason.NOT_FINITE if off.not_finite else Reason.WRONG_VALUES, against, off


def _rules(question: Question, answer: Answer, ran: Ran, results: Sequence[Result]) -> Fired:
    """What the source, the child's count of operations and the worker's clock say together."""
    spec: Spec = question.spec
    if spec.forbidden is None and not spec.suspicious and spec.allowed is None and spec.loops is None:
        return Fired()
    reading = rules.look(answer.source, question.entry)
    counted: Counter[str] = Counter()
    for result in results:
        counted.update(result.returned.note.operations or {})
    reviews, evidence = [], [f"operations: {dict(counted.most_common(24))}"]
    if reading.unreadable:
        reviews.append(reading.unreadable)
    if spec.forbidden:
        patterns = spec.forbidden.dispatched
        seen = sorted(name for name in counted if any(fnmatchcase(name, pattern) for pattern in patterns))
        found = reading.find(spec.forbidden.names, spec.forbidden.operators)
        evidence += [f"line {one.line}: {one.text} ({one.name})" for one in found]
        for one in found:
            if (one.known and not one.aside) or (seen and not _in_assert(one)):
                where = f"Line {one.line} of your answer, `{one.text}`, calls {one.name}: {spec.forbidden.why}."
                return Fired(where, f"forbidden: {one.name}", evidence=tuple(evidence))
        if found:
            reviews.append(f"line {found[0].line} names {found[0].name}, though it was not seen to run")
        elif seen:
            reviews.append(f"torch dispatched {', '.join(seen[:3])}, which the source does not show")
        reviews += [f"line {one.line} uses {one.name}, which hides what is called" for one in reading.opaque()[:2]]
    for rule in spec.suspicious:
        if suspects := reading.find(rule.names):
            reviews.append(f"line {suspects[0].line} {rule.why}")
    if spec.allowed:
        spoken = [spec.forbidden.names if spec.forbidden else (), *(rule.names for rule in spec.suspicious)]
        others = reading.unlisted(spec.allowed.words, frozenset().union(*spoken))
        reviews += [f"line {one.line} uses {one.name}, which is no basic operation" for one in others[:2]]
    if spec.loops and not any(result.reason for result in results if result.group == MAIN):
        reviews += _loops(spec.loops, question, reading, ran, results)
    return Fired(reviews=tuple(dict.fromkeys(reviews)), evidence=tuple(evidence))


def _loops(
    loops: Loops, question: Question, reading: rules.Reading, ran: Ran, results: Sequence[Result]
) -> Iterable[str]:
    """What an answer that is right on ordinary inputs lacks of the loops that it should have."""
    if not reading.unreadable and reading.depth < loops.deep:
        yield f"no product stands inside {loops.deep} loops"
    if reading.uses(loops.unless):
        return
    at = 0
    for job, seen in ran:
        right = [one for one in results[at : at + len(job.calls)] if one.reason is None]
        at += len(job.calls)
        steps = sum(question.hidden.steps(*arguments_of(one.call)) for one in right)  # type: ignore[union-attr]
        # The whole job's time: a worker that wakes late can shorten one call's figure, but never lengthens this.
        if seen.seconds < steps * loops.seconds:
            yield f"it took less time than {loops.why}: {seen.seconds:.4f} s for {steps} steps"
        counted = [one.returned.note.operations or {} for one in right]
        done = sum(each.get(name, 0) for each in counted for name in loops.each_step)
        # Loops may skip zeros, of which public cases have none, and drawn ones few.
        if loops.each_step and done < (steps if all(call.public for call in job.calls) else steps // 2):
            yield f"it did fewer products than {loops.why}: {done} for {steps} steps"


def _in_assert(finding: rules.Finding) -> bool:
    return finding.aside and finding.text.startswith("assert")


def _slip(question: Question, results: Sequence[Result], failing: set[str]) -> Slip | None:
    """The known mistake that gives exactly what came back, wherever its group failed."""
    for slip in getattr(question.hidden, "SLIPS", ()):
        mine = [one for one in results if one.group == slip.group and one.against is not None]
        if slip.group in failing and any(one.off for one in mine) and all(_is_slip(one, slip) for one in mine):
            return slip if isinstance(slip, Slip) else None
    return None


def _is_slip(result: Result, slip: Slip) -> bool:
    assert result.against is not None and isinstance(result.call.wanted, TensorWanted)
    got = result_of(result.call.wanted, result.returned.value)
    try:
        value = slip.function(*exactly(arguments_of(result.call)))
    except (RuntimeError, IndexError):
        return False  # a slip such as a forgotten transpose has no value at every shape
    if got is None or value.shape != got.shape:
        return False
    return mismatch(got, Expected(value, result.against.allowed)) is None


def _points(question: Question, failing: set[str], changed: bool, slip: Slip | None) -> Decimal:
    spec: Spec = question.spec
    if MAIN in failing:
        return min(slip.points, question.points) if slip and slip.group == MAIN else Decimal(0)
    lost = sum((part.points for part in spec.parts if part.group in failing), Decimal(0))
    if changed:
        lost += spec.changed_input or 0
    return max(question.points - lost, Decimal(0))


def _headline(
    question: Question,
    answer: Answer,
    ran: Ran,
    results: Sequence[Result],
    failing: set[str],
    changed: bool,
    points: Decimal,
) -> str:
    spec: Spec = question.spec
    if MAIN not in failing:
        lost = [f"{part.title} (-{part.points})" for part in spec.parts if part.group in failing]
        if changed and spec.changed_input:
            lost.append(f"the input is changed (-{spec.changed_input})")
        if not lost:
            return "Right on the public cases and on drawn ones."
        return f"Right on ordinary inputs. Points are lost on: {'; '.join(lost)}."
    for job, seen in ran:
        if seen.ending is Ending.NOT_LOADED:
            public = any(call.public for call in job.calls)
            return (
                f"Your code cannot be loaded: {_raised(seen.load)}."
                if public and seen.load.error
                else "Your code cannot be loaded."
            )
    first = next((one for one in results if one.group == MAIN and one.reason), None)
    if first is None:
        return "No case was run."
    kept = f" What is right of it keeps {points} of {question.points} points." if points else ""
    if first.call.public:
        return f"The public case “{first.label}” fails: {_public_text(answer, first)}.{kept}"
    return f"The public cases hold, but drawn ones of the same kind do not: {first.reason}.{kept}"


def _checks(spec: Spec, answer: Answer, results: Sequence[Result]) -> Iterable[Check]:
    for one in results:
        if one.call.public:
            yield Check(label=one.label, public=True, passed=one.reason is None, text=_public_text(answer, one))
    titles = {MAIN: "ordinary inputs", **{part.group: part.title for part in spec.parts}}
    for group, title in titles.items():
        drawn = [one for one in results if one.group == group and not one.call.public]
        if drawn:
            reason = next((one.reason for one in drawn if one.reason), None)
            yield Check(label=f"drawn: {title}", public=False, passed=reason is None, text=str(reason or ""))


def _public_text(answer: Answer, result: Result) -> str:
    """What went wrong in a public case, word for word: its child held nothing secret."""
    if result.reason is None:
        return ""
    note = result.returned.note
    if result.off:
        return result.off.text()
    if result.reason is Reason.RAISED:
        return _raised(note) + _line(answer, note)
    if note.got and isinstance(result.call.wanted, TensorWanted):
        wanted = result.call.wanted
        return f"it returns {note.got}, not tensor {wanted.dtype} {wanted.shape}"
    return str(result.reason)


def _raised(note: Note) -> str:
    return f"{note.error}: {note.message}" if note.message else note.error or str(Reason.RAISED)


def _line(answer: Answer, note: Note) -> str:
    lines = answer.source.split("\n")
    if note.line is None or not 0 < note.line <= len(lines):
        return ""
    return f" (line {note.line}: `{rules.shown(lines[note.line - 1])}`)"


def _remarks(spec: Spec, ran: Ran, results: Sequence[Result], failing: set[str], changed: bool) -> Iterable[str]:
    if _wants_a_gpu(ran):
        yield ADVICE_ON_DEVICES
    if MAIN not in failing:
        yield from (part.hint for part in spec.parts if part.group in failing and part.hint)
    if changed:
        yield "Your function changes its input. Work on a copy, or write operations that make a new tensor."
    shared = any(one.returned.note.aliased for one in results)
    if shared and not changed:
        yield "Your result shares its memory with the input in some cases: whoever changes one changes the other."
    dtypes = [one for one in results if one.reason is Reason.WRONG_DTYPE]
    if dtypes:
        yield "The result must have the dtype of the input: make new tensors with `dtype=` that of the input."


def _wants_a_gpu(ran: Ran) -> bool:
    """Whether torch said, as the code was loaded or in a public case, that there is no such device."""
    public = [seen for job, seen in ran if any(call.public for call in job.calls)]
    notes = [note for seen in public for note in (seen.load, *(one.note for one in seen.returned))]
    return any(note.error and _DEVICES.search(f"{note.error} {note.message}") for note in notes)


def _evidence(ran: Ran, results: Sequence[Result], fired: Fired) -> dict[str, JsonValue]:
    """For staff: what drawn cases gave, and what the rules were fed."""
    failed: list[JsonValue] = []
    for one in [one for one in results if one.reason][:MOST_EVIDENCE]:
        note = one.returned.note
        said = one.off.text() if one.off else note.got or (_raised(note) if note.error else "")
        failed.append(f"{one.group}: {one.label}: {one.reason}: {said}")
    return {
        "failed": failed,
        "rules": list(fired.evidence[:MOST_EVIDENCE]),
        "reviews": list(fired.reviews),
        "endings": [str(seen.ending) for _, seen in ran],
        "seconds": [round(seen.seconds, 4) for _, seen in ran],
    }
