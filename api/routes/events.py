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
from api.streams import Streams
from grading.shelf import outline_of
from grading.store.gradings import Standing
from grading.store.tables import GradingState

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


async def one_stream(request: Request, here: Annotated[AtSubmission, Depends(at_submission)]) -> AsyncIterator[Streams]:
    """A dependency: the process's streams, this one among them until its answer has been sent."""
    streams: Streams = request.app.state.streams
    with streams.opened(here.person.user_id, here.submission.id):
        yield streams


@router.get(
    "/submissions/{submission}/events",
    operation_id="follow_submission",
    response_class=EventSourceResponse,
    responses=documented(401, 403, 404, 429)
    | {
        200: {
            "description": "`state` events whose data is a Progress as JSON, one for every change",
            "content": {"text/event-stream": {"schema": EVENT}},
        },
        204: {"description": "the last event was seen already: a browser stops asking"},
    },
)
async def follow(
    request: Request,
    here: Annotated[AtSubmission, Depends(at_submission)],
    streams: Annotated[Streams, Depends(one_stream, scope="request")],
) -> Response:
    """Follow a submission. The stream ends when it is graded."""
    outline = await to_thread.run_sync(outline_of, settings_of(request), here.lab.pack)
    first = await streams.standing(here.submission.id)
    if first.state in ENDED and request.headers.get("last-event-id") == f"{first.grading_id}-done":
        return Response(status_code=204)
    return EventSourceResponse(_events(streams, here.submission.id, len(outline.questions)), sep="\n")


async def _events(streams: Streams, submission_id: str, questions: int) -> AsyncIterator[ServerSentEvent]:
    told: Standing | None = None
    started, age = anyio.current_time(), 0.0
    while (waited := anyio.current_time() - started) < LONGEST_SECONDS:
        standing = await streams.standing(submission_id, age)
        if standing != told:
            told = standing
            yield _event(standing, questions)
        if standing.state in ENDED:
            return
        pause = streams.pause(next(every for until, every in POLLS if waited < until))
        age = pause / 2
        await anyio.sleep(pause)


def _event(standing: Standing, questions: int) -> ServerSentEvent:
    done = standing.state in ENDED
    progress = Progress(
        state=standing.state,
        position=standing.position,
        progress=standing.progress,
        questions=questions,
        done=done,
    )
    place = "done" if done else f"{standing.state}-{standing.position}-{standing.progress}"
    return ServerSentEvent(progress.model_dump_json(), event="state", id=f"{standing.grading_id}-{place}")
