"""The verdict on a formula: from points and statements to a state, points and a reason that a student can act on.

Public cases are spoken of freely. Of drawn cases only the sentences of `reasons` are said. Ordinary cases decide; what
a probe or a large size does wrong costs nothing unless it returned a wrong number.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from grading.answers.model import Answer
from grading.kinds.contract import Question, Ran
from grading.kinds.formula.count import Case, Combination, Values
from grading.kinds.formula.diagnosis import Finding, find
from grading.kinds.formula.planning import parts, public_cases
from grading.kinds.formula.reading import Point, Seen, Trouble, look
from grading.kinds.formula.reasons import (
    ADVICE_ON_FLOATS,
    LOOKED_AT,
    NOT_A_POLYNOMIAL,
    NOT_READ_OFF,
    OF_TROUBLE,
    USED_UP,
    Hidden,
)
from grading.kinds.formula.slips import folded, shown
from grading.kinds.formula.spec import Spec
from grading.kinds.formula.statements import assumed, said
from grading.polynomial import Polynomial, abridged
from grading.verdict import Check, Diagnosis, State, Verdict
from labcore.runner.protocol import Note

PATIENT_FROM: Final = 1 << 24  # an answer that counts by looping may run out of time on public cases this large
EXACT_FLOATS: Final = 1 << 53  # up to here a float of 64 bits holds every whole number
DOUBLE_ERROR: Final = 1 << 48  # one part in so many is what a few roundings to 64 bits can do
FLOAT_ERROR: Final = 1 << 20  # one part in so many is what a few roundings to 32 bits can do
# What large sizes may show of an answer that is right on small ones: remarks, and slips by their code.
FORGIVEN: Final = frozenset({Hidden.LARGE_UNSEEN, Hidden.LARGE_WRAPS, Hidden.ROUNDED_FAR})
COSTLY: Final = {Hidden.ROUNDED: "rounded", Hidden.WRAPS_EARLY: "wraps-early"}

_UNPRINTABLE: Final = re.compile(r"[^\w .,:;()\[\]'’\"<>=+*/-]")


@dataclass(frozen=True, slots=True)
class _Outcome:
    state: State
    share: Decimal
    headline: str
    diagnosis: Diagnosis | None = None
    explained: bool = False
    review: str | None = None
    remarks: tuple[str, ...] = ()


def judge(question: Question, answer: Answer, ran: Ran, explain: bool) -> Verdict:
    """The verdict on what came back; total over whatever an observation may hold."""
    if not answer.found:
        return _verdict(question, _Outcome(State.NOT_ANSWERED, Decimal(0), answer.reason or "No answer was found."))
    spec, _ = parts(question)
    seen = look(spec, ran)
    trouble = _public_trouble(question, seen) or _hidden_trouble(seen)
    if trouble is not None:
        return _verdict(question, _Outcome(State.FAILED, Decimal(0), trouble), _checks(question, seen, None, None))
    # Drawn sizes come first: at them nearly every wrong candidate falls away, while small public ones fit many.
    points = [(p.values, p.result) for p in (*seen.drawn, *seen.shown) if p.result is not None]
    formula = seen.formula if seen.formula is not None and _holds(seen.formula, points) else None
    return _judged(question, answer, seen, points, formula, explain)


def _judged(
    question: Question,
    answer: Answer,
    seen: Seen,
    points: list[tuple[Values, int]],
    formula: Polynomial | None,
    explain: bool,
) -> Verdict:
    spec, count = parts(question)
    finding = find(spec, count, points, formula, said(question, answer, count.axes))
    if finding.equal is None and not finding.review and (sentence := assumed(question, answer, count.axes)):
        finding = replace(finding, review=f"A comment states what no known count explains: “{sentence}”")
    large = _large(seen.large, finding.equal) if finding.equal else None
    outcome = _outcome(spec, finding, large, explain, _differing(question, seen))
    remarks = [*answer.notes, *outcome.remarks]
    if formula is None:
        remarks.append(NOT_A_POLYNOMIAL if seen.probed else NOT_READ_OFF)
    elif spec.show_formula:
        remarks.append(f"Your function reads as: {shown(spec, formula)}")
        if outcome.explained and finding.equal is None:
            monomials = folded(spec, count.plain.total).coefficients
            shape = shown(spec, Polynomial(dict.fromkeys(monomials, 1)))
            remarks.append(f"The expected shape, its coefficients left out: {shape}")
    evidence = {"code": finding.code, "finding": finding.text, "formula": shown(spec, formula) if formula else ""}
    right = State.PASSED if finding.equal else State.FAILED
    checks = _checks(question, seen, right, large)
    return _verdict(question, outcome, checks, tuple(remarks), evidence)


def _outcome(spec: Spec, finding: Finding, large: Hidden | None, explain: bool, differing: str) -> _Outcome:
    equal = finding.equal
    if equal is None:
        return _different(spec, finding, explain, differing)
    if large is Hidden.LARGE_DIFFERS:
        return _Outcome(State.FAILED, Decimal(0), large, Diagnosis(code="large-differs", text=large))
    remarks = (large.value,) if large in FORGIVEN else ()
    if equal.departures:
        outcome = _variant(spec, finding, equal, explain, remarks)
    else:
        outcome = _Outcome(
            State.PASSED, Decimal(1), "Equal to the count asked for.", remarks=(*remarks, *_text(finding))
        )
    if large in COSTLY:
        share = min(outcome.share, spec.slips.get(COSTLY[large], Decimal(0)))
        headline = f"{outcome.headline} {large}" if equal.departures else large
        diagnosis = outcome.diagnosis or Diagnosis(code=COSTLY[large], text=large)
        return replace(outcome, state=_state(share), share=share, headline=headline, diagnosis=diagnosis)
    return outcome


def _variant(spec: Spec, finding: Finding, equal: Combination, explain: bool, remarks: tuple[str, ...]) -> _Outcome:
    title = " and ".join(choice.title for choice in equal.departures)
    if all(choice.name in finding.clear for choice in equal.departures):
        quotes = " ".join(f"“{sentence}”" for sentence in dict.fromkeys(finding.clear.values()))
        share = min(choice.stated for choice in equal.departures)
        code = "stated:" + "+".join(choice.name for choice in equal.departures)
        headline = f"Equal to the count with {title}, as your comment states."
        if share < 1:
            headline += " The question asks for something else, so a person will look at it."
        review = f"Equal to the count with {title}, on a stated assumption: {quotes}"
        return _Outcome(_state(share), share, headline, Diagnosis(code=code, text=headline), False, review, remarks)
    heard = "".join(f" “{sentence}”" for sentence in finding.heard)
    left = [choice for choice in equal.departures if choice.name not in finding.clear]
    share = min(spec.unstated if choice.unstated is None else choice.unstated for choice in left)
    if not explain:
        review = f"Rests on an assumption that no comment states clearly.{heard}"
        return _Outcome(_state(share), share, USED_UP, None, False, review, remarks)
    diagnosis = Diagnosis(code=finding.code, text=finding.text)
    review = f"Equal to the count with {title}, but no comment states that clearly.{heard}"
    return _Outcome(_state(share), share, finding.text, diagnosis, True, review, remarks)


def _different(spec: Spec, finding: Finding, explain: bool, differing: str) -> _Outcome:
    share = max((spec.slips.get(code, Decimal(0)) for code in finding.code.split("|")), default=Decimal(0))
    remarks = (LOOKED_AT,) if finding.review else ()
    review = finding.review or None
    if not finding.close:
        text = " ".join(filter(None, [differing, finding.text if explain or finding.code != "far" else USED_UP]))
        diagnosis = Diagnosis(code=finding.code, text=finding.text) if explain or finding.code != "far" else None
        return _Outcome(State.FAILED, Decimal(0), text, diagnosis, False, review, remarks)
    if not explain:
        headline = " ".join(filter(None, [differing, USED_UP]))
        return _Outcome(_state(share), share, headline, None, False, review, remarks)
    diagnosis = Diagnosis(code=finding.code, text=finding.text)
    remarks = (*((differing,) if differing else ()), *remarks)
    return _Outcome(_state(share), share, finding.text, diagnosis, True, review, remarks)


def _state(share: Decimal) -> State:
    return State.PASSED if share == 1 else State.PARTIAL if share else State.FAILED


def _text(finding: Finding) -> tuple[str, ...]:
    return (finding.text,) if finding.text else ()


def _large(points: Sequence[Point], equal: Combination) -> Hidden:
    """What the large sizes say of an answer that is right on small ones; the worst of them counts."""
    verdicts = {_one_large(point, equal) for point in points if equal.exact_at(point.values)}
    worst_first = (
        Hidden.LARGE_DIFFERS,
        Hidden.WRAPS_EARLY,
        Hidden.ROUNDED,
        Hidden.ROUNDED_FAR,
        Hidden.LARGE_WRAPS,
        Hidden.LARGE_UNSEEN,
    )
    return next((hidden for hidden in worst_first if hidden in verdicts), Hidden.LARGE_AGREES)


def _one_large(point: Point, equal: Combination) -> Hidden:
    expected = equal.total.at(point.values)
    if point.result is None:
        return Hidden.LARGE_UNSEEN
    error = point.result - expected
    if not error:
        return Hidden.LARGE_AGREES
    if error.denominator == 1 and error.numerator % (1 << 32) == 0 and abs(point.result) <= 1 << 32:
        return Hidden.WRAPS_EARLY
    if error.denominator == 1 and error.numerator % (1 << 64) == 0 and abs(point.result) <= 1 << 63:
        return Hidden.LARGE_WRAPS
    if abs(error) * FLOAT_ERROR > expected:
        return Hidden.LARGE_DIFFERS
    return Hidden.ROUNDED_FAR if expected >= EXACT_FLOATS and abs(error) * DOUBLE_ERROR <= expected else Hidden.ROUNDED


def _public_trouble(question: Question, seen: Seen) -> str | None:
    if seen.load is not None:
        return f"The code could not be loaded: {_told(seen.load) or 'it stopped with an error'}."
    name = question.entry or "The function"
    for point in seen.shown:
        if point.trouble is not None and not _excused(question, point):
            return f"{name} on the public case “{point.label}”: {_words(point)}"
    return None


def _hidden_trouble(seen: Seen) -> str | None:
    if not seen.drawn:
        return Hidden.STOPPED
    return next((OF_TROUBLE[point.trouble].value for point in seen.drawn if point.trouble is not None), None)


def _excused(question: Question, point: Point) -> bool:
    case = _cases(question).get(point.label)
    return point.trouble is Trouble.TIMED_OUT and case is not None and case.result >= PATIENT_FROM


def _words(point: Point) -> str:
    """What went wrong in a public case, from the child's own note; every word of it is cleaned and bounded."""
    note = point.note
    match point.trouble:
        case Trouble.RAISED:
            where = f" (line {note.line} of the code shown)" if type(note.line) is int and 0 < note.line < 10**6 else ""
            return f"it raised {_told(note) or 'an exception'}{where}."
        case Trouble.WRONG_TYPE:
            got = _clean(note.got, 60)
            if got.startswith("None"):
                return "it returned None: is a `return` missing?"
            advice = f" {ADVICE_ON_FLOATS}" if "float" in got else " An int is asked for."
            return f"it returned {'a ' + got if got else 'something that is not an int'}.{advice}"
        case Trouble.TOO_LARGE:
            return "it returned an integer far longer than any count of these sizes."
        case Trouble.TIMED_OUT:
            return "it took too long. A count needs no loop over the sizes: multiply them."
        case Trouble.OUT_OF_MEMORY:
            return "it used more memory than it may. A count needs the sizes alone, not the tensors' values."
        case Trouble.FLOODED:
            return "it printed more than it may."
        case _:
            return "the program stopped before the function returned (exit, or a crash)."


