"""Whether the service can work."""

import logging
import os
from urllib.parse import urlsplit

import redis
from fastapi import APIRouter, Request, Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from api.auth import settings_of
from api.schemas import Health
from grading.settings import Settings
from grading.store.session import reading

router = APIRouter(tags=["service"])
log = logging.getLogger(__name__)


@router.get("/health", operation_id="health", responses={503: {"model": Health, "description": "the database is down"}})
def health(request: Request, response: Response) -> Health:
    """Database and queue, each reached or not. For load balancers and container health checks; needs no token."""
    settings = settings_of(request)
    database, queue = _database(settings), _queue(settings)
    if not database:
        response.status_code = 503
    status = "down" if not database else "ok" if queue else "degraded"
    return Health(status=status, database=database, queue=queue)


def _database(settings: Settings) -> bool:
    try:
        with reading(settings.database) as session:
            session.execute(text("select 1 from courses limit 1"))
    except SQLAlchemyError as error:
        log.error("The database does not answer (%s).", type(error).__name__)
        return False
    return True


def _queue(settings: Settings) -> bool:
    if urlsplit(settings.broker).scheme not in ("redis", "rediss"):
        return os.access(settings.data, os.W_OK)  # files in the data folder
    client = redis.Redis.from_url(settings.broker, socket_connect_timeout=2, socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError as error:
        log.error("The queue does not answer (%s).", type(error).__name__)
        return False
    finally:
        client.close()
