"""A course's class list from a CSV file: first seen, then applied exactly as seen."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool

from api.auth import InCourse, in_course, settings_of
from api.problems import ProblemError, documented
from api.routes.uploads import one_file
from api.schemas import RosterApplied, RosterFault, RosterPreview, RosterRow
from grading import classlist, roster
from grading.classlist import NotApplied
from grading.roster import Change, RosterError
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
    try:
        seen = await run_in_threadpool(classlist.preview, settings_of(request).database, here.course_id, raw)
    except RosterError as error:
        raise _no_roster(raw, error) from None
    changes = seen.changes
    return RosterPreview(
        added=_rows(changes.added),
        changed=_rows(changes.changed),
        dropped=_rows(changes.dropped),
        unchanged=_rows(changes.unchanged),
        notes=list(seen.notes),
        problems=[RosterFault(row=problem.row, text=problem.text) for problem in seen.problems],
        digest=changes.digest,
    )


@router.post("/roster", operation_id="apply_roster", responses=documented(409), openapi_extra=_body("file", "digest"))
async def apply(request: Request, here: Staff) -> RosterApplied:
    """Apply a class list that was previewed. Where its changes are no longer the same, nothing is applied."""
    async with one_file(request) as (file, fields):
        raw = await file.read(roster.MAX_BYTES + 1)
    database, digest = settings_of(request).database, fields.get("digest", "")
    try:
        changes = await run_in_threadpool(classlist.apply, database, here.course_id, raw, digest, datetime.now(UTC))
    except RosterError as error:
        raise _no_roster(raw, error) from None
    except NotApplied as error:
        raise ProblemError(409 if error.code == "roster-changed" else 422, error.code, str(error)) from None
    return RosterApplied(
        added=len(changes.added),
        changed=len(changes.changed),
        dropped=len(changes.dropped),
        unchanged=len(changes.unchanged),
    )


def _no_roster(raw: bytes, error: RosterError) -> ProblemError:
    return ProblemError(413 if len(raw) > roster.MAX_BYTES else 422, "roster", str(error))


def _rows(changes: Sequence[Change]) -> list[RosterRow]:
    return [
        RosterRow(login=one.login, name=one.name, email=one.email, section=one.section, change=one.change)
        for one in changes
    ]
