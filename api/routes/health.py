"""Whether the service can work."""

import logging
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request, Response
from sqlalchemy.exc import SQLAlchemyError

from api.auth import settings_of
from api.schemas import Health
from grading import queue
from grading.settings import Settings
from grading.store import gradings
from grading.store.session import reading

router = APIRouter(tags=["service"])
log = logging.getLogger(__name__)


@router.get("/health", operation_id="health", responses={503: {"model": Health, "description": "the database is down"}})
def health(request: Request, response: Response) -> Health:
    """Database and queue, each reached or not, and what waits. For load balancers and monitors; needs no token."""
    settings = settings_of(request)
    reached, found = queue.answers(settings), _backlog(settings)
    if found is None:
        response.status_code = 503
        return Health(status="down", database=False, queue=reached, waiting=0, longest_wait=0)
    waiting, longest = found
    good = reached and longest <= gradings.LONGEST_WAIT
    return Health(
        status="ok" if good else "degraded",
        database=True,
        queue=reached,
        waiting=waiting,
        longest_wait=int(longest.total_seconds()),
    )


def _backlog(settings: Settings) -> tuple[int, timedelta] | None:
    """How many gradings wait, and the longest wait; none when the database does not answer."""
    now = datetime.now(UTC)
    try:
        with reading(settings.database) as session:
            waiting, first = gradings.backlog(session, now)
    except SQLAlchemyError as error:
        log.error("The database does not answer (%s).", type(error).__name__)
        return None
    return waiting, max(timedelta(0), now - first) if first else timedelta(0)
