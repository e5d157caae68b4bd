"""The scoreboard as it is shown. A class has tens of thousands of cells, so their HTML is made here, each kind once."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from markupsafe import Markup, escape

from api.pages.text import points, visible
from api.pages.times import When
from api.pages.words import STATES, Words, isolation_words, state
from grading.outline import Asked, Outline
from grading.store.grades import Row
from grading.store.gradings import Fault
from grading.store.tables import Lab
from grading.verdict import State

SHOWS = (
    ("", "everybody"),
    ("review", "needs a review"),
    ("missing", "nothing handed in"),
    ("late", "late"),
)
NOTHING = '<td class="absent"><span aria-hidden="true">·</span><span class="visually-hidden">nothing</span></td>'


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A student's line. `cells` is finished HTML."""

    name: str
    login: str
    section: str
    late: bool
    isolation: str  # empty when it was full
    cells: Markup


@dataclass(frozen=True, slots=True)
class Filter:
    """What the reader asked to see: part of a name or login, a section, one of `SHOWS`."""

    name: str = ""
    section: str = ""
    show: str = ""

    def lets_through(self, student: Row) -> bool:
        wanted = self.name.casefold().strip()
        if wanted and wanted not in student.name.casefold() and wanted not in student.login.casefold():
            return False
        if self.section and student.section != self.section:
            return False
        return {
            "review": needs_review(student),
            "missing": student.submission_id is None,
            "late": student.late,
        }.get(self.show, True)


@dataclass(frozen=True, slots=True)
class Board:
    lab_id: str
    course_id: str
    title: str
    due: When | None
    idle: When | None  # since when nothing is graded although something waits
    questions: tuple[Asked, ...]
    out_of: Decimal
    bonus_out_of: Decimal
    rows: tuple[BoardRow, ...]
    students: int
    handed_in: int
    reviews: int
    faults: tuple[Fault, ...]
    sections: tuple[str, ...]
    shows: tuple[tuple[str, str], ...]
    legend: tuple[Words, ...]
    name: str
    section: str
    show: str
    filtered: bool


def board(
    lab: Lab,
    due: When | None,
    outline: Outline,
    students: Sequence[Row],
    faults: Sequence[Fault],
    chosen: Filter,
    idle: When | None,
) -> Board:
    """The scoreboard of a lab. Counts are of everybody, rows of those chosen."""
    ids = tuple(question.id for question in outline.questions)
    return Board(
        lab_id=lab.id,
        course_id=lab.course_id,
        title=lab.title,
        due=due,
        idle=idle,
        questions=outline.questions,
        out_of=outline.out_of,
        bonus_out_of=outline.bonus_out_of,
        rows=tuple(_row(one, ids, bool(outline.bonus_out_of)) for one in students if chosen.lets_through(one)),
        students=len(students),
        handed_in=sum(one.submission_id is not None for one in students),
        reviews=sum(needs_review(one) for one in students),
        faults=tuple(faults),
        sections=tuple(sorted({one.section for one in students if one.section})),
        shows=SHOWS,
        legend=tuple(STATES.values()),
        name=chosen.name,
        section=chosen.section,
        show=chosen.show,
        filtered=chosen != Filter(),
    )


def needs_review(student: Row) -> bool:
    """Whether a person has to look at any of the student's answers."""
    return any(review for _, _, review in student.questions.values())


def _row(student: Row, questions: tuple[str, ...], bonus: bool) -> BoardRow:
    cells = [f'<td class="sum">{_total(student)}</td>']
    if bonus:
        cells.append(f"<td>{escape(points(student.bonus))}</td>")
    cells.append(f"<td>{escape(points(student.pending)) if student.pending else '–'}</td>")
    for question in questions:
        found = student.questions.get(question)
        cells.append(_cell(*found) if found else NOTHING)
    return BoardRow(
        name=student.name,
        login=student.login,
        section=student.section,
        late=student.late,
        isolation=isolation_words(student.isolation),
        cells=Markup("".join(cells)),
    )


def _total(student: Row) -> str:
    """The total, which leads to the submission that it comes from."""
    total = escape(points(student.points))
    if student.submission_id is None:
        return total
    whose = f'<span class="visually-hidden">, the submission of {escape(visible(student.login))}</span>'
    return f'<a href="/submissions/{escape(student.submission_id)}">{total}{whose}</a>'


@lru_cache(maxsize=4096)
def _cell(name: str, gained: Decimal, review: bool) -> str:
    words = state(name)
    flag = (
        '<span class="flag" title="needs review"><span aria-hidden="true"> ⚑</span>'
        '<span class="visually-hidden">, needs review</span></span>'
    )
    return (
        f'<td class="{words.tone}"><i aria-hidden="true">{words.mark}</i>'
        f'<span class="visually-hidden">{escape(words.word)}, </span>'
        f"{escape(points(None if name == State.OURS else gained))}{flag if review else ''}</td>"
    )
