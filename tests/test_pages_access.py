"""Every page × every role, and every form without its token: a new page without a row here fails."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_world import World, make_world
from fastapi.routing import iter_route_contexts

from grading.settings import Settings

ROLES = ("nobody", "ann", "bob", "tess", "ada", "eve")
# What each role is answered, in the order of ROLES; ann is who handed in, eve is another course's admin. A form is sent
# with its session's token and nothing else in it.
TABLE = {
    "GET /": "303 200 200 200 200 200",
    "GET /login": "200 200 200 200 200 200",
    "POST /login": "401 401 401 401 401 401",
    "POST /logout": "303 303 303 303 303 303",
    "GET /account": "303 200 200 200 200 200",
    "POST /account/tokens": "303 422 422 422 422 422",
    "POST /account/tokens/{token}/revoke": "303 404 404 404 404 404",
    "GET /labs/{lab}": "303 200 200 200 200 404",
    "GET /labs/{lab}/history": "303 200 200 200 200 404",
    "POST /labs/{lab}/submissions": "303 422 422 422 422 404",
    "POST /labs/{lab}/pasted": "303 422 422 422 422 404",
    "GET /submissions/{submission}": "303 200 404 200 200 404",
    "GET /submissions/{submission}/progress": "303 200 404 200 200 404",
    "POST /submissions/{submission}/retry": "303 403 404 409 409 404",
    "GET /staff/labs/{lab}": "303 403 403 200 200 404",
    "GET /staff/labs/{lab}/students/{login:path}": "303 403 403 200 200 404",
    "POST /staff/labs/{lab}/retry": "303 403 403 303 303 404",
    "GET /staff/courses/{course}/roster": "303 403 403 200 200 404",
    "POST /staff/courses/{course}/roster": "303 403 403 422 422 404",
    "POST /staff/courses/{course}/roster/apply": "303 403 403 422 422 404",
    "GET /staff/courses/{course}/clients": "303 403 403 403 200 404",
    "POST /staff/courses/{course}/clients": "303 403 403 403 422 404",
    "POST /staff/courses/{course}/clients/{client}/revoke": "303 403 403 403 404 404",
}
WITH_A_FILE = {"POST /labs/{lab}/submissions", "POST /staff/courses/{course}/roster"}
UNSAFE = sorted(row for row in TABLE if not row.startswith("GET"))


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


@pytest.fixture
def browsers(world: World) -> Iterator[dict[str, httpx.Client]]:
    """A browser for each role, signed in."""
    with ExitStack() as stack:
        opened = {}
        for role in ROLES:
            opened[role] = stack.enter_context(httpx.Client(base_url=world.http.base_url, timeout=60))
            sign_in(world, opened[role], role)
        yield opened


def sign_in(world: World, browser: httpx.Client, role: str) -> None:
    browser.cookies.clear()
    if role != "nobody":
        assert browser.post("/login", data={"token": world.secrets[role]}).status_code == 303


def csrf(browser: httpx.Client) -> str:
    return browser.get("/account").text.partition('name="csrf" value="')[2].partition('"')[0]


def send(world: World, browser: httpx.Client, row: str, token: str | None) -> httpx.Response:
    """Ask for a row's page, with a form token if one is given."""
    method, path = row.split()
    address = path.replace(":path", "").format(
        login="ann",
        lab="lab1",
        course="gpu",
        submission=world.submission,
        token=999_999,
        client="client-0123456789abcdef",
    )
    form: dict[str, Any] = {} if method == "GET" else {"data": {} if token is None else {"csrf": token}}
    if row in WITH_A_FILE:
        form["files"] = {"file": ("empty.py", b"")}
    return browser.request(method, address, **form)


def test_every_page_has_a_row_and_every_row_a_page(world: World) -> None:
    found = set()
    for context in iter_route_contexts(world.app.routes):
        if context.path and not context.path.startswith(("/api", "/oauth2", "/static")):
            found |= {f"{method} {context.path}" for method in (context.methods or ()) if method != "HEAD"}
    assert found == set(TABLE)


def test_every_page_answers_every_role_as_the_table_says(world: World, browsers: dict[str, httpx.Client]) -> None:
    wrong = []
    for row, statuses in TABLE.items():
        for role, status in zip(ROLES, statuses.split(), strict=True):
            browser = browsers[role]
            answer = send(world, browser, row, csrf(browser))
            if answer.status_code != int(status):
                wrong.append(f"{row} as {role}: {answer.status_code}, not {status}")
            if status == "303" and role == "nobody" and not answer.headers["location"].startswith("/login"):
                wrong.append(f"{row} as {role} leads to {answer.headers['location']}")
            if row == "POST /logout":
                sign_in(world, browser, role)
    assert not wrong, "\n".join(wrong)


def test_no_form_is_taken_without_the_sessions_own_token(world: World, browsers: dict[str, httpx.Client]) -> None:
    """Sent by ada, who may do everything; signing in has no session yet, and is refused from another site."""
    other = csrf(browsers["tess"])
    taken = []
    for row in UNSAFE:
        for token in (None, "", "0" * 64, other) if row != "POST /login" else ():
            answer = send(world, browsers["ada"], row, token)
            if answer.status_code != 403 or "This form is out of date" not in answer.text:
                taken.append(f"{row} with {token}: {answer.status_code}")
    assert not taken, "\n".join(taken)
    assert csrf(browsers["ada"])  # still signed in


def test_no_form_is_taken_from_another_site(world: World, browsers: dict[str, httpx.Client]) -> None:
    browser = browsers["ada"]
    token = csrf(browser)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        browser.headers.update(headers)
        assert {row: send(world, browser, row, token).status_code for row in UNSAFE if row != "POST /login"} == {
            row: 403 for row in UNSAFE if row != "POST /login"
        }
        assert browser.post("/login", data={"token": world.secrets["ada"]}).status_code == 403
        for name in headers:
            del browser.headers[name]
