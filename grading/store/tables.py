"""The tables. Times are UTC, points are exact decimals, ids that people see are random texts.

A submission is the bytes that somebody handed in. A grading is one judging of them: the row that workers claim. A grade
is a student's effective result in a lab: what scoreboards show and an LMS pulls.
"""

from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    MetaData,
    String,
    UniqueConstraint,
    false,
    func,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, mapped_column
from sqlalchemy.types import TypeDecorator


class Utc(TypeDecorator[datetime]):
    """A UTC time: aware in Python, stored without offset so that both databases compare it alike."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without offset cannot be stored")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Exact(TypeDecorator[Decimal]):
    """An exact decimal, stored as text: SQLite has no decimal type and would round through a float."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        return None if value is None else format(value, "f")

    def process_result_value(self, value: str | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: Utc(),
        Decimal: Exact(),
        dict[str, Any]: JSON,
        list[Any]: JSON,
    }


class Role(StrEnum):
    STUDENT = "student"
    TA = "ta"
    ADMIN = "admin"


class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    login: Mapped[str] = mapped_column(String(255), unique=True)
    name: Mapped[str] = mapped_column(String(255))
    email: Mapped[str] = mapped_column(String(255), default="")
    created_at: Mapped[datetime]


class Course(Base):
    __tablename__ = "courses"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)  # a slug
    title: Mapped[str] = mapped_column(String(255))
    timezone: Mapped[str] = mapped_column(String(64), default="UTC")
    revision: Mapped[int] = mapped_column(default=0)  # rises with every change of a grade; what `since=` counts
    created_at: Mapped[datetime]


class Member(Base):
    """A person's place in a course. A dropped student is inactive, never deleted."""

    __tablename__ = "members"
    course_id: Mapped[str] = mapped_column(ForeignKey("courses.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(16))
    section: Mapped[str] = mapped_column(String(64), default="")
    active: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]


class Client(Base):
    """A machine that pulls grades for one course (OAuth client credentials)."""

    __tablename__ = "clients"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    course_id: Mapped[str] = mapped_column(ForeignKey("courses.id"), index=True)
    name: Mapped[str] = mapped_column(String(255))
    secret_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Token(Base):
    """A bearer secret, stored as its SHA-256. `purpose`: personal (API and CLI), session (web), access (a client's)."""

    __tablename__ = "tokens"
    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    hint: Mapped[str] = mapped_column(String(16))
    purpose: Mapped[str] = mapped_column(String(16))
    name: Mapped[str] = mapped_column(String(255), default="")
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"), index=True)
    client_id: Mapped[str | None] = mapped_column(ForeignKey("clients.id"), index=True)
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("tokens.id"), index=True)  # revoked with its parent
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Lab(Base):
    __tablename__ = "labs"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)  # a slug, unique over all courses
    course_id: Mapped[str] = mapped_column(ForeignKey("courses.id"), index=True)
    title: Mapped[str] = mapped_column(String(255))
    pack: Mapped[str] = mapped_column(String(64))
    due_at: Mapped[datetime | None]
    policy: Mapped[dict[str, Any]]  # grading.policy.Policy
    released: Mapped[bool] = mapped_column(default=False)  # grades may leave for the LMS
    created_at: Mapped[datetime]


