"""Grades: a student's effective result in a lab, recomputed in the transaction that changes what it rests on."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from grading.policy import Policy, is_late
from grading.store.session import hold_course, hold_person
from grading.store.tables import (
    Course,
    Grade,
    GradeChange,
    Grading,
    GradingState,
    Lab,
    Member,
    Role,
    Submission,
    User,
    VerdictRow,
)

Questions = dict[str, tuple[str, Decimal, bool]]  # question -> state, points, needs review


@dataclass(frozen=True, slots=True)
class Row:
    """One student on the scoreboard. `points` and what goes with them are none until something counts; 0 is a grade.

    `submission_id` is the one that counts, or else the newest; none when nothing was handed in.
    """

    user_id: int
    login: str
    name: str
    section: str
    submission_id: str | None
    handed_in: int  # how many submissions
    points: Decimal | None
    bonus: Decimal | None
    pending: Decimal | None
    out_of: Decimal | None
    late: bool
    isolation: str | None
    questions: Questions


def recompute(session: Session, lab_id: str, user_id: int, *, why: str, by_user_id: int | None, now: datetime) -> bool:
    """Bring a student's grade up to date by the lab's policy; true when it changed. What is ungraded counts nothing."""
    hold_person(session, user_id)
    lab = session.get_one(Lab, lab_id)
    found = _counted(session, lab, user_id)
    if found is None:
        return False
    grading_id, counted = found
    grade = session.get(Grade, (lab_id, user_id), populate_existing=True)
    before = None if grade is None else grade.points
    if grade is not None and all(getattr(grade, name) == value for name, value in counted.items()):
        grade.grading_id = grading_id
        return False
    revision = _next_revision(session, lab.course_id)
    if grade is None:
        grade = Grade(lab_id=lab_id, user_id=user_id)
    for name, value in counted.items():
        setattr(grade, name, value)
    grade.grading_id, grade.revision, grade.changed_at = grading_id, revision, now
    session.add(grade)
    session.add(
        GradeChange(
            lab_id=lab_id,
            user_id=user_id,
            by_user_id=by_user_id,
            at=now,
            why=why[:255],
            points_before=before,
            points_after=grade.points,
        )
    )
    session.flush()
    return True


def of_student(session: Session, lab_id: str, user_id: int) -> Grade | None:
    """A student's grade in a lab, or none when nothing counts yet."""
    return session.get(Grade, (lab_id, user_id))


def changes(session: Session, lab_id: str, user_id: int, limit: int) -> list[tuple[GradeChange, str | None]]:
    """The newest changes of a student's grade, each with the name of who made it; none where Rooflab itself did."""
    rows = session.execute(
        select(GradeChange, User.name)
        .outerjoin(User, User.id == GradeChange.by_user_id)
        .where(GradeChange.lab_id == lab_id, GradeChange.user_id == user_id)
        .order_by(GradeChange.id.desc())
        .limit(limit)
    )
    return [(change, name) for change, name in rows]


def scoreboard(session: Session, lab_id: str) -> list[Row]:
    """Every active student of the lab's course, with or without a grade, by name."""
    newest = (
        select(Submission.id)
        .where(Submission.lab_id == Lab.id, Submission.user_id == User.id)
        .order_by(Submission.number.desc())
        .limit(1)
        .correlate(Lab, User)
    )
    rows = session.execute(
        select(
            User.id,
            User.login,
            User.name,
            Member.section,
            newest.scalar_subquery().label("newest"),
            newest.with_only_columns(Submission.number).scalar_subquery().label("handed_in"),
            Grading.submission_id,
            Grading.isolation,
            Grade.points,
            Grade.bonus,
            Grade.pending,
            Grade.out_of,
            Grade.late,
            Grade.questions,
        )
        .select_from(Lab)
        .join(Member, Member.course_id == Lab.course_id)
        .join(User, User.id == Member.user_id)
        .outerjoin(Grade, (Grade.lab_id == Lab.id) & (Grade.user_id == User.id))
        .outerjoin(Grading, Grading.id == Grade.grading_id)
        .where(Lab.id == lab_id, Member.role == Role.STUDENT, Member.active)
        .order_by(User.name, User.login)
    )
    return [
        Row(
            user_id=row.id,
            login=row.login,
            name=row.name,
            section=row.section,
            submission_id=row.submission_id or row.newest,
            handed_in=row.handed_in or 0,
            points=row.points,
            bonus=row.bonus,
            pending=row.pending,
            out_of=row.out_of,
            late=bool(row.late),
            isolation=row.isolation,
            questions=questions(row.questions or {}),
        )
        for row in rows
    ]


