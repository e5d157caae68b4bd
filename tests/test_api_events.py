"""Streams of progress: many at once cost one look at the database, and nobody holds more than their share."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_world import SOURCE, World, add_person, grade, hand_in, make_world, verdict
from sqlalchemy import event

from grading.settings import Settings
from grading.store.session import engine, transaction
from grading.store.tables import Role

MOST = 20  # streams a person


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


@pytest.fixture
def http(world: World) -> Iterator[httpx.Client]:
    """A client that opens as many connections as it is asked for."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    with httpx.Client(base_url=world.http.base_url, limits=limits, timeout=60) as client:
        yield client


class Stream:
    """An open stream, read event by event."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def next(self) -> dict[str, Any]:
        for line in self._lines:
            if line.startswith("data: "):
                found: dict[str, Any] = json.loads(line.removeprefix("data: "))
                return found
        raise AssertionError("the stream has ended")


def followed(stack: ExitStack, http: httpx.Client, world: World, login: str, submission: str) -> Stream:
    address = f"/api/v1/submissions/{submission}/events"
    return Stream(stack.enter_context(http.stream("GET", address, headers=world.bearer(login))))


def waiting_students(world: World, count: int) -> dict[str, str]:
    """Students who have each handed in and wait: login -> submission."""
    found = {}
    with transaction(world.settings.database) as session:
        for login in (f"student{number}" for number in range(count)):
            world.users[login], world.secrets[login] = add_person(session, login, "gpu", Role.STUDENT)
            found[login] = hand_in(session, world.users[login])
    return found


@contextmanager
def connections(world: World) -> Iterator[list[int]]:
    """How many connections were in use whenever one was taken."""
    pool, seen = engine(world.settings.database).pool, []

    def taken(*_: object) -> None:
        seen.append(pool.checkedout())  # type: ignore[attr-defined]

    event.listen(pool, "checkout", taken)
    try:
        yield seen
    finally:
        event.remove(pool, "checkout", taken)


def test_two_hundred_waiting_streams_leave_threads_and_connections_to_others(world: World, http: httpx.Client) -> None:
    handed_in = waiting_students(world, 10)
    with ExitStack() as stack:
        streams = {
            login: [followed(stack, http, world, login, submission) for _ in range(MOST)]
            for login, submission in handed_in.items()
        }
        for place, opened in enumerate(streams.values()):
            assert {(told["state"], told["position"]) for told in (one.next() for one in opened)} == {("queued", place)}
        with connections(world) as in_use:
            files = {"file": ("a.py", SOURCE.encode())}
            for _ in range(3):
                answer = world.http.post("/api/v1/labs/lab1/submissions", files=files, headers=world.bearer("bob"))
                assert answer.status_code == 201, answer.text
        assert max(in_use) <= 3  # the upload's, and one for all the streams
        with transaction(world.settings.database) as session:
            grade(session, [verdict("1.1", Decimal(1))])
        first, *others = streams.values()
        assert all(one.next()["done"] for one in first)
        assert all(one.next()["position"] == place for place, opened in enumerate(others) for one in opened)


def test_a_person_has_twenty_streams_and_a_closed_one_makes_room(world: World, http: httpx.Client) -> None:
    [(login, submission)] = waiting_students(world, 1).items()
    with ExitStack() as stack, ExitStack() as last:
        held = [followed(stack if number else last, http, world, login, submission) for number in range(MOST)]
        assert all(stream.next()["state"] == "queued" for stream in held)
        refused = followed(stack, http, world, login, submission).answer
        assert refused.status_code == 429
        assert json.loads(refused.read())["code"] == "too-many-streams"
        assert int(refused.headers["retry-after"]) > 0
        assert followed(stack, http, world, "tess", submission).next()["state"] == "queued"  # others have their own
        last.close()
        until = time.monotonic() + 30
        while (answer := followed(stack, http, world, login, submission)).answer.status_code == 429:
            assert time.monotonic() < until
        assert answer.next()["state"] == "queued"


def test_a_stream_that_is_done_or_refused_holds_no_place(world: World, http: httpx.Client) -> None:
    for _ in range(MOST + 5):
        with ExitStack() as stack:
            assert followed(stack, http, world, "ann", world.submission).next()["done"]
        assert http.get("/api/v1/submissions/none/events", headers=world.bearer("ann")).status_code == 404