class Submission(Base):
    __tablename__ = "submissions"
    __table_args__ = (UniqueConstraint("lab_id", "user_id", "number"),)
    id: Mapped[str] = mapped_column(String(32), primary_key=True)  # random, not guessable
    lab_id: Mapped[str] = mapped_column(ForeignKey("labs.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    number: Mapped[int]  # 1 for a student's first in this lab
    filename: Mapped[str] = mapped_column(String(255))
    sha256: Mapped[str] = mapped_column(String(64))  # of the bytes, kept by `grading.store.blobs`
    size: Mapped[int]
    answers: Mapped[dict[str, Any]]  # grading.answers.model.Answers: the one reading of the bytes
    received_at: Mapped[datetime] = mapped_column(index=True)
    late: Mapped[bool] = column_property(  # by the due time as it is now; `grading.policy.is_late` says the same
        select(func.coalesce(Lab.due_at < received_at, false()))
        .where(Lab.id == lab_id)
        .correlate_except(Lab)
        .scalar_subquery()
    )


class GradingState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    GRADED = "graded"
    FAILED = "failed"  # every attempt ended in a fault of ours: costs no points, shown to staff


_CURRENT = text("current")


class Grading(Base):
    """One judging of a submission, claimed by compare-and-set on `state` and `lease_until`.

    `lease_until` is the end of a running one's lease; a queued one that met a fault is not tried again before it.
    """

    __tablename__ = "gradings"
    __table_args__ = (
        Index("ix_gradings_waiting", "state", "queue", "queued_at"),
        Index("uq_gradings_current", "submission_id", unique=True, sqlite_where=_CURRENT, postgresql_where=_CURRENT),
    )
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    state: Mapped[str] = mapped_column(String(16))
    queue: Mapped[str] = mapped_column(String(16), default="cpu")  # the workers that may take it
    why: Mapped[str] = mapped_column(String(255))  # "handed in", "regrade: …"
    by_user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    queued_at: Mapped[datetime]
    nudged_at: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(default=0)
    claim: Mapped[str | None] = mapped_column(String(64))  # random, the winner's
    lease_until: Mapped[datetime | None]
    progress: Mapped[int] = mapped_column(default=0)  # questions judged
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    fault: Mapped[str | None] = mapped_column(String(255))  # the named infrastructure cause, for staff
    isolation: Mapped[str | None] = mapped_column(String(64))
    pack_digest: Mapped[str | None] = mapped_column(String(64))
    points: Mapped[Decimal | None]
    bonus: Mapped[Decimal | None]
    pending: Mapped[Decimal | None]  # points that wait for a person
    out_of: Mapped[Decimal | None]
    current: Mapped[bool] = mapped_column(default=True)  # the submission's grading in force


class VerdictRow(Base):
    __tablename__ = "verdicts"
    grading_id: Mapped[str] = mapped_column(ForeignKey("gradings.id"), primary_key=True)
    question: Mapped[str] = mapped_column(String(32), primary_key=True)
    position: Mapped[int]
    state: Mapped[str] = mapped_column(String(16))
    points: Mapped[Decimal]
    out_of: Mapped[Decimal]
    needs_review: Mapped[str | None] = mapped_column(String(500))
    explained: Mapped[bool] = mapped_column(default=False)
    diagnosis_code: Mapped[str | None] = mapped_column(String(120))
    body: Mapped[dict[str, Any]]  # grading.verdict.Verdict, whole


class Grade(Base):
    """A student's effective result in a lab, by the lab's policy. Absent until something counts; 0 is a grade."""

    __tablename__ = "grades"
    __table_args__ = (Index("ix_grades_lab_revision", "lab_id", "revision"),)
    lab_id: Mapped[str] = mapped_column(ForeignKey("labs.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True, index=True)
    grading_id: Mapped[str] = mapped_column(ForeignKey("gradings.id"))
    points: Mapped[Decimal]
    bonus: Mapped[Decimal]
    pending: Mapped[Decimal]
    out_of: Mapped[Decimal]
    late: Mapped[bool] = mapped_column(default=False)
    questions: Mapped[dict[str, Any]]  # question -> [state, points, needs review], for the scoreboard in one read
    revision: Mapped[int]
    changed_at: Mapped[datetime]


class GradeChange(Base):
    """Every change of a grade: who, when, why."""

    __tablename__ = "grade_changes"
    id: Mapped[int] = mapped_column(primary_key=True)
    lab_id: Mapped[str] = mapped_column(ForeignKey("labs.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    by_user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))  # none: Rooflab itself
    at: Mapped[datetime]
    why: Mapped[str] = mapped_column(String(255))
    points_before: Mapped[Decimal | None]
    points_after: Mapped[Decimal | None]


Index("ix_grade_changes_lab_user", GradeChange.lab_id, GradeChange.user_id)
