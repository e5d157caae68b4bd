"""Handing in, and what a student handed in: listed, read, and given back as handed in and as understood."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import FileResponse

from api.auth import AtSubmission, InLab, Login, at_submission, enter_place, in_lab, settings_of
from api.feedback import listed, shown
from api.problems import ProblemError, documented
from api.routes.paging import beside
from api.routes.uploads import on_disk, one_file
from api.schemas import AnswerShown, AnswersShown, Links, Pasted, Received, Submissions, SubmissionShown
from grading import intake
from grading.settings import Settings
from grading.shelf import outline_of
from grading.store import blobs, gradings, submissions
from grading.store.session import reading
from grading.store.tables import Grading, GradingState, Role, Submission
from grading.store.tokens import Scope

router = APIRouter(tags=["submissions"])
Limit = Annotated[int, Query(ge=1, le=200)]
Before = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="only those with a lower number")]
FILE = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary", "description": ".ipynb, .py, or a .zip of one"}},
}
PASTED = Pasted.model_json_schema()
BODY = {
    "requestBody": {
        "required": True,
        "content": {"multipart/form-data": {"schema": FILE}, "application/json": {"schema": PASTED}},
    }
}


@router.post(
    "/labs/{lab}/submissions",
    status_code=201,
    operation_id="hand_in",
    openapi_extra=BODY,
    responses=documented(400, 401, 403, 404, 409, 413, 415)
    | {201: {"headers": {"Location": {"schema": {"type": "string"}, "description": "the submission"}}}},
)
async def hand_in(
    request: Request, response: Response, here: Annotated[InLab, Depends(in_lab(Role.STUDENT, Scope.SUBMIT))]
) -> Received:
    """Hand in a file, or code pasted per question. It is read at once, and refused with a reason if it cannot be."""
    settings = settings_of(request)
    if request.headers.get("content-type", "").startswith("application/json"):
        texts = await run_in_threadpool(_pasted, await request.body())
        taken = await intake.receive_pasted(settings, here.lab.id, here.person.user_id, texts)
    else:
        taken = await _file(request, settings, here)
    place = await run_in_threadpool(_position, settings, taken.grading_id)
    links = links_of(taken.submission_id)
    response.headers["Location"] = links.self
    return Received(
        id=taken.submission_id,
        grading=taken.grading_id,
        number=taken.number,
        state=GradingState.QUEUED,
        position=place,
        links=links,
    )


@router.get("/labs/{lab}/submissions", operation_id="list_submissions", responses=documented(401, 403, 404))
def listing(
    request: Request,
    response: Response,
    here: Annotated[InLab, Depends(in_lab(Role.STUDENT, Scope.READ))],
    limit: Limit = 50,
    before: Before = None,
) -> Submissions:
    """Your own submissions in a lab, the newest first."""
    with reading(settings_of(request).database) as session:
        rows = submissions.of_student(session, here.lab.id, here.person.user_id)
    return _page(request, response, rows, limit, before)


@router.get(
    "/labs/{lab}/students/{login:path}/submissions",
    operation_id="list_students_submissions",
    responses=documented(401, 403, 404),
)
def listing_of_student(
    request: Request,
    response: Response,
    login: Login,
    here: Annotated[InLab, Depends(in_lab(Role.TA, Scope.STAFF))],
    limit: Limit = 50,
    before: Before = None,
) -> Submissions:
    """Somebody's submissions in a lab, the newest first, for staff."""
    with reading(settings_of(request).database) as session:
        rows = submissions.of_student(session, here.lab.id, enter_place(session, here, login).user_id)
    return _page(request, response, rows, limit, before)


@router.get("/submissions/{submission}", operation_id="read_submission", responses=documented(401, 403, 404))
def read(request: Request, here: Annotated[AtSubmission, Depends(at_submission)]) -> SubmissionShown:
    """A submission: where it stands, and its verdicts once it is graded."""
    settings = settings_of(request)
    outline = outline_of(settings, here.lab.pack)
    with reading(settings.database) as session:
        grading = gradings.current(session, here.submission.id)
        graded = grading.state == GradingState.GRADED
        return shown(
            here.submission,
            grading,
            gradings.position(session, grading.id),
            gradings.verdicts(session, grading.id) if graded else None,
            len(outline.questions),
            links_of(here.submission.id),
            here.staff,
        )


@router.get("/submissions/{submission}/answers", operation_id="read_answers", responses=documented(401, 403, 404))
def answers(here: Annotated[AtSubmission, Depends(at_submission)]) -> AnswersShown:
    """What was understood of the file: for each question the very text that is run, or why none was found."""
    found = submissions.answers(here.submission)
    return AnswersShown(
        filename=here.submission.filename,
        notes=list(found.notes),
        answers=[AnswerShown(**one.model_dump(exclude={"definition"})) for one in found.answers],
    )


@router.get(
    "/submissions/{submission}/file",
    operation_id="download_submission",
    response_class=FileResponse,
    responses=documented(401, 403, 404)
    | {
        200: {
            "description": "the bytes as they were handed in",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
def download(request: Request, here: Annotated[AtSubmission, Depends(at_submission)]) -> FileResponse:
    """The bytes as they were handed in, to be kept and never shown by a browser."""
    path = blobs.path(settings_of(request).data / "blobs", here.submission.sha256)
    if not path.is_file():
        raise ProblemError(404, "no-file", "The bytes of this submission are no longer kept.")
    return FileResponse(
        path,
        media_type="application/octet-stream",
        filename=here.submission.filename,
        headers={
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-store",
        },
    )


def links_of(submission_id: str) -> Links:
    """Where to go from a submission."""
    here = f"/api/v1/submissions/{submission_id}"
    return Links(
        self=here,
        events=f"{here}/events",
        answers=f"{here}/answers",
        file=f"{here}/file",
        page=f"/submissions/{submission_id}",
    )


async def _file(request: Request, settings: Settings, here: InLab) -> intake.Received:
    async with one_file(request) as (file, _), on_disk(settings, file) as path:
        return await intake.receive(settings, here.lab.id, here.person.user_id, path, file.filename or "")


def _page(
    request: Request, response: Response, rows: Sequence[tuple[Submission, Grading]], limit: int, before: int | None
) -> Submissions:
    rest = [listed(*row) for row in rows if before is None or row[0].number < before]
    page, more = rest[:limit], None
    if len(rest) > limit:
        more = beside(request, before=page[-1].number)
        response.headers["Link"] = f'<{more}>; rel="next"'
    return Submissions(items=page, next=more)


def _pasted(body: bytes) -> Mapping[str, str]:
    try:
        given = json.loads(body, object_pairs_hook=_no_key_twice, parse_constant=_no_number)
        return Pasted.model_validate(given).answers
    except ValidationError as error:
        found: list[Any] = [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_input=False)]
        raise RequestValidationError(found) from None
    except (ValueError, RecursionError):
        raise ProblemError(400, "not-json", "The body is not valid JSON, or gives a key twice.") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _position(settings: Settings, grading_id: str) -> int:
    with reading(settings.database) as session:
        return gradings.position(session, grading_id)
