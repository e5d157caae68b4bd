"""A class list from a CSV file: read as hostile data, compared with who is in the course, and nothing changed here.

Taken are a plain list (name, login, e-mail, section, in any order and under the usual headings) and a gradebook as
Canvas exports it. What would change is computed first and has a digest, so that what is applied is what was seen.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from grading.store.tables import Role

MAX_BYTES = 2 * 1024 * 1024
MAX_ROWS = 5_000
MAX_COLUMNS = 500
PROBLEMS_SHOWN = 50
LONGEST = {"login": 255, "name": 255, "email": 255, "section": 64}
HEADINGS = {
    "login": ("login", "login id", "sis login id", "username", "user name", "netid", "account", "uid"),
    "name": ("name", "student", "full name", "student name", "display name"),
    "first": ("first name", "firstname", "given name"),
    "last": ("last name", "lastname", "surname", "family name"),
    "email": ("email", "e mail", "mail", "email address", "e mail address"),
    "section": ("section", "sections", "group"),
}
CANVAS_LOGIN = "sis login id"
CANVAS_EXTRA_ROWS = {"points possible", "student, test"}


class RosterError(Exception):
    """The file as a whole cannot be taken; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """One person in one course, as it is now. `elsewhere`: they have a place in another course too."""

    user_id: int
    login: str
    name: str
    email: str
    section: str
    role: Role
    active: bool
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the file. `row` counts as a spreadsheet does; none is a column that the file has not got."""

    row: int
    login: str
    name: str
    email: str | None
    section: str | None


@dataclass(frozen=True, slots=True)
class RowProblem:
    row: int
    text: str


@dataclass(frozen=True, slots=True)
class Roster:
    """What a file says. With problems, nothing of it is applied."""

    people: tuple[Listed, ...]
    problems: tuple[RowProblem, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One student, as they will be. `change` is what becomes different, in words."""

    login: str
    name: str
    email: str
    section: str
    change: str = ""
    user_id: int | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All that applying a roster would do. A dropped student becomes inactive and keeps their work."""

    added: tuple[Change, ...]
    changed: tuple[Change, ...]
    dropped: tuple[Change, ...]
    unchanged: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.added or self.changed or self.dropped)

    @property
    def digest(self) -> str:
        """Equal for equal changes: a file or a course that changed since the preview gives another."""
        steps = [[asdict(one) for one in group] for group in (self.added, self.changed, self.dropped)]
        return hashlib.sha256(json.dumps(steps, sort_keys=True).encode()).hexdigest()


def read(raw: bytes) -> Roster:
    """The rows of a class list, each checked; faults are named by row."""
    text, notes = _decoded(raw)
    rows = _rows(text)
    columns = _columns(next(rows, (1, []))[1])
    canvas = _heading_is(columns, CANVAS_LOGIN)
    people: list[Listed] = []
    problems: list[RowProblem] = []
    first_row: dict[str, int] = {}
    for number, cells in rows:
        if not any(cells) or (canvas and _is_canvas_extra(columns, cells)):
            continue
        if len(people) + len(problems) >= MAX_ROWS:
            raise RosterError(f"The file has more than {MAX_ROWS:,} rows. Is it the class list?")
        listed = _listed(columns, number, cells, canvas)
        faults = _faults(listed)
        if listed.login in first_row:
            faults.append(f"the login {listed.login} is already in row {first_row[listed.login]}")
        elif listed.login:
            first_row[listed.login] = number
        problems += [RowProblem(number, fault) for fault in faults]
        if not faults:
            people.append(listed)
    if not people and not problems:
        raise RosterError("The file has headings but no rows. Applied, it would drop everybody, so it is not taken.")
    return Roster(tuple(people), tuple(problems[:PROBLEMS_SHOWN]), tuple(notes))


def compare(people: Sequence[Listed], places: Iterable[Place]) -> Changes:
    """What applying a list to a course would change. Staff are never changed and never dropped."""
    present = {place.login: place for place in places}
    added: list[Change] = []
    changed: list[Change] = []
    unchanged: list[Change] = []
    notes: list[str] = []
    for listed in people:
        place = present.get(listed.login)
        if place is None:
            added.append(Change(listed.login, listed.name, listed.email or "", listed.section or ""))
        elif place.role is not Role.STUDENT:
            notes.append(f"Row {listed.row}: {listed.login} is staff here ({place.role.value}) and stays as they are.")
        else:
            change = _change(listed, place)
            (changed if change.change else unchanged).append(change)
    listed_logins = {one.login for one in people}
    dropped = [
        Change(place.login, place.name, place.email, place.section, "no longer listed", place.user_id)
        for place in present.values()
        if place.role is Role.STUDENT and place.active and place.login not in listed_logins
    ]
    return Changes(tuple(added), tuple(changed), tuple(dropped), tuple(unchanged), tuple(notes))


def normal_login(login: str) -> str:
    """A login as it is stored and compared: `Ann@X.edu` and ` ann@x.edu` are one person."""
    return login.strip().casefold()


def _decoded(raw: bytes) -> tuple[str, list[str]]:
    if len(raw) > MAX_BYTES:
        raise RosterError(f"The file is larger than {MAX_BYTES // 1024**2} MB. Is it the class list?")
    notes = []
    try:
        text = raw.decode("utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = raw.decode("cp1252")
        except UnicodeDecodeError:
            raise RosterError("The file is not text. Save the spreadsheet as CSV (UTF-8).") from None
        notes.append("The file is not UTF-8 and was read as Windows-1252: check the accents below.")
    if "\0" in text:
        raise RosterError("The file is not text. Save the spreadsheet as CSV (UTF-8).")
    if not text.strip():
        raise RosterError("The file is empty.")
    return text, notes


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    head = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, cells in enumerate(reader, 1):
            if len(cells) > MAX_COLUMNS:
                raise RosterError(f"Row {number} has more than {MAX_COLUMNS} columns. Is it the class list?")
            yield number, [_plain(cell) for cell in cells]
    except csv.Error:
        raise RosterError(
            f"Row {number + 1} is not CSV: a quotation mark is out of place, or a cell far too long."
        ) from None


def _plain(cell: str) -> str:
    """A cell without what spreadsheets add: blanks around it, and the mark that keeps text from being a formula."""
    cell = cell.strip()
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@") else cell


def _columns(header: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Where each field is: its column and its heading."""
    found: dict[str, tuple[int, str]] = {}
    for position, cell in enumerate(header):
        heading = " ".join(cell.casefold().replace("_", " ").replace("-", " ").split())
        for field, headings in HEADINGS.items():
            if heading in headings:
                if field in found:
                    raise RosterError(
                        f"Two columns hold the {field}: columns {found[field][0] + 1} and {position + 1}."
                    )
                found[field] = (position, heading)
    missing = [] if "login" in found else ["login"]
    if "name" not in found and not {"first", "last"} <= found.keys():
        missing.append("name")
    if missing:
        raise RosterError(
            f"No column is headed {' or '.join(missing)}. The first row must name the columns: "
            "name, login, email, section."
        )
    return found


