"""What staff see of a lab: its scoreboard, and all that one student handed in."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from api.auth import LabId, Login, Person, check_csrf, current_person, enter_lab, enter_place, settings_of
from api.pages.boards import Filter, board
from api.pages.changes import changes_shown
from api.pages.labs import handed_in
from api.pages.rendering import page
from api.pages.times import when
from api.routes import retry as door
from grading.shelf import outline_of
from grading.store import courses, grades, gradings
from grading.store.session import reading
from grading.store.tables import Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/staff")


Who = Annotated[Person, Depends(current_person)]


@router.get("/labs/{lab}")
def scoreboard(
    request: Request,
    lab: LabId,
    person: Who,
    name: Annotated[str, Query(max_length=200)] = "",
    section: Annotated[str, Query(max_length=64)] = "",
    show: Annotated[str, Query(max_length=16)] = "",
) -> Response:
    """Students by questions; filtered by what the address says."""
    entered = enter_lab(request, person, lab, Role.TA, Scope.STAFF)
    settings, now = settings_of(request), datetime.now(UTC)
    with reading(settings.database) as session:
        course = courses.course(session, entered.course_id)
        rows = grades.scoreboard(session, lab)
        faults = gradings.faults(session, lab)
        idle = gradings.idle_since(session, now)
    zone = course.timezone if course else "UTC"
    due = entered.lab.due_at
    shown = board(
        entered.lab,
        when(due, zone, now) if due else None,
        outline_of(settings, entered.lab.pack),
        rows,
        faults,
        Filter(name, section, show),
        when(idle, zone, now) if idle else None,
    )
    return page(request, "scoreboard.html", board=shown)


@router.get("/labs/{lab}/students/{login:path}")
def student(request: Request, lab: LabId, login: Login, person: Who) -> Response:
    """All that somebody handed in to a lab, which one counts, and how the grade came about."""
    entered = enter_lab(request, person, lab, Role.TA, Scope.STAFF)
    with reading(settings_of(request).database) as session:
        place = enter_place(session, entered, login)
        shown = handed_in(session, entered.lab, place.user_id, mine=False)
        changes = changes_shown(session, entered.lab, place.user_id, datetime.now(UTC))
    return page(request, "student.html", student=place, changes=changes, **shown)


@router.post("/labs/{lab}/retry")
def retry_all(request: Request, lab: LabId, person: Who, csrf: Annotated[str, Form()] = "") -> Response:
    """Have everything graded again that a fault of ours left ungraded."""
    entered = enter_lab(request, person, lab, Role.TA, Scope.STAFF)
    check_csrf(request, csrf)
    door.retry_all(request, entered)
    return RedirectResponse(f"/staff/labs/{lab}", 303)
