"""Courses, their labs, and the machines that pull their grades."""

import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from grading.store import grades, tokens
from grading.store.session import hold_course, hold_person
from grading.store.tables import Client, Course, Grade, Lab, Member, Role, Submission, Token

ID = r"^[A-Za-z0-9._-]{1,64}$"  # of courses and labs, since it stands in addresses


def create_course(session: Session, *, id: str, title: str, now: datetime, timezone: str = "UTC") -> Course:
    """A new course. Its id is a slug that appears in addresses."""
    ZoneInfo(timezone)
    made = Course(id=id, title=title, timezone=timezone, revision=0, created_at=now)
    session.add(made)
    session.flush()
    return made


def create_lab(
    session: Session,
    *,
    id: str,
    course_id: str,
    title: str,
    pack: str,
    now: datetime,
    due_at: datetime | None = None,
    policy: dict[str, Any] | None = None,
    released: bool = False,
) -> Lab:
    """A new lab: a pack, asked in a course."""
    made = Lab(
        id=id,
        course_id=course_id,
        title=title,
        pack=pack,
        due_at=due_at,
        policy=policy or {},
        released=released,
        created_at=now,
    )
    session.add(made)
    session.flush()
    return made


def course(session: Session, course_id: str) -> Course | None:
    """The course with this id."""
    return session.get(Course, course_id)


def lab(session: Session, lab_id: str) -> Lab | None:
    """The lab with this id."""
    return session.get(Lab, lab_id)


def courses_for(session: Session, user_id: int) -> list[tuple[Course, Role]]:
    """The courses that a person has a place in, with their role there, by title; those without a lab too."""
    rows = session.execute(
        select(Course, Member.role)
        .join(Member, Member.course_id == Course.id)
        .where(Member.user_id == user_id, Member.active.is_(True))
        .order_by(Course.title, Course.id)
    )
    return [(found, Role(role)) for found, role in rows]


def labs_for(session: Session, user_id: int) -> list[tuple[Lab, Role]]:
    """The labs of all courses that a person has a place in, with their role there; the next due one first."""
    rows = session.execute(
        select(Lab, Member.role)
        .join(Member, Member.course_id == Lab.course_id)
        .where(Member.user_id == user_id, Member.active.is_(True))
        .order_by(Lab.due_at.is_(None), Lab.due_at, Lab.id)
    )
    return [(found, Role(role)) for found, role in rows]


def labs_of(session: Session, course_id: str) -> list[Lab]:
    """A course's labs, by id."""
    return list(session.scalars(select(Lab).where(Lab.course_id == course_id).order_by(Lab.id)))


def hold(session: Session, lab: Lab) -> Sequence[int]:
    """Make others wait who change grades of a lab, and say whose may be. The time of a change is read after it.

    Everybody is held before the course: a worker holds one person, then the course, never the reverse.
    """
    handed_in = select(Submission.user_id).where(Submission.lab_id == lab.id).distinct()
    users = session.scalars(handed_in.order_by(Submission.user_id)).all()
    for user_id in users:
        hold_person(session, user_id)
    hold_course(session, lab.course_id)
    return users


def recount(session: Session, lab: Lab, held: Sequence[int], *, why: str, by_user_id: int, now: datetime) -> int:
    """Bring every grade of a lab up to date after its rules changed, of those held by `hold`; how many changed."""
    session.flush()
    return sum(grades.recompute(session, lab.id, user_id, why=why, by_user_id=by_user_id, now=now) for user_id in held)


def revision_before(session: Session, course_id: str, moment: datetime) -> int:
    """The revision after which lies every grade of a course that changed at this moment or later."""
    found = session.scalar(
        select(func.min(Grade.revision))
        .join(Lab, Lab.id == Grade.lab_id)
        .where(Lab.course_id == course_id, Grade.changed_at >= moment)
    )
    if found is not None:
        return found - 1
    return session.get_one(Course, course_id).revision


def create_client(session: Session, *, course_id: str, name: str, now: datetime) -> tuple[Client, str]:
    """A machine that may pull this course's grades, and its secret, which cannot be shown again."""
    secret = tokens.new_secret(tokens.CLIENT_SECRET)
    made = Client(
        id=f"client-{secrets.token_hex(8)}",
        course_id=course_id,
        name=name,
        secret_hash=tokens.digest(secret),
        created_at=now,
    )
    session.add(made)
    session.flush()
    return made, secret


def clients_of(session: Session, course_id: str) -> list[Client]:
    """A course's machines, revoked ones too, newest first."""
    return list(
        session.scalars(
            select(Client).where(Client.course_id == course_id).order_by(Client.created_at.desc(), Client.id)
        )
    )


def client_with_secret(session: Session, client_id: str, secret: str) -> Client | None:
    """The machine with this id, if the secret is its own and it was not revoked."""
    found = session.get(Client, client_id) if client_id.isprintable() else None
    expected = found.secret_hash if found is not None else tokens.digest("")  # the same work for an unknown id
    right = hmac.compare_digest(expected, tokens.digest(secret))
    return found if found is not None and right and found.revoked_at is None else None


def revoke_client(session: Session, course_id: str, client_id: str, now: datetime) -> bool:
    """Revoke a machine of this course and every token it holds. False: no such machine here."""
    found = session.get(Client, client_id)
    if found is None or found.course_id != course_id or found.revoked_at is not None:
        return False
    found.revoked_at = now
    session.execute(
        update(Token).where(Token.client_id == client_id, Token.revoked_at.is_(None)).values(revoked_at=now)
    )
    return True