def _told(note: Note) -> str:
    return ": ".join(filter(None, [_clean(note.error, 60), _clean(note.message, 160)]))


def _clean(text: str, most: int) -> str:
    return " ".join(_UNPRINTABLE.sub("?", str(text)[:most]).split())


def _differing(question: Question, seen: Seen) -> str:
    """The first public case that differs, in full; where none does, the fixed sentence about drawn ones."""
    for point in seen.shown:
        case = _cases(question).get(point.label)
        if case is not None and point.result is not None and point.result != case.result:
            return f"On the public case “{case.label}” it returned {abridged(point.result)}; {case.result} is expected."
    return Hidden.DIFFERS


def _checks(question: Question, seen: Seen, state: State | None, large: Hidden | None) -> tuple[Check, ...]:
    """The table of cases. `state` is None when trouble kept the answer from being compared."""
    cases = _cases(question)
    equals = state in (State.PASSED, State.PARTIAL)
    made = []
    for point in seen.shown:
        case = cases.get(point.label)
        if point.result is None or case is None:
            made.append(Check(label=point.label, public=True, passed=False, text=_words(point)))
        elif point.result == case.result:
            made.append(Check(label=point.label, public=True, passed=True, text=f"{case.result}"))
        else:
            own = " under the plain assumptions; yours are others" if equals and state else ""
            text = f"{abridged(point.result)} returned; {case.result} expected{own}"
            made.append(Check(label=point.label, public=True, passed=bool(own), text=text))
    trouble = _hidden_trouble(seen)
    if trouble is not None:
        made.append(Check(label="drawn cases", public=False, passed=False, text=trouble))
    elif state is not None:
        text = Hidden.AGREES if equals else Hidden.WRONG if any(not one.passed for one in made) else Hidden.DIFFERS
        made.append(Check(label="drawn cases", public=False, passed=equals, text=text))
    if large is not None:
        fine = large is not Hidden.LARGE_DIFFERS and large not in COSTLY
        made.append(Check(label="large drawn cases", public=False, passed=fine, text=large))
    return tuple(made)


def _cases(question: Question) -> Mapping[str, Case]:
    return {case.label: case for case in public_cases(question)}


def _holds(formula: Polynomial, points: list[tuple[Values, int]]) -> bool:
    return all(formula.at(values) == result for values, result in points)


def _verdict(
    question: Question,
    outcome: _Outcome,
    checks: tuple[Check, ...] = (),
    remarks: tuple[str, ...] = (),
    evidence: Mapping[str, str] | None = None,
) -> Verdict:
    return Verdict(
        question=question.id,
        state=outcome.state,
        points=(question.points * outcome.share).quantize(Decimal("0.01")),
        out_of=question.points,
        headline=outcome.headline,
        checks=checks,
        remarks=remarks,
        diagnosis=outcome.diagnosis,
        explained=outcome.explained,
        needs_review=outcome.review,
        evidence=dict(evidence or {}),
    )
