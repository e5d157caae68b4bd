"""The scoreboard of a lab, for its course's staff."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from api.auth import LabId, Person, current_person, enter_lab, settings_of
from api.pages.boards import Filter, board
from api.pages.rendering import page
from api.pages.times import when
from grading.shelf import outline_of
from grading.store import courses, grades, gradings
from grading.store.session import reading
from grading.store.tables import Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/staff")


@router.get("/labs/{lab}")
def scoreboard(
    request: Request,
    lab: LabId,
    person: Annotated[Person, Depends(current_person)],
    name: Annotated[str, Query(max_length=200)] = "",
    section: Annotated[str, Query(max_length=64)] = "",
    show: Annotated[str, Query(max_length=16)] = "",
) -> Response:
    """Students by questions; filtered by what the address says."""
    entered = enter_lab(request, person, lab, Role.TA, Scope.STAFF)
    settings = settings_of(request)
    with reading(settings.database) as session:
        course = courses.course(session, entered.course_id)
        rows = grades.scoreboard(session, lab)
        faults = gradings.faults(session, lab)
    zone = course.timezone if course else "UTC"
    due = entered.lab.due_at
    shown = board(
        entered.lab,
        when(due, zone, datetime.now(UTC)) if due else None,
        outline_of(settings, entered.lab.pack),
        rows,
        faults,
        Filter(name, section, show),
    )
    return page(request, "scoreboard.html", board=shown)
