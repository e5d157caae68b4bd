"""What templates show: rows, verdicts and outlines turned into small typed values, with nothing left to decide."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from markupsafe import Markup

from api.feedback import verdict_shown
from api.pages.text import markdown, shortened
from api.pages.words import OURS, REVIEW, STATES, Words, isolation_words, state
from api.schemas import CheckShown, VerdictShown
from grading.answers.model import Answer, Answers
from grading.outline import Asked, Outline
from grading.policy import Policy
from grading.store.tables import Grading, Lab
from grading.verdict import State, Verdict


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as it is asked. `field` is the name of its form field and of its place on the page."""

    id: str
    field: str
    title: str
    points: Decimal
    bonus: bool
    prompt: Markup
    stub: str
    entry: str


@dataclass(frozen=True, slots=True)
class ReadView:
    """A student's answer as it was understood: the text that was run, line by line so that they are numbered."""

    lines: tuple[str, ...]
    left_out: int
    where: str
    notes: tuple[str, ...]  # those that the verdict does not tell already
    reason: str


@dataclass(frozen=True, slots=True)
class ResultView:
    """One question's verdict."""

    id: str
    field: str
    title: str
    bonus: bool
    words: Words
    points: Decimal
    gained: Decimal | None  # the points, where they count
    out_of: Decimal
    headline: str
    diagnosis: str
    explanation: str  # what the state means where that is not plain
    review: str
    review_why: str  # staff alone
    summary: str
    public: tuple[CheckShown, ...]
    drawn: tuple[CheckShown, ...]
    remarks: tuple[str, ...]
    read: ReadView | None
    evidence: str  # staff alone


@dataclass(frozen=True, slots=True)
class Segment:
    """A question's part of the score strip, in hundredths of a point: where it starts, how wide, how much is filled."""

    start: int
    width: int
    filled: int
    tone: str


@dataclass(frozen=True, slots=True)
class FeedbackView:
    """A graded submission: totals first, then every question."""

    points: Decimal
    counting: Decimal | None  # what the points are worth after the late rule, where that is less
    out_of: Decimal
    bonus: Decimal
    bonus_out_of: Decimal
    pending: Decimal
    ours: tuple[str, ...]  # questions that count in no total until we have judged them
    pending_questions: tuple[str, ...]
    tally: tuple[tuple[Words, int], ...]
    drawn: bool  # whether any case was a drawn one
    isolation: str
    notes: tuple[str, ...]
    questions: tuple[ResultView, ...]
    strip: tuple[Segment, ...]
    strip_width: int


def field_name(question: str) -> str:
    """A question's id as a form field and an anchor: `q-bonus-3.1`."""
    return f"q-{question}"


def asked(outline: Outline) -> tuple[QuestionView, ...]:
    """The questions of a pack as a student reads them."""
    return tuple(_asked(question) for question in outline.questions)


def feedback(
    outline: Outline,
    answers: Answers,
    grading: Grading,
    verdicts: Sequence[Verdict],
    staff: bool,
    lab: Lab,
    received_at: datetime,
) -> FeedbackView:
    """All that a student reads about a graded submission; with `staff`, the evidence too."""
    asked_by_id = {question.id: question for question in outline.questions}
    found = {answer.question: answer for answer in answers.answers}
    questions = tuple(
        _result(verdict_shown(verdict, staff), asked_by_id.get(verdict.question), found.get(verdict.question), staff)
        for verdict in verdicts
    )
    strip = _strip(questions)
    points = grading.points or Decimal(0)
    counting = Policy.model_validate(lab.policy).effective(points, received_at, lab.due_at)
    return FeedbackView(
        points=points,
        counting=None if counting == points else counting,
        out_of=_out_of(questions, bonus=False),
        bonus=grading.bonus or Decimal(0),
        bonus_out_of=_out_of(questions, bonus=True),
        pending=grading.pending or Decimal(0),
        ours=tuple(verdict.question for verdict in verdicts if verdict.state is State.OURS),
        pending_questions=tuple(one.id for one in questions if one.review),
        tally=_tally(verdicts),
        drawn=any(one.drawn for one in questions),
        isolation=isolation_words(grading.isolation),
        notes=answers.notes,
        questions=questions,
        strip=strip,
        strip_width=max(1, sum(one.width for one in strip)),
    )


