"""A submission's progress as server-sent events, until it is graded. Polled from the database: the row is the truth."""

from collections.abc import AsyncIterator
from typing import Annotated

import anyio
from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from api.auth import AtSubmission, at_submission, settings_of
from api.problems import documented
from api.schemas import Progress
from grading.settings import Settings
from grading.shelf import outline_of
from grading.store import gradings
from grading.store.session import reading
from grading.store.tables import GradingState, Submission

router = APIRouter(tags=["submissions"])
LONGEST_SECONDS = 30 * 60.0
POLLS = ((2.0, 0.02), (15.0, 0.1), (120.0, 0.5), (LONGEST_SECONDS, 2.0))  # until, every: seconds
ENDED = {GradingState.GRADED, GradingState.FAILED}
EVENT = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "event": {"const": "state"},
        "id": {"type": "string"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/Progress"},
        },
    },
}


@router.get(
    "/submissions/{submission}/events",
    operation_id="follow_submission",
    response_class=EventSourceResponse,
    responses=documented(401, 403, 404)
    | {
        200: {
            "description": "`state` events whose data is a Progress as JSON, one for every change",
            "content": {"text/event-stream": {"schema": EVENT}},
        },
        204: {"description": "the last event was seen already: a browser stops asking"},
    },
)
async def follow(request: Request, here: Annotated[AtSubmission, Depends(at_submission)]) -> Response:
    """Follow a submission. The stream ends when it is graded."""
    settings = settings_of(request)
    outline = await to_thread.run_sync(outline_of, settings, here.lab.pack)
    grading_id, first = await to_thread.run_sync(_progress, settings, here.submission, len(outline.questions))
    if first.done and request.headers.get("last-event-id") == f"{grading_id}-done":
        return Response(status_code=204)
    return EventSourceResponse(_events(settings, here.submission, len(outline.questions)), sep="\n")


async def _events(settings: Settings, submission: Submission, questions: int) -> AsyncIterator[ServerSentEvent]:
    told: Progress | None = None
    started = anyio.current_time()
    while (waited := anyio.current_time() - started) < LONGEST_SECONDS:
        grading_id, progress = await to_thread.run_sync(_progress, settings, submission, questions)
        if progress != told:
            told = progress
            place = "done" if progress.done else f"{progress.state}-{progress.position}-{progress.progress}"
            yield ServerSentEvent(progress.model_dump_json(), event="state", id=f"{grading_id}-{place}")
        if progress.done:
            return
        await anyio.sleep(next(every for until, every in POLLS if waited < until))


def _progress(settings: Settings, submission: Submission, questions: int) -> tuple[str, Progress]:
    with reading(settings.database) as session:
        grading = gradings.current(session, submission.id)
        state = GradingState(grading.state)
        return grading.id, Progress(
            state=state,
            position=gradings.position(session, grading.id) if state is GradingState.QUEUED else 0,
            progress=grading.progress,
            questions=questions,
            done=state in ENDED,
        )
