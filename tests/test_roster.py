"""A class list is read whatever spreadsheet wrote it, faults are named by row, and staff are never touched."""

import pytest

from grading import roster
from grading.roster import Listed, Place, RosterError, compare, read
from grading.store.tables import Role

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (111),Current Score
,,,,,Manual Posting,
    Points Possible,,,,,100.00,(read only)
"Doe, Ann",5501,1234567,adoe,GPU-01,87.50,87.5
"Roe, Bob",5502,1234568,BRoe,GPU-02,,
"Student, Test",5503,,8f2a4c,GPU-01,,
"""


def place(login: str, **different: object) -> Place:
    values: dict[str, object] = {
        "user_id": 1,
        "name": "Ann Doe",
        "email": "ann@x.edu",
        "section": "1",
        "role": Role.STUDENT,
        "active": True,
    }
    return Place(login=login, **(values | different))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "name,login,email,section\nAnn Doe,adoe,ann@x.edu,1\n",
        "Section;E-Mail;Login ID;Name\r\n1;ann@x.edu; ADoe ;Ann Doe\r\n",
        "User Name\tFull Name\temail_address\tsection\nadoe\tAnn Doe\tann@x.edu\t1\n\n",
        '"Last Name","First Name",NetID,"Email Address",Sections\nDoe,Ann,adoe,ann@x.edu,1',
    ],
)
def test_columns_are_found_by_heading_in_any_order_and_delimiter(text: str) -> None:
    assert read(text.encode()).people == (Listed(2, "adoe", "Ann Doe", "ann@x.edu", "1"),)


def test_a_canvas_gradebook_is_a_roster_without_its_extra_rows() -> None:
    found = read(CANVAS.encode("utf-8-sig"))
    assert found.people == (Listed(4, "adoe", "Ann Doe", None, "GPU-01"), Listed(5, "broe", "Bob Roe", None, "GPU-02"))
    assert found.problems == ()


@pytest.mark.parametrize(("encoding", "noted"), [("utf-8", 0), ("utf-8-sig", 0), ("utf-16", 0), ("cp1252", 1)])
def test_every_usual_encoding_is_read_and_a_guessed_one_is_noted(encoding: str, noted: int) -> None:
    found = read("name,login\nJürgen Ødegård,jo\n".encode(encoding))
    assert found.people[0].name == "Jürgen Ødegård"
    assert len(found.notes) == noted


@pytest.mark.parametrize(
    ("rows", "row", "word"),
    [
        ("Ann,adoe\nBob,ADOE\n", 3, "already in row 2"),
        ("Ann,\n", 2, "login is missing"),
        (",adoe\n", 2, "name is missing"),
        (f"{'x' * 256},adoe\n", 2, "more than 255"),
        ('"An\x07n",adoe\n', 2, "control character"),
    ],
)
def test_a_fault_is_named_by_its_row(rows: str, row: int, word: str) -> None:
    [problem] = read(f"name,login\n{rows}".encode()).problems
    assert problem.row == row
    assert word in problem.text


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"", "empty"),
        (b"PK\x03\x04\x00\x00", "not text"),
        (b"\x81\x8d\x90name,login", "not text"),
        (b"name,login\n", "no rows"),
        (b"name,e-mail\nAnn,a@b\n", "headed login"),
        (b"login\nadoe\n", "headed name"),
        (b"login,username,name\na,b,c\n", "Two columns"),
        (b'name,login\n"Ann,adoe\n', "not CSV"),
        (b"name,login\n" + b"x" * roster.MAX_BYTES, "larger than"),
        (b"name,login\n" + b"".join(b"n,l%d\n" % n for n in range(roster.MAX_ROWS + 1)), "more than 5,000 rows"),
        (b"name,login\n" + b"," * 600, "more than 500 columns"),
        (b'name,login\n"' + b"x" * 200_000 + b'",a\n', "not CSV"),
    ],
)
def test_a_file_that_is_no_roster_is_refused_in_words(raw: bytes, word: str) -> None:
    with pytest.raises(RosterError, match=word):
        read(raw)


def test_the_difference_names_who_comes_changes_and_goes() -> None:
    listed = read(b"name,login,email,section\nAnn Doe,adoe,ann@x.edu,2\nNew One,new,n@x.edu,1\nSame,same,,1\n").people
    changes = compare(listed, [place("adoe"), place("same", name="Same", email=""), place("gone", name="Gone")])
    assert [(one.login, one.change) for one in changes.changed] == [("adoe", "section: 1 → 2")]
    assert [one.login for one in changes.added] == ["new"]
    assert [one.login for one in changes.dropped] == ["gone"]
    assert [one.login for one in changes.unchanged] == ["same"]


def test_staff_are_neither_changed_nor_dropped_nor_made_students() -> None:
    listed = read(b"name,login,section\nOther Name,boss,9\nAnn,ann,1\n").people
    changes = compare(listed, [place("boss", role=Role.ADMIN), place("helper", role=Role.TA)])
    assert not changes.changed
    assert not changes.dropped
    assert [one.login for one in changes.added] == ["ann"]
    assert changes.notes == ("Row 2: boss is staff here (admin) and stays as they are.",)


def test_a_column_that_is_not_there_changes_nothing() -> None:
    assert not compare(read(b"name,login\nAnn Doe,adoe\n").people, [place("adoe")]).any


def test_a_dropped_student_who_is_listed_again_is_active_again() -> None:
    changes = compare(read(b"name,login\nAnn Doe,adoe\n").people, [place("adoe", active=False)])
    assert [one.change for one in changes.changed] == ["active again"]


def test_a_name_that_another_course_shares_is_not_changed() -> None:
    changes = compare(read(b"name,login\nMallory,adoe\n").people, [place("adoe", elsewhere=True)])
    assert not changes.any


def test_the_digest_is_of_what_would_change() -> None:
    first, same = (read(text).people for text in (b"name,login\nAnn,a\nBob,b\n", b"Login;Name\r\na;Ann\r\nb;Bob\r\n"))
    other = read(b"name,login\nAnn,a\nBob,c\n").people
    assert compare(first, []).digest == compare(same, []).digest
    assert len({compare(first, []).digest, compare(other, []).digest, compare(first, [place("z")]).digest}) == 3


def test_a_name_that_export_marked_as_text_comes_back_as_it_was() -> None:
    assert read(b"name,login\n'=Ann,a\n").people[0].name == "=Ann"
