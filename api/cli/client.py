"""`rooflab submit` and `rooflab status`: a student's commands, over HTTP."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from api.cli.server import Server
from grading.export.terminal import feedback_table, plain
from grading.verdict import Verdict

out = Console()
err = Console(stderr=True)

Url = Annotated[str, typer.Option("--server", envvar="ROOFLAB_SERVER", help="Address of the service.")]
Secret = Annotated[str, typer.Option("--token", envvar="ROOFLAB_TOKEN", help="Your token, made on the account page.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
LOCAL = "http://127.0.0.1:8000"


class Shown(BaseModel):
    """What these commands read of a submission."""

    id: str
    state: str
    verdicts: list[Verdict] | None = None


def submit(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .ipynb, .py or .zip.")],
    lab: Annotated[str, typer.Option(envvar="ROOFLAB_LAB", help="The lab; not needed when you have only one.")] = "",
    server: Url = LOCAL,
    token: Secret = "",
    as_json: Json = False,
) -> None:
    """Hand a file in, watch it being graded, and print the feedback."""
    service = Server(server, token)
    lab = lab or _only_lab(service)
    received = service.hand_in(lab, file)
    submission = str(received["id"])
    if as_json:
        for _ in service.follow(submission):
            pass
        typer.echo(json.dumps(service.get(f"/submissions/{submission}")))
        return
    with err.status("Handed in.") as progress:
        for event in service.follow(submission):
            progress.update(_words(event))
    show_feedback(service.get(f"/submissions/{submission}"), f"{server}/submissions/{submission}")


def status(
    submission: Annotated[str, typer.Argument(help="One submission; without it, all of yours.")] = "",
    server: Url = LOCAL,
    token: Secret = "",
    as_json: Json = False,
) -> None:
    """Show your submissions, or one with its feedback."""
    service = Server(server, token)
    if submission:
        found = service.get(f"/submissions/{submission}")
        if as_json:
            typer.echo(json.dumps(found))
        else:
            show_feedback(found, f"{server}/submissions/{submission}")
        return
    labs = service.get("/labs")
    listed = {lab["id"]: service.get(f"/labs/{lab['id']}/submissions") for lab in _items(labs)}
    if as_json:
        typer.echo(json.dumps(listed))
        return
    table = Table("lab", "number", "submission", "received", "state", "points")
    for lab, page in listed.items():
        for row in _items(page):
            table.add_row(
                plain(lab),
                str(row["number"]),
                row["id"],
                f"{datetime.fromisoformat(row['received_at']):%Y-%m-%d %H:%M} UTC",
                row["state"],
                "" if row["points"] is None else f"{row['points']} of {row['out_of']}",
            )
    out.print(table if table.row_count else "Nothing handed in yet: rooflab submit FILE")


def show_feedback(submission: dict[str, Any], address: str) -> None:
    """Print a graded submission as a table, and the address of its page."""
    shown = Shown.model_validate(submission)
    if shown.verdicts:
        out.print(feedback_table(shown.verdicts))
    else:
        out.print(f"Submission {shown.id} is {shown.state}.", markup=False)
    out.print(address, markup=False, soft_wrap=True)


def _only_lab(service: Server) -> str:
    labs = _items(service.get("/labs"))
    if len(labs) == 1:
        return str(labs[0]["id"])
    names = ", ".join(str(lab["id"]) for lab in labs) or "none"
    err.print(f"Say which lab with --lab. Yours: {names}.", markup=False)
    raise typer.Exit(2)


def _items(page: Any) -> list[dict[str, Any]]:
    return list(page["items"] if isinstance(page, dict) else page)


def _words(event: dict[str, Any]) -> str:
    if event.get("state") == "queued":
        return f"Queued, {event.get('position') or 0} before you."
    return f"{str(event.get('state', '')).capitalize()}: {event.get('progress') or 0} questions judged."
