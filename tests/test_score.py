"""Scores are exact sums, bonus apart, and a fault of ours counts neither for nor against."""

from decimal import Decimal

import pytest

from grading.outline import Asked, Outline
from grading.score import total
from grading.verdict import State, Verdict


def outline() -> Outline:
    def asked(name: str, points: str, bonus: bool = False) -> Asked:
        return Asked(
            id=name,
            title=name,
            heading=name,
            kind="formula",
            points=Decimal(points),
            bonus=bonus,
            entry="f",
            parameters=(),
            prompt="",
            stub="",
        )

    return Outline(
        name="lab",
        title="Lab",
        digest="",
        questions=(asked("1", "5"), asked("2", "0.3"), asked("b", "2.5", bonus=True)),
    )


def verdict(name: str, points: str, out_of: str, state: State = State.PARTIAL, review: str | None = None) -> Verdict:
    return Verdict(
        question=name,
        state=state,
        points=Decimal(points),
        out_of=Decimal(out_of),
        headline="because",
        needs_review=review,
    )


def test_main_and_bonus_are_summed_exactly_and_apart() -> None:
    score = total([verdict("1", "0.1", "5"), verdict("2", "0.2", "0.3"), verdict("b", "2.5", "2.5")], outline())
    assert (score.points, score.bonus) == (Decimal("0.3"), Decimal("2.5"))
    assert (score.out_of, score.bonus_out_of) == (Decimal("5.3"), Decimal("2.5"))
    assert score.pending == 0


def test_points_of_a_verdict_under_review_stand_and_all_that_may_change_is_pending() -> None:
    score = total([verdict("1", "4", "5", review="variant"), verdict("2", "0", "0.3")], outline())
    assert (score.points, score.pending) == (Decimal(4), Decimal(5))


def test_a_fault_of_ours_counts_neither_for_nor_against_and_is_named() -> None:
    score = total([verdict("1", "0", "5", state=State.OURS), verdict("2", "0.3", "0.3")], outline())
    assert (score.points, score.out_of, score.ours) == (Decimal("0.3"), Decimal("0.3"), ("1",))


def test_a_question_without_verdict_counts_as_not_answered() -> None:
    score = total([verdict("1", "5", "5")], outline())
    assert (score.points, score.out_of) == (Decimal(5), Decimal("5.3"))


def test_a_verdict_on_a_question_that_the_pack_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="9"):
        total([verdict("9", "5", "5")], outline())
