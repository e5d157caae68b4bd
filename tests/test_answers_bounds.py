"""Bounds: files made to be slow are read within the limits like any other, and no answer grows beyond what is written.

A file that were slow would be refused as unreadable by the limit on processor time; so none of these tests looks at a
clock.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import FOUR, answer_in, cell, markdown, notebook, read_bytes, run, wants

from grading.answers import effort, finding, slicing
from grading.answers.model import Answer, Refused, Wanted
from grading.answers.reading import read_apart

SOUND = "def gemm_mac(x, y):\n    return 1\n"
LIST = "def gemm_mac(x, y): return [{}]\n"
WRITTEN = Wanted(question="written", entry="", heading="1.1")
OPEN = "x = (" + "1," * 240 + "\n"
CALLS = "x = [" + "f(a)(b)," * 60 + "\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def named(pattern: str, count: int, separator: str = "") -> str:
    return separator.join(pattern.format(number, number + 1) for number in range(count))


SCRIPTS = {  # each took more than 20 seconds of processor time, or would have by its growth
    "a semicolon's statements in a block": (
        "if 1:\n " + "0;" * 240_000 + "0\n def gemm_mac(A, B):\n  return A\n",
        "block",
    ),
    "the same on a line that is not ASCII": (
        "if 1:\n " + "é=0;" * 100_000 + "0\n def gemm_mac(A, B): return A\n",
        "block",
    ),
    "many open brackets": (OPEN * 1000, "syntax error in line"),
    "many calls in open brackets": (CALLS * 1000, "syntax error in line"),
    "many hidden tests": ("### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS\nx=1;y=1;z=1;x=1\n" * 7_900 + SOUND, ""),
    "a name changed again and again": (
        "t=1\n" + "t+=1\n" * 95_000 + "def gemm_mac(x, y): return t\n",
        "2,000 statements",
    ),
    "two names that lead to each other": (
        "t=t+u;u=t+u\n" * 38_000 + "def gemm_mac(x, y): return t\n",
        "2,000 statements",
    ),
    "names that no function sets": (
        "def g():\n global q\n q=1\n" + "g()\n" * 60_000 + LIST.format(named("z{}", 20_000, ",")),
        "100,000 characters",
    ),
    "functions that each set a name": (
        named("def g{0}():\n global q{0}\n q{0}=1\ng{0}()\n", 7000) + LIST.format(named("q{}", 16_000, ",")),
        "2,000 statements",
    ),
    "a chain of names in a block": (
        "if 1:\n" + named(" a{}=a{}\n", 3000) + "def gemm_mac(x, y): return a0\n",
        "many ways",
    ),
    "many names of a block": (
        "if 1:\n" + named(" a{}=1\n", 9000) + LIST.format(named("a{}", 9000, ",")),
        "characters",
    ),
    "names that many blocks may set": (
        ("if b:\n" + named(" a{}=b\n", 40)) * 1000 + LIST.format(named("a{}", 40, ",")),
        "characters",
    ),
    "a name that a long line sets": ("x=1;" * 120_000 + "\ndef gemm_mac(x, y): return x\n", ""),
}
NOTEBOOKS: dict[str, tuple[list[Any], str]] = {
    "many broken cells": ([OPEN * 125] * 8, "any of the 8"),
    "Markdown that may be code": ([markdown("gemm_mac = 3\n" + OPEN * 100)] * 15, "no function"),
    "blanks around an answer's marker": (
        [markdown("# Question 1.1\n" + ("**your answer" + " " * 1000 + "(" + "x" * 39 + "\n") * 900), SOUND],
        "",
    ),
    "blanks in an answer's marker": (
        [markdown("# Question 1.1\n" + ("your answer" + " " * 100_000 + "(x)" + " " * 100_000 + "\n") * 2), SOUND],
        "",
    ),
    "blanks behind an answer's marker": ([markdown("# Question 1.1\nyour answer " + " " * 1_000_000), SOUND], ""),
    "three runs of blanks": ([markdown("# Question 1.1\n**your answer" + " " * 5000 + "x"), SOUND], ""),
    "a heading in each of many fences": ([markdown("```\n# a\n```\n# b\n" * 80_000), SOUND], ""),
    "a long fence": ([markdown("gemm_mac = 1\n" + "`" * 45_000)], "no function"),
    "blanks before what is no magic": (["%x\n" + " " * 200_000 + "b\n", SOUND], ""),
}


async def answer_apart(raw: bytes, filename: str, folder: Path) -> Answer:
    path = folder / "upload"
    path.write_bytes(raw)
    return (await read_apart(path, filename, (*FOUR, WRITTEN))).answers[0]


def ends_as_it_should(answer: Answer, reason: str) -> bool:
    return reason in answer.reason if reason else answer.found


@pytest.mark.anyio
@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_made_to_be_slow_is_read(name: str, tmp_path: Path) -> None:
    source, reason = SCRIPTS[name]
    answer = await answer_apart(source.encode(), "lab.py", tmp_path)
    assert ends_as_it_should(answer, reason), answer.reason


@pytest.mark.anyio
@pytest.mark.parametrize("name", NOTEBOOKS)
async def test_a_notebook_made_to_be_slow_is_read(name: str, tmp_path: Path) -> None:
    cells, reason = NOTEBOOKS[name]
    answer = await answer_apart(notebook(*cells), "lab.ipynb", tmp_path)
    assert ends_as_it_should(answer, reason), answer.reason


@pytest.mark.anyio
async def test_many_keys_in_one_object_are_compared_once(tmp_path: Path) -> None:
    keys = b"".join(b'"k%d":1,' % number for number in range(500_000))
    with pytest.raises(Refused) as caught:
        await answer_apart(b'{"cells":[],' + keys + b'"z":1,"z":2}', "lab.ipynb", tmp_path)
    assert caught.value.code == "duplicate_key"


@pytest.mark.anyio
async def test_outputs_of_fifty_megabytes_are_read(tmp_path: Path) -> None:
    log = {"output_type": "stream", "name": "stdout", "text": ["a line of a log\n"] * 1_000_000}
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 1_000_000}}
    raw = notebook(cell("x = 1") | {"outputs": [log, *[picture] * 35]}, SOUND)
    assert len(raw) > 50_000_000
    assert (await answer_apart(raw, "lab.ipynb", tmp_path)).found


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["def f(x):\n" + "    # much is said here\n" * 5000 + "    return x"], "100,000 characters"),
        (["table = [" + "0," * 30_000 + "]", "def f(x): return table"], "20,000 parts"),
        (["if True:\n" + "    x = 1\n" * 10_000 + "    def f(x): return x"], "block of more than 10,000 statements"),
        (["t = []\n" + "t.append(1)\n" * 2000, "def f(x): return t"], "2,000 statements"),
    ],
)
def test_an_answer_larger_than_anybody_writes_is_not_found_and_says_of_what_there_is_too_much(
    cells: list[str], what: str
) -> None:
    answer = answer_in(*cells)
    assert not answer.found and not answer.source
    assert answer.reason.startswith("The code that `f` needs is too large to be graded: ")
    assert what in answer.reason
    assert answer.reason.endswith("Take long data, tests and copies out of what it uses.")


def nested_finally(depth: int) -> str:
    opened = "".join(" " * at + "try: a\n" + " " * at + "finally:\n" for at in range(1, depth + 1))
    return f"def f(x):\n{opened}{' ' * (depth + 1)}x = 1\n"


@pytest.mark.parametrize(
    "source",
    [
        nested_finally(19),
        "def f(x):\n try:\n" + "  if x: return 1\n" * 1000 + " finally:\n" + "  x = 1\n" * 1000,
    ],
    ids=["inside each other", "left in many ways"],
)
def test_a_finally_counts_as_often_as_it_is_compiled(source: str) -> None:
    assert "20,000 parts" in answer_in(source).reason


def test_an_answer_with_a_few_finally_is_found() -> None:
    assert answer_in(nested_finally(5)).found


@pytest.mark.parametrize("cells", [["def f(x): return {}"], ["f = lambda x: {}", "def f(x): return {}"]])
def test_an_integer_too_long_to_be_written_out_costs_nothing(cells: list[str]) -> None:
    written = [one.replace("{}", "0x" + "f" * 4000) for one in cells]
    assert run(answer_in(*written, stubs=("def f(x): return None",)))(1) == int("f" * 4000, 16)


def test_only_the_answer_that_is_too_large_is_lost() -> None:
    long = "table = [" + "0," * 30_000 + "]\ndef f(x): return table\n"
    answers = read_bytes(notebook(long, "def g(x): return 1"), wanted=(wants("f"), wants("g"))).answers
    assert [answer.found for answer in answers] == [False, True]


def test_a_large_answer_that_somebody_may_write_is_found() -> None:
    table = ["table = [" + ",".join(["1.5"] * 9000) + "]"]
    tests = [f"def test_{number}():\n    assert f({number}) == table[{number}]" for number in range(3000)]
    assert run(answer_in(*table, "\n".join(tests), "def f(x): return table[x]"))(8999) == 1.5


def test_neighbours_that_are_left_out_are_one_pass() -> None:
    source = "if True:\n    a = 1\n    print(a); print(a)\n    # said\n\n    print(a)\n    def f(x):\n        return x"
    assert answer_in(source + "\n    print(1)\n    print(2)").source == (
        "if True:\n    pass\n    def f(x):\n        return x\n    pass\n"
    )


def test_leaving_out_never_makes_a_source_longer() -> None:
    source = "if 1:\n " + "0;" * 9000 + "0\n def f(x):\n  return x\n"
    assert answer_in(source).source == "if 1:\n pass\n def f(x):\n  return x\n"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many characters have been parsed so far."""
    lengths: list[int] = []
    parse = ast.parse

    def counting(text: str, *rest: Any, **more: Any) -> ast.Module:
        lengths.append(len(text))
        return parse(text, *rest, **more)

    monkeypatch.setattr(ast, "parse", counting)
    return lambda: sum(lengths)


