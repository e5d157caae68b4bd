"""A notebook as hostile data: JSON with bounds, outputs dropped as they come, older formats converted.

Jupyter's own validation is not asked: it refuses slips (a missing `outputs`, an unknown key) that Jupyter opens without
a word. Only `cell_type` and the source of each cell are taken, so nothing else can be wrong.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from grading.answers.decoding import normalise
from grading.answers.model import Refused

MAX_DEPTH = 100
MAX_MARKS = 4_000_000  # brackets and strings: a bound on objects, hence on memory
MAX_CELLS = 5000
MAX_SOURCE = 500_000  # characters of code in one file
MAX_PROSE = 20_000_000  # characters of Markdown: pictures pasted into it count

CellKind = Literal["code", "markdown", "raw"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell's text, counted from 1 in the notebook. A Python file is a document of one code cell."""

    number: int
    kind: CellKind
    source: str


def cells(text: str) -> list[Cell]:
    """The cells of a notebook of any format version."""
    data = _parse(text)
    if not isinstance(data, dict) or not ("cells" in data or "worksheets" in data):
        raise Refused(
            "not_a_notebook",
            "The file is JSON but no notebook: it has no cells. Hand in the .ipynb that you worked in.",
        )
    listed = (data if "cells" in data else _converted(data))["cells"]
    if not isinstance(listed, list):
        raise Refused("not_a_notebook", "The notebook's list of cells is damaged. Save it again in Jupyter.")
    _check_number(listed)
    found = [_cell(number, item) for number, item in enumerate(listed, start=1) if isinstance(item, Mapping)]
    for kinds, limit in ((("code",), MAX_SOURCE), (("markdown", "raw"), MAX_PROSE)):
        if sum(len(cell.source) for cell in found if cell.kind in kinds) > limit:
            raise Refused("too_large", f"The notebook has more than {limit:,} characters of {kinds[0]}.")
    return found


def _check_number(cells: list[Any]) -> None:
    if len(cells) > MAX_CELLS:
        raise Refused("too_large", f"The notebook has more than {MAX_CELLS:,} cells.")


_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def _parse(text: str) -> Any:
    _check_depth(text)
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string"):
            raise Refused(
                "truncated", "The notebook is cut short: its end is missing. Save it again and hand in the whole file."
            ) from None
        raise Refused(
            "not_json",
            f"The notebook is not valid JSON (line {error.lineno}, column {error.colno}). Save it again in Jupyter.",
        ) from None
    except ValueError:  # Python's own bound on the digits of an integer
        raise Refused("not_json", "The notebook holds a number of more than 4,300 digits.") from None


def _check_depth(text: str) -> None:
    depth = 0
    for marks, match in enumerate(_MARK.finditer(text)):
        character = text[match.start()]
        if character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Refused("too_deep", f"The file nests more than {MAX_DEPTH} levels deep: no notebook does.")
        elif character in "]}":
            depth -= 1
        if marks > MAX_MARKS:
            raise Refused("too_large", "The notebook holds too many values. Clear its outputs and hand it in again.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """One JSON object. Outputs and attachments go as soon as their cell is complete, so that they never pile up."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise Refused(
            "duplicate_key",
            f"The notebook holds the key {twice[:40]!a} twice in one object. Save it again in Jupyter.",
        )
    if "cell_type" in found:
        for heavy in ("outputs", "attachments", "metadata"):
            found.pop(heavy, None)
    return found


def _converted(data: dict[str, Any]) -> dict[str, Any]:
    """A notebook of format 1 to 3 as one of format 4."""
    import nbformat  # 0.15 s, and hardly any notebook needs it

    sheets = data["worksheets"]
    if not isinstance(sheets, list) or not all(isinstance(sheet, dict) for sheet in sheets):
        raise Refused("not_a_notebook", "The notebook's worksheets are damaged. Save it again in Jupyter.")
    items = [item for sheet in sheets for item in sheet.get("cells") or () if isinstance(item, dict)]
    _check_number(items)
    sheet = {"cells": [_old_cell(item) for item in items], "metadata": {}}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [sheet]}
    try:
        return dict(nbformat.convert(nbformat.from_dict(old), 4))  # type: ignore[no-untyped-call]
    except Exception as error:
        raise Refused("not_a_notebook", "The old notebook cannot be converted. Open and save it in Jupyter.") from error


def _old_cell(item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("cell_type")
    if kind == "code":
        source = _text(item.get("input", item.get("source", "")))
        return {"cell_type": "code", "input": source, "language": "python", "outputs": [], "metadata": {}}
    level = item.get("level")
    level = level if isinstance(level, int) and 1 <= level <= 6 else 1
    source = _text(item.get("source", ""))
    return {
        "cell_type": kind if kind in ("heading", "raw") else "markdown",
        "source": source,
        "level": level,
        "metadata": {},
    }


def _cell(number: int, item: Mapping[str, Any]) -> Cell:
    kind = item.get("cell_type")
    source = normalise(_text(item.get("source", "")))
    return Cell(number, kind if kind in ("code", "raw") else "markdown", source)


def _text(source: Any) -> str:
    """A source as one text. Half characters, which JSON can spell but UTF-8 cannot, become replacement characters."""
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        return ""
    return source if source.isascii() else source.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
