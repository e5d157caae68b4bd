"""Staff's doors: the scoreboard and its sheet, the roster that is applied as it was seen, the rules of a lab."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from api_world import World, make_world
from sqlalchemy import select

from grading.settings import Settings
from grading.store import gradings, people
from grading.store.session import reading, transaction
from grading.store.tables import GradeChange, Member, User


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


def send_roster(world: World, text: str, digest: str | None = None, login: str = "tess") -> httpx.Response:
    files = {"file": ("roster.csv", text.encode())}
    if digest is None:
        return world.http.post("/api/v1/courses/gpu/roster:preview", files=files, headers=world.bearer(login))
    data = {"digest": digest}
    return world.http.post("/api/v1/courses/gpu/roster", files=files, data=data, headers=world.bearer(login))


def test_the_scoreboard_has_every_student_and_tells_zero_from_nothing(world: World) -> None:
    board = world.get("tess", "/labs/lab1/scoreboard").json()
    ann, bob = board["items"]
    assert (ann["login"], ann["points"], ann["bonus"], ann["submission"]) == ("ann", "2", "1.5", world.submission)
    assert ann["questions"]["1.3"] == {"state": "failed", "points": "0", "needs_review": True}
    assert (bob["login"], bob["points"], bob["questions"], bob["submission"]) == ("bob", None, {}, None)
    assert [question for question in board["questions"]][:2] == ["1.1", "1.3"]


def test_staff_read_all_that_a_student_handed_in_page_by_page_and_a_dropped_ones_too(world: World) -> None:
    paste(world, "ann")
    latest = paste(world, "ann")
    first = world.get("tess", "/labs/lab1/students/ANN/submissions?limit=2").json()
    assert [one["number"] for one in first["items"]] == [3, 2]
    assert first["items"][0]["id"] == latest
    with transaction(world.settings.database) as session:
        session.get_one(Member, ("gpu", world.users["ann"])).active = False
    rest = world.http.get(first["next"], headers=world.bearer("tess")).json()
    assert ([one["id"] for one in rest["items"]], rest["next"]) == ([world.submission], None)
    for login in ("eve", "nobody", "%00"):
        answer = world.get("tess", f"/labs/lab1/students/{login}/submissions")
        assert (answer.status_code, answer.json()["code"]) == (404, "no-such-student")


def fail_all(world: World) -> None:
    """Be a worker whose sandbox is gone."""
    with transaction(world.settings.database) as session:
        while claimed := gradings.claim(session, "cpu", datetime.now(UTC), 30, 3):
            gradings.release_with_fault(session, claimed, "sandbox: gone", datetime.now(UTC), 0, max_attempts=1)


def paste(world: World, login: str) -> str:
    body = {"answers": {"1.3": "def gemm_io(A, B):\n    return 0\n"}}
    answer = world.http.post("/api/v1/labs/lab1/submissions", json=body, headers=world.bearer(login))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def messages(world: World) -> int:
    return len(list((world.settings.data / "queue" / "messages").iterdir()))


def test_staff_queue_again_what_a_fault_of_ours_ended_and_it_says_who_and_why(world: World) -> None:
    submission = paste(world, "bob")
    fail_all(world)
    address, nudges = f"/api/v1/submissions/{submission}/retry", messages(world)
    assert world.http.post(address, headers=world.bearer("bob")).json()["code"] == "role"
    assert world.get("bob", f"/submissions/{submission}").json()["state"] == "failed"
    answer = world.http.post(address, json={"reason": "disk full"}, headers=world.bearer("tess"))
    assert answer.status_code == 202, answer.text
    queued = answer.json()
    assert (queued["id"], queued["number"], queued["state"], queued["position"]) == (submission, 1, "queued", 0)
    assert messages(world) == nudges + 1
    with reading(world.settings.database) as session:
        grading = gradings.current(session, submission)
        assert (grading.id, grading.by_user_id) == (queued["grading"], world.users["tess"])
    shown = world.get("bob", f"/submissions/{submission}").json()
    assert (shown["state"], shown["why"]) == ("queued", "again after a fault of ours: disk full")
    assert world.http.post(address, headers=world.bearer("tess")).json()["code"] == "not-failed"


def test_after_an_outage_all_of_a_lab_is_queued_again_at_once(world: World) -> None:
    handed_in = [paste(world, login) for login in ("bob", "ann", "bob")]
    fail_all(world)
    answer = world.http.post("/api/v1/labs/lab1/retry", headers=world.bearer("tess"))
    assert (answer.status_code, answer.json()) == (202, {"queued": 3})
    with transaction(world.settings.database) as session:
        claims = [gradings.claim(session, "cpu", datetime.now(UTC), 30, 3) for _ in range(4)]
    assert {one.submission_id for one in claims if one} == set(handed_in)
    assert claims[3] is None
    assert world.get("tess", "/labs/lab1/scoreboard").json()["faults"] == []
    assert world.http.post("/api/v1/labs/lab1/retry", headers=world.bearer("tess")).json() == {"queued": 0}


def test_the_sheet_says_what_the_scoreboard_says(world: World) -> None:
    with transaction(world.settings.database) as session:
        session.get_one(User, world.users["bob"]).name = '=HYPERLINK("http://x")'
    answer = world.get("tess", "/labs/lab1/scoreboard.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    rows = {row["login"]: row for row in csv.DictReader(io.StringIO(answer.text, newline=""))}
    assert (rows["ann"]["points"], rows["ann"]["1.3"], rows["ann"]["1.3 state"]) == ("2", "0", "failed")
    assert (rows["ann"]["needs review"], rows["ann"]["late"]) == ("1.3", "false")
    assert (rows["bob"]["points"], rows["bob"]["1.3"], rows["bob"]["1.3 state"]) == ("", "", "")
    assert rows["bob"]["name"].startswith("'=")


def test_a_roster_is_applied_exactly_as_it_was_seen(world: World) -> None:
    text = "name,login,email,section\nAnn Arbor,ann,ann@x.edu,B\nNew One,new,new@x.edu,B\n"
    seen = send_roster(world, text).json()
    assert [one["login"] for one in seen["added"]] == ["new"]
    assert [(one["login"], one["change"]) for one in seen["changed"]] == [
        ("ann", "name: Ann → Ann Arbor; section: A → B")
    ]
    assert [one["login"] for one in seen["dropped"]] == ["bob"]
    assert world.get("bob", "/labs/lab1").status_code == 200
    assert send_roster(world, text + "Extra,extra,,\n", seen["digest"]).status_code == 409
    applied = send_roster(world, text, seen["digest"])
    assert applied.json() == {"added": 1, "changed": 1, "dropped": 1, "unchanged": 0}
    assert send_roster(world, text, seen["digest"]).json()["code"] == "roster-changed"
    assert world.get("bob", "/labs/lab1").status_code == 404
    assert world.get("tess", "/labs/lab1").status_code == 200
    board = world.get("tess", "/labs/lab1/scoreboard").json()["items"]
    assert [(one["name"], one["section"], one["points"]) for one in board] == [
        ("Ann Arbor", "B", "2"),
        ("New One", "B", None),
    ]


def test_a_dropped_student_keeps_their_work_and_comes_back_to_it(world: World) -> None:
    only_bob, both = "name,login\nBob,bob\n", "name,login\nBob,bob\nAnn,ann\n"
    send_roster(world, only_bob, send_roster(world, only_bob).json()["digest"])
    assert world.get("ann", f"/submissions/{world.submission}").status_code == 404
    assert world.get("tess", f"/submissions/{world.submission}").status_code == 200
    back = send_roster(world, both).json()
    assert [one["change"] for one in back["changed"]] == ["active again"]
    send_roster(world, both, back["digest"])
    assert world.get("ann", f"/submissions/{world.submission}").json()["points"] == "2"


def test_a_roster_with_a_fault_is_not_applied_and_the_row_is_named(world: World) -> None:
    text = "name,login\nAnn,ann\nBob,ann\n"
    seen = send_roster(world, text).json()
    assert [(one["row"], one["text"]) for one in seen["problems"]] == [(3, "the login ann is already in row 2")]
    refused = send_roster(world, text, seen["digest"])
    assert (refused.status_code, refused.json()["code"]) == (422, "roster-problems")
    assert send_roster(world, "no,columns\n").json()["code"] == "roster"
    assert send_roster(world, "name,login\n" + "x" * (3 << 20)).status_code == 413


def test_a_roster_cannot_make_another_courses_person_somebody_else(world: World) -> None:
    text = "name,login,email\nAnn,ann,ann@x.edu\nBob,bob,bob@x.edu\nNot Eve,EVE,evil@x.edu\n"
    seen = send_roster(world, text).json()
    assert send_roster(world, text, seen["digest"]).json()["added"] == 1
    with reading(world.settings.database) as session:
        eve = people.user_by_login(session, "eve")
        assert eve is not None
        assert (eve.id, eve.name, eve.email) == (world.users["eve"], "Eve", "eve@x.edu")
    assert world.get("eve", "/labs/lab1/scoreboard").status_code == 403


def change(world: World, **fields: object) -> httpx.Response:
    return world.http.patch("/api/v1/labs/lab1", json=fields, headers=world.bearer("ada"))


def test_new_rules_bring_the_grades_along_and_say_who_and_why(world: World) -> None:
    due = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    answer = change(world, due_at=due, policy={"late": "penalty", "penalty_per_day": "0.5"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["grades_changed"], answer.json()["policy"]["late"]) == (1, "penalty")
    assert world.get("ann", "/labs/lab1").json()["grade"]["points"] == "1"
    assert world.get("ann", f"/submissions/{world.submission}").json()["late"] is True
    assert change(world, due_at=None, policy={"attempts": 9}).json()["grades_changed"] == 1
    kept = change(world, policy={}).json()["policy"]
    assert (kept["late"], kept["penalty_per_day"], kept["attempts"]) == ("penalty", "0.5", 9), "what is not given stays"
    assert world.get("ann", "/labs/lab1").json()["grade"]["points"] == "2"
    assert world.get("ann", f"/submissions/{world.submission}").json()["late"] is False
    with reading(world.settings.database) as session:
        changes = session.scalars(select(GradeChange).order_by(GradeChange.id)).all()
    assert [one.by_user_id for one in changes] == [None, world.users["ada"], world.users["ada"]]
    assert changes[1].why == "the lab's rules changed"


def test_what_is_not_given_stays_and_what_is_not_known_is_refused(world: World) -> None:
    due = "2030-01-01T00:00:00Z"
    assert change(world, due_at=due).status_code == 200
    assert change(world, released=True).json()["due_at"] == due
    assert change(world, released=None).json()["released"] is True
    for wrong in ({"title": "x"}, {"due_at": "2030-01-01T00:00:00"}, {"policy": {"counts": "worst"}}, {"released": 7}):
        assert change(world, **wrong).status_code == 422
    for edge in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        assert change(world, due_at=edge).status_code == 422
