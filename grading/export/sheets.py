"""The scoreboard and the grades as CSV (RFC 4180, UTF-8, no byte-order mark).

Text that a spreadsheet would run as a formula is marked with an apostrophe. A blank cell is "no grade", and 0 is 0.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

Cell = str | int | bool | Decimal | datetime | None
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def sheet(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Rows under a header, as one CSV text."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([_text(title) for title in header])
    for row in rows:
        writer.writerow([cell(value) for value in row])
    return out.getvalue()


def cell(value: Cell) -> str:
    """One value as a spreadsheet should read it: exact decimals, UTC times, and text that stays text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return stamp(value)
    return _text(value)


def stamp(moment: datetime) -> str:
    """A time in UTC, to the millisecond: 2026-03-01T12:00:00.000Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _text(value: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in value).strip()
    return f"'{plain}" if plain.startswith(FORMULA) else plain