def since(session: Session, course_id: str, revision: int, limit: int) -> list[tuple[Grade, User]]:
    """The course's released grades that changed after a revision, in the order of their changes.

    Students who were dropped keep theirs; what staff hand in to try a lab out is nobody's grade.
    """
    rows = session.execute(
        select(Grade, User)
        .join(Lab, Lab.id == Grade.lab_id)
        .join(User, User.id == Grade.user_id)
        .join(Member, (Member.course_id == Lab.course_id) & (Member.user_id == Grade.user_id))
        .where(Lab.course_id == course_id, Lab.released, Grade.revision > revision, Member.role == Role.STUDENT)
        .order_by(Grade.revision)
        .limit(limit)
    )
    return [(grade, user) for grade, user in rows]


def release(session: Session, lab_id: str, now: datetime) -> None:
    """Let a lab's grades leave for the LMS. They count as changed, so that whoever pulls by revision gets them."""
    lab = session.get_one(Lab, lab_id)
    if lab.released:
        return
    hold_course(session, lab.course_id)
    lab.released = True
    for grade in session.scalars(select(Grade).where(Grade.lab_id == lab_id).order_by(Grade.revision)):
        grade.revision = _next_revision(session, lab.course_id)
        grade.changed_at = now


def questions(stored: dict[str, list[object]]) -> Questions:
    """What a grade keeps of each question, as values."""
    return {name: (str(state), Decimal(str(points)), bool(review)) for name, (state, points, review) in stored.items()}


def _counted(session: Session, lab: Lab, user_id: int) -> tuple[str, dict[str, object]] | None:
    """The grading that counts, and what it makes of the grade."""
    policy = Policy.model_validate(lab.policy)
    graded = session.execute(
        select(Grading.id, Grading.points, Grading.bonus, Grading.pending, Grading.out_of, Submission.received_at)
        .join(Submission, Submission.id == Grading.submission_id)
        .where(
            Submission.lab_id == lab.id,
            Submission.user_id == user_id,
            Grading.current,
            Grading.state == GradingState.GRADED,
        )
        .order_by(Submission.number)
    ).all()
    if not graded:
        return None

    def worth(row: Any) -> Decimal:
        return policy.effective(row.points + row.bonus, row.received_at, lab.due_at)

    counted = graded[-1] if policy.counts == "latest" else max(graded, key=worth)  # max takes the earliest of equals
    points, bonus, pending = (
        policy.effective(value, counted.received_at, lab.due_at)
        for value in (counted.points, counted.bonus, counted.pending)
    )
    rows = session.execute(
        select(VerdictRow.question, VerdictRow.state, VerdictRow.points, VerdictRow.needs_review)
        .where(VerdictRow.grading_id == counted.id)
        .order_by(VerdictRow.position)
    )
    return counted.id, {
        "points": points,
        "bonus": bonus,
        "pending": pending,
        "out_of": counted.out_of,
        "late": is_late(counted.received_at, lab.due_at),
        "questions": {row.question: [row.state, format(row.points, "f"), row.needs_review is not None] for row in rows},
    }


def _next_revision(session: Session, course_id: str) -> int:
    """The course's next revision. Its row stays locked until the commit, so revisions become visible in order."""
    statement = update(Course).where(Course.id == course_id).values(revision=Course.revision + 1)
    return session.execute(statement.returning(Course.revision)).scalar_one()
