"""A course's class list from a CSV file: first seen, then applied exactly as seen."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from api.auth import InCourse, in_course, settings_of
from api.problems import ProblemError, documented
from api.routes.uploads import one_file
from api.schemas import RosterApplied, RosterFault, RosterPreview, RosterRow
from grading import roster
from grading.roster import Change, Changes, Roster, RosterError
from grading.settings import Settings
from grading.store import people
from grading.store.session import reading, transaction
from grading.store.tables import Role
from grading.store.tokens import Scope

router = APIRouter(prefix="/courses/{course}", tags=["staff"], responses=documented(400, 401, 403, 404, 413, 415))
Staff = Annotated[InCourse, Depends(in_course(Role.TA, Scope.STAFF))]


def _body(*required: str) -> dict[str, Any]:
    fields = {
        "file": {"type": "string", "format": "binary", "description": "CSV: name, login, e-mail, section"},
        "digest": {"type": "string", "description": "as the preview gave it"},
    }
    schema = {"type": "object", "required": list(required), "properties": {name: fields[name] for name in required}}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


@router.post("/roster:preview", operation_id="preview_roster", openapi_extra=_body("file"))
async def preview(request: Request, here: Staff) -> RosterPreview:
    """What a class list would change. Nothing is changed yet."""
    async with one_file(request) as (file, _):
        raw = await file.read(roster.MAX_BYTES + 1)
    listed = await run_in_threadpool(_read, raw)
    changes = await run_in_threadpool(_compare, settings_of(request), here.course_id, listed)
    return RosterPreview(
        added=_rows(changes.added),
        changed=_rows(changes.changed),
        dropped=_rows(changes.dropped),
        unchanged=_rows(changes.unchanged),
        notes=[*listed.notes, *changes.notes],
        problems=[RosterFault(row=problem.row, text=problem.text) for problem in listed.problems],
        digest=changes.digest,
    )


@router.post("/roster", operation_id="apply_roster", responses=documented(409), openapi_extra=_body("file", "digest"))
async def apply(request: Request, here: Staff) -> RosterApplied:
    """Apply a class list that was previewed. Where its changes are no longer the same, nothing is applied."""
    async with one_file(request) as (file, fields):
        raw = await file.read(roster.MAX_BYTES + 1)
    listed = await run_in_threadpool(_read, raw)
    if listed.problems:
        first = listed.problems[0]
        raise ProblemError(422, "roster-problems", f"Row {first.row}: {first.text}. Nothing was applied.")
    return await run_in_threadpool(
        _apply, settings_of(request), here.course_id, listed, fields.get("digest", ""), datetime.now(UTC)
    )


def _read(raw: bytes) -> Roster:
    try:
        return roster.read(raw)
    except RosterError as error:
        status = 413 if len(raw) > roster.MAX_BYTES else 422
        raise ProblemError(status, "roster", str(error)) from None


def _compare(settings: Settings, course_id: str, listed: Roster) -> Changes:
    with reading(settings.database) as session:
        return _changes(session, course_id, listed)


def _apply(settings: Settings, course_id: str, listed: Roster, digest: str, now: datetime) -> RosterApplied:
    changed = ProblemError(
        409,
        "roster-changed",
        "This is not what the preview showed: the file or the course has changed. Preview it again.",
    )
    try:
        with transaction(settings.database) as session:
            changes = _changes(session, course_id, listed)
            if changes.digest != digest:
                raise changed
            people.apply_roster(session, course_id, changes, now)
    except IntegrityError:  # somebody else added the same people at the same moment
        raise changed from None
    return RosterApplied(
        added=len(changes.added),
        changed=len(changes.changed),
        dropped=len(changes.dropped),
        unchanged=len(changes.unchanged),
    )


def _changes(session: Session, course_id: str, listed: Roster) -> Changes:
    return roster.compare(listed.people, people.places(session, course_id))


def _rows(changes: Sequence[Change]) -> list[RosterRow]:
    return [
        RosterRow(login=one.login, name=one.name, email=one.email, section=one.section, change=one.change)
        for one in changes
    ]
