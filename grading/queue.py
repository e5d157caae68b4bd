"""Nudges: a message that holds a grading's id and says "there is work". The row is the truth; a nudge may be lost.

Redis in production; by default files under the data folder, which need no service. The worker uses the same connection.
"""

import logging
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import redis
from celery import Celery

from grading.outline import Outline
from grading.settings import Settings

TASK: Final = "rooflab.grade"
CPU: Final = "cpu"
POLL_SECONDS: Final = 0.02  # of the embedded broker: what a student waits for at most; costs 0.5 % of a core
VISIBILITY_SECONDS: Final = 3600  # longer than any grading; Redis hands out again what is unacknowledged for so long

log = logging.getLogger(__name__)


def nudge(settings: Settings, grading_id: str, queue: str = CPU) -> None:
    """Send a grading's id to the workers of its queue. Never raises: what cannot be sent, the sweep finds."""
    try:
        _sender(settings.broker, settings.data).send_task(TASK, [grading_id], queue=queue, retry=False)
    except Exception as error:  # whatever a broker that is down makes its client raise
        log.warning("grading %s waits for the sweep: no nudge could be sent (%s)", grading_id, type(error).__name__)


def answers(settings: Settings) -> bool:
    """Whether the broker can be reached now."""
    if not settings.broker.startswith(("redis:", "rediss:")):
        return os.access(settings.data, os.W_OK)  # files in the data folder
    client = redis.Redis.from_url(settings.broker, socket_connect_timeout=2, socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError as error:
        log.error("the broker does not answer (%s)", type(error).__name__)
        return False
    finally:
        client.close()


def queue_for(outline: Outline) -> str:
    """The queue of a pack's gradings. No kind needs a device yet, so every worker can take them."""
    return CPU


def connect(broker: str, data: Path, **transport: Any) -> Celery:
    """A Celery application that knows the broker and nothing else."""
    app = Celery("rooflab", set_as_current=False)
    app.conf.update(
        broker_url=broker,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_default_queue=CPU,
        broker_transport_options=transport,
    )
    if broker.startswith("filesystem:"):
        folder = data / "queue"
        for name in ("messages", "control"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        app.conf.update(broker_url="filesystem://localhost", broker_transport="grading.filebroker:Transport")
        app.conf.broker_transport_options |= {
            "data_folder_in": str(folder / "messages"),
            "data_folder_out": str(folder / "messages"),
            "control_folder": str(folder / "control"),
            "polling_interval": POLL_SECONDS,
        }
    else:
        app.conf.broker_transport_options |= {
            "visibility_timeout": VISIBILITY_SECONDS,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_keepalive": True,
        }
    return app


@cache
def _sender(broker: str, data: Path) -> Celery:
    """The process's connection for nudges: one quick try, since somebody waits for the answer to an upload."""
    return connect(broker, data, socket_connect_timeout=1, socket_timeout=2, max_retries=0)
