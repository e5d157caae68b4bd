"""`rooflab db`, `roster` and `token`: for whoever runs the service, on the machine that reaches its database."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy.orm import Session

from grading import classlist, outline
from grading.export.sheets import sheet
from grading.export.terminal import plain
from grading.roster import RosterError
from grading.settings import Settings
from grading.store import courses, migrate, people, tokens
from grading.store.session import reading, transaction
from grading.store.tables import Role, User

db = typer.Typer(no_args_is_help=True, help="The database: its tables, and what is set up once.")
roster = typer.Typer(no_args_is_help=True, help="Who is in a course.")
token = typer.Typer(no_args_is_help=True, help="Tokens: make, list, revoke.")
out = Console()
err = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@db.command("migrate")
def migrate_database() -> None:
    """Bring the database to the newest tables."""
    migrate.upgrade(Settings().database)
    err.print("The database is up to date.")


@db.command("course")
def make_course(
    course: Annotated[str, typer.Argument(help="Short name in addresses, such as gpu-fall.")],
    title: Annotated[str, typer.Argument()],
    admin: Annotated[str, typer.Option(help="Login of the course's first admin; made when unknown.")],
    timezone: Annotated[str, typer.Option(help="Zone that due times are shown in.")] = "UTC",
) -> None:
    """Make a course with its first admin."""
    now = datetime.now(UTC)
    _address(course)
    with transaction(Settings().database) as session:
        if courses.course(session, course) is not None:
            raise _failed(f"There is a course {course} already.")
        try:
            courses.create_course(session, id=course, title=title, now=now, timezone=timezone)
        except (KeyError, ValueError):
            raise _failed(f"{timezone!r} is no time zone; one is Europe/Berlin.") from None
        person = people.user_by_login(session, admin) or people.add_user(session, login=admin, name=admin, now=now)
        people.enroll(session, course_id=course, user_id=person.id, role=Role.ADMIN, now=now)
    err.print(f"Made {course}. Next: rooflab token create {admin}", markup=False)


@db.command("lab")
def make_lab(
    course: Annotated[str, typer.Argument()],
    lab: Annotated[str, typer.Argument(help="Short name in addresses, unique over all courses.")],
    title: Annotated[str, typer.Argument()],
    pack: Annotated[str, typer.Option(help="The pack it asks.")] = "lab1",
    due: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%dT%H:%M"], help="Due time in UTC, such as 2027-01-31T22:59.")
    ] = None,
    release: Annotated[bool, typer.Option("--release", help="Let grades leave for the LMS as they come.")] = False,
) -> None:
    """Make a lab in a course."""
    settings = Settings()
    _address(lab)
    try:
        outline.find(settings, pack)
    except outline.PackError as error:
        raise _failed(str(error)) from None
    with transaction(settings.database) as session:
        if courses.course(session, course) is None or courses.lab(session, lab) is not None:
            raise _failed(f"There is no course {course}, or there is a lab {lab} already.")
        courses.create_lab(
            session,
            id=lab,
            course_id=course,
            title=title,
            pack=pack,
            now=datetime.now(UTC),
            due_at=due.replace(tzinfo=UTC) if due else None,
            released=release,
        )
    err.print(f"Made {lab}.", markup=False)


@roster.command("list")
def list_roster(course: str, as_json: Json = False) -> None:
    """Everybody in a course."""
    with reading(Settings().database) as session:
        _course(session, course)
        found = people.places(session, course)
    rows = [
        {
            "login": place.login,
            "name": place.name,
            "email": place.email,
            "section": place.section,
            "role": place.role.value,
            "active": place.active,
        }
        for place in found
    ]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("login", "name", "e-mail", "section", "role", "")
    for place in found:
        table.add_row(
            plain(place.login),
            plain(place.name),
            plain(place.email),
            plain(place.section),
            place.role.value,
            "" if place.active else "dropped",
        )
    out.print(table if rows else f"Nobody is in {course} yet: rooflab roster apply {course} FILE.csv")


@roster.command("apply")
def apply_roster(
    course: str,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV: name, login id, e-mail, section.")],
    yes: Annotated[bool, typer.Option("--yes", help="Apply; without it only the preview is shown.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a class list would change, and with --yes change it. Dropped students keep their work."""
    database, raw = Settings().database, file.read_bytes()
    with reading(database) as session:
        _course(session, course)
    try:
        seen = classlist.preview(database, course, raw)
        for problem in seen.problems:
            err.print(f"Row {problem.row}: {problem.text}", markup=False)
        for note in seen.notes:
            err.print(note, markup=False)
        if seen.problems:
            raise _failed("Nothing was changed: mend these rows first.", code=3)
        if yes:
            classlist.apply(database, course, raw, seen.changes.digest, datetime.now(UTC))
    except RosterError as error:
        raise _failed(str(error), code=3) from None
    except classlist.NotApplied as error:
        raise _failed(str(error)) from None
    changes = seen.changes
    groups = {"added": changes.added, "changed": changes.changed, "dropped": changes.dropped}
    if as_json:
        typer.echo(json.dumps({name: [one.login for one in group] for name, group in groups.items()}))
        return
    table = Table("", "login", "name", "section", "what changes")
    for name, group in groups.items():
        for one in group:
            table.add_row(name, plain(one.login), plain(one.name), plain(one.section), plain(one.change))
    out.print(table if table.row_count else "Nothing changes.")
    err.print("Applied." if yes else "A preview: nothing was changed. Apply it with --yes.")


