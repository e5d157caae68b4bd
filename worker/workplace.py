"""What one worker process grades with: torch, the packs, and one warm slot of the sandbox.

Imported after the fork only: torch must not have been used in a process that forks.
"""

import hashlib
import hmac
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from grading import outline, pack
from grading.grader import OurFault, grade
from grading.pack import Pack
from grading.score import total
from grading.settings import Settings
from grading.shelf import Stamp, stamp
from grading.store.gradings import Claimed
from labcore.runner.protocol import Job, Observation
from worker.sandbox import SandboxFault
from worker.sandbox.slot import Slot
from worker.tasks import Judged


class Workplace:
    """Grades one submission at a time, in the thread that made it. Faults of ours come out as `OurFault`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._slot: Slot | None = None

    def warm(self) -> None:
        """Make ready for the next grading: a slot with all its spares."""
        try:
            self._opened().replenish()
        except SandboxFault as fault:
            raise OurFault(f"sandbox: {fault.cause}") from fault

    def close(self) -> None:
        """End the slot and all that runs in it."""
        if self._slot is not None:
            self._slot.close()
        self._slot = None

    def grade(
        self, claimed: Claimed, explanations_left: Callable[[str], int], progress: Callable[[int], None]
    ) -> Judged:
        """Judge every question of the lab's pack; on the last attempt, in spite of faults that met some of them."""
        loaded = self._pack(claimed.pack)
        slot = self._opened()

        def run(job: Job) -> Observation:
            try:
                return slot.run(job)
            except SandboxFault as fault:
                raise OurFault(f"sandbox: {fault.cause}") from fault

        seed = hmac.digest(self._settings.seed_secret, claimed.submission_id.encode(), hashlib.sha256)
        last = claimed.attempt >= self._settings.max_attempts
        verdicts = grade(loaded, claimed.answers, run, seed, explanations_left, progress, last)
        return Judged(verdicts, total(verdicts, loaded.outline), slot.isolation.level, loaded.digest)

    def _opened(self) -> Slot:
        if self._slot is None:
            try:
                self._slot = Slot(allow_reduced=self._settings.allow_reduced_isolation)
            except SandboxFault as fault:
                raise OurFault(f"sandbox: {fault.cause}") from fault
        return self._slot

    def _pack(self, name: str) -> Pack:
        try:
            folder = outline.find(self._settings, name)
            return _load(folder, stamp(folder))
        except (outline.PackError, OSError) as error:
            raise OurFault(f"pack {name}: {error}") from error


@lru_cache(maxsize=8)
def _load(folder: Path, changed: Stamp) -> Pack:
    return pack.load(folder)
