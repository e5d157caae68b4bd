"""Intake: whatever students really hand in is read, or refused with a reason that they can act on."""

import json
import math
import stat
import zipfile

import pytest
import torch
from documents import DATA, FOUR, SCRIPT, answer_in, archive_of, cell, notebook, read_bytes, run, wants

from grading.answers import archive
from grading.answers.model import Answers, Refused
from grading.answers.reading import read, read_pasted

F = (wants("f"),)
TINY = notebook("def f(x):\n    return 1")


def assert_right(answers: Answers) -> None:
    """All four questions are found, and what was cut out computes the right values."""
    by_question = {answer.question: answer for answer in answers.answers}
    x, y = torch.ones(3, 5), torch.ones(5, 7)
    assert run(by_question["1.3"], entry="gemm_mac")(x, y) == 105
    assert run(by_question["1.4"], entry="gemm_io")(x, y) == 4 * (15 + 35 + 21)
    assert run(by_question["3.2"], entry="calc_attn_io")(1, 1, 1, 1, 1) == 44
    gelu = torch.nn.functional.gelu(x.double(), approximate="tanh")
    assert torch.allclose(run(by_question["4.3.1"], entry="gelu_tanh_python")(x.double()), gelu)
    assert not any(answer.missing for answer in answers.answers)


def refusal(raw: bytes, filename: str = "lab.ipynb") -> Refused:
    with pytest.raises(Refused) as caught:
        read_bytes(raw, filename)
    assert caught.value.message
    return caught.value


@pytest.mark.filterwarnings("ignore:slow")
@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_each_shape_of_the_course_notebook_is_read_right(name: str) -> None:
    assert_right(read(DATA / name, name, FOUR))


def test_an_answer_in_a_markdown_cell_is_taken_with_a_note() -> None:
    answers = read(DATA / "answer_in_markdown.ipynb", "lab.ipynb", FOUR)
    assert answers.answers[2].notes == ("Taken from a Markdown cell (cell 12): change its type to Code.",)


def test_a_python_file_is_read_right() -> None:
    answers = read_bytes(SCRIPT.encode(), "lab.py")
    assert_right(answers)
    assert answers.notes == ()
    assert answers.answers[0].where == "line 5"


@pytest.mark.parametrize(
    ("raw", "note"),
    [
        (b"\xef\xbb\xbf" + SCRIPT.encode(), ""),
        (SCRIPT.encode("utf-16"), ""),
        (SCRIPT.encode("latin-1"), "not UTF-8"),
        (b"# coding: latin-1\n" + SCRIPT.encode("latin-1"), "declares latin-1"),
        (b"# -*- coding: utf-8 -*-\n" + SCRIPT.encode(), ""),
        (SCRIPT.replace("\n", "\r\n").encode(), ""),
        (SCRIPT.replace("\n", "\r").encode(), ""),
        (SCRIPT.replace("    ", "\t").encode(), ""),
        (SCRIPT.replace("import math", "\f\nimport math").encode(), ""),
    ],
    ids=["bom", "utf-16", "latin-1", "declared latin-1", "declared utf-8", "crlf", "cr", "tabs", "page break"],
)
def test_every_encoding_and_line_end_in_use_is_read_right(raw: bytes, note: str) -> None:
    answers = read_bytes(raw, "lab.py")
    assert_right(answers)
    assert note in " ".join(answers.notes)
    assert bool(answers.notes) == bool(note)
    assert not any("\r" in answer.source for answer in answers.answers)


def test_line_ends_inside_notebook_cells_are_normalised_once() -> None:
    answer = answer_in("# above\r\ndef f(x):\r\n    return '''a\rb'''\r\n")
    assert answer.definition == "# above\ndef f(x):\n    return '''a\nb'''"


def test_the_byte_order_mark_of_a_notebook_is_ignored() -> None:
    assert read_bytes(b"\xef\xbb\xbf" + TINY, wanted=F).answers[0].found


def test_a_declared_encoding_that_could_hide_code_is_refused() -> None:
    refused = refusal(b"# coding: utf-7\n+AAo-import os\ndef f(x): return 1\n", "lab.py")
    assert refused.code == "encoding"
    assert "Line 1 declares the encoding utf-7" in refused.message


def test_a_notebook_of_format_3_is_read() -> None:
    heading = {"cell_type": "heading", "level": 4, "metadata": {}, "source": ["Question 1.3"]}
    code = {
        "cell_type": "code",
        "collapsed": False,
        "input": ["def f(x):\n", "    return 3\n"],
        "language": "python",
        "metadata": {},
        "outputs": [{"output_type": "pyout", "prompt_number": 1, "text": ["3"]}],
    }
    old = {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [heading, code]}]}
    answers = read_bytes(json.dumps(old).encode(), wanted=F)
    assert run(answers.answers[0])(0) == 3
    assert answers.answers[0].where == "cell 2"


