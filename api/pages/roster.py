"""The class list of a course: what a CSV file would change is shown first, and applied exactly as shown."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool

from api.auth import CourseId, InCourse, Person, check_csrf, current_person, enter_course, settings_of
from api.pages.rendering import page
from api.pages.words import counted
from api.routes.uploads import one_file
from grading import classlist, roster
from grading.classlist import NotApplied, Preview
from grading.roster import Change, Changes, RosterError, RowProblem
from grading.store import courses, people
from grading.store.session import reading
from grading.store.tables import Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/staff/courses/{course}/roster")
Who = Annotated[Person, Depends(current_person)]


@dataclass(frozen=True, slots=True)
class Group:
    """People to whom the same would happen."""

    title: str
    meaning: str
    people: tuple[Change, ...]
    changes: bool


@dataclass(frozen=True, slots=True)
class PreviewView:
    """What a file would do. `kept` is the file itself, to come back with the form; `digest` what was shown of it."""

    problems: tuple[RowProblem, ...]
    notes: tuple[str, ...]
    groups: tuple[Group, ...]
    unchanged: int
    applicable: bool
    kept: str
    digest: str


@router.get("")
def current(request: Request, course: CourseId, person: Who) -> Response:
    """Who is on the roster, and a form to upload another."""
    return _shown(request, _enter(request, course, person))


@router.post("")
async def preview(request: Request, course: CourseId, person: Who) -> Response:
    """What an uploaded file would change. Nothing is changed yet."""
    here = await run_in_threadpool(_enter, request, course, person)
    try:
        async with one_file(request) as (file, fields):
            check_csrf(request, fields.get("csrf", ""))
            raw = await file.read(roster.MAX_BYTES + 1) if file.filename else b""
            if not file.filename:
                raise RosterError("Choose a file first.")
        return await run_in_threadpool(_preview, request, here, raw)
    except RosterError as error:
        return await run_in_threadpool(_shown, request, here, 422, file_problem=str(error))
    except HTTPException as error:
        if error.status_code not in (400, 413, 415, 422):
            raise
        return await run_in_threadpool(_shown, request, here, error.status_code, file_problem=str(error.detail))


@router.post("/apply")
async def apply(request: Request, course: CourseId, person: Who) -> Response:
    """Apply a file that was previewed, if its changes are still the same."""
    here = await run_in_threadpool(_enter, request, course, person)
    async with request.form(max_files=0, max_fields=8, max_part_size=2 * roster.MAX_BYTES) as form:
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    check_csrf(request, fields.get("csrf", ""))
    try:
        raw = base64.b64decode(fields.get("file", ""), validate=True)
        return await run_in_threadpool(_apply, request, here, raw, fields.get("digest", ""))
    except (RosterError, binascii.Error) as error:
        return await run_in_threadpool(_shown, request, here, 422, file_problem=str(error))


def _enter(request: Request, course: str, person: Person) -> InCourse:
    return enter_course(request, person, course, Role.TA, Scope.STAFF)


def _preview(request: Request, here: InCourse, raw: bytes, code: int = 200, file_problem: str = "") -> Response:
    seen = classlist.preview(settings_of(request).database, here.course_id, raw)
    return _shown(request, here, code, preview=_view(seen, raw), file_problem=file_problem)


def _apply(request: Request, here: InCourse, raw: bytes, digest: str) -> Response:
    try:
        changes = classlist.apply(settings_of(request).database, here.course_id, raw, digest, datetime.now(UTC))
    except NotApplied as error:
        return _preview(request, here, raw, 409 if error.code == "roster-changed" else 422, str(error))
    done = f"{len(changes.added)} added, {len(changes.changed)} changed, {len(changes.dropped)} made inactive."
    return _shown(request, here, applied=f"Applied: {done}")


def _view(seen: Preview, raw: bytes) -> PreviewView:
    return PreviewView(
        problems=seen.problems,
        notes=seen.notes,
        groups=_groups(seen.changes),
        unchanged=len(seen.changes.unchanged),
        applicable=seen.changes.any and not seen.problems,
        kept=base64.b64encode(raw).decode(),
        digest=seen.changes.digest,
    )


def _groups(changes: Changes) -> tuple[Group, ...]:
    return (
        Group("Added", "They see the course's labs from then on.", changes.added, False),
        Group("Changed", "", changes.changed, True),
        Group("Made inactive", "They are not in the file. Their work is kept.", changes.dropped, False),
    )


def _shown(
    request: Request,
    here: InCourse,
    code: int = 200,
    *,
    preview: PreviewView | None = None,
    file_problem: str = "",
    applied: str = "",
) -> Response:
    with reading(settings_of(request).database) as session:
        course = courses.course(session, here.course_id)
        places: Sequence[roster.Place] = people.places(session, here.course_id)
    title = course.title if course else here.course_id
    active = counted(sum(one.active for one in places), "person is", "people are")
    return page(
        request,
        "roster.html",
        code,
        course={"id": here.course_id, "title": title},
        preview=preview,
        file_problem=file_problem,
        applied=applied,
        people=places,
        active=active,
    )
