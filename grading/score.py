"""From verdicts to a score: exact sums, main and bonus apart."""

from collections.abc import Iterable
from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from grading.outline import Outline
from grading.verdict import Points, State, Verdict


class Score(BaseModel):
    """A submission's sum. `pending` is what a person may still change, main and bonus together.

    Questions in `ours` failed by a fault of ours: they count in neither the points nor what these are out of.
    """

    model_config = ConfigDict(frozen=True)
    points: Points
    bonus: Points
    pending: Points
    out_of: Points
    bonus_out_of: Points
    ours: tuple[str, ...] = ()


def total(verdicts: Iterable[Verdict], outline: Outline) -> Score:
    """The score of one submission. A question without a verdict counts as not answered."""
    by_question = {verdict.question: verdict for verdict in verdicts}
    unknown = by_question.keys() - {question.id for question in outline.questions}
    if unknown:
        raise ValueError(f"verdicts on questions that the pack does not have: {', '.join(sorted(unknown))}")
    points = {False: Decimal(0), True: Decimal(0)}
    out_of = {False: Decimal(0), True: Decimal(0)}
    pending = Decimal(0)
    ours = []
    for question in outline.questions:
        verdict = by_question.get(question.id)
        if verdict is not None and verdict.state is State.OURS:
            ours.append(question.id)
            continue
        out_of[question.bonus] += question.points
        if verdict is not None:
            points[question.bonus] += verdict.points
            pending += verdict.out_of if verdict.needs_review else 0
    return Score(
        points=points[False],
        bonus=points[True],
        pending=pending,
        out_of=out_of[False],
        bonus_out_of=out_of[True],
        ours=tuple(ours),
    )
