"""Every route × every role: a new route without a row here fails, and so does a door that opens to the wrong person."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from api_world import NOW, World, make_world
from fastapi.routing import iter_route_contexts

from grading.settings import Settings
from grading.store import tokens
from grading.store.session import transaction
from grading.store.tables import Member

ROLES = ("nobody", "ann", "bob", "tess", "ada", "eve", "client", "other client")
ROSTER = {"file": ("roster.csv", b"name,login\nAnn,ann\n", "text/csv")}
# What each role is answered, in the order of ROLES; ann is who handed in, eve is another course's admin.
TABLE: dict[str, tuple[dict[str, Any], str]] = {
    "GET /api/v1/openapi.json": ({}, "200 200 200 200 200 200 200 200"),
    "GET /api/v1/health": ({}, "200 200 200 200 200 200 200 200"),
    "GET /api/v1/labs": ({}, "401 200 200 200 200 200 403 403"),
    "GET /api/v1/labs/{lab}": ({}, "401 200 200 200 200 404 403 403"),
    "PATCH /api/v1/labs/{lab}": ({"json": {"released": False}}, "401 403 403 403 200 404 403 403"),
    "GET /api/v1/labs/{lab}/submissions": ({}, "401 200 200 200 200 404 403 403"),
    "GET /api/v1/labs/{lab}/students/{login:path}/submissions": ({}, "401 403 403 200 200 404 403 403"),
    "POST /api/v1/labs/{lab}/submissions": ({"json": {"answers": {}}}, "401 422 422 422 422 404 403 403"),
    "GET /api/v1/submissions/{submission}": ({}, "401 200 404 200 200 404 403 403"),
    "GET /api/v1/submissions/{submission}/answers": ({}, "401 200 404 200 200 404 403 403"),
    "GET /api/v1/submissions/{submission}/file": ({}, "401 200 404 200 200 404 403 403"),
    "GET /api/v1/submissions/{submission}/events": ({}, "401 200 404 200 200 404 403 403"),
    "POST /api/v1/submissions/{submission}/retry": ({}, "401 403 404 409 409 404 403 403"),
    "POST /api/v1/labs/{lab}/retry": ({}, "401 403 403 202 202 404 403 403"),
    "GET /api/v1/labs/{lab}/scoreboard": ({}, "401 403 403 200 200 404 403 403"),
    "GET /api/v1/labs/{lab}/scoreboard.csv": ({}, "401 403 403 200 200 404 403 403"),
    "POST /api/v1/courses/{course}/roster:preview": ({"files": ROSTER}, "401 403 403 200 200 404 403 403"),
    "POST /api/v1/courses/{course}/roster": (
        {"files": ROSTER, "data": {"digest": "0"}},
        "401 403 403 409 409 404 403 403",
    ),
    "GET /api/v1/courses/{course}/clients": ({}, "401 403 403 403 200 404 403 403"),
    "POST /api/v1/courses/{course}/clients": ({"json": {"name": "LMS"}}, "401 403 403 403 201 404 403 403"),
    "DELETE /api/v1/courses/{course}/clients/{client}": ({}, "401 403 403 403 404 404 403 403"),
    "GET /api/v1/courses/{course}/grades": ({}, "401 403 403 200 200 404 200 404"),
    "GET /api/v1/tokens": ({}, "401 200 200 200 200 200 403 403"),
    "POST /api/v1/tokens": ({"json": {"name": "x", "scopes": ["read"]}}, "401 201 201 201 201 201 403 403"),
    "DELETE /api/v1/tokens/{token}": ({}, "401 404 404 404 404 404 403 403"),
    "POST /oauth2/token": ({}, "400 400 400 400 400 400 400 400"),
}


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


def routes(world: World) -> set[str]:
    """Every route of the running app outside the pages, as `METHOD path`."""
    found = set()
    for context in iter_route_contexts(world.app.routes):
        if context.path and context.path.startswith(("/api", "/oauth2")):
            found |= {f"{method} {context.path}" for method in (context.methods or ()) if method != "HEAD"}
    return found


def test_every_route_has_a_row_and_every_row_a_route(world: World) -> None:
    assert routes(world) == set(TABLE)


def test_every_route_answers_every_role_as_the_table_says(world: World) -> None:
    headers = {
        "nobody": {},
        **{login: world.bearer(login) for login in ("ann", "bob", "tess", "ada", "eve")},
        "client": world.access("gpu"),
        "other client": world.access("other"),
    }
    wrong = []
    for row, (request, statuses) in TABLE.items():
        method, path = row.split()
        address = path.replace(":path", "").format(
            login="ann",
            lab="lab1",
            course="gpu",
            submission=world.submission,
            token=999_999,
            client="client-0123456789abcdef",
        )
        for role, status in zip(ROLES, statuses.split(), strict=True):
            answer = world.http.request(method, address, headers=headers[role], **request)
            if answer.status_code != int(status):
                wrong.append(f"{row} as {role}: {answer.status_code}, not {status}: {answer.text[:120]}")
            elif answer.status_code >= 400 and not path.startswith("/oauth2"):
                assert answer.headers["content-type"] == "application/problem+json", row
    assert not wrong, "\n".join(wrong)


def test_a_token_does_what_its_scopes_say_and_no_more(world: World) -> None:
    for scopes, path, status in (
        (["read"], "/labs", 200),
        (["submit"], "/labs", 403),
        (["read"], "/labs/lab1/scoreboard", 403),
        (["staff"], "/labs/lab1/scoreboard", 200),
        (["read"], f"/submissions/{world.submission}", 403),
        (["admin"], "/courses/gpu/clients", 200),
        (["staff"], "/courses/gpu/clients", 403),
        (["read"], "/courses/gpu/grades", 403),
    ):
        made = world.http.post("/api/v1/tokens", json={"name": "x", "scopes": scopes}, headers=world.bearer("ada"))
        answer = world.http.get(f"/api/v1{path}", headers={"Authorization": f"Bearer {made.json()['secret']}"})
        assert answer.status_code == status, (scopes, path)
        if status == 403:
            assert answer.json()["code"] == "insufficient-scope"


def test_a_scope_never_reaches_beyond_the_role(world: World) -> None:
    """A student whose token says `admin` is a student still."""
    with transaction(world.settings.database) as session:
        _, secret = tokens.issue(
            session,
            tokens.Purpose.PERSONAL,
            now=NOW,
            scopes=tokens.PERSONAL_SCOPES,
            user_id=world.users["bob"],
            lifetime=timedelta(days=1),
        )
    headers = {"Authorization": f"Bearer {secret}"}
    for path, status in (
        ("/labs/lab1/scoreboard", 403),
        ("/courses/gpu/clients", 403),
        ("/courses/gpu/grades", 403),
        (f"/submissions/{world.submission}", 404),
    ):
        assert world.http.get(f"/api/v1{path}", headers=headers).status_code == status, path


def test_a_student_who_was_dropped_has_no_place_any_more(world: World) -> None:
    with transaction(world.settings.database) as session:
        session.get_one(Member, ("gpu", world.users["ann"])).active = False
    assert world.http.get(f"/api/v1/submissions/{world.submission}", headers=world.bearer("ann")).status_code == 404
    assert world.http.get("/api/v1/labs/lab1", headers=world.bearer("ann")).status_code == 404
    assert world.http.get(f"/api/v1/submissions/{world.submission}", headers=world.bearer("tess")).status_code == 200