def _heading_is(columns: dict[str, tuple[int, str]], heading: str) -> bool:
    return columns["login"][1] == heading


def _is_canvas_extra(columns: dict[str, tuple[int, str]], cells: Sequence[str]) -> bool:
    """Whether a row of a Canvas gradebook is no student's: points possible, manual posting, the test student."""
    name = _cell(columns, "name", cells) or ""
    if name.casefold() in CANVAS_EXTRA_ROWS:
        return True
    return not name and not _cell(columns, "login", cells)


def _cell(columns: dict[str, tuple[int, str]], field: str, cells: Sequence[str]) -> str | None:
    if field not in columns:
        return None
    position = columns[field][0]
    return cells[position] if position < len(cells) else ""


def _listed(columns: dict[str, tuple[int, str]], row: int, cells: Sequence[str], canvas: bool) -> Listed:
    name = _cell(columns, "name", cells)
    if name is None:
        parts = (_cell(columns, "first", cells), _cell(columns, "last", cells))
        name = " ".join(part for part in parts if part)
    elif canvas and name.count(",") == 1:
        name = " ".join(part.strip() for part in reversed(name.split(",")))
    login = normal_login(_cell(columns, "login", cells) or "")
    return Listed(row, login, name, _cell(columns, "email", cells), _cell(columns, "section", cells))


def _faults(listed: Listed) -> list[str]:
    faults = []
    for field, longest in LONGEST.items():
        value = getattr(listed, field)
        if value is None:
            continue
        if len(value) > longest:
            faults.append(f"the {field} has more than {longest} characters")
        elif not value.isprintable():
            faults.append(f"the {field} holds a control character")
        elif not value and field in ("login", "name"):
            faults.append(f"the {field} is missing")
    if listed.email and "@" not in listed.email:
        faults.append("the e-mail address has no @")
    return faults


def _change(listed: Listed, place: Place) -> Change:
    """What a row changes for somebody who has a place. A name that another course shares stays as it is."""
    wanted = {
        "name": place.name if place.elsewhere else listed.name,
        "email": place.email if place.elsewhere or listed.email is None else listed.email,
        "section": place.section if listed.section is None else listed.section,
    }
    words = [
        f"{field}: {getattr(place, field) or 'none'} → {value or 'none'}"
        for field, value in wanted.items()
        if value != getattr(place, field)
    ]
    if not place.active:
        words.insert(0, "active again")
    return Change(place.login, wanted["name"], wanted["email"], wanted["section"], "; ".join(words), place.user_id)
