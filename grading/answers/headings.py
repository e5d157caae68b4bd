"""Written answers: found by their question's heading, since names, cell metadata and positions cannot be relied on."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from grading.answers.model import Answer, Wanted
from grading.answers.notebook import Cell

MAX_TEXT = 200_000
MAX_REGIONS = 500
MAX_HEADINGS = 5000  # in one document

_HEADING = re.compile(r"^[ \t]{0,3}(#{1,6})[ \t]+(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*+```.*?(?:^[ \t]*+```|\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\b(?:question|bonus)\b[^\d\n]{0,20}(\d+(?:\.\d+)*)", re.IGNORECASE)
_WORDS = r"your[ \t]++answer[ \t]*+(?:\([^)\n]{0,40}\)[ \t]*+)?"
_MARKER = re.compile(
    rf"(?:\*\*|__)[ \t]*+{_WORDS}(?::[ \t]*+)?(?:\*\*|__)[ \t]*+:?|^[ \t>]*+{_WORDS}:",
    re.IGNORECASE | re.MULTILINE,
)
_FILLER = re.compile(
    r"<!--(?:(?!-->).){0,500}-->|^[ \t]*+(?:[-*+][ \t]++)?(?:\d++|[a-z])[.)]"
    r"|\b(?:your|type|write|enter|put)\b[^.\n]{0,20}\banswer\b(?:[ \t]*+here)?|\btodo\b",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    rank: int
    numbered: bool
    key: str | None  # "3.1", "bonus 3.2" for a question's heading


@dataclass(frozen=True, slots=True)
class _Region:
    """A question's own part of a notebook: the rest of its heading's cell, and Markdown up to the next heading."""

    cell: int
    key: str
    beginning: str
    following: tuple[tuple[int, str], ...]


class Prose:
    """The Markdown of a document, asked for one question after the other."""

    def __init__(self, cells: Sequence[Cell], notebook: bool) -> None:
        self._notebook = notebook
        self._regions = _regions(cells)

    def answer(self, wanted: Wanted) -> Answer:
        """The written answer to one question, or why there is none."""
        if not self._notebook:
            return _missing(wanted, "Not answered: this question wants a written answer. Hand in the notebook with it.")
        regions = [region for region in self._regions if region.key == wanted.heading.casefold()]
        if not regions:
            heading = (
                wanted.heading.capitalize() if wanted.heading.startswith("bonus") else f"Question {wanted.heading}"
            )
            return _missing(wanted, f"Not answered: no heading “{heading}” was found in the notebook's Markdown cells.")
        templates = {_plain(stub) for stub in wanted.stubs}
        for region in reversed(regions):
            number, text = _written(region)
            if _says_something(text) and _plain(text) not in templates:
                return _answer(wanted, number, text)
        return _missing(wanted, f"Not answered: nothing is written below the heading in cell {regions[-1].cell}.")


def _answer(wanted: Wanted, number: int, text: str) -> Answer:
    notes: tuple[str, ...] = ()
    if len(text) > MAX_TEXT:
        text, notes = text[:MAX_TEXT], (f"Only the first {MAX_TEXT:,} characters are kept.",)
    return Answer(question=wanted.question, found=True, text=text.strip("\n"), where=f"cell {number}", notes=notes)


def _missing(wanted: Wanted, reason: str) -> Answer:
    return Answer(question=wanted.question, found=False, reason=reason)


def _regions(cells: Sequence[Cell]) -> list[_Region]:
    """Every question's region, in order. A heading of each Markdown cell is looked for once."""
    prose: list[tuple[Cell, list[_Heading]]] = []
    left = MAX_HEADINGS
    for cell in cells:
        if cell.kind == "markdown":
            prose.append((cell, _headings(cell.source, min(left, MAX_REGIONS))))
            left -= len(prose[-1][1])
    regions: list[_Region] = []
    for position, (cell, headings) in enumerate(prose):
        for place, heading in enumerate(headings):
            if heading.key is not None and len(regions) < MAX_REGIONS:
                end = next((later.start for later in headings[place + 1 :] if _ends(heading, later)), None)
                following = _following(prose, position + 1, heading) if end is None else ()
                regions.append(_Region(cell.number, heading.key, cell.source[heading.end : end], following))
    return regions


def _headings(source: str, most: int) -> list[_Heading]:
    fences = [match.span() for match in _FENCE.finditer(source)] if "```" in source else []
    begins = [start for start, _ in fences]
    found: list[_Heading] = []
    for match in _HEADING.finditer(source):
        if len(found) == most:
            break
        before = bisect_right(begins, match.start()) - 1
        if before < 0 or match.start() >= fences[before][1]:
            number = _NUMBER.search(match[2])
            bonus = "bonus " if number and re.search(r"\bbonus\b", match[2], re.IGNORECASE) else ""
            key = bonus + number[1] if number else None
            found.append(_Heading(match.start(), match.end(), len(match[1]), match[2][:1].isdigit(), key))
    return found


def _ends(question: _Heading, later: _Heading) -> bool:
    """Whether a later heading ends the question: another question, or the title of a section; not a student's own."""
    return later.key is not None or (later.rank < question.rank and (later.rank <= 2 or later.numbered))


def _following(
    prose: Sequence[tuple[Cell, list[_Heading]]], first: int, question: _Heading
) -> tuple[tuple[int, str], ...]:
    found = []
    for position in range(first, len(prose)):
        cell, headings = prose[position]
        end = next((heading.start for heading in headings if _ends(question, heading)), None)
        if cell.source[:end].strip():
            found.append((cell.number, cell.source[:end]))
        if end is not None:
            break
    return tuple(found)


def _written(region: _Region) -> tuple[int, str]:
    """What stands behind the answer marker, in the same or the next Markdown cell; without one, what follows."""
    texts = [(region.cell, region.beginning), *region.following]
    for position, (number, text) in enumerate(texts):
        markers = list(_MARKER.finditer(text))
        if not markers:
            continue
        behind = _MARKER.sub("\n", text[markers[0].end() :])
        later = texts[position + 1 :]
        if not _says_something(behind):
            return later[0] if later else (number, "")
        adjoining = [one for place, (at, one) in enumerate(later, start=1) if at == number + place]
        return number, "\n\n".join([behind, *adjoining])
    if not region.following:
        return region.cell, ""
    return region.following[0][0], "\n\n".join(text for _, text in region.following)


def _says_something(text: str) -> bool:
    """Whether more than a template's list numbers and filler stands there."""
    return re.search(r"\w", _FILLER.sub(" ", text[:MAX_TEXT])) is not None or "![" in text


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
