"""Behind a proxy every client is counted by its own address, and nobody but the proxy may say which one that is."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

PROXY, OTHER = "127.0.0.2", "127.0.0.3"  # where a request comes from, as the server sees it
MANY = 30


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that trusts one proxy, started as in production."""
    given = {"ROOFLAB_DATA": str(tmp_path_factory.mktemp("data")), "ROOFLAB_PROXIES": f"10.9.0.0/16, {PROXY}"}
    command = [sys.executable, "-m", "api.cli", "serve", "--no-worker", "--port", "0", "--json"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, env=os.environ | given, cwd=root, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            yield json.loads(service.stdout.readline())["url"]
        finally:
            service.terminate()


def sign_in(address: str, peer: str, client: str) -> int:
    """The status of a wrong sign-in that `peer` passes on for `client`."""
    with httpx.Client(base_url=address, transport=httpx.HTTPTransport(local_address=peer), timeout=60) as http:
        return http.post("/login", data={"token": "wrong"}, headers={"X-Forwarded-For": client}).status_code


def test_one_client_s_failures_behind_the_proxy_keep_no_other_client_out(address: str) -> None:
    seen = [sign_in(address, PROXY, "198.51.100.1") for _ in range(MANY + 1)]
    assert seen == [401] * MANY + [429]
    assert sign_in(address, PROXY, "198.51.100.2") == 401


def test_a_client_behind_the_proxy_cannot_make_up_another_address(address: str) -> None:
    seen = [sign_in(address, PROXY, f"203.0.113.{number}, 198.51.100.3") for number in range(MANY + 1)]
    assert seen == [401] * MANY + [429]


def test_who_is_no_proxy_is_counted_by_the_address_it_comes_from(address: str) -> None:
    seen = [sign_in(address, OTHER, f"203.0.113.{number}") for number in range(MANY + 1)]
    assert seen == [401] * MANY + [429]


def test_a_client_s_wrong_secrets_are_counted_by_its_id_wherever_they_come_from(address: str) -> None:
    def ask(client: str, place: int) -> int:
        headers = {"X-Forwarded-For": f"192.0.2.{place}"}
        with httpx.Client(base_url=address, transport=httpx.HTTPTransport(local_address=PROXY), timeout=60) as http:
            form = {"grant_type": "client_credentials"}
            return http.post("/oauth2/token", data=form, auth=(client, "wrong"), headers=headers).status_code

    seen = [ask("client-0123456789abcdef", place) for place in range(MANY + 1)]
    assert seen == [401] * MANY + [429]
    assert ask("client-of-another-course", 1) == 401
