"""Documents as students hand them in, made for the tests of reading."""

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from grading.answers.model import Answer, Answers, Wanted
from grading.answers.reading import MAX_BYTES, read

DATA = Path(__file__).parent / "data" / "answers"
FOUR = (
    Wanted(question="1.3", entry="gemm_mac", heading="1.3"),
    Wanted(question="1.4", entry="gemm_io", heading="1.4"),
    Wanted(question="3.2", entry="calc_attn_io", heading="3.2"),
    Wanted(question="4.3.1", entry="gelu_tanh_python", heading="4.3.1"),
)
SCRIPT = """# Written at the café.
import torch
import math

def gemm_mac(x, y):
    (rows, inner), columns = x.shape, y.shape[1]
    return rows * inner * columns

def gemm_io(A, B):
    (rows, inner), columns = A.shape, B.shape[1]
    return 4 * (rows * inner + inner * columns + rows * columns)

def calc_attn_io(B, H, L_q, L_kv, D_h):
    return 4 * B * H * (2 * ((L_q + L_kv) * D_h + L_q * L_kv) + 5 * L_q * L_kv)

def gelu_tanh_python(input):
    return input / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)))
"""


def cell(source: str, kind: str = "code") -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source}
    return made | {"outputs": [], "execution_count": None} if kind == "code" else made


def markdown(source: str) -> dict[str, Any]:
    return cell(source, "markdown")


def notebook(*cells: str | dict[str, Any]) -> bytes:
    """A notebook; a cell given as text is a code cell."""
    made = [cell(one) if isinstance(one, str) else one for one in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def archive_of(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            made.writestr(name, data)
    return held.getvalue()


def read_bytes(
    raw: bytes, filename: str = "lab.ipynb", wanted: tuple[Wanted, ...] = FOUR, max_bytes: int = MAX_BYTES
) -> Answers:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "upload")
        path.write_bytes(raw)
        return read(path, filename, wanted, max_bytes)


def wants(entry: str, *stubs: str) -> Wanted:
    return Wanted(question=entry, entry=entry, heading="1", stubs=stubs)


def answer_in(*cells: str | dict[str, Any], entry: str = "f", stubs: tuple[str, ...] = ()) -> Answer:
    """The answer named `entry` in a notebook of these cells."""
    return read_bytes(notebook(*cells), wanted=(wants(entry, *stubs),)).answers[0]


def run(answer: Answer, *, entry: str = "f") -> Any:
    """What the slice defines under the entry's name. The tests' own code only."""
    assert answer.found, answer.reason
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(answer.source, "<answer>", "exec", dont_inherit=True), names)
    return names[entry]