def cases(public: Sequence[CheckShown], drawn: Sequence[CheckShown]) -> str:
    """How the cases went, in words that claim no more than was checked: public and drawn ones are counted apart."""
    return " ".join(_cases(checks, kind) for checks, kind in ((public, "public"), (drawn, "drawn")) if checks)


def _asked(question: Asked) -> QuestionView:
    return QuestionView(
        id=question.id,
        field=field_name(question.id),
        title=question.title,
        points=question.points,
        bonus=question.bonus,
        prompt=markdown(question.prompt, top=4),
        stub=question.stub,
        entry=question.entry,
    )


def _result(verdict: VerdictShown, question: Asked | None, answer: Answer | None, staff: bool) -> ResultView:
    public = tuple(check for check in verdict.checks if check.public)
    drawn = tuple(check for check in verdict.checks if not check.public)
    diagnosis = verdict.diagnosis.text if verdict.diagnosis else ""
    return ResultView(
        id=verdict.question,
        field=field_name(verdict.question),
        title=question.title if question else "",
        bonus=question.bonus if question else False,
        words=state(verdict.state),
        points=verdict.points,
        gained=None if verdict.state is State.OURS else verdict.points,
        out_of=verdict.out_of,
        headline=verdict.headline,
        diagnosis=diagnosis if diagnosis not in verdict.headline else "",
        explanation=OURS if verdict.state is State.OURS else "",
        review=REVIEW if verdict.needs_review else "",
        review_why=(verdict.needs_review or "") if staff else "",
        summary=cases(public, drawn),
        public=public,
        drawn=drawn,
        remarks=tuple(verdict.remarks),
        read=_read(answer, verdict.remarks) if answer else None,
        evidence=json.dumps(verdict.evidence, indent=2, ensure_ascii=False) if verdict.evidence else "",
    )


def _read(answer: Answer, told: Sequence[str]) -> ReadView:
    text, left_out = shortened(answer.source or answer.text)
    return ReadView(
        lines=tuple(text.rstrip("\n").split("\n")) if text.strip() else (),
        left_out=left_out,
        where=answer.where,
        notes=tuple(note for note in answer.notes if note not in told),
        reason="" if answer.found else answer.reason,
    )


def _cases(checks: Sequence[CheckShown], kind: str) -> str:
    passed, of = sum(check.passed for check in checks), len(checks)
    if of == 1:
        return f"The {kind} case {'passes' if passed else 'does not pass'}."
    if passed == of:
        return f"Both {kind} cases pass." if of == 2 else f"All {of} {kind} cases pass."
    if passed == 0:
        return f"Neither {kind} case passes." if of == 2 else f"None of the {of} {kind} cases passes."
    return f"{passed} of {of} {kind} cases {'passes' if passed == 1 else 'pass'}."


def _out_of(questions: Sequence[ResultView], bonus: bool) -> Decimal:
    ours = STATES[State.OURS]
    return sum((one.out_of for one in questions if one.bonus is bonus and one.words is not ours), Decimal(0))


def _tally(verdicts: Sequence[Verdict]) -> tuple[tuple[Words, int], ...]:
    counts = [(one, sum(verdict.state is one for verdict in verdicts)) for one in State]
    return tuple((state(one), count) for one, count in counts if count)


def _strip(questions: Sequence[ResultView]) -> tuple[Segment, ...]:
    segments, start = [], 0
    for one in questions:
        width = int(one.out_of * 100)
        segments.append(Segment(start, width, int(one.points * 100), one.words.tone))
        start += width
    return tuple(segments)
