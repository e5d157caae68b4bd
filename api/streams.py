"""Open streams of progress: one look at the database serves them all, and nobody holds more than their share.

Not covered: streams at other processes of the same service, each of which looks and counts for itself.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from anyio import to_thread

from api.problems import ProblemError
from grading.settings import Settings
from grading.store import gradings
from grading.store.gradings import Standing
from grading.store.session import reading

MOST_OF_A_PERSON = 20
PAUSE_PER_STREAM = 0.001  # seconds: what a stream costs at each turn, so that many together stay below a core


class Streams:
    """The streams that are open in this process, and what was last seen of the submissions they follow."""

    def __init__(self, settings: Settings) -> None:
        self._database = settings.database
        self._people: Counter[int] = Counter()
        self._followed: Counter[str] = Counter()
        self._seen: dict[str, Standing] = {}
        self._looked_at = -math.inf
        self._turn = anyio.Lock()

    @contextmanager
    def opened(self, user_id: int, submission_id: str) -> Iterator[None]:
        """Count a stream for as long as it is open. Raises 429 for one too many."""
        if self._people[user_id] >= MOST_OF_A_PERSON:
            detail = f"You follow {MOST_OF_A_PERSON} submissions already. Close one of these streams first."
            raise ProblemError(429, "too-many-streams", detail, {"Retry-After": "30"})
        self._people[user_id] += 1
        self._followed[submission_id] += 1
        try:
            yield
        finally:
            self._people -= Counter([user_id])  # what is down to nothing goes
            self._followed -= Counter([submission_id])

    def pause(self, wanted: float) -> float:
        """How long a stream waits before it looks again: as wanted, or longer while many are open."""
        return max(wanted, PAUSE_PER_STREAM * self._people.total())

    async def standing(self, submission_id: str, age: float = 0.0) -> Standing:
        """How far a followed submission is, as it was at most `age` seconds ago."""
        async with self._turn:
            now = anyio.current_time()
            if now - self._looked_at > age or submission_id not in self._seen:
                self._seen = await to_thread.run_sync(self._look, tuple(self._followed))
                self._looked_at = now
            return self._seen[submission_id]

    def _look(self, submission_ids: tuple[str, ...]) -> dict[str, Standing]:
        with reading(self._database) as session:
            return gradings.standings(session, submission_ids)
