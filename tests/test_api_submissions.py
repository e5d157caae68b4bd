"""Handing in over HTTP: taken whole or refused with a reason, followed live, and read by whom it concerns."""

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_world import SECRET, SOURCE, World, grade, make_world, verdict
from sqlalchemy import func, select

from grading.policy import Late, Policy
from grading.settings import Settings
from grading.store import gradings
from grading.store.session import reading, transaction
from grading.store.tables import Grading, Lab, Submission


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


def notebook(*sources: str) -> bytes:
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for n, source in enumerate(sources)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def hand_in(world: World, login: str, name: str, content: bytes) -> httpx.Response:
    files = {"file": (name, content)}
    return world.http.post("/api/v1/labs/lab1/submissions", files=files, headers=world.bearer(login))


def count(world: World) -> int:
    with reading(world.settings.database) as session:
        return session.scalar(select(func.count()).select_from(Submission)) or 0


def test_a_notebook_is_taken_kept_and_given_back_byte_for_byte(world: World) -> None:
    content = notebook("!pip install x", SOURCE)
    answer = hand_in(world, "bob", "my lab 1 — final.ipynb", content)
    assert answer.status_code == 201, answer.text
    received = answer.json()
    assert (received["number"], received["state"], received["position"]) == (1, "queued", 0)
    assert answer.headers["location"] == received["links"]["self"]
    shown = world.http.get(received["links"]["self"], headers=world.bearer("bob")).json()
    assert (shown["filename"], shown["size"], shown["verdicts"]) == ("my lab 1 — final.ipynb", len(content), None)
    file = world.http.get(received["links"]["file"], headers=world.bearer("bob"))
    assert file.content == content
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in file.headers["content-security-policy"]
    understood = world.http.get(received["links"]["answers"], headers=world.bearer("bob")).json()
    [found] = [one for one in understood["answers"] if one["found"]]
    assert found["source"].strip() == SOURCE.strip()
    assert all(one["reason"] for one in understood["answers"] if not one["found"])


def test_pasted_code_is_a_submission_too(world: World) -> None:
    body = {"answers": {"1.3": "def gemm_io(N, K, M, B):\n    return B * (N*K + K*M + N*M)\n"}}
    answer = world.http.post("/api/v1/labs/lab1/submissions", json=body, headers=world.bearer("bob"))
    assert answer.status_code == 201, answer.text
    file = world.http.get(answer.json()["links"]["file"], headers=world.bearer("bob"))
    assert json.loads(file.content) == body["answers"]


def test_what_cannot_be_read_is_refused_with_a_code_and_nothing_is_stored(world: World) -> None:
    two = io.BytesIO()
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a.ipynb", notebook("x = 1"))
        archive.writestr("b.ipynb", notebook("x = 2"))
    before = count(world)
    for name, content, status, code in (
        ("a.py", b"", 400, "empty"),
        ("a.ipynb", b'{"cells": [', 400, "truncated"),
        ("a.ipynb", b"\x89PNG\r\n\x1a\n\0\0\0", 415, "binary"),
        ("a.ipynb", b'{"a": 1}', 422, "not-a-notebook"),
        ("a.zip", two.getvalue(), 422, "several-files"),
    ):
        answer = hand_in(world, "bob", name, content)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
    unknown = {"answers": {"9.9": "x = 1"}}
    answer = world.http.post("/api/v1/labs/lab1/submissions", json=unknown, headers=world.bearer("bob"))
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown-question")
    assert count(world) == before
    assert list((world.settings.data / "tmp").glob("*")) == []


def test_a_closed_lab_says_why(world: World) -> None:
    with transaction(world.settings.database) as session:
        session.get_one(Lab, "lab1").policy = Policy(attempts=1).model_dump(mode="json")
    answer = hand_in(world, "ann", "a.py", SOURCE.encode())
    assert (answer.status_code, answer.json()["code"]) == (409, "no-attempts-left")
    with transaction(world.settings.database) as session:
        lab = session.get_one(Lab, "lab1")
        lab.policy = Policy(late=Late.CLOSED).model_dump(mode="json")
        lab.due_at = datetime.now(UTC) - timedelta(seconds=1)
    assert hand_in(world, "bob", "a.py", SOURCE.encode()).json()["code"] == "past-due"


def test_a_student_reads_every_reason_and_nothing_hidden_and_staff_read_all(world: World) -> None:
    path = f"/submissions/{world.submission}"
    student, staff = world.get("ann", path), world.get("tess", path)
    assert SECRET not in student.text
    assert SECRET in staff.text
    right, wrong = student.json()["verdicts"]
    assert (right["points"], wrong["points"], wrong["headline"]) == ("2", "0", "It counts FLOPs.")
    assert wrong["checks"][1] == {"label": "drawn case 2", "public": False, "passed": False, "text": "another number"}
    assert wrong["needs_review"] and wrong["evidence"] == {}
    assert staff.json()["verdicts"][1]["evidence"] == {"output": SECRET}
    assert student.json()["points"] == "2"
    assert student.json()["out_of"] == "80"