@pytest.mark.parametrize(
    "slip",
    [
        {"cells": [{"cell_type": "code", "source": ["def f(x):\n", "    return 1"]}]},
        {
            "cells": [
                {"cell_type": "code", "source": "def f(x): return 1", "outputs": {}, "id": 7, "what": None},
                3,
                None,
            ]
        },
        {"cells": [cell("def f(x): return 1")], "nbformat": "4", "metadata": []},
        {"cells": [cell("def f(x): return 1")], "nbformat": 99},
    ],
    ids=["no metadata", "odd keys", "odd types", "future format"],
)
def test_slips_in_the_notebook_format_cost_nothing(slip: dict[str, object]) -> None:
    assert read_bytes(json.dumps(slip).encode(), wanted=F).answers[0].found


def test_cleared_outputs_change_nothing() -> None:
    full, cleared = cell("def f(x): return 1"), cell("def f(x): return 1")
    full["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "loss: NaN"}, {"data": {"loss": math.nan}}]
    del cleared["outputs"], cleared["execution_count"]
    assert read_bytes(notebook(full), wanted=F) == read_bytes(notebook(cleared), wanted=F)


def test_fifty_megabytes_of_outputs_are_read() -> None:
    big = cell("def f(x): return 1")
    big["outputs"] = [{"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" + "A" * 500_000}}] * 100
    raw = notebook(big)
    assert len(raw) > 50_000_000
    assert read_bytes(raw, wanted=F).answers[0].found


@pytest.mark.parametrize("filename", ["lab.py", "lab.txt", "lab", "lab.json", "../../lab\n.PY"])
def test_a_notebook_under_a_wrong_name_is_taken_with_a_note(filename: str) -> None:
    answers = read_bytes(TINY, filename, F)
    assert answers.answers[0].found
    assert "should end in .ipynb" in answers.notes[0]
    assert "/" not in answers.filename and "\n" not in answers.filename


def test_python_under_a_notebooks_name_is_taken_with_a_note() -> None:
    answers = read_bytes(SCRIPT.encode(), "lab.ipynb")
    assert_right(answers)
    assert "should end in .py" in answers.notes[0]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (TINY[: len(TINY) // 2], "truncated"),
        (TINY[:-2], "truncated"),
        (b'{"cells": [oops]}', "not_json"),
        (b"Dear TA, here is my lab.", "not_json"),
        (b'{"a": 1}', "not_a_notebook"),
        (b"[1, 2]", "not_a_notebook"),
        (b'{"cells": 3}', "not_a_notebook"),
        (b'{"worksheets": 3}', "not_a_notebook"),
        (b'{"cells": [], "cells": []}', "duplicate_key"),
        (b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
        (b'{"cells": [], "x": ' + b"[" * 100_000, "too_deep"),
        (b'{"cells": [], "x": ' + b"9" * 5000 + b"}", "not_json"),
        (b'{"cells": [' + b"[]," * 3_000_000 + b"[]]}", "too_large"),
        (b'{"cells": [' + b"0," * 6000 + b"0]}", "too_large"),
        (notebook("x = 1\n" * 200_000), "too_large"),
        (b"<!DOCTYPE html>\n<html><body>In [1]:</body></html>", "html_export"),
        (b"%PDF-1.7\n", "binary"),
        (b"\x89PNG\r\n\x1a\n", "binary"),
        (b"\x80\x05\x95\x0c\x00", "binary"),
        (b"\x1f\x8b\x08\x00", "binary"),
        (b"def f(x):\0 return 1", "binary"),
        (bytes(range(1, 32)) * 40, "binary"),
        (b"\xff\xfe\x00", "encoding"),
    ],
)
def test_what_is_no_notebook_is_refused_by_its_name(raw: bytes, code: str) -> None:
    assert refusal(raw).code == code


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"%PDF-1.7\n", "looks like a PDF document"),
        (b"\x80\x04\x95", "looks like a Python pickle"),
        (TINY[:-2], "cut short"),
        (b'{"cells": [],\n "cells": []}', "'cells' twice"),
        (b"<html>", "Hand in the notebook itself (.ipynb)"),
    ],
)
def test_a_refusal_says_what_to_do(raw: bytes, words: str) -> None:
    assert words in refusal(raw).message


def test_a_text_of_another_kind_is_refused() -> None:
    assert refusal(b"name,points\nada,5\n", "grades.csv").code == "wrong_kind"


def test_a_file_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(Refused) as caught:
        read_bytes(TINY, max_bytes=50)
    assert caught.value.code == "too_large"


def test_half_a_character_in_a_notebook_does_no_harm() -> None:
    answer = answer_in('def f(x):\n    return "\ud800"\n')
    assert answer.found
    answer.source.encode()


