"""Verdicts as a table for a terminal."""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from grading.verdict import State, Verdict

STYLE = {
    State.PASSED: "green",
    State.PARTIAL: "yellow",
    State.FAILED: "red",
    State.NOT_ANSWERED: "dim",
    State.OURS: "magenta",
}


def feedback_table(verdicts: Sequence[Verdict]) -> Table:
    """One row a question: state, points, and what the student should read. Control characters are shown, not obeyed."""
    table = Table(expand=True, show_lines=True)
    table.add_column("question", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("feedback", ratio=1)
    for verdict in verdicts:
        table.add_row(
            plain(verdict.question),
            Text(verdict.state.value, style=STYLE[verdict.state]),
            f"{'–' if verdict.state is State.OURS else verdict.points} / {verdict.out_of}",
            Group(*(plain(line) for line in _lines(verdict))),
        )
    return table


def plain(text: str) -> Text:
    """Text for a terminal: no markup, and anything unprintable (escape sequences, bidi marks) spelt out."""
    return Text("".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text))


def _lines(verdict: Verdict) -> list[str]:
    lines = [verdict.headline]
    if verdict.diagnosis is not None and verdict.diagnosis.text != verdict.headline:
        lines.append(verdict.diagnosis.text)
    lines += [f"✗ {check.label}: {check.text}" for check in verdict.checks if not check.passed]
    lines += verdict.remarks
    if verdict.needs_review:
        lines.append(f"A person will look at this: {verdict.needs_review}")
    return lines
