"""How a student's grade in a lab came about: its changes, for staff alone."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy.orm import Session

from api.pages.times import When, when
from grading.store import courses, grades
from grading.store.tables import Lab

SHOWN = 20


@dataclass(frozen=True, slots=True)
class ChangeView:
    at: When
    who: str  # empty where Rooflab itself graded
    before: Decimal | None
    after: Decimal | None
    why: str


@dataclass(frozen=True, slots=True)
class ChangesView:
    """The newest changes of a grade; `older` says whether there were more."""

    rows: tuple[ChangeView, ...]
    older: bool


def changes_shown(session: Session, lab: Lab, user_id: int, now: datetime) -> ChangesView:
    """Who changed a student's grade in a lab, when, from what to what and why, the newest first."""
    found = grades.changes(session, lab.id, user_id, SHOWN + 1)
    course = courses.course(session, lab.course_id)
    zone = course.timezone if course else "UTC"
    rows = tuple(
        ChangeView(when(one.at, zone, now), who or "", one.points_before, one.points_after, one.why)
        for one, who in found[:SHOWN]
    )
    return ChangesView(rows, older=len(found) > SHOWN)
