"""The machines that may pull a course's grades, for its admins."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth import CourseId, InCourse, Person, check_csrf, current_person, enter_course, settings_of
from api.pages.rendering import page
from api.pages.times import when
from api.problems import ProblemError
from api.routes import clients as door
from api.routes.clients import ClientId
from api.schemas import ClientMade, NewClient
from grading.store import courses
from grading.store.session import reading
from grading.store.tables import Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/staff/courses/{course}/clients")
Who = Annotated[Person, Depends(current_person)]


@router.get("")
def listing(request: Request, course: CourseId, person: Who) -> Response:
    """The course's clients and a form to make one."""
    return _shown(request, _enter(request, course, person))


@router.post("")
def make(
    request: Request,
    course: CourseId,
    person: Who,
    csrf: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
) -> Response:
    """Make a client; the answer is the only place where its secret appears."""
    here = _enter(request, course, person)
    check_csrf(request, csrf)
    try:
        made = door.make(request, Response(), NewClient(name=name), here)
    except ValidationError:
        return _shown(request, here, 422, name=name, name_problem="Give it a name of 1 to 100 ordinary characters.")
    except ProblemError as refused:
        return _shown(request, here, refused.status_code, name=name, name_problem=str(refused.detail))
    return _shown(request, here, 201, made=made)


@router.post("/{client}/revoke")
def revoke(
    request: Request, course: CourseId, client: ClientId, person: Who, csrf: Annotated[str, Form()] = ""
) -> Response:
    """Revoke a client and every token it holds."""
    here = _enter(request, course, person)
    check_csrf(request, csrf)
    door.revoke(request, client, here)
    return RedirectResponse(f"/staff/courses/{course}/clients", 303)


def _enter(request: Request, course: str, person: Person) -> InCourse:
    return enter_course(request, person, course, Role.ADMIN, Scope.ADMIN)


def _shown(
    request: Request,
    here: InCourse,
    code: int = 200,
    *,
    made: ClientMade | None = None,
    name: str = "",
    name_problem: str = "",
) -> Response:
    now = datetime.now(UTC)
    with reading(settings_of(request).database) as session:
        course = courses.course(session, here.course_id)
        rows = courses.clients_of(session, here.course_id)
    listed = [
        {
            "id": row.id,
            "name": row.name,
            "created": when(row.created_at, "UTC", now),
            "revoked": when(row.revoked_at, "UTC", now) if row.revoked_at else None,
        }
        for row in rows
    ]
    return page(
        request,
        "clients.html",
        code,
        course={"id": here.course_id, "title": course.title if course else here.course_id},
        clients=listed,
        made=made,
        name=name,
        name_problem=name_problem,
    )
