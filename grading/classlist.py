"""Applying a class list to a course: first seen, then applied exactly as seen. Every door calls these two functions."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from grading import roster
from grading.roster import Changes, RowProblem
from grading.store import people
from grading.store.session import reading, transaction


@dataclass(frozen=True, slots=True)
class Preview:
    """What a file would do to a course. With problems it is not applied."""

    changes: Changes
    problems: tuple[RowProblem, ...]
    notes: tuple[str, ...]


class NotApplied(Exception):
    """Nothing was changed; the message says why. `code` is `roster-problems` or `roster-changed`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def preview(database: str, course_id: str, raw: bytes) -> Preview:
    """What this file would change. Nothing is changed yet. Raises `RosterError` where the file is no class list."""
    with reading(database) as session:
        return _compared(session, course_id, roster.read(raw))


def apply(database: str, course_id: str, raw: bytes, digest: str, now: datetime) -> Changes:
    """Apply a file whose preview had this digest. Raises `RosterError`, or `NotApplied` where it would do otherwise."""
    listed = roster.read(raw)
    if listed.problems:
        first = listed.problems[0]
        raise NotApplied("roster-problems", f"Row {first.row}: {first.text}. Nothing was applied.")
    try:
        with transaction(database) as session:
            changes = _compared(session, course_id, listed).changes
            if changes.digest != digest:
                raise _changed()
            people.apply_roster(session, course_id, changes, now)
    except IntegrityError:  # somebody else added the same people at the same moment
        raise _changed() from None
    return changes


def _compared(session: Session, course_id: str, listed: roster.Roster) -> Preview:
    changes = roster.compare(listed.people, people.places(session, course_id))
    return Preview(changes, listed.problems, (*listed.notes, *changes.notes))


def _changed() -> NotApplied:
    return NotApplied(
        "roster-changed",
        "The file or the course has changed since the preview, so nothing was applied. Look at the preview again.",
    )
