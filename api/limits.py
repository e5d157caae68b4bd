"""Bounds on what a client may send: bytes of a body, counted as they arrive, and failed attempts at signing in.

Not covered: slow clients and floods from many addresses, which are a reverse proxy's to hold off.
"""

import time
from collections import OrderedDict, deque

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import ProblemError

FORM_SLACK_BYTES = 256 * 1024  # boundaries and small fields around the file
PLAIN_BYTES = 1024 * 1024  # JSON and simple forms are read whole into memory
ATTEMPTS, ATTEMPT_SECONDS, ADDRESSES = 30, 60.0, 10_000


class BodyLimit:
    """Stops a body that is too long while it arrives, whether or not its length was announced."""

    def __init__(self, app: ASGIApp, upload_bytes: int) -> None:
        self.app = app
        self.upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        form = headers.get("content-type", "").startswith("multipart/form-data")
        limit = self.upload_bytes + FORM_SLACK_BYTES if form else PLAIN_BYTES
        announced = _announced(headers)
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            if announced > limit and headers.get("expect", "").lower() == "100-continue":
                raise _too_large(limit)  # the client waits for a word before it sends anything
            message = await receive()
            taken += len(message.get("body", b""))
            if announced > limit or taken > limit:
                await _drain(receive, message, limit)
                raise _too_large(limit)
            return message

        await self.app(scope, counted, send)


class Attempts:
    """Failed attempts within the last minute, in this process: by address, and of clients by their id as well."""

    def __init__(self) -> None:
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    def refuse_if_many(self, whose: str, named: str = "address") -> None:
        """Raise 429 once there were too many of these."""
        failed = self._failed.get(whose)
        horizon = time.monotonic() - ATTEMPT_SECONDS
        while failed and failed[0] < horizon:
            failed.popleft()
        if failed and len(failed) >= ATTEMPTS:
            detail = f"Too many failed attempts from this {named}. Wait a minute, then try again."
            raise ProblemError(429, "too-many-attempts", detail, {"Retry-After": str(int(ATTEMPT_SECONDS))})

    def failed(self, whose: str) -> None:
        """Count a failed attempt."""
        self._failed.setdefault(whose, deque(maxlen=ATTEMPTS)).append(time.monotonic())
        self._failed.move_to_end(whose)
        while len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)


def too_large(limit: int) -> ProblemError:
    """The problem that a file or body is over its limit."""
    return _too_large(limit)


async def _drain(receive: Receive, message: Message, limit: int) -> None:
    """Read on for a while, unkept: a client that is still sending would see a broken connection, not the answer."""
    left = limit
    while message["type"] == "http.request" and message.get("more_body", False) and left > 0:
        message = await receive()
        left -= len(message.get("body", b""))


def _announced(headers: Headers) -> int:
    try:
        return int(headers.get("content-length", "0"))
    except ValueError:
        return 0


def _too_large(limit: int) -> ProblemError:
    size = f"{limit / (1024 * 1024):.0f} MB" if limit >= 1024 * 1024 else f"{limit} bytes"
    return ProblemError(
        413,
        "too-large",
        f"That is more than the {size} taken here. Clear the notebook's outputs, or hand in the functions alone.",
        {"Connection": "close"},
    )
