"""Written answers: found by their question's heading, since names, cell metadata and positions cannot be relied on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grading.answers.model import Answer, Wanted
from grading.answers.notebook import Cell

MAX_TEXT = 200_000

_HEADING = re.compile(r"^[ \t]{0,3}(#{1,6})[ \t]+(.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\b(?:question|bonus)\b[^\d\n]{0,20}(\d+(?:\.\d+)*)", re.IGNORECASE)
_MARKER = re.compile(
    r"(?:\*\*|__)[ \t]*your[ \t]+answer[ \t]*(?:\([^)\n]{0,40}\))?[ \t]*:?[ \t]*(?:\*\*|__)[ \t]*:?"
    r"|^[ \t>]*your[ \t]+answer[ \t]*(?:\([^)\n]{0,40}\))?[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_FILLER = re.compile(
    r"<!--(?:(?!-->).){0,500}-->|^[ \t]*(?:\d+|[a-z])[.)]"
    r"|\b(?:your|type|write|enter|put)\b[^.\n]{0,20}\banswer\b(?:[ \t]*here)?|\btodo\b",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Region:
    """A question's own part of a notebook: the rest of its heading's cell, and Markdown up to the next heading."""

    cell: int
    key: str
    beginning: str
    following: tuple[tuple[int, str], ...]


def answer(wanted: Wanted, cells: Sequence[Cell], notebook: bool) -> Answer:
    """The written answer to one question, or why there is none."""
    if not notebook:
        return _missing(
            wanted, "Not answered: this question wants a written answer. Hand in the notebook that holds it."
        )
    regions = [region for region in _regions(cells) if _matches(region.key, wanted.heading)]
    if not regions:
        heading = wanted.heading.capitalize() if wanted.heading.startswith("bonus") else f"Question {wanted.heading}"
        return _missing(wanted, f"Not answered: no heading “{heading}” was found in the notebook's Markdown cells.")
    templates = {_plain(stub) for stub in wanted.stubs}
    for region in reversed(regions):
        number, text = _written(region)
        if _says_something(text) and _plain(text) not in templates:
            notes: tuple[str, ...] = ()
            if len(text) > MAX_TEXT:
                text, notes = text[:MAX_TEXT], (f"Only the first {MAX_TEXT:,} characters are kept.",)
            return Answer(
                question=wanted.question, found=True, text=text.strip("\n"), where=f"cell {number}", notes=notes
            )
    return _missing(wanted, f"Not answered: nothing is written below the heading in cell {regions[-1].cell}.")


def _missing(wanted: Wanted, reason: str) -> Answer:
    return Answer(question=wanted.question, found=False, reason=reason)


def _matches(key: str, heading: str) -> bool:
    return key == heading.casefold()


def _regions(cells: Sequence[Cell]) -> list[_Region]:
    regions: list[_Region] = []
    for position, cell in enumerate(cells):
        if cell.kind != "markdown":
            continue
        headings = _headings(cell.source)
        for place, (match, key) in enumerate(headings):
            if key is None:
                continue
            end = next((later.start() for later, _ in headings[place + 1 :] if _ends(match, later)), None)
            following = _following(cells[position + 1 :], match) if end is None else ()
            regions.append(_Region(cell.number, key, cell.source[match.end() : end], following))
    return regions


def _headings(source: str) -> list[tuple[re.Match[str], str | None]]:
    found: list[tuple[re.Match[str], str | None]] = []
    fences = [
        match.span() for match in re.finditer(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", source, re.MULTILINE | re.DOTALL)
    ]
    for match in _HEADING.finditer(source):
        if any(start <= match.start() < end for start, end in fences):
            continue
        number = _NUMBER.search(match[2])
        bonus = "bonus " if re.search(r"\bbonus\b", match[2], re.IGNORECASE) else ""
        found.append((match, bonus + number[1] if number else None))
    return found


def _ends(question: re.Match[str], later: re.Match[str]) -> bool:
    """Whether a later heading ends the question: another question, or a title of at least its rank."""
    return _NUMBER.search(later[2]) is not None or len(later[1]) < len(question[1])


def _following(cells: Sequence[Cell], question: re.Match[str]) -> tuple[tuple[int, str], ...]:
    found = []
    for cell in cells:
        if cell.kind != "markdown":
            continue
        ends = [match.start() for match, _ in _headings(cell.source) if _ends(question, match)]
        found.append((cell.number, cell.source[: ends[0]] if ends else cell.source))
        if ends:
            break
    return tuple(one for one in found if one[1].strip())


def _written(region: _Region) -> tuple[int, str]:
    """What stands behind the answer marker, in the same or the next Markdown cell; without one, what follows."""
    texts = [(region.cell, region.beginning), *region.following]
    for position, (number, text) in enumerate(texts):
        markers = list(_MARKER.finditer(text))
        if not markers:
            continue
        behind = _MARKER.sub("\n", text[markers[0].end() :])
        if _says_something(behind):
            return number, behind
        return texts[position + 1] if position + 1 < len(texts) else (number, "")
    if not region.following:
        return region.cell, ""
    return region.following[0][0], "\n\n".join(text for _, text in region.following)


def _says_something(text: str) -> bool:
    """Whether more than a template's list numbers and filler stands there."""
    return re.search(r"\w", _FILLER.sub(" ", text)) is not None or "![" in text


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
