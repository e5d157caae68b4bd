"""Tokens and sessions: shown once, kept as a hash, revocable, and never more than what they came from."""

import string
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from api_world import NOW, World, make_world
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.auth import COOKIE
from grading.settings import Settings
from grading.store import tokens
from grading.store.session import reading, transaction
from grading.store.tables import Client, Token
from grading.store.tokens import Purpose, Scope


@pytest.fixture
def world(settings: Settings, tmp_path: Path) -> Iterator[World]:
    with make_world(settings, tmp_path) as made:
        yield made


@contextmanager
def signed_in(world: World, login: str) -> Iterator[httpx.Client]:
    """A browser with somebody's session."""
    with httpx.Client(base_url=world.http.base_url, timeout=60) as browser:
        answer = browser.post("/login", data={"token": world.secrets[login]}, headers={"Origin": origin(world)})
        assert answer.status_code == 303, answer.text
        yield browser


def origin(world: World) -> str:
    return str(world.http.base_url).rstrip("/")


def test_a_secret_has_160_random_bits_a_checksum_and_letters_that_a_double_click_selects() -> None:
    secret = tokens.new_secret(tokens.PREFIXES[Purpose.PERSONAL])
    body = secret.removeprefix("rooflab_pat_")
    assert len(body) == 36
    assert 62**30 > 2**160
    assert set(body) <= set(string.ascii_letters + string.digits)
    assert tokens.well_formed(secret)
    assert secret != tokens.new_secret("rooflab_pat_")


@given(st.integers(0, 46), st.sampled_from(string.ascii_letters))
def test_a_mistyped_letter_never_reaches_the_database(position: int, letter: str) -> None:
    secret = tokens.new_secret("rooflab_pat_")
    typed = secret[:position] + letter + secret[position + 1 :]
    assert tokens.well_formed(typed) == (typed == secret)


@given(st.text())
def test_no_other_text_is_taken_for_a_secret(text: str) -> None:
    assert not tokens.well_formed(text)
    assert not tokens.well_formed("rooflab_pat_" + text)


def test_a_secret_is_shown_once_and_stored_nowhere(world: World) -> None:
    made = world.http.post("/api/v1/tokens", json={"name": "laptop", "scopes": ["read"]}, headers=world.bearer("ann"))
    secret = made.json()["secret"]
    assert made.headers["cache-control"] == "no-store"
    assert secret not in world.get("ann", "/tokens").text
    with reading(world.settings.database) as session:
        for token in session.scalars(select(Token)):
            assert secret not in str(vars(token))
        for client in session.scalars(select(Client)):
            assert world.clients[client.course_id][1] not in str(vars(client))


def test_a_new_token_does_no_more_and_lasts_no_longer_than_the_one_that_asked(world: World) -> None:
    ask = {"name": "x", "scopes": ["staff"]}
    refused = world.http.post("/api/v1/tokens", json=ask, headers=world.bearer("ann"))
    assert (refused.status_code, refused.json()["code"]) == (403, "scopes")
    later = (datetime.now(UTC) + timedelta(days=300)).isoformat()
    made = world.http.post(
        "/api/v1/tokens", json={"name": "x", "scopes": ["read"], "expires_at": later}, headers=world.bearer("ann")
    )
    assert datetime.fromisoformat(made.json()["expires_at"]) == NOW + timedelta(days=30)
    past = {"name": "x", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}
    assert world.http.post("/api/v1/tokens", json=past, headers=world.bearer("ann")).json()["code"] == "expiry"


def test_a_revoked_token_is_refused_by_name_and_nobody_else_can_revoke_it(world: World) -> None:
    made = world.http.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"]}, headers=world.bearer("ann")).json()
    bearer = {"Authorization": f"Bearer {made['secret']}"}
    path = f"/api/v1/tokens/{made['id']}"
    assert world.http.delete(path, headers=world.bearer("ada")).status_code == 404
    assert world.http.get("/api/v1/labs", headers=bearer).status_code == 200
    assert world.http.delete(path, headers=world.bearer("ann")).status_code == 204
    refused = world.http.get("/api/v1/labs", headers=bearer)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'


def test_a_token_past_its_time_is_refused(world: World) -> None:
    with transaction(world.settings.database) as session:
        _, secret = tokens.issue(
            session,
            Purpose.PERSONAL,
            now=NOW - timedelta(days=2),
            scopes=[Scope.READ],
            user_id=world.users["ann"],
            lifetime=timedelta(days=1),
        )
    assert world.http.get("/api/v1/labs", headers={"Authorization": f"Bearer {secret}"}).status_code == 401


@pytest.mark.parametrize("door", ["signing in", "a client's request"])
def test_sessions_and_access_tokens_are_forgotten_a_day_after_they_ended(world: World, door: str) -> None:
    now, second = datetime.now(UTC), timedelta(seconds=1)
    ends = {"long over": now - timedelta(days=1) - second, "lately over": now - second, "in force": now + second}

    def made(session: Session, purpose: Purpose, name: str, end: datetime, revoked: bool) -> None:
        start = now - timedelta(days=9)
        holder = (
            {"client_id": world.clients["gpu"][0]} if purpose is Purpose.ACCESS else {"user_id": world.users["ann"]}
        )
        name = f"{purpose}, {name}{', revoked' if revoked else ''}"
        lifetime = timedelta(days=99) if revoked else end - start
        token, _ = tokens.issue(session, purpose, now=start, scopes=[], name=name, lifetime=lifetime, **holder)
        token.revoked_at = end if revoked and end < now else None

    def names() -> set[str]:
        with reading(world.settings.database) as session:
            return {name for name in session.scalars(select(Token.name)) if ", " in name}

    with transaction(world.settings.database) as session:
        for purpose in Purpose:
            for name, end in ends.items():
                for revoked in (False, True):
                    made(session, purpose, name, end, revoked)
    before = names()
    if door == "signing in":
        with signed_in(world, "bob"):
            pass
    else:
        world.access("gpu")
    assert before - names() == {
        f"{purpose}, long over{revoked}" for purpose in ("session", "access") for revoked in ("", ", revoked")
    }


