"""People and their places in courses."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from grading.roster import Changes, Place, normal_login
from grading.store.session import hold_course
from grading.store.tables import Course, Grade, Lab, Member, Role, User


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


def places(session: Session, course_id: str, user_ids: Sequence[int] | None = None) -> list[Place]:
    """Everybody in a course, or those of them asked for; dropped students too, by name."""
    other = select(Member.user_id).where(Member.course_id != course_id, Member.active.is_(True))
    query = (
        select(Member, User, Member.user_id.in_(other))
        .join(User, User.id == Member.user_id)
        .where(Member.course_id == course_id)
        .order_by(User.name, User.login)
    )
    if user_ids is not None:
        query = query.where(Member.user_id.in_(user_ids))
    return [
        Place(user.id, user.login, user.name, user.email, member.section, Role(member.role), member.active, elsewhere)
        for member, user, elsewhere in session.execute(query)
    ]


def place_of(session: Session, course_id: str, login: str) -> Place | None:
    """The place in a course of the person with this login, a dropped student's too; none for strangers."""
    found = user_by_login(session, login) if login.isprintable() else None
    return next(iter(places(session, course_id, [found.id])), None) if found is not None else None


def apply_roster(session: Session, course_id: str, changes: Changes, now: datetime) -> None:
    """Make a course's students what a roster says. A known login is that person, whose name another course may own."""
    for one in changes.added:
        found = user_by_login(session, one.login) or add_user(
            session, login=one.login, name=one.name, email=one.email, now=now
        )
        enroll(session, course_id=course_id, user_id=found.id, role=Role.STUDENT, section=one.section, now=now)
    for one in changes.changed:
        assert one.user_id is not None
        known = session.get_one(User, one.user_id)
        known.name, known.email = one.name, one.email
        member = session.get_one(Member, (course_id, one.user_id))
        member.section, member.active = one.section, True
    for one in changes.dropped:
        assert one.user_id is not None
        session.get_one(Member, (course_id, one.user_id)).active = False
    session.flush()
    moved = [one.user_id for one in changes.changed + changes.dropped if one.user_id is not None]
    _renew_grades(session, course_id, moved, now)


def _renew_grades(session: Session, course_id: str, user_ids: Sequence[int], now: datetime) -> None:
    """Give these people's grades a new revision, so that a pull `since=` sees who was dropped or renamed."""
    hold_course(session, course_id)
    grades = session.scalars(
        select(Grade)
        .join(Lab, Lab.id == Grade.lab_id)
        .where(Lab.course_id == course_id, Grade.user_id.in_(user_ids))
        .order_by(Grade.revision)
    ).all()
    raised = update(Course).where(Course.id == course_id).values(revision=Course.revision + len(grades))
    last = session.scalars(raised.returning(Course.revision)).one()
    for number, grade in enumerate(grades, last - len(grades) + 1):
        grade.revision, grade.changed_at = number, now
    session.flush()
