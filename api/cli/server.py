"""The service as the command line sees it: one connection, and errors as sentences with an exit code."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpx
import typer
from rich.console import Console

REFUSED, UNREACHABLE, NOT_AUTHORISED = 3, 4, 5
err = Console(stderr=True)


class Server:
    """An HTTP connection to a Rooflab service. Every failure ends the command with one line that says what to do."""

    def __init__(self, url: str, token: str) -> None:
        if not url.startswith(("http://", "https://")):
            _stop(f"{url!r} is no address: it begins with http:// or https://.", UNREACHABLE)
        if not token:
            _stop(f"No token: give one with --token or ROOFLAB_TOKEN. You make it on {url}/account.", NOT_AUTHORISED)
        if not re.fullmatch(r"[!-~]+", token):
            _stop("This is no token: it has characters that none has. Copy it again, whole.", NOT_AUTHORISED)
        self._http = httpx.Client(
            base_url=url.rstrip("/") + "/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
            trust_env=not _is_here(url),  # a proxy that the environment names reaches another machine's loopback
        )
        self._url = url

    def get(self, path: str, **parameters: str) -> Any:
        return self._send("GET", path, params=parameters)

    def hand_in(self, lab: str, file: Path) -> dict[str, Any]:
        """Hand a file in; the service's answer names the submission."""
        with open(file, "rb") as opened:
            answer = self._send("POST", f"/labs/{lab}/submissions", files={"file": (file.name, opened)})
        return dict(answer)

    def follow(self, submission: str) -> Iterator[dict[str, Any]]:
        """The submission's progress, event by event, until it is graded."""
        with (
            _reaching(self._url),
            self._http.stream("GET", f"/submissions/{submission}/events", timeout=httpx.Timeout(60, read=None)) as got,
        ):
            if got.is_error:
                got.read()
                _fail(got)
            for line in got.iter_lines():
                if line.startswith("data:"):
                    yield json.loads(line.removeprefix("data:"))

    def _send(self, method: str, path: str, **arguments: Any) -> Any:
        with _reaching(self._url):
            answer = self._http.request(method, path, **arguments)
        if answer.is_error:
            _fail(answer)
        return answer.json()


def _is_here(url: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _reaching(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.ConnectError:
        _stop(f"Nothing answers at {url}: is the service running there? --server or ROOFLAB_SERVER says where.")
    except (httpx.TransportError, httpx.InvalidURL) as error:
        _stop(f"{url} cannot be reached ({type(error).__name__}): check --server or ROOFLAB_SERVER.")


def _fail(answer: httpx.Response) -> NoReturn:
    try:
        problem = answer.json()
        reason = problem.get("detail") or problem.get("title") or ""
    except ValueError:
        reason = ""
    if answer.status_code == 401:
        _stop(f"Not authorised. {reason} Give a token with --token or ROOFLAB_TOKEN.", NOT_AUTHORISED)
    _stop(reason or f"The service answered {answer.status_code}.", REFUSED if answer.status_code < 500 else 1)


def _stop(message: str, code: int = UNREACHABLE) -> NoReturn:
    err.print(message, markup=False, soft_wrap=True)
    raise typer.Exit(code) from None
