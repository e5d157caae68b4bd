"""Submissions: what somebody handed in, numbered per student and lab."""

import secrets
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, defer

from grading.answers.model import Answers
from grading.store import gradings
from grading.store.session import hold_person
from grading.store.tables import Grading, GradingState, Submission


def record(
    session: Session,
    *,
    lab_id: str,
    user_id: int,
    filename: str,
    sha256: str,
    size: int,
    answers: Answers,
    received_at: datetime,
    queue: str = "cpu",
) -> Submission:
    """Add a submission under the student's next number, with a queued grading."""
    hold_person(session, user_id)
    last = session.scalar(
        select(func.max(Submission.number)).where(Submission.lab_id == lab_id, Submission.user_id == user_id)
    )
    submission = Submission(
        id=secrets.token_hex(16),
        lab_id=lab_id,
        user_id=user_id,
        number=(last or 0) + 1,
        filename=filename,
        sha256=sha256,
        size=size,
        answers=answers.model_dump(mode="json"),
        received_at=received_at,
    )
    session.add(submission)
    session.flush()
    gradings.add(session, submission.id, why="handed in", by_user_id=None, now=received_at, queue=queue)
    return submission


def get(session: Session, submission_id: str) -> Submission | None:
    """The submission with this id."""
    return session.get(Submission, submission_id)


def answers(submission: Submission) -> Answers:
    """What was found in a submission when it was received."""
    return Answers.model_validate(submission.answers)


def of_student(session: Session, lab_id: str, user_id: int) -> list[tuple[Submission, Grading]]:
    """A student's submissions in a lab, the newest first, each with its grading in force; without their answers."""
    rows = session.execute(
        select(Submission, Grading)
        .join(Grading, Grading.submission_id == Submission.id)
        .where(Submission.lab_id == lab_id, Submission.user_id == user_id, Grading.current)
        .order_by(Submission.number.desc())
        .options(defer(Submission.answers))
    )
    return [(submission, grading) for submission, grading in rows]


def attempts(session: Session, lab_id: str, user_id: int) -> int:
    """How many submissions count against a limit. One that a fault of ours left ungraded does not."""
    found = session.scalar(
        select(func.count())
        .select_from(Submission)
        .join(Grading, Grading.submission_id == Submission.id)
        .where(
            Submission.lab_id == lab_id,
            Submission.user_id == user_id,
            Grading.current,
            Grading.state != GradingState.FAILED,
        )
    )
    return found or 0


def waiting(session: Session, user_id: int) -> int:
    """How many gradings of what somebody handed in, in any lab, have not ended yet. A regrade by staff is none."""
    found = session.scalar(
        select(func.count())
        .select_from(Grading)
        .join(Submission, Submission.id == Grading.submission_id)
        .where(
            Submission.user_id == user_id,
            Grading.by_user_id.is_(None),
            Grading.state.in_((GradingState.QUEUED, GradingState.RUNNING)),
        )
    )
    return found or 0
