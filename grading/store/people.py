"""People and their places in courses."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grading.store.tables import Member, Role, User


@dataclass(frozen=True, slots=True)
class Place:
    """One person in one course."""

    user_id: int
    login: str
    name: str
    email: str
    section: str
    role: Role
    active: bool


def normal_login(login: str) -> str:
    """A login as it is stored and compared: `Ann@X.edu` and ` ann@x.edu` are one person."""
    return login.strip().casefold()


def user(session: Session, user_id: int) -> User | None:
    """The person with this id."""
    return session.get(User, user_id)


def user_by_login(session: Session, login: str) -> User | None:
    """The person with this login, however it is capitalised."""
    return session.scalar(select(User).where(User.login == normal_login(login)))


def add_user(session: Session, *, login: str, name: str, now: datetime, email: str = "") -> User:
    """A new person, known by a login. The login must be free."""
    made = User(login=normal_login(login), name=name, email=email, created_at=now)
    session.add(made)
    session.flush()
    return made


def enroll(session: Session, *, course_id: str, user_id: int, role: Role, now: datetime, section: str = "") -> Member:
    """Give a person a place in a course, or change the place they have; a dropped one is active again."""
    member = session.get(Member, (course_id, user_id))
    if member is None:
        member = Member(course_id=course_id, user_id=user_id, role=role.value, section=section, created_at=now)
        session.add(member)
    member.role, member.section, member.active = role.value, section, True
    session.flush()
    return member


def role_in(session: Session, course_id: str, user_id: int) -> Role | None:
    """A person's role in a course; none for strangers and for students who were dropped."""
    role = session.scalar(
        select(Member.role).where(Member.course_id == course_id, Member.user_id == user_id, Member.active.is_(True))
    )
    return None if role is None else Role(role)


def places(session: Session, course_id: str) -> list[Place]:
    """Everybody in a course, dropped students too, by name."""
    rows = session.execute(
        select(Member, User)
        .join(User, User.id == Member.user_id)
        .where(Member.course_id == course_id)
        .order_by(User.name, User.login)
    )
    return [
        Place(user.id, user.login, user.name, user.email, member.section, Role(member.role), member.active)
        for member, user in rows
    ]