@pytest.mark.parametrize("name", ["lab.ipynb", "hand in/lab1.ipynb", "ünï/läb.ipynb"])
def test_a_notebook_in_an_archive_is_taken(name: str) -> None:
    raw = archive_of(
        (name, TINY),
        ("utils.py", b"def helper(): pass"),
        ("data.csv", b"1,2"),
        ("__MACOSX/._lab.ipynb", b"\0\5\x16\7"),
        ("hand in/.ipynb_checkpoints/lab1-checkpoint.ipynb", TINY),
        (".DS_Store", b"\0"),
    )
    answers = read_bytes(raw, "lab.zip", F)
    assert answers.answers[0].found
    assert answers.notes == (f"Taken from the archive: {name}.",)


def test_a_python_file_in_an_archive_is_taken() -> None:
    assert_right(read_bytes(archive_of(("answers.py", SCRIPT.encode())), "lab.zip"))


def test_two_notebooks_in_an_archive_are_refused_and_named() -> None:
    refused = refusal(archive_of(("a.ipynb", TINY), ("b/Lab.IPYNB", TINY)), "lab.zip")
    assert refused.code == "several_files"
    assert "a.ipynb, b/Lab.IPYNB" in refused.message


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ([("../lab.ipynb", TINY)], "unsafe_path"),
        ([("a/../../lab.ipynb", TINY)], "unsafe_path"),
        ([("..\\lab.ipynb", TINY)], "unsafe_path"),
        ([("/etc/lab.ipynb", TINY)], "unsafe_path"),
        ([("C:\\lab.ipynb", TINY)], "unsafe_path"),
        ([("lab.ipynb", TINY), ("../other.txt", b"")], "unsafe_path"),
        ([(link("lab.ipynb"), b"/etc/passwd")], "symlink"),
        ([("lab.ipynb", TINY), (link("data"), b"/")], "symlink"),
        ([("inner.zip", archive_of(("lab.ipynb", TINY)))], "nested_zip"),
        ([("lab.ipynb", TINY), ("more.tar.gz", b"")], "nested_zip"),
        ([("readme.txt", b"hello")], "nothing_in_zip"),
        ([], "nothing_in_zip"),
        ([("a.py", b"x=1"), ("b.py", b"x=1")], "several_files"),
        ([("[Content_Types].xml", b"<Types/>"), ("word/document.xml", b"<w/>")], "binary"),
        ([("lab.ipynb", b"%PDF-1.4")], "binary"),
        ([("lab.ipynb", b"")], "empty"),
        ([(f"{number}.txt", b"") for number in range(archive.MAX_MEMBERS + 1)], "zip_bomb"),
        ([("lab.ipynb", b" " * 70_000_000)], "zip_bomb"),
        ([("lab.ipynb", TINY + b" " * 20_000_000)], "zip_bomb"),
    ],
)
def test_a_hostile_archive_is_refused_by_its_name(members: list[tuple[str, bytes]], code: str) -> None:
    assert refusal(archive_of(*members), "lab.zip").code == code


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_one_name_twice_is_refused() -> None:
    assert refusal(archive_of(("lab.ipynb", TINY), ("lab.ipynb", b"{}")), "lab.zip").code == "duplicate_member"


def test_a_locked_archive_is_refused() -> None:
    raw = bytearray(archive_of(("lab.ipynb", TINY)))
    raw[6] |= 1
    raw[raw.rfind(b"PK\1\2") + 8] |= 1
    assert refusal(bytes(raw), "lab.zip").code == "encrypted"


def test_an_archive_whose_header_lies_about_its_size_is_still_capped() -> None:
    raw = bytearray(archive_of(("lab.ipynb", b" " * 70_000_000)))
    directory = raw.rfind(b"PK\1\2")
    raw[directory + 24 : directory + 28] = raw[22:26] = (1000).to_bytes(4, "little")
    assert refusal(bytes(raw), "lab.zip").code in ("bad_zip", "zip_bomb")


def test_a_damaged_archive_is_refused() -> None:
    raw = archive_of(("lab.ipynb", TINY * 50))
    assert refusal(raw[: len(raw) // 2], "lab.zip").code == "bad_zip"
    assert refusal(raw[:60] + b"\xff" * 20 + raw[80:], "lab.zip").code == "bad_zip"


def test_pasted_code_is_read_for_each_question() -> None:
    texts = {"1.3": "def gemm_mac(x, y):\r\n    return x.shape[0] * x.shape[1] * y.shape[1]", "3.2": " \n"}
    mac, io, attention, _ = read_pasted(texts, FOUR).answers
    assert run(mac, entry="gemm_mac")(torch.ones(2, 3), torch.ones(3, 4)) == 24
    assert not io.found and not attention.found
    assert attention.reason == "Not answered: nothing was pasted."


def test_pasted_code_gets_the_customary_imports_that_it_uses() -> None:
    answer = read_pasted({"f": "def f(x):\n    return torch.tanh(x) * math.pi * np.pi"}, F).answers[0]
    assert answer.source.startswith("import math\nimport numpy as np\nimport torch\n")
    assert answer.missing == ()


def test_pasted_text_for_an_unknown_question_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        read_pasted({"9.9": "x"}, FOUR)
    assert caught.value.code == "unknown_question"