@roster.command("add")
def add_member(
    course: str,
    login: str,
    role: Annotated[Role, typer.Option(help="What they are in this course.")] = Role.TA,
    name: Annotated[str, typer.Option(help="Their name, where the login is new.")] = "",
) -> None:
    """Give one person a place in a course: staff, whom a class list never touches."""
    now = datetime.now(UTC)
    with transaction(Settings().database) as session:
        _course(session, course)
        person = people.user_by_login(session, login) or people.add_user(
            session, login=login, name=name or login, now=now
        )
        people.enroll(session, course_id=course, user_id=person.id, role=role, now=now)
    err.print(f"{login} is {role.value} in {course}. Next: rooflab token create {login}", markup=False)


@token.command("handout")
def hand_out(course: str, days: Annotated[int, typer.Option(min=1, max=3660)] = 180) -> None:
    """Make a token for each active student who has none, and print them as CSV, once: name, login, e-mail, token."""
    now = datetime.now(UTC)
    rows = []
    with transaction(Settings().database) as session:
        _course(session, course)
        for place in people.places(session, course):
            if place.role is not Role.STUDENT or not place.active or tokens.of_user(session, place.user_id):
                continue
            _, secret = tokens.issue(
                session,
                tokens.Purpose.PERSONAL,
                now=now,
                scopes=(tokens.Scope.SUBMIT, tokens.Scope.READ),
                user_id=place.user_id,
                name="first",
                lifetime=timedelta(days=days),
            )
            rows.append((place.name, place.login, place.email, secret))
    if not rows:
        err.print("Every active student has a token already; `rooflab token create LOGIN` makes another.")
    typer.echo(sheet(("name", "login", "email", "token"), rows), nl=False)


@token.command("create")
def create_token(
    login: str,
    name: Annotated[str, typer.Option(help="What it is for.")] = "command line",
    days: Annotated[int, typer.Option(min=1, max=3660, help="Days until it expires.")] = 180,
) -> None:
    """Make a token for a person and print its secret, once."""
    with transaction(Settings().database) as session:
        person = _person(people.user_by_login(session, login), login)
        _, secret = tokens.issue(
            session,
            tokens.Purpose.PERSONAL,
            now=datetime.now(UTC),
            scopes=tokens.PERSONAL_SCOPES,
            user_id=person.id,
            name=name,
            lifetime=timedelta(days=days),
        )
    typer.echo(secret)


@token.command("list")
def list_tokens(login: str, as_json: Json = False) -> None:
    """A person's tokens, without their secrets."""
    with reading(Settings().database) as session:
        found = tokens.of_user(session, _person(people.user_by_login(session, login), login).id)
    if as_json:
        rows = [
            {
                "id": one.id,
                "name": one.name,
                "hint": one.hint,
                "scopes": one.scopes,
                "expires_at": one.expires_at.isoformat() if one.expires_at else None,
            }
            for one in found
        ]
        typer.echo(json.dumps(rows))
        return
    table = Table("id", "name", "begins with", "scopes", "expires")
    for one in found:
        expires = f"{one.expires_at:%Y-%m-%d %H:%M} UTC" if one.expires_at else "never"
        table.add_row(str(one.id), plain(one.name), one.hint, " ".join(one.scopes), expires)
    out.print(table if found else f"{login} has no token: rooflab token create {login}")


@token.command("revoke")
def revoke_token(number: Annotated[int, typer.Argument(help="The id that `token list` shows.")]) -> None:
    """Revoke a token, and the sessions opened with it."""
    with transaction(Settings().database) as session:
        if not tokens.revoke(session, number, datetime.now(UTC)):
            raise _failed(f"There is no token {number} in force.")
    err.print("Revoked.")


def _address(name: str) -> None:
    if not re.fullmatch(courses.ID, name):
        raise _failed(f"{name!r} cannot stand in an address: only letters, digits, . _ and -, 64 at most.", code=2)


def _course(session: Session, course: str) -> None:
    if courses.course(session, course) is None:
        raise _failed(f"There is no course {course}.")


def _person(found: User | None, login: str) -> User:
    if found is None:
        raise _failed(f"Nobody has the login {login}.")
    return found


def _failed(message: str, code: int = 1) -> typer.Exit:
    err.print(message, markup=False)
    return typer.Exit(code)
