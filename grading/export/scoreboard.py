"""The scoreboard as a sheet: a student a row; totals, then each question's points and state."""

from collections.abc import Iterable, Iterator, Sequence

from grading.export.sheets import Cell, sheet
from grading.store.grades import Row
from grading.verdict import State

FIRST = (
    "login",
    "name",
    "section",
    "submission",
    "submissions",
    "points",
    "out of",
    "bonus",
    "pending",
    "late",
    "isolation",
    "needs review",
)


def scoreboard_sheet(questions: Sequence[str], rows: Iterable[Row]) -> str:
    """A lab's scoreboard as CSV, with these questions in this order."""
    titles = [title for question in questions for title in (question, f"{question} state")]
    return sheet([*FIRST, *titles], (list(_cells(questions, row)) for row in rows))


def _cells(questions: Sequence[str], row: Row) -> Iterator[Cell]:
    yield from (row.login, row.name, row.section, row.submission_id, row.handed_in)
    yield from (row.points, row.out_of, row.bonus, row.pending, row.late, row.isolation)
    yield " ".join(question for question in questions if row.questions.get(question, ("", 0, False))[2])
    for question in questions:
        state, points, _ = row.questions.get(question, ("", None, False))
        yield from (None if state == State.OURS else points, state)
