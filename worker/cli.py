"""The commands of the working side: `rooflab worker`, `grade`, `pack` and `bench`.

Heavy imports (torch, Celery) stay inside the commands, so that `rooflab --help` is quick.
"""

import ctypes
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from grading.answers.model import Refused
from grading.export.terminal import feedback_table, plain
from grading.outline import PackError, find
from grading.settings import Settings

if TYPE_CHECKING:
    from worker.sandbox.slot import Slot

worker = typer.Typer(no_args_is_help=True, help="Run and examine the worker that grades.")
pack = typer.Typer(no_args_is_help=True, help="Check packs: labs as data.")
out = Console()
err = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@worker.command("run")
def run_worker(
    queue: Annotated[str, typer.Option(help="Queue to serve: cpu, or gpu beside a device.")] = "cpu",
    concurrency: Annotated[int, typer.Option(min=1, help="Submissions graded side by side, a warm sandbox each.")] = 1,
    with_parent: Annotated[bool, typer.Option("--with-parent", help="Stop when the starting process dies.")] = False,
) -> None:
    """Grade what is queued, until stopped (Ctrl-C finishes the running grading first)."""
    from worker.app import run

    if with_parent:
        parent = os.getppid()
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
        if os.getppid() != parent:  # it died before the request was in place
            raise typer.Exit(1)
    run(Settings(), queue, concurrency)


@worker.command("doctor")
def doctor(as_json: Json = False) -> None:
    """Say what this host offers for isolation, what is missing and how to get it, and the limits in force."""
    from worker import doctor
    from worker.sandbox.profile import PROFILES

    findings = doctor.report()
    limits = {name: asdict(profile) for name, profile in PROFILES.items()}
    if as_json:
        found = [asdict(finding) for finding in findings]
        typer.echo(json.dumps({"findings": found, "limits": limits}))
        return
    table = Table("", "part", "found", "what to do")
    for finding in findings:
        table.add_row("✓" if finding.good else "✗", finding.part, plain(finding.found), finding.advice)
    out.print(table)
    for name, profile in limits.items():
        limits_table = Table("limit", name)
        for limit, value in profile.items():
            limits_table.add_row(limit, f"{value:,}")
        out.print(limits_table)


def grade(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .ipynb, .py or .zip.")],
    pack_name: Annotated[str, typer.Option("--pack", help="Pack to grade by.")] = "lab1",
    as_json: Json = False,
) -> None:
    """Grade a file here, in the sandbox, without a server. Exit 0 when graded, 3 when the file is refused."""
    from grading.answers.reading import read
    from grading.grader import grade as grade_answers
    from grading.pack import load
    from grading.score import total

    settings = Settings()
    try:
        loaded = load(find(settings, pack_name))
        answers = read(file, file.name, loaded.outline.wanted())
    except (PackError, Refused) as refused:
        err.print(str(getattr(refused, "message", refused)), markup=False)
        raise typer.Exit(3) from None
    with _slot() as slot:
        verdicts = grade_answers(
            loaded,
            answers,
            slot.run,
            seed=secrets.token_bytes(32),
            explanations_left=lambda question: 1,
            progress=lambda done: None,
        )
    score = total(verdicts, loaded.outline)
    if as_json:
        typer.echo(json.dumps([json.loads(verdict.model_dump_json(exclude={"evidence"})) for verdict in verdicts]))
        return
    out.print(feedback_table(verdicts))
    out.print(f"{score.points} of {score.out_of} points, bonus {score.bonus} of {score.bonus_out_of}")


@pack.command("check")
def check_pack(folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)], as_json: Json = False) -> None:
    """Validate a pack and grade its samples. Exit 0 when every sample gets what it expects, else 1."""
    from grading.pack import check

    with _slot() as slot:
        problems = check(folder, slot.run)
    if as_json:
        typer.echo(json.dumps({"problems": problems}))
    else:
        for problem in problems:
            err.print(f"✗ {problem}", markup=False)
        out.print("The pack is sound." if not problems else f"{len(problems)} problems.")
    raise typer.Exit(1 if problems else 0)


def bench(
    name: Annotated[str, typer.Argument(help="feedback, child, …: a file of benchmarks/.")],
    n: Annotated[int | None, typer.Option("-n", min=2, help="How many samples; the benchmark knows its own.")] = None,
) -> None:
    """Run a benchmark; its last line is one JSON object."""
    folder = Path(__file__).parent.parent / "benchmarks"
    known = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    if name not in known:
        err.print(f"There is no benchmark {name!r}. Known: {', '.join(known)}.", markup=False)
        raise typer.Exit(2)
    raise typer.Exit(subprocess.call([sys.executable, str(folder / f"{name}.py"), *(["-n", str(n)] if n else [])]))


@contextmanager
def _slot() -> "Iterator[Slot]":
    from worker.sandbox import SandboxFault
    from worker.sandbox.slot import Slot

    try:
        with Slot(allow_reduced=Settings().allow_reduced_isolation) as slot:
            yield slot
    except SandboxFault as fault:
        err.print(f"The sandbox failed: {fault.cause}. `rooflab worker doctor` says what is missing.", markup=False)
        raise typer.Exit(1) from None
