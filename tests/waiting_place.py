"""A stand-in for the part of a worker that judges: it waits for a file, so that tests decide when a grading goes on.

Everything around it is real: the broker, the database, Celery and its processes, claims, leases and the sweep.
"""

import os
import signal
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from classroom import verdict

from grading.score import Score
from grading.settings import Settings
from grading.store.gradings import Claimed
from worker.app import run
from worker.tasks import Judged


class WaitingPlace:
    """Gives as many points as this is the attempt. What the answer says decides what happens on the way."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.data

    def warm(self) -> None: ...

    def close(self) -> None: ...

    def grade(
        self, claimed: Claimed, explanations_left: Callable[[str], int], progress: Callable[[int], None]
    ) -> Judged:
        source = claimed.answers.answers[0].source
        note(self._folder, claimed)
        if source == "poison":
            os.kill(os.getpid(), signal.SIGKILL)
        if source == "fault":
            from grading.grader import OurFault  # brings torch along, which takes seconds

            raise OurFault("sandbox: not today")
        if source == "defect":
            raise RuntimeError("a message that names a secret")
        while source == "wait" and not (self._folder / "go on").exists():
            time.sleep(0.01)
        progress(1)
        points = Decimal(claimed.attempt)
        score = Score(points=points, bonus=Decimal(0), pending=Decimal(0), out_of=Decimal(5), bonus_out_of=Decimal(0))
        return Judged([verdict("1.3", str(points))], score, "full", "digest")


def note(folder: Path, claimed: Claimed) -> None:
    """Write down that a grading has begun, and in which process."""
    with open(folder / "begun", "a", encoding="ascii") as file:
        file.write(f"{claimed.grading_id} {claimed.attempt} {os.getpid()}\n")


def begun(folder: Path) -> list[tuple[str, int, int]]:
    """What has begun so far: grading, attempt, process."""
    try:
        lines = (folder / "begun").read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return []
    return [(grading, int(attempt), int(process)) for grading, attempt, process in map(str.split, lines)]


if __name__ == "__main__":
    run(Settings(), open_place=WaitingPlace)
