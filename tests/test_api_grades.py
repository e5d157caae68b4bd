"""The LMS's door: a client of its course pulls every released grade, exactly, and misses none that changes."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_world import World, hand_in_graded, make_world

from api.routes.grades import OVERLAP
from grading.settings import Settings
from grading.store import people
from grading.store.session import transaction
from grading.store.tables import Role, Submission

GRADES = "/api/v1/courses/gpu/grades"


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


def release(world: World, released: bool = True) -> None:
    answer = world.http.patch("/api/v1/labs/lab1", json={"released": released}, headers=world.bearer("ada"))
    assert answer.status_code == 200


def graded(world: World, login: str, *points: str) -> None:
    with transaction(world.settings.database) as session:
        digest = session.get_one(Submission, world.submission).sha256
        found = people.user_by_login(session, login)
        if found is None:
            found = people.add_user(session, login=login, name=login, now=datetime.now(UTC))
            people.enroll(session, course_id="gpu", user_id=found.id, role=Role.STUDENT, now=datetime.now(UTC))
        hand_in_graded(session, found.id, digest, [Decimal(one) for one in points])


def pull(world: World, headers: dict[str, str], **query: Any) -> httpx.Response:
    answer = world.http.get(GRADES, headers=headers, params=query)
    assert answer.status_code == 200, answer.text
    return answer


def walk(world: World, headers: dict[str, str], limit: int) -> Iterator[httpx.Response]:
    address = f"{GRADES}?limit={limit}"
    while address:
        page = world.http.get(address, headers=headers)
        yield page
        address = page.links["next"]["url"] if "next" in page.links else ""


def token(world: World, **request: Any) -> httpx.Response:
    return world.http.post("/oauth2/token", **request)


def test_a_client_gets_a_token_by_basic_or_form_and_errors_as_rfc_6749_says(world: World) -> None:
    client, secret = world.clients["gpu"]
    grant = {"grant_type": "client_credentials"}
    form = token(world, data=grant | {"client_id": client, "client_secret": secret, "scope": "grades"})
    basic = token(world, data=grant, auth=(client, secret))
    for answer in (form, basic):
        assert answer.status_code == 200, answer.text
        assert (answer.json()["token_type"], answer.json()["expires_in"]) == ("Bearer", 3600)
        assert answer.headers["cache-control"] == "no-store"
    for request, status, error in (
        ({"data": grant, "auth": (client, "wrong")}, 401, "invalid_client"),
        ({"data": grant, "auth": ("client-\0", secret)}, 401, "invalid_client"),
        ({"data": grant, "auth": (world.clients["other"][0], secret)}, 401, "invalid_client"),
        ({"data": {"grant_type": "password"}, "auth": (client, secret)}, 400, "unsupported_grant_type"),
        ({"data": {"x": "y"}, "auth": (client, secret)}, 400, "invalid_request"),
        ({"data": grant | {"scope": "grades admin"}, "auth": (client, secret)}, 400, "invalid_scope"),
        ({"data": grant | {"client_secret": secret}, "auth": (client, secret)}, 400, "invalid_request"),
        ({"json": grant}, 400, "invalid_request"),
        ({"data": grant, "headers": {"Authorization": "Basic ###"}}, 400, "invalid_request"),
    ):
        answer = token(world, **request)  # type: ignore[arg-type]
        assert (answer.status_code, answer.json()["error"]) == (status, error), request
        assert answer.headers["cache-control"] == "no-store"
        assert secret not in answer.text


def test_the_secret_of_a_client_is_shown_once_and_revoking_ends_its_tokens(world: World) -> None:
    path = "/api/v1/courses/gpu/clients"
    made = world.http.post(path, json={"name": "Canvas"}, headers=world.bearer("ada")).json()
    listed = world.http.get(path, headers=world.bearer("ada"))
    assert made["secret"] not in listed.text
    assert made["id"] in [one["id"] for one in listed.json()["items"]]
    world.clients["new"] = (made["id"], made["secret"])
    access = world.access("new")
    assert world.http.get(GRADES, headers=access).status_code == 200
    assert world.http.delete(f"{path}/{made['id']}", headers=world.bearer("ada")).status_code == 204
    assert world.http.get(GRADES, headers=access).status_code == 401
    grant = {"grant_type": "client_credentials"}
    assert token(world, data=grant, auth=(made["id"], made["secret"])).status_code == 401


def test_only_released_labs_leave_and_releasing_one_later_is_seen(world: World) -> None:
    access = world.access("gpu")
    before = pull(world, access).json()
    assert before["items"] == []
    release(world)
    [item] = pull(world, access, since=before["revision"]).json()["items"]
    assert (item["login"], item["lab"]) == ("ann", "lab1")
    release(world, False)
    assert pull(world, access).json()["items"] == []


def test_points_are_exact_zero_is_a_grade_and_absent_is_absent(world: World) -> None:
    release(world)
    graded(world, "bob", "0", "0")
    graded(world, "third", "0.1", "0.2")
    people_ = {item["login"]: item for item in pull(world, world.access("gpu")).json()["items"]}
    assert set(people_) == {"ann", "bob", "third"}
    assert (people_["bob"]["points"], people_["third"]["points"]) == ("0", "0.3")
    assert (people_["ann"]["bonus"], people_["ann"]["out_of"], people_["ann"]["late"]) == ("1.5", "80", False)


def test_the_sheet_holds_the_same_grades(world: World) -> None:
    release(world)
    graded(world, "bob", "0", "0")
    access = world.access("gpu")
    items = pull(world, access).json()["items"]
    for sheet in (pull(world, access, format="csv"), pull(world, access | {"Accept": "text/csv"})):
        assert sheet.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(sheet.text, newline="")))
        assert [(row["login"], row["points"], row["bonus"]) for row in rows] == [
            (item["login"], item["points"], item["bonus"]) for item in items
        ]


def test_pages_hold_every_grade_once_and_one_that_changes_meanwhile_comes_again(world: World) -> None:
    release(world)
    for number in range(4):
        graded(world, f"student{number}", "1", "0")
    access = world.access("gpu")
    pages = [[item["login"] for item in page.json()["items"]] for page in walk(world, access, 2)]
    assert pages == [["ann", "student0"], ["student1", "student2"], ["student3"]]
    seen: list[tuple[str, str]] = []
    for number, page in enumerate(walk(world, access, 2)):
        seen += [(item["login"], item["points"]) for item in page.json()["items"]]
        if number == 0:
            graded(world, "student1", "2", "2")
            graded(world, "newcomer", "1", "1")
    assert dict(seen) == {
        "ann": "2",
        "student0": "1",
        "student1": "4",
        "student2": "1",
        "student3": "1",
        "newcomer": "2",
    }


def test_since_gives_what_changed_and_an_unchanged_pull_is_identical(world: World) -> None:
    release(world)
    access = world.access("gpu")
    first = pull(world, access)
    assert pull(world, access).content == first.content
    revision = first.json()["revision"]
    moment = datetime.now(UTC)
    assert pull(world, access, since=revision).json()["items"] == []
    graded(world, "ann", "0", "0")
    assert pull(world, access, since=revision).json()["items"] == [], "a worse one does not change what counts"
    graded(world, "bob", "1", "1")
    shortly_after = moment + OVERLAP  # a change is stamped before others see it, so the last minutes come again
    for since in (revision, shortly_after.isoformat(), shortly_after.astimezone().isoformat()):
        assert [item["login"] for item in pull(world, access, since=since).json()["items"]] == ["bob"]
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert pull(world, access, since=later).json()["items"] == []
    for wrong in ("yesterday", "2026-03-01T00:00:00", "-1", "99999999999999999999"):
        answer = world.http.get(GRADES, headers=access, params={"since": wrong})
        assert (answer.status_code, answer.json()["code"]) == (422, "since"), wrong


def test_a_dropped_student_stays_and_is_seen_to_have_gone(world: World) -> None:
    release(world)
    access = world.access("gpu")
    revision = pull(world, access).json()["revision"]
    text = b"name,login\nBob,bob\n"
    files = {"file": ("r.csv", text)}
    preview = world.http.post("/api/v1/courses/gpu/roster:preview", files=files, headers=world.bearer("ada")).json()
    world.http.post(
        "/api/v1/courses/gpu/roster", files=files, data={"digest": preview["digest"]}, headers=world.bearer("ada")
    )
    [item] = pull(world, access, since=revision).json()["items"]
    assert (item["login"], item["active"], item["points"]) == ("ann", False, "2")


def test_what_is_pulled_is_what_the_scoreboard_says(world: World) -> None:
    release(world)
    graded(world, "bob", "0.25", "0.5")
    pulled = {one["login"]: one["points"] for one in pull(world, world.access("gpu")).json()["items"]}
    board = world.get("tess", "/labs/lab1/scoreboard").json()["items"]
    assert pulled == {one["login"]: one["points"] for one in board if one["points"] is not None}
