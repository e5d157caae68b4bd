"""Fuzzing: whatever the bytes, only answers or a refusal come out, and every answer found can be compiled."""

import contextlib
import json

import pytest
from documents import DATA, FOUR, SCRIPT, archive_of, cell, notebook, read_bytes, wants
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.answers.model import Answers, Refused, Wanted
from grading.answers.reading import read_pasted

# A warning such as “'int' object is not callable” is no error in a student's code.
pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")

WANTED = (*FOUR, wants("f"), Wanted(question="text", entry="", heading="1.3"))
SAMPLE = (DATA / "stderr_output.ipynb").read_bytes()
NAMES = st.sampled_from(["lab.ipynb", "lab.py", "lab.zip", "lab", "lab.txt", "\0\n/‮.ipynb"])
few = settings(max_examples=100, deadline=None)


def holds(raw: bytes, filename: str) -> None:
    try:
        answers = read_bytes(raw, filename, WANTED)
    except Refused as refused:
        assert refused.code and refused.message.isprintable()
        return
    check(answers)


def check(answers: Answers) -> None:
    assert [answer.question for answer in answers.answers] == [wanted.question for wanted in WANTED]
    for answer, wanted in zip(answers.answers, WANTED, strict=True):
        assert answer.found or answer.reason
        assert answer.found or not answer.source
        if answer.found and wanted.entry:
            compile(answer.source.encode("utf-8").decode(), "<answer>", "exec", dont_inherit=True)
            assert answer.definition and answer.where
    answers.model_dump_json()


@few
@given(st.binary(max_size=300), NAMES)
def test_random_bytes(raw: bytes, filename: str) -> None:
    holds(raw, filename)


def _spliced(raw: bytes) -> st.SearchStrategy[bytes]:
    place = st.integers(0, len(raw))
    return st.builds(lambda a, b, new: raw[:a] + new + raw[b:], place, place, st.binary(max_size=20))


@few
@given(_spliced(SAMPLE), NAMES)
def test_damaged_notebooks(raw: bytes, filename: str) -> None:
    holds(raw, filename)


@few
@given(_spliced(SCRIPT.encode()), NAMES)
def test_damaged_scripts(raw: bytes, filename: str) -> None:
    holds(raw, filename)


@few
@given(_spliced(archive_of(("lab.ipynb", SAMPLE), ("utils.py", b"x = 1"))))
def test_damaged_archives(raw: bytes) -> None:
    holds(raw, "lab.zip")


@few
@given(st.lists(st.tuples(st.text(min_size=1, max_size=30), st.binary(max_size=50)), max_size=4))
def test_random_archives(members: list[tuple[str, bytes]]) -> None:
    raw = b""
    with contextlib.suppress(ValueError, IndexError):
        raw = archive_of(*dict(members).items())
    holds(raw, "lab.zip")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "worksheets", "source", "input", "cell_type", "outputs", "level", "nbformat", "x"]
            ),
            inner | st.sampled_from(["code", "markdown", "heading", "raw", "def f(x): return 1"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@few
@given(_json)
def test_random_json(value: object) -> None:
    holds(json.dumps(value).encode(), "lab.ipynb")


_lines = st.lists(
    st.sampled_from(
        [
            *(
                "def f(x):",
                "    return x + k",
                "  y = k",
                "@g",
                "class f:",
                "if k:",
                "    f = g",
                "else:",
                "try:",
                "    import os",
            ),
            *(
                "except E as k:",
                "    pass",
                "f = lambda x: k",
                "k = f(1)",
                "k += 1",
                "for k in g:",
                "    k[0] = 1",
                "'''",
                "(",
                ")",
            ),
            *(
                "%magic",
                "!ls",
                "import k, torch",
                "from math import *",
                "from u import f",
                "global k",
                "f, k = k, f",
                "del k",
                "\\",
            ),
            *(
                "# note",
                "",
                "x = 1; f = g",
                "with k as f: g = f",
                "async def f(): k",
                "(f := k)",
                "match k:",
                "    case f: g = 1",
            ),
            *(
                "### BEGIN HIDDEN TESTS",
                "### END HIDDEN TESTS",
                "%%time",
                "```",
                "#### Question 1.3",
                "**Your Answer:**",
                "é = f",
            ),
        ]
    ),
    max_size=14,
).map("\n".join)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(_lines, st.sampled_from(["code", "code", "markdown", "raw"])), max_size=4))
def test_notebooks_of_random_lines(cells: list[tuple[str, str]]) -> None:
    holds(notebook(*(cell(source, kind) for source, kind in cells)), "lab.ipynb")


@few
@given(_lines | st.text(max_size=200))
def test_random_pasted_text(text: str) -> None:
    check(read_pasted({"f": text, "text": text}, WANTED))