def test_own_submissions_are_listed_newest_first_and_paged(world: World) -> None:
    with transaction(world.settings.database) as session:
        first = session.get_one(Submission, world.submission)
        for number in range(2, 6):
            copied = {c: getattr(first, c) for c in ("lab_id", "user_id", "filename", "sha256", "size", "answers")}
            session.add(Submission(id=f"copy{number}", number=number, received_at=datetime.now(UTC), **copied))
            session.flush()
            gradings.add(session, f"copy{number}", why="handed in", by_user_id=None, now=datetime.now(UTC))
    numbers, address = [], "/api/v1/labs/lab1/submissions?limit=2"
    while address:
        page = world.http.get(address, headers=world.bearer("ann"))
        numbers.append([one["number"] for one in page.json()["items"]])
        address = page.links["next"]["url"] if "next" in page.links else ""
    assert numbers == [[5, 4], [3, 2], [1]]
    assert world.get("bob", "/labs/lab1/submissions").json() == {"items": [], "next": None}


def test_a_lab_shows_its_questions_and_ones_own_result(world: World) -> None:
    lab = world.get("ann", "/labs/lab1").json()
    assert (lab["out_of"], lab["bonus_out_of"]) == (str(sum_of(lab, False)), str(sum_of(lab, True)))
    assert {"1.1", "1.3", "4.3.1", "bonus-3.2"} <= {question["id"] for question in lab["questions"]}
    assert all(question["prompt"] for question in lab["questions"])
    assert lab["grade"] == {"points": "2", "bonus": "1.5", "pending": "0", "out_of": "80", "late": False}
    assert world.get("bob", "/labs/lab1").json()["grade"] is None
    assert [one["id"] for one in world.get("ann", "/labs").json()["items"]] == ["lab1"]


def sum_of(lab: dict[str, Any], bonus: bool) -> Decimal:
    return sum((Decimal(one["points"]) for one in lab["questions"] if one["bonus"] is bonus), Decimal(0))


def events(world: World, submission: str, login: str = "bob", **headers: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream as (id, data), with a connection of its own."""
    address = f"{world.http.base_url}/api/v1/submissions/{submission}/events".replace("//api", "/api")
    with httpx.stream("GET", address, headers=world.bearer(login) | headers, timeout=60) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        event: dict[str, str] = {}
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if line:
                event[name] = value
            elif "data" in event:
                assert event["event"] == "state"
                yield event["id"], json.loads(event["data"])
                event = {}


def test_progress_is_told_as_it_happens_and_the_stream_ends_when_graded(world: World) -> None:
    submission = hand_in(world, "bob", "a.py", SOURCE.encode()).json()["id"]
    followed: list[dict[str, Any]] = []
    reached = threading.Event()

    def follow() -> None:
        for _, event in events(world, submission):
            followed.append(event)
            reached.set()

    def next_event() -> None:
        assert reached.wait(30)
        reached.clear()

    reader = threading.Thread(target=follow)
    reader.start()
    next_event()
    with transaction(world.settings.database) as session:
        claimed = gradings.claim(session, "cpu", datetime.now(UTC), 30, 3)
    assert claimed is not None
    next_event()
    with transaction(world.settings.database) as session:
        assert gradings.heartbeat(session, claimed, 1, datetime.now(UTC), 30)
    next_event()
    with transaction(world.settings.database) as session:
        session.get_one(Grading, claimed.grading_id).lease_until = datetime.now(UTC) - timedelta(seconds=1)
    with transaction(world.settings.database) as session:
        grade(session, [verdict("1.1", Decimal(1))])
    reader.join(30)
    assert not reader.is_alive()
    states = [(event["state"], event["done"]) for event in followed]
    assert states[:1] + states[-1:] == [("queued", False), ("graded", True)]
    assert ("running", False) in states
    assert {"state": "running", "position": 0, "progress": 1, "questions": 9, "done": False} in followed


def test_a_stream_of_what_is_done_ends_at_once_and_a_browser_that_saw_it_stops_asking(world: World) -> None:
    [(last, event)] = events(world, world.submission, "ann")
    assert event["done"]
    headers = {**world.bearer("ann"), "Last-Event-ID": last}
    assert world.http.get(f"/api/v1/submissions/{world.submission}/events", headers=headers).status_code == 204
    again = list(events(world, world.submission, "ann", **{"Last-Event-ID": "anything: else"}))
    assert again == [(last, event)]


def test_positions_count_what_waits_before(world: World) -> None:
    first, second = (hand_in(world, login, "a.py", SOURCE.encode()).json() for login in ("bob", "ann"))
    assert (first["position"], second["position"]) == (0, 1)
    [(_, told)] = [next(events(world, second["id"], "ann"))]
    assert told["position"] == 1
