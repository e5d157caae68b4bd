"""What a fault of ours left ungraded, even in part, queued again by staff: one submission, or all of a lab."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from api.auth import AtSubmission, InLab, in_lab, settings_of, staff_at_submission
from api.problems import ProblemError, documented
from api.routes.submissions import links_of
from api.schemas import Received, Retried, Retry
from grading import queue
from grading.store import gradings
from grading.store.session import reading, transaction
from grading.store.tables import Grading, GradingState, Role
from grading.store.tokens import Scope

router = APIRouter(tags=["staff"], responses=documented(400, 401, 403, 404, 413))
AGAIN = "again after a fault of ours"
Staff = Annotated[InLab, Depends(in_lab(Role.TA, Scope.STAFF))]


@router.post(
    "/submissions/{submission}/retry", status_code=202, operation_id="retry_submission", responses=documented(409)
)
def retry(
    request: Request, here: Annotated[AtSubmission, Depends(staff_at_submission)], wanted: Retry | None = None
) -> Received:
    """Have a submission graded again that a fault of ours left ungraded, even in part. It keeps its number and time."""
    queued = _queue(request, here, [here.submission.id], wanted)
    if not queued:
        raise ProblemError(409, "not-failed", "No fault of ours met this submission, or it waits again already.")
    with reading(settings_of(request).database) as session:
        position = gradings.position(session, queued[0].id)
    return Received(
        id=here.submission.id,
        grading=queued[0].id,
        number=here.submission.number,
        state=GradingState.QUEUED,
        position=position,
        links=links_of(here.submission.id),
    )


@router.post("/labs/{lab}/retry", status_code=202, operation_id="retry_lab")
def retry_all(request: Request, here: Staff, wanted: Retry | None = None) -> Retried:
    """Have everything graded again that a fault of ours left ungraded in this lab, such as after an outage."""
    with reading(settings_of(request).database) as session:
        failed = [fault.submission_id for fault in gradings.faults(session, here.lab.id)]
    return Retried(queued=len(_queue(request, here, failed, wanted)))


def _queue(request: Request, here: InLab, submission_ids: Sequence[str], wanted: Retry | None) -> list[Grading]:
    """Queue those of them that failed, and nudge the workers once that is committed."""
    settings, now = settings_of(request), datetime.now(UTC)
    why = f"{AGAIN}: {wanted.reason}" if wanted and wanted.reason else AGAIN
    with transaction(settings.database) as session:
        found = [
            gradings.retry(session, one, why=why, by_user_id=here.person.user_id, now=now) for one in submission_ids
        ]
    queued = [grading for grading in found if grading is not None]
    for grading in queued:
        queue.nudge(settings, grading.id, grading.queue)
    return queued
