"""Every error is a typed problem that repeats nothing of what was sent, and bodies are bounded as they come."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_world import NOW, World, hand_in, make_world, serving
from jsonschema import Draft202012Validator

from api.app import make_app
from api.problems import Problem
from grading.settings import Settings
from grading.store import gradings
from grading.store.session import transaction
from grading.store.tables import Grading

ALL_WELL = {"status": "ok", "database": True, "queue": True, "waiting": 0, "longest_wait": 0}
MARK = "do-not-echo-this" * 40


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    settings.max_upload_bytes = 300_000
    with make_world(settings, tmp_path) as made:
        yield made


def problem(answer: httpx.Response, status: int) -> Problem:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = Problem.model_validate_json(answer.text)
    assert found.status == status
    assert found.detail
    assert found.type == f"urn:rooflab:problem:{found.code}"
    return found


def test_errors_of_every_sort_are_problems(world: World) -> None:
    ann, http = world.bearer("ann"), world.http
    assert problem(http.get("/api/v1/nothing"), 404).code == "not-found"
    wrong_method = http.put("/api/v1/labs", headers=ann)
    assert problem(wrong_method, 405).code == "method-not-allowed"
    assert "GET" in wrong_method.headers["allow"]
    assert problem(http.get("/api/v1/labs/no%00lab", headers=ann), 422).faults[0].where == "path.lab"
    assert problem(http.get("/api/v1/labs/nolab", headers=ann), 404).code == "no-such-lab"
    assert problem(http.post("/api/v1/tokens", content=b"{", headers=ann), 422).faults
    assert problem(http.post("/api/v1/labs/lab1/submissions", headers=ann), 415).code == "wrong-media-type"
    bad_form = {"Content-Type": "multipart/form-data; boundary=x", **ann}
    problem(http.post("/api/v1/labs/lab1/submissions", content=b"no form", headers=bad_form), 400)
    no_boundary = {"Content-Type": "multipart/form-data", **ann}
    problem(http.post("/api/v1/labs/lab1/submissions", content=b"x", headers=no_boundary), 400)


def test_nothing_that_was_sent_comes_back(world: World) -> None:
    ann, http = world.bearer("ann"), world.http
    answers = [
        http.get(f"/api/v1/labs/{MARK}", headers=ann),
        http.get("/api/v1/labs/lab1/submissions", params={"limit": MARK}, headers=ann),
        http.post("/api/v1/tokens", json={"name": MARK, "scopes": [MARK], MARK: 1}, headers=ann),
        http.post("/api/v1/labs/lab1/submissions", json={"answers": {MARK: MARK}}, headers=ann),
        http.post("/api/v1/labs/lab1/submissions", json={"answers": {"1.3": [MARK]}, MARK: {}}, headers=ann),
        http.get("/api/v1/courses/gpu/grades", params={"since": MARK}, headers=world.bearer("ada")),
        http.get(f"/api/v1/{MARK}"),
    ]
    for answer in answers:
        problem(answer, 404 if answer is answers[-1] else 422)
        assert "do-not-echo-this" * 5 not in answer.text


def test_hostile_json_is_refused_and_never_a_fault_of_ours(world: World) -> None:
    bodies = [
        b'{"answers": {"1.3": "\\ud800"}}',
        b'{"answers": {"\\u0000": "x"}}',
        b'{"answers": ' + b"[" * 100_000,
        b'{"answers": {"1.3": ' + b"9" * 10_000 + b"}}",
        b'{"answers": {"1.3": "x", "1.3": "y"}}',
        b'{"answers": NaN}',
        b"\xff\xfe",
        b"",
        b"null",
    ]
    headers = {"Content-Type": "application/json", **world.bearer("ann")}
    for body in bodies:
        answer = world.http.post("/api/v1/labs/lab1/submissions", content=body, headers=headers)
        assert answer.status_code in (400, 422), (body[:40], answer.text)
        answer = world.http.post("/api/v1/tokens", content=body.replace(b"answers", b"name"), headers=headers)
        assert answer.status_code in (400, 422), (body[:40], answer.text)


def test_a_flood_of_fields_is_counted_and_not_worded_one_by_one(world: World) -> None:
    """An error for each of a hundred thousand fields would keep everybody else waiting."""
    many = {f"{number:x}": 1 for number in range(20_000)}
    for path, body in (
        ("/api/v1/labs/lab1/submissions", {"answers": many}),
        ("/api/v1/labs/lab1/submissions", {"answers": {"1.3": "x"}, **many}),
        ("/api/v1/tokens", {"name": "mine", "scopes": ["read"], **many}),
    ):
        answer = world.http.post(path, json=body, headers=world.bearer("ann"))
        assert len(problem(answer, 422).faults) == 1, path


def test_text_that_a_database_cannot_hold_is_no_fault_of_ours(world: World) -> None:
    for text in ("x = '\\u0000'", "\\ud83d\\ude00 = 1", "x = 1 # \\u202e\\ufffe"):
        body = f'{{"answers": {{"1.3": "{text}"}}}}'.encode()
        headers = {"Content-Type": "application/json", **world.bearer("ann")}
        answer = world.http.post("/api/v1/labs/lab1/submissions", content=body, headers=headers)
        assert answer.status_code in (201, 422), answer.text
        if answer.status_code == 201:
            assert world.http.get(answer.json()["links"]["answers"], headers=world.bearer("ann")).status_code == 200
    named = {"file": ("a\x00\u202e\n.py", b"x = 1")}
    answer = world.http.post("/api/v1/labs/lab1/submissions", files=named, headers=world.bearer("bob"))
    assert answer.status_code in (201, 400, 422), answer.text  # Bob's: three of Ann's wait already


def test_a_fault_of_ours_is_a_problem_without_its_cause(settings: Settings) -> None:
    app = make_app(settings)

    @app.get("/api/v1/broken")
    def broken() -> None:
        raise RuntimeError(f"secret cause {MARK}")

    with serving(app) as address:
        answer = httpx.get(f"{address}/api/v1/broken")
    assert problem(answer, 500).code == "internal-error"
    assert "secret cause" not in answer.text


def test_a_database_that_is_away_is_503_and_health_says_so(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database_url="postgresql+psycopg://nobody@127.0.0.1:1/none")
    with serving(make_app(settings)) as address:
        health = httpx.get(f"{address}/api/v1/health")
        answer = httpx.get(f"{address}/api/v1/labs", headers={"Authorization": f"Bearer {good_looking()}"})
    assert (health.status_code, health.json()) == (503, ALL_WELL | {"status": "down", "database": False})
    assert problem(answer, 503).code == "database-unavailable"
    assert answer.headers["retry-after"]


def good_looking() -> str:
    from grading.store import tokens

    return tokens.new_secret("rooflab_pat_")


def test_a_queue_that_is_away_degrades_and_names_no_secret(world: World) -> None:
    assert world.http.get("/api/v1/health").json() == ALL_WELL
    world.settings.broker_url = "redis://:hidden-password@127.0.0.1:1/0"
    answer = world.http.get("/api/v1/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert "hidden" not in answer.text


@pytest.mark.parametrize(("minutes", "status"), [(0, "ok"), (2, "degraded")])
def test_a_submission_that_waits_for_long_degrades_and_staff_read_since_when(
    world: World, minutes: int, status: str
) -> None:
    idle = "Nothing has been graded since"
    with transaction(world.settings.database) as session:
        waiting = hand_in(session, world.users["bob"])
        queued_at = datetime.now(UTC) - timedelta(minutes=minutes)
        session.query(Grading).filter(Grading.submission_id == waiting).update({"queued_at": queued_at})
        session.get_one(Grading, world.grading).finished_at = NOW - timedelta(days=1)
    health = world.http.get("/api/v1/health").json()
    assert (health["status"], health["waiting"], health["longest_wait"] // 60) == (status, 1, minutes)
    with httpx.Client(base_url=world.http.base_url, timeout=60) as browser:
        token = {"token": world.secrets["tess"]}
        assert browser.post("/login", data=token, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
        assert (idle in browser.get("/staff/labs/lab1").text) == (status == "degraded")
        with transaction(world.settings.database) as session:
            claimed = gradings.claim(session, "cpu", datetime.now(UTC), 30, 3)
        assert claimed is not None
        assert idle not in browser.get("/staff/labs/lab1").text  # it is being graded
    assert world.http.get("/api/v1/health").json() == ALL_WELL


def chunks(count: int) -> Iterator[bytes]:
    yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.py"\r\n\r\n'
    for _ in range(count):
        yield b"x" * 65_536
    yield b"\r\n--x--\r\n"


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_the_limit_is_413_whether_or_not_its_length_was_announced(world: World, announced: bool) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x", **world.bearer("ann")}
    content: Any = b"".join(chunks(10)) if announced else chunks(10)
    answer = world.http.post("/api/v1/labs/lab1/submissions", content=content, headers=headers)
    assert problem(answer, 413).code == "too-large"
    assert world.get("ann", "/labs/lab1/submissions").json()["items"][0]["number"] == 1
    assert list((world.settings.data / "tmp").glob("*")) == []


def test_a_file_just_over_the_limit_is_413_though_the_form_around_it_has_slack(world: World) -> None:
    files = {"file": ("a.py", b"#" * 300_001)}
    answer = world.http.post("/api/v1/labs/lab1/submissions", files=files, headers=world.bearer("ann"))
    problem(answer, 413)


def test_a_plain_body_is_bounded_too(world: World) -> None:
    body = b'{"answers": {"1.3": "' + b"x" * (5 << 20) + b'"}}'
    for path in ("/api/v1/labs/lab1/submissions", "/api/v1/tokens", "/oauth2/token"):
        headers = {"Content-Type": "application/json", **world.bearer("ann")}
        answer = world.http.post(path, content=body, headers=headers)
        assert answer.status_code in ((400,) if path.startswith("/oauth2") else (413,)), answer.text
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert world.http.post("/oauth2/token", content=b"a=" + b"x" * (5 << 20), headers=form).status_code in (400, 413)


def test_the_description_is_whole(world: World) -> None:
    """Valid OpenAPI; every operation has an id, a tag, a sentence, and problems as its errors."""
    document = world.http.get("/api/v1/openapi.json").json()
    for name, schema in document["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert name
    for reference in re.findall(r'"\$ref": ?"#/components/schemas/(\w+)"', json.dumps(document)):
        assert reference in document["components"]["schemas"]
    ids = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            ids.append(operation["operationId"])
            assert operation["tags"], path
            assert operation["description"], path
            for status, answer in operation["responses"].items():
                if status >= "400" and path != "/oauth2/token" and (path, status) != ("/api/v1/health", "503"):
                    assert list(answer["content"]) == ["application/problem+json"], (method, path, status)
            if path not in ("/api/v1/health", "/oauth2/token"):
                assert operation["security"], path
    assert len(ids) == len(set(ids))