def test_a_last_use_is_kept_to_the_minute(world: World) -> None:
    def last() -> datetime:
        return datetime.fromisoformat(world.get("ann", "/tokens").json()["items"][0]["last_used_at"])

    last()
    first = last()
    assert last() == first
    with transaction(world.settings.database) as session:
        tokens.note_use(session, world.get("ann", "/tokens").json()["items"][0]["id"], first - timedelta(minutes=2))
    assert world.get("ann", "/labs").status_code == 200
    assert last() >= first


def test_what_is_no_token_is_401_and_says_how(world: World) -> None:
    for header in (b"", b"Bearer", b"Bearer x", b"Basic YTpi", b"Bearer rooflab_pat_\xe9"):
        answer = world.http.get("/api/v1/labs", headers=[(b"Authorization", header)] if header else [])
        assert answer.status_code == 401, header
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_secret_works_only_where_its_purpose_says(world: World) -> None:
    """A session is no bearer token, a personal token no cookie, a client's secret neither."""
    with signed_in(world, "ann") as browser:
        session = browser.cookies[COOKIE]
        assert browser.get("/api/v1/labs").status_code == 200
    assert world.http.get("/api/v1/labs", headers={"Authorization": f"Bearer {session}"}).status_code == 401
    for secret in (world.secrets["ann"], world.clients["gpu"][1]):
        assert world.http.get("/api/v1/labs", headers={"Cookie": f"{COOKIE}={secret}"}).status_code == 401
    client = {"Authorization": f"Bearer {world.clients['gpu'][1]}"}
    assert world.http.get("/api/v1/courses/gpu/grades", headers=client).status_code == 401


def test_the_session_cookie_is_out_of_scripts_and_other_sites_reach(world: World) -> None:
    answer = world.http.post("/login", data={"token": world.secrets["ann"]})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie.replace("samesite", "")
    world.settings.secure_cookies = True
    assert "; secure" in world.http.post("/login", data={"token": world.secrets["ann"]}).headers["set-cookie"].lower()


def test_a_session_ends_with_the_token_it_was_opened_with(world: World) -> None:
    made = world.http.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"]}, headers=world.bearer("ann")).json()
    world.secrets["ann, second"] = made["secret"]
    with signed_in(world, "ann, second") as browser:
        assert browser.get("/api/v1/labs").status_code == 200
        world.http.delete(f"/api/v1/tokens/{made['id']}", headers=world.bearer("ann"))
        assert browser.get("/api/v1/labs").status_code == 401


def test_signing_out_revokes_the_session_and_not_only_the_cookie(world: World) -> None:
    with signed_in(world, "ann") as browser:
        kept = browser.cookies[COOKIE]
        page = browser.get("/account").text
        csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
        assert browser.post("/logout", data={"csrf": csrf}, headers={"Origin": origin(world)}).status_code == 303
    assert world.http.get("/api/v1/labs", headers={"Cookie": f"{COOKIE}={kept}"}).status_code == 401


def test_a_cookie_alone_moves_nothing_when_another_site_sends_it(world: World) -> None:
    cases: list[tuple[dict[str, str], int]] = [
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Origin": origin(world)}, 201),
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"X-CSRF-Token": "0" * 64}, 403),
    ]
    with signed_in(world, "ann") as browser:
        for headers, status in cases:
            answer = browser.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"]}, headers=headers)
            assert answer.status_code == status, headers
    made = [token["name"] for token in world.get("ann", "/tokens").json()["items"]]
    assert made == ["x", "x", "test"]


def test_a_form_token_is_bound_to_its_session(world: World) -> None:
    def csrf(browser: httpx.Client) -> str:
        return browser.get("/account").text.partition('name="csrf" value="')[2].partition('"')[0]

    ask = {"json": {"name": "x", "scopes": ["read"]}}
    with signed_in(world, "ann") as ann, signed_in(world, "bob") as bob:
        own, other = csrf(ann), csrf(bob)
        assert own
        assert own != other
        assert ann.post("/api/v1/tokens", headers={"X-CSRF-Token": other}, **ask).status_code == 403  # type: ignore[arg-type]
        assert ann.post("/api/v1/tokens", headers={"X-CSRF-Token": own}, **ask).status_code == 201  # type: ignore[arg-type]
        assert ann.post("/account/tokens", data={"name": "x", "csrf": other}).status_code == 403


def test_signing_in_is_refused_after_many_failures_and_from_another_site(world: World) -> None:
    foreign = {"Origin": "https://evil.example"}
    assert world.http.post("/login", data={"token": world.secrets["ann"]}, headers=foreign).status_code == 403
    seen = {world.http.post("/login", data={"token": "wrong"}).status_code for _ in range(31)}
    assert seen == {401, 429}
    assert world.http.post("/login", data={"token": world.secrets["ann"]}).status_code == 429
    assert world.get("ann", "/labs").status_code == 200
