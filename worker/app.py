"""The worker as a program: Celery's prefork pool, one slot of the sandbox in each process."""

import logging
import multiprocessing
import sys
import warnings
from typing import Any, Final

from celery import Celery, signals
from celery.exceptions import SecurityWarning

from grading import queue
from grading.settings import Settings
from worker import health, tasks
from worker.sandbox import isolation

WARM_SECONDS: Final = 180.0  # importing torch from a cold disk on a busy machine
TASK_SECONDS: Final = 1000  # a drain and one whole grading; past this the process hangs, and is killed

log = logging.getLogger(__name__)


def run(settings: Settings, served: str = queue.CPU, concurrency: int = 1, open_place: Any = None) -> None:
    """Grade what is queued until told to stop; a stop finishes what is running first. Ends the process."""
    _log_plainly()
    _check_isolation(settings)
    _ = settings.seed_secret  # made before the fork, so that no two processes make one each
    stopping = multiprocessing.RawValue("b", 0)  # seen by the forked processes, and set without a lock
    worker = tasks.Worker(settings, served, open_place or _open_workplace, lambda: bool(stopping.value))
    app = make_celery(settings)
    tasks.install(app, worker)

    def stop(**signal: Any) -> None:
        stopping.value = 1

    signals.worker_process_init.connect(worker.open, weak=False)
    signals.worker_process_shutdown.connect(worker.close, weak=False)
    signals.worker_shutting_down.connect(stop, weak=False)
    health.forget(settings)  # what one before us left
    log.info("serving queue %s with %d at a time", served, concurrency)
    celery = app.Worker(
        pool="prefork",
        concurrency=concurrency,
        queues=[served],
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    celery.start()
    health.forget(settings)
    sys.exit(celery.exitcode)


def make_celery(settings: Settings) -> Celery:
    """The Celery application of a worker, without its task."""
    app = queue.connect(settings.broker, settings.data, **({} if _embedded(settings) else {"socket_timeout": 30}))
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_time_limit=TASK_SECONDS,
        worker_prefetch_multiplier=1,
        worker_lost_wait=1.0,  # a dead process's message holds up the next one for so long
        worker_proc_alive_timeout=WARM_SECONDS,
        worker_soft_shutdown_timeout=30.0,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_remote_control=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
    )
    return app


def _embedded(settings: Settings) -> bool:
    return settings.broker.startswith("filesystem:")


def _open_workplace(settings: Settings) -> tasks.Place:
    from worker.workplace import Workplace  # torch comes with it, and only after the fork

    return Workplace(settings)


def _check_isolation(settings: Settings) -> None:
    reached = isolation()
    missing = "; ".join(reached.missing)
    if reached.level == "full":
        log.info("isolation: full%s", f" ({missing})" if missing else "")
    elif reached.level == "reduced" and settings.allow_reduced_isolation:
        log.warning("isolation: REDUCED, as the settings allow; missing: %s", missing)
    else:
        log.error("isolation: %s, so nothing is graded here; missing: %s", reached.level, missing)
        log.error("`rooflab worker doctor` says how to get it; ROOFLAB_ALLOW_REDUCED_ISOLATION=true takes less")
        sys.exit(1)


def _log_plainly() -> None:
    """Lines on stderr: Rooflab's own, and from Celery what is out of the ordinary."""

    def keep(**signal: Any) -> None: ...

    signals.setup_logging.connect(keep, weak=False)  # whoever connects here configures logging in Celery's place
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(process)d %(message)s")
    logging.getLogger("worker").setLevel(logging.INFO)
    # Celery warns of root because of pickled messages. Ours are JSON, and root gives each slot an uid of its own.
    warnings.filterwarnings("ignore", category=SecurityWarning)