@pytest.mark.parametrize(
    "cells",
    [[OPEN * 250], [OPEN * 30] * 30, [markdown("gemm_mac = 3\n" + OPEN * 100)] * 15, [CALLS * 1000]],
    ids=["one cell", "many cells", "prose", "long cell"],
)
def test_what_is_parsed_in_search_of_sound_pieces_is_bounded_for_the_whole_document(
    cells: list[Any], parsed: Callable[[], int]
) -> None:
    raw = notebook(*cells)
    read_bytes(raw)
    assert parsed() <= effort.MAX_REPAIRED + 2 * len(raw) + 1000  # each cell as a whole, with and without magics


def test_a_slip_near_the_end_of_a_long_file_costs_only_its_definition() -> None:
    sound = named("def g{}():\n    return {}\n", 3000)
    answers = read_bytes(f"{sound}def f(x:\n    return 1\ndef h(x): return g2999()\n".encode(), "lab.py", (wants("h"),))
    assert answers.answers[0].found


def test_what_names_lead_to_is_followed_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [named("def g{0}(): return g{1}()\n", 50), "def g50(): return 1", "def f(x): return g0()"]
    assert answer_in(*cells).found
    monkeypatch.setattr(effort.Effort.__init__, "__defaults__", (100, 100))
    answer = answer_in(*cells)
    assert not answer.found and "depend on each other in too many ways" in answer.reason


def test_only_so_many_markdown_cells_are_tried_as_code(monkeypatch: pytest.MonkeyPatch) -> None:
    prose: list[str | dict[str, Any]] = [markdown("f = 2 *"), markdown("f = 2 *"), markdown("def f(x): return x")]
    assert answer_in(*prose).found
    monkeypatch.setattr(finding, "MAX_PROSE_CELLS", 2)
    assert answer_in(*prose).found
    assert not answer_in(*prose[::-1]).found


def test_blocks_in_a_markdown_cell_keep_their_order() -> None:
    fenced = "```\na = 1\nb = 2\n```\nand\n```\na = 3\ndef f(x): return a + b\n```"
    assert run(answer_in(markdown(fenced)))(0) == 5


def test_a_block_is_looked_at_as_a_whole_when_many_of_its_names_are_wanted() -> None:
    assert slicing.MAX_BLOCK >= 2 * slicing.MAX_STATEMENTS
    names = named("k{}", 1500, ",")
    source = "if True:\n" + named("    k{} = 1\n", 1500) + f"def f(x): return sum([{names}])"
    assert run(answer_in(source))(0) == 1500
