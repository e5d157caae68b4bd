"""The door to a submission's bytes: a file or pasted texts in, answers or `Refused` out.

`read` and `read_pasted` work where they are called; the `_apart` forms do the same in a process with limits on memory
and time, whose death costs nothing but a refusal. Nothing of a submission is ever run here.
"""

import gc
import logging
import math
import resource
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_process

from grading.answers import archive, notebook
from grading.answers.decoding import decode, looks_like, normalise, printable
from grading.answers.effort import Effort
from grading.answers.finding import Code
from grading.answers.headings import Prose
from grading.answers.model import Answer, Answers, Refused, Wanted
from grading.answers.modules import CUSTOMARY
from grading.answers.notebook import MAX_SOURCE, Cell
from grading.answers.statements import parse

MAX_BYTES = 64 * 1024 * 1024
MAX_PASTED = 200_000
ADDRESS_SPACE = 2 << 30
CPU_SECONDS = 8  # a full file of 64 MiB needs less than two, and so does the worst code within the limits of effort
WALL_SECONDS = 20.0
UNREADABLE = "The file could not be read within the limits on time and memory. Clear the outputs and hand it in again."

log = logging.getLogger(__name__)


def read(path: Path, filename: str, wanted: Sequence[Wanted], max_bytes: int = MAX_BYTES) -> Answers:
    """What the file holds, by question. Which kind of file it is, its content says, not its name."""
    filename = printable(filename.replace("\\", "/").rpartition("/")[2], 200) or "unnamed"
    size = path.stat().st_size
    if size > max_bytes:
        raise Refused(
            "too_large", f"The file has {size:,} bytes; at most {max_bytes:,} are taken. Clear the outputs first."
        )
    raw, name, notes = _open(path, filename, max_bytes)
    kind = looks_like(raw)
    if kind is not None:
        raise Refused(
            "binary", f"{printable(name)} looks like {kind}. Hand in the notebook (.ipynb) or a Python file (.py)."
        )
    text, more = decode(raw)
    del raw
    notes += more
    cells, is_notebook = _document(text, name, notes)
    del text
    return Answers(answers=tuple(_answers(cells, wanted, is_notebook)), notes=tuple(notes), filename=filename)


def read_pasted(texts: Mapping[str, str], wanted: Sequence[Wanted]) -> Answers:
    """What was pasted, by question; each text stands by itself, with the customary imports where it needs them."""
    known = {one.question for one in wanted}
    for question in texts:
        if question not in known:
            raise Refused("unknown_question", f"There is no question {printable(question, 40)} in this lab.")
    return Answers(answers=tuple(_pasted(one, texts.get(one.question, ""), wanted) for one in wanted))


async def read_apart(path: Path, filename: str, wanted: Sequence[Wanted], max_bytes: int = MAX_BYTES) -> Answers:
    """As `read`, in a process apart."""
    answers: Answers = await _apart(read, path, filename, tuple(wanted), max_bytes)
    return answers


async def read_pasted_apart(texts: Mapping[str, str], wanted: Sequence[Wanted]) -> Answers:
    """As `read_pasted`, in a process apart."""
    answers: Answers = await _apart(read_pasted, dict(texts), tuple(wanted))
    return answers


async def warm(readers: int) -> None:
    """Start as many reading processes as may be at work at once, ahead of the first file.

    Each runs the program's main module again, under another name: it must be guarded by `if __name__ == "__main__"`.
    """
    anyio.to_process.current_default_process_limiter().total_tokens = readers
    async with anyio.create_task_group() as group:
        for _ in range(readers):
            group.start_soon(_in_process, _prepare)


def _open(path: Path, filename: str, max_bytes: int) -> tuple[bytes, str, list[str]]:
    """The bytes to be read as text, the name they go by, and notes."""
    with path.open("rb") as file:
        head = file.read(8)
    if looks_like(head) != "a ZIP archive":
        return path.read_bytes(), filename, []
    raw, name = archive.take(path, max_bytes)
    return raw, name, [f"Taken from the archive: {printable(name)}."]


