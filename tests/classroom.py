"""A course with a lab and students, and short ways to hand in and to grade, for tests of what lies below the doors."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from sqlalchemy.orm import Session

from grading.answers.model import Answer, Answers
from grading.policy import Policy
from grading.score import Score
from grading.store import courses, gradings, people, submissions
from grading.store.gradings import Claimed
from grading.store.session import transaction
from grading.store.tables import Role
from grading.verdict import State, Verdict

LAB = "lab-one"
COURSE = "course"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = 30.0
ATTEMPTS = 3

Found = TypeVar("Found")


def minutes(count: float) -> datetime:
    """A moment so many minutes after the tests' noon."""
    return START + timedelta(minutes=count)


def open_course(
    url: str, *, students: int = 1, policy: Policy | None = None, due_at: datetime | None = None
) -> list[int]:
    """Make a course, a lab of the shipped pack, and students; their ids."""
    with transaction(url) as session:
        courses.create_course(session, id=COURSE, title="Course", now=START)
        rules = (policy or Policy()).model_dump(mode="json")
        courses.create_lab(
            session, id=LAB, course_id=COURSE, title="Lab", pack="lab1", now=START, due_at=due_at, policy=rules
        )
        return [enrolled(session, f"student{number:04}") for number in range(students)]


def enrolled(session: Session, login: str, role: Role = Role.STUDENT) -> int:
    """Give somebody new a place in the course."""
    person = people.add_user(session, login=login, name=login.title(), now=START)
    people.enroll(session, course_id=COURSE, user_id=person.id, role=role, now=START)
    return person.id


def hand_in(session: Session, user_id: int, at: datetime = START, source: str = "pass") -> tuple[str, str]:
    """Record a submission; its id and its grading's."""
    submission = submissions.record(
        session,
        lab_id=LAB,
        user_id=user_id,
        filename="lab.ipynb",
        sha256="0" * 64,
        size=1,
        answers=Answers(answers=(Answer(question="1.3", found=True, source=source),)),
        received_at=at,
    )
    return submission.id, gradings.current(session, submission.id).id


def take(session: Session, at: datetime = START) -> Claimed | None:
    """Claim what has waited longest."""
    return gradings.claim(session, "cpu", at, LEASE, ATTEMPTS)


def taken(session: Session, at: datetime = START) -> Claimed:
    """Claim what has waited longest, which must be there."""
    claimed = take(session, at)
    assert claimed is not None
    return claimed


def finish(
    session: Session, claimed: Claimed, *points: str, bonus: str = "0", at: datetime = START, explained: bool = False
) -> bool:
    """Finish a claim with a verdict for each of the points given."""
    verdicts = [verdict(f"1.{number}", worth, explained) for number, worth in enumerate(points, 1)]
    score = Score(
        points=sum((Decimal(worth) for worth in points), Decimal(0)),
        bonus=Decimal(bonus),
        pending=Decimal(0),
        out_of=Decimal(5 * len(points)),
        bonus_out_of=Decimal(5),
    )
    return gradings.finish(session, claimed, verdicts, score, "full", "digest", at)


def graded(url: str, user_id: int, *points: str, bonus: str = "0", at: datetime = START) -> str:
    """Hand in and grade; the submission's id."""
    with transaction(url) as session:
        submission_id, _ = hand_in(session, user_id, at)
    with transaction(url) as session:
        assert finish(session, taken(session, at), *points, bonus=bonus, at=at)
    return submission_id


def verdict(question: str, points: str, explained: bool = False) -> Verdict:
    """A verdict out of 5."""
    worth = Decimal(points)
    state = State.PASSED if worth == 5 else State.PARTIAL if worth else State.FAILED
    return Verdict(
        question=question, state=state, points=worth, out_of=Decimal(5), headline="Because.", explained=explained
    )


def eventually(look: Callable[[], Found], until: Callable[[Found], object] = bool, seconds: float = 60.0) -> Found:
    """Look again and again until what is seen is as wanted; fail, saying what was seen last, after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if until(seen):
            return seen
        assert time.monotonic() < deadline, f"still {seen!r} after {seconds} seconds"
        time.sleep(0.02)


def ids(rows: Sequence[tuple[str, str]]) -> list[str]:
    """The first of each pair."""
    return [first for first, _ in rows]
