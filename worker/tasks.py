"""The worker's one task: claim what waits, grade it under a lease, store the result, until nothing waits.

The message that starts it is only a nudge. Everything that may go wrong here costs no student a point: a fault of ours
gives the grading back, a death lets its lease run out, and a claim that was lost can store nothing. Log lines hold ids
and names of causes, never sources, seeds or messages of exceptions.
"""

import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Final, Protocol

from celery import Celery

from grading import queue
from grading.score import Score
from grading.settings import Settings
from grading.store import gradings
from grading.store.gradings import Claimed
from grading.store.session import engine, reading, transaction
from grading.verdict import Verdict
from worker import health

DRAIN_SECONDS: Final = 10.0  # after this long a message is done with, and another one is sent for what is left
PROGRESS_SECONDS: Final = 0.1  # between two notes of progress
NUDGES_PER_SWEEP: Final = 32  # each of them drains, so that a rush needs no message for every row

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Judged:
    """All that one grading comes to."""

    verdicts: Sequence[Verdict]
    score: Score
    isolation: str
    pack_digest: str


class Place(Protocol):
    """What a worker process grades with; `worker.workplace.Workplace` outside of tests."""

    def warm(self) -> None: ...

    def close(self) -> None: ...

    def grade(
        self, claimed: Claimed, explanations_left: Callable[[str], int], progress: Callable[[int], None]
    ) -> Judged: ...


class Worker:
    """One worker process: what is set up after the fork, and what it does on a nudge."""

    def __init__(
        self,
        settings: Settings,
        served: str,
        open_place: Callable[[Settings], Place],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._settings = settings
        self._main = os.getpid()  # it is made before the fork
        self._served = served
        self._open_place = open_place
        self._stopping = stopping
        self._place: Place | None = None
        self._sweeper = threading.Thread(target=self._sweep_on, name="sweep", daemon=True)
        self._closed = threading.Event()

    def open(self, **signal: Any) -> None:
        """Make ready to grade, in the process and thread that will do so."""
        engine.cache_clear()  # connections do not survive a fork
        began = time.monotonic()
        if self._make_ready():
            log.info("ready to grade after %.1f s", time.monotonic() - began)
        self._sweeper.start()

    def close(self, **signal: Any) -> None:
        """Leave nothing behind."""
        self._closed.set()
        if self._place is not None:
            self._place.close()

    def serve(self, grading_id: str) -> None:
        """Grade what waits in this worker's queue, the oldest first, whichever row the nudge was about."""
        try:
            self._drain()
        except Exception as error:  # the database is away, for one; the rows wait, and the sweep goes on
            log.error("stopped grading after the nudge about %s: %s", grading_id, _cause(error))

    def _drain(self) -> None:
        until = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < until and not self._stopping():
            claimed = self._claim()
            if claimed is None:
                return
            self._grade(claimed)
            self._make_ready()
        self._pass_on()

    def _make_ready(self) -> bool:
        try:
            self._place = self._place or self._open_place(self._settings)
            self._place.warm()
        except Exception as error:  # tried again by each grading, which then names the fault
            log.error("not ready to grade: %s", _cause(error))
            return False
        return True

    def _claim(self) -> Claimed | None:
        settings = self._settings
        with transaction(settings.database) as session:
            return gradings.claim(session, self._served, _now(), settings.lease_seconds, settings.max_attempts)

    def _grade(self, claimed: Claimed) -> None:
        try:
            if self._place is None:
                self._place = self._open_place(self._settings)
            with Lease(self._settings, claimed) as lease:
                judged = self._place.grade(claimed, lambda question: self._left(claimed, question), lease.judged)
            with transaction(self._settings.database) as session:
                gradings.hold(session, claimed)  # others may make us wait here, and the time is read after that
                kept = gradings.finish(
                    session, claimed, judged.verdicts, judged.score, judged.isolation, judged.pack_digest, _now()
                )
        except Exception as error:
            self._give_back(claimed, error)
            return
        if kept:
            log.info("graded %s (submission %s)", claimed.grading_id, claimed.submission_id)
        else:
            log.warning("grading %s is void here: its lease ran out and another worker has it", claimed.grading_id)

    def _give_back(self, claimed: Claimed, error: Exception) -> None:
        settings = self._settings
        log.error("grading %s, attempt %d: %s", claimed.grading_id, claimed.attempt, _cause(error))
        fault = getattr(error, "cause", None)
        with transaction(settings.database) as session:
            gradings.release_with_fault(
                session,
                claimed,
                fault if isinstance(fault, str) else f"defect: {_cause(error)}",
                _now(),
                retry_seconds=settings.lease_seconds,
                max_attempts=settings.max_attempts,
            )

    def _left(self, claimed: Claimed, question: str) -> int:
        """How many more explanations of this question the student may get today."""
        since = _now() - timedelta(days=1)
        with reading(self._settings.database) as session:
            had = gradings.explained_since(session, claimed.user_id, claimed.lab_id, question, since)
        return self._settings.explanations_per_day - had

    def _pass_on(self) -> None:
        with transaction(self._settings.database) as session:
            left = gradings.waiting(session, _now(), quiet_seconds=0, limit=1)
        for grading_id, name in left:
            queue.nudge(self._settings, grading_id, name)

    def _sweep_on(self) -> None:
        while not self._closed.is_set():
            try:
                sweep(self._settings)
                if queue.answers(self._settings):
                    health.note(self._settings, self._main)
            except Exception as error:
                log.error("no sweep this time: %s", _cause(error))
            self._closed.wait(self._settings.sweep_seconds)


class Lease:
    """Keeps a claim alive from a thread for as long as the block lasts, and notes progress in the same row."""

    def __init__(self, settings: Settings, claimed: Claimed) -> None:
        self._settings = settings
        self._claimed = claimed
        self._done = 0
        self._told = time.monotonic()
        self._lost = False
        self._beating = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def __enter__(self) -> "Lease":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def judged(self, count: int) -> None:
        """Note how many questions are judged. Not every one is worth a transaction of its own."""
        self._done = count
        if time.monotonic() - self._told > PROGRESS_SECONDS:
            self._told = time.monotonic()
            self._beat()

    def _keep(self) -> None:
        while not self._lost and not self._over.wait(self._settings.lease_seconds / 3):
            self._beat()

    def _beat(self) -> None:
        settings, claimed = self._settings, self._claimed
        with self._beating:
            if self._lost:
                return
            try:
                with transaction(settings.database) as session:
                    held = gradings.heartbeat(session, claimed, self._done, _now(), settings.lease_seconds)
            except Exception as error:  # the next beat may reach the database again; if none does, the lease runs out
                log.warning("no heartbeat for %s: %s", claimed.grading_id, _cause(error))
                return
            if not held:
                self._lost = True
                log.warning("the lease of %s was lost: no more heartbeats", claimed.grading_id)


def install(app: Celery, worker: Worker) -> None:
    """Give a Celery application the task."""

    @app.task(name=queue.TASK)  # type: ignore[untyped-decorator]
    def grade(grading_id: str) -> None:
        worker.serve(grading_id)


def sweep(settings: Settings) -> None:
    """Nudge again whatever waits without a recent nudge: a lost message, a lease that ran out, a retry that is due."""
    with transaction(settings.database) as session:
        found = gradings.waiting(session, _now(), settings.sweep_seconds, NUDGES_PER_SWEEP)
    for grading_id, name in found:
        queue.nudge(settings, grading_id, name)


def _cause(error: BaseException) -> str:
    """What an exception is and where it was raised, without its message, which may hold what nobody should read."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return type(error).__name__ + where


def _now() -> datetime:
    return datetime.now(UTC)