def _document(text: str, name: str, notes: list[str]) -> tuple[list[Cell], bool]:
    """The cells of the document, and whether it is a notebook. A wrong name for the right content is noted."""
    beginning = text[:4096].lstrip().lower()
    if not text.strip():
        raise Refused("empty", f"{printable(name)} is empty.")
    if beginning.startswith(("<!doctype html", "<html")):
        raise Refused("html_export", "This is a web page made from a notebook. Hand in the notebook itself (.ipynb).")
    ending = name.lower().rpartition(".")[2]
    holds_cells = '"cells"' in text or '"worksheets"' in text
    if beginning[:1] in ("{", "[") and (ending in ("ipynb", "json") or (beginning[0] == "{" and holds_cells)):
        cells = notebook.cells(text)
        if ending != "ipynb":
            notes.append(f"{printable(name)} is a notebook and was read as one; its name should end in .ipynb.")
        return cells, True
    script = Cell(1, "code", normalise(text))
    if len(script.source) > MAX_SOURCE:
        raise Refused("too_large", f"The file has more than {MAX_SOURCE:,} characters of code.")
    if ending == "py":
        return [script], False
    if not _is_python(script):
        if ending == "ipynb":
            raise Refused(
                "not_json", "This is not a notebook: it is not JSON. Save it again in Jupyter and hand that in."
            )
        raise Refused(
            "wrong_kind", "Hand in the notebook (.ipynb), a Python file (.py), or a ZIP archive of one of them."
        )
    notes.append(f"{printable(name)} is Python code and was read as such; its name should end in .py.")
    return [script], False


def _is_python(script: Cell) -> bool:
    """Whether the text is Python beyond doubt: it parses and defines something."""
    parsed = parse(script, Effort(repaired=0))
    return not parsed.faults and any(one.binds for one in parsed.statements)


def _answers(cells: Sequence[Cell], wanted: Sequence[Wanted], is_notebook: bool) -> list[Answer]:
    code, prose = Code(cells, wanted, is_notebook), Prose(cells, is_notebook)
    return [code.answer(one) if one.entry else prose.answer(one) for one in wanted]


def _pasted(one: Wanted, text: str, wanted: Sequence[Wanted]) -> Answer:
    if len(text) > MAX_PASTED:
        raise Refused("too_large", f"The answer to {one.question} has more than {MAX_PASTED:,} characters.")
    text = normalise(text.removeprefix("\ufeff").encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    if not text.strip():
        return Answer(question=one.question, found=False, reason="Not answered: nothing was pasted.")
    if not one.entry:
        return Answer(question=one.question, found=True, text=text.strip("\n"), where="pasted")
    return Code([Cell(1, "code", text)], wanted, notebook=False, supplied=CUSTOMARY).answer(one)


async def _apart(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return await _in_process(function, *arguments)
    except Refused:
        raise
    except Exception as error:  # a death of the process, a time-out, or a defect of ours
        log.error("A submission could not be read: %s", type(error).__name__)
        raise Refused("unreadable", UNREADABLE) from error


async def _in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    # The limiter is taken first, so that waiting for a free process does not count against the time.
    async with anyio.to_process.current_default_process_limiter():
        with anyio.fail_after(WALL_SECONDS):
            return await anyio.to_process.run_sync(
                _bounded, function, arguments, cancellable=True, limiter=anyio.CapacityLimiter(1)
            )


def _bounded(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Runs in the process apart."""
    _limit()
    gc.disable()  # it would look through hundreds of thousands of syntax nodes, none of them garbage, again and again
    try:
        return function(*arguments)
    except (MemoryError, RecursionError):
        raise Refused("unreadable", UNREADABLE) from None
    finally:
        gc.enable()


def _limit() -> None:
    """Soft limits, set anew for each file: processor time is counted over the life of the process."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    for which, limit in (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_CPU, math.ceil(spent.ru_utime + spent.ru_stime) + CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _prepare() -> None:
    """What the first file would otherwise wait for."""
    import nbformat  # noqa: F401

    read_pasted({"": "x = 1"}, [Wanted(question="", entry="x", heading="")])
