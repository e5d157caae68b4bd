"""A class list is applied exactly as it was seen, or not at all: on both databases, whoever else changes the course."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from classroom import COURSE, START, enrolled, open_course

from grading import classlist
from grading.classlist import NotApplied
from grading.store import people
from grading.store.session import reading, transaction

LIST = b"name,login,section\nAnn Doe,ann,1\nBob Roe,bob,2\n"


def logins(url: str) -> list[str]:
    with reading(url) as session:
        return [place.login for place in people.places(session, COURSE) if place.active]


def test_what_was_seen_is_applied_once(database_url: str) -> None:
    open_course(database_url, students=0)
    seen = classlist.preview(database_url, COURSE, LIST)
    assert [one.login for one in seen.changes.added] == ["ann", "bob"] and logins(database_url) == []
    assert classlist.apply(database_url, COURSE, LIST, seen.changes.digest, START) == seen.changes
    assert logins(database_url) == ["ann", "bob"]
    assert not classlist.preview(database_url, COURSE, LIST).changes.any


def test_a_course_that_changed_since_the_preview_is_left_as_it_is(database_url: str) -> None:
    open_course(database_url, students=0)
    seen = classlist.preview(database_url, COURSE, LIST)
    with transaction(database_url) as session:
        enrolled(session, "late comer")
    with pytest.raises(NotApplied, match="changed since the preview") as told:
        classlist.apply(database_url, COURSE, LIST, seen.changes.digest, START)
    assert (told.value.code, logins(database_url)) == ("roster-changed", ["late comer"])


def test_a_list_with_a_fault_is_shown_and_not_applied(database_url: str) -> None:
    open_course(database_url, students=0)
    faulty = LIST + b"Nobody,,3\n"
    seen = classlist.preview(database_url, COURSE, faulty)
    assert [(one.row, one.text) for one in seen.problems] == [(4, "the login is missing")]
    with pytest.raises(NotApplied, match="Row 4: the login is missing") as told:
        classlist.apply(database_url, COURSE, faulty, seen.changes.digest, START)
    assert (told.value.code, logins(database_url)) == ("roster-problems", [])


def test_of_two_who_apply_the_same_list_at_once_one_is_told_to_look_again(database_url: str) -> None:
    open_course(database_url, students=0)
    digest = classlist.preview(database_url, COURSE, LIST).changes.digest
    together = Barrier(2, timeout=60)

    def apply() -> str:
        together.wait()
        try:
            classlist.apply(database_url, COURSE, LIST, digest, START)
        except NotApplied as error:
            return error.code
        return "applied"

    with ThreadPoolExecutor(2) as pool:
        told = [pool.submit(apply) for _ in range(2)]
        assert sorted(one.result(60) for one in told) == ["applied", "roster-changed"]
    assert logins(database_url) == ["ann", "bob"]
