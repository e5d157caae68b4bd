"""A lab's rules on attempts and lateness."""

from decimal import Decimal

import pytest
from classroom import minutes
from pydantic import ValidationError

from grading.policy import Late, Policy, days_late, is_late

DAY = 24 * 60
PENALTY = Policy(late=Late.PENALTY, penalty_per_day=Decimal("0.1"))


@pytest.mark.parametrize(
    ("at", "days"), [(-1, 0), (0, 0), (0.01, 1), (DAY, 1), (DAY + 0.01, 2), (9.5 * DAY, 10), (30 * DAY, 30)]
)
def test_a_day_late_counts_from_its_first_moment(at: float, days: int) -> None:
    assert days_late(minutes(at), minutes(0)) == days
    assert is_late(minutes(at), minutes(0)) == (days > 0)


@pytest.mark.parametrize(
    ("points", "at", "worth"),
    [
        ("4.5", -1, "4.5"),
        ("4.5", 1, "4.05"),
        ("100", DAY + 1, "80"),
        ("7", 10 * DAY, "0"),
        ("7", 40 * DAY, "0"),
        ("0.00005", 1, "0"),
        ("3.3333", 1, "3"),
    ],
)
def test_the_penalty_is_exact_and_never_goes_below_nought(points: str, at: float, worth: str) -> None:
    assert str(PENALTY.effective(Decimal(points), minutes(at), minutes(0))) == worth


def test_without_a_due_time_nothing_is_late() -> None:
    assert PENALTY.effective(Decimal(5), minutes(DAY), None) == 5
    assert not Policy(late=Late.CLOSED).closed(minutes(DAY), None)


def test_only_a_closed_lab_closes() -> None:
    assert Policy(late=Late.CLOSED).closed(minutes(1), minutes(0))
    assert not Policy(late=Late.CLOSED).closed(minutes(0), minutes(0))
    assert not PENALTY.closed(minutes(1), minutes(0))


def test_a_policy_survives_its_way_through_the_database_exactly() -> None:
    policy = Policy(counts="latest", attempts=3, late=Late.PENALTY, penalty_per_day=Decimal("0.15"))
    assert Policy.model_validate(policy.model_dump(mode="json")) == policy
    assert Policy.model_validate({}) == Policy()


@pytest.mark.parametrize("wrong", [{"counts": "worst"}, {"attempts": 0}, {"penalty_per_day": "1.5"}, {"latest": True}])
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Policy.model_validate(wrong)
