"""The way in, for every door: check, read, keep the bytes, record, and only then nudge a worker.

A submission is recorded with its bytes or not at all. Attempts, deadline and what waits are checked in the transaction
that records it, so that two uploads at once cannot both be the last one allowed. Nobody keeps others from the door: one
file of a person is read at a time, few may wait to be read, and few submissions to be graded. The count of those that
wait to be read is of this process alone.
"""

import json
import os
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from anyio import Lock, to_thread
from sqlalchemy.orm import Session

from grading import queue, shelf
from grading.answers.model import Answers
from grading.answers.reading import read_apart, read_pasted_apart
from grading.outline import Outline
from grading.policy import Policy
from grading.settings import Settings
from grading.store import blobs, gradings, submissions
from grading.store.session import hold_person, reading, transaction
from grading.store.tables import Lab

LONGEST_NAME = 200
PASTED = "pasted.json"
MAX_IN_HAND = 2  # of one person: one is read, the others wait for it
MAX_WAITING = 3  # of one person's submissions, to be graded


class Closed(Exception):
    """The lab takes nothing from this student now. `code` is a short stable word, the message is for the student."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


@dataclass(slots=True)
class _InHand:
    """What one person hands in at this moment."""

    files: int = 0
    turn: Lock = field(default_factory=Lock)


_in_hand: dict[int, _InHand] = {}


@dataclass(frozen=True, slots=True)
class Received:
    """What was recorded: the submission, its queued grading, and the student's count in this lab."""

    submission_id: str
    grading_id: str
    number: int


async def receive(settings: Settings, lab_id: str, user_id: int, path: Path, filename: str) -> Received:
    """Take a file that lies at `path` for as long as this lasts. Raises `Refused` or `Closed`, with nothing stored."""
    now = datetime.now(UTC)
    with _one_more(user_id) as turn:
        outline = await to_thread.run_sync(_open, settings, lab_id, user_id, now)
        async with turn:
            answers = await read_apart(path, filename, outline.wanted(), settings.max_upload_bytes)
        name = clean_name(filename)
        return await to_thread.run_sync(_take, settings, lab_id, user_id, path, name, answers, outline, now)


async def receive_pasted(settings: Settings, lab_id: str, user_id: int, texts: Mapping[str, str]) -> Received:
    """Take texts pasted per question; they are kept as one JSON file."""
    now = datetime.now(UTC)
    with _one_more(user_id) as turn, tempfile.NamedTemporaryFile(prefix="rooflab-") as file:
        outline = await to_thread.run_sync(_open, settings, lab_id, user_id, now)
        async with turn:
            answers = await read_pasted_apart(texts, outline.wanted())
        file.write(json.dumps(dict(texts), sort_keys=True).encode("ascii"))
        file.flush()
        path = Path(file.name)
        return await to_thread.run_sync(_take, settings, lab_id, user_id, path, PASTED, answers, outline, now)


def clean_name(filename: str) -> str:
    """What the student called the file: no folders, nothing invisible or that turns the reading direction, bounded."""
    name = filename.replace("\\", "/").rpartition("/")[2]
    visible = "".join(" " if letter.isspace() else letter for letter in name if _visible(letter))
    stem, ending = os.path.splitext(" ".join(visible.split()))
    return (stem[: LONGEST_NAME - len(ending[:16])] + ending[:16]) or "unnamed"


@contextmanager
def _one_more(user_id: int) -> Iterator[Lock]:
    """The person's turn to be read, for one file more; `Closed` when there are too many already."""
    mine = _in_hand.setdefault(user_id, _InHand())
    if mine.files == MAX_IN_HAND:
        raise Closed("busy", "Another file of yours is still being read. Wait a few seconds and try again.")
    mine.files += 1
    try:
        yield mine.turn
    finally:
        mine.files -= 1
        if not mine.files:
            del _in_hand[user_id]


def _visible(letter: str) -> bool:
    return letter == "\t" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _open(settings: Settings, lab_id: str, user_id: int, now: datetime) -> Outline:
    """The lab's questions; refuses before any work is done on the file."""
    with reading(settings.database) as session:
        lab = _open_lab(session, lab_id, user_id, now)
        return shelf.outline_of(settings, lab.pack)


def _open_lab(session: Session, lab_id: str, user_id: int, now: datetime) -> Lab:
    lab = session.get(Lab, lab_id)
    if lab is None:
        raise Closed("unknown_lab", "There is no such lab.")
    policy = Policy.model_validate(lab.policy)
    if policy.closed(now, lab.due_at):
        raise Closed("past_due", "The lab's due time has passed, and it takes nothing more.")
    if policy.attempts is not None and submissions.attempts(session, lab_id, user_id) >= policy.attempts:
        times = "once" if policy.attempts == 1 else f"{policy.attempts} times"
        raise Closed("no_attempts_left", f"This lab can be handed in {times}, and you have done so.")
    if submissions.waiting(session, user_id) >= MAX_WAITING:
        raise Closed(
            "too_many_waiting",
            f"{MAX_WAITING} submissions of yours wait to be graded. Wait until one of them is graded and try again.",
        )
    return lab


def _take(
    settings: Settings,
    lab_id: str,
    user_id: int,
    path: Path,
    filename: str,
    answers: Answers,
    outline: Outline,
    now: datetime,
) -> Received:
    """Write the bytes, then record and keep them in one step; the nudge leaves after the commit."""
    chosen = queue.queue_for(outline)
    with blobs.staged(settings.data / "blobs", path) as copy, transaction(settings.database) as session:
        hold_person(session, user_id)
        _open_lab(session, lab_id, user_id, now)
        submission = submissions.record(
            session,
            lab_id=lab_id,
            user_id=user_id,
            filename=filename,
            sha256=copy.sha256,
            size=copy.size,
            answers=answers,
            received_at=now,
            queue=chosen,
        )
        grading_id = gradings.current(session, submission.id).id
        copy.keep()
    queue.nudge(settings, grading_id, chosen)
    return Received(submission.id, grading_id, submission.number)
