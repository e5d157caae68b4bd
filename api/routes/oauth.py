"""The LMS's way in: OAuth 2 client credentials (RFC 6749, section 4.4). Errors have that document's form."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import unquote_plus

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from api.auth import address_of, settings_of
from api.limits import Attempts
from api.problems import documented
from api.schemas import AccessToken, OAuthError
from grading.settings import Settings
from grading.store import courses, tokens
from grading.store.session import transaction
from grading.store.tokens import Purpose, Scope

router = APIRouter(prefix="/oauth2", tags=["grades"])
LIFETIME = timedelta(hours=1)
ErrorCode = Literal["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"]
FORM = {
    "type": "object",
    "required": ["grant_type"],
    "properties": {
        "grant_type": {"type": "string", "enum": ["client_credentials"]},
        "scope": {"type": "string", "examples": ["grades"]},
        "client_id": {"type": "string"},
        "client_secret": {"type": "string", "format": "password"},
    },
}


@router.post(
    "/token",
    operation_id="issue_access_token",
    response_model=AccessToken,
    responses=documented(413, 422, 429, 500, 503)
    | {
        400: {"model": OAuthError, "description": "not a request of this form"},
        401: {"model": OAuthError, "description": "unknown client, or wrong secret"},
    },
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/x-www-form-urlencoded": {"schema": FORM}}},
        "security": [{"clientBasic": []}, {}],
    },
)
async def token(request: Request) -> JSONResponse:
    """Trade a client's id and secret (HTTP Basic, or in the form) for a token of one hour."""
    attempts: Attempts = request.app.state.attempts
    attempts.refuse_if_many(address_of(request))
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return _error(400, "invalid_request", "Send a form: application/x-www-form-urlencoded.")
    try:
        async with request.form(max_files=0, max_fields=10, max_part_size=4096) as form:
            given = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    except HTTPException as error:
        if error.status_code != 400:
            raise
        return _error(400, "invalid_request", "The form cannot be read.")
    fields = dict(given)
    if len(fields) != len(given):
        return _error(400, "invalid_request", "A field is given twice.")
    try:
        client_id, secret = _credentials(request.headers.get("authorization"), fields)
    except ValueError as error:
        return _error(400, "invalid_request", str(error))
    grant = fields.get("grant_type")
    if not grant:
        return _error(400, "invalid_request", "grant_type is missing.")
    if grant != "client_credentials":
        return _error(400, "unsupported_grant_type", "Only client_credentials is taken here.")
    if any(scope != Scope.GRADES for scope in fields.get("scope", "").split()):
        return _error(400, "invalid_scope", "The only scope is grades.")
    attempts.refuse_if_many(f"client {client_id}", "client")
    made = await run_in_threadpool(_issue, settings_of(request), client_id, secret)
    if made is None:
        attempts.failed(address_of(request))
        attempts.failed(f"client {client_id}")
        return _error(401, "invalid_client", "Unknown client, or wrong secret.")
    return _uncached(200, AccessToken(access_token=made).model_dump())


def _issue(settings: Settings, client_id: str, secret: str) -> str | None:
    now = datetime.now(UTC)
    with transaction(settings.database) as session:
        client = courses.client_with_secret(session, client_id, secret)
        if client is None:
            return None
        tokens.purge(session, now)
        _, made = tokens.issue(
            session, Purpose.ACCESS, now=now, scopes=[Scope.GRADES], client_id=client.id, lifetime=LIFETIME
        )
    return made


def _credentials(authorization: str | None, fields: dict[str, str]) -> tuple[str, str]:
    in_form = "client_secret" in fields
    if authorization is None:
        return fields.get("client_id", "")[:64], fields.get("client_secret", "")
    if in_form:
        raise ValueError("Give the secret once: by HTTP Basic or in the form.")
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        raise ValueError("A client signs in by HTTP Basic or in the form.")
    try:
        name, separator, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("The Authorization header is not HTTP Basic.") from None
    if not separator:
        raise ValueError("The Authorization header is not HTTP Basic.")
    return unquote_plus(name)[:64], unquote_plus(secret)


def _error(status: int, error: ErrorCode, description: str) -> JSONResponse:
    answer = _uncached(status, OAuthError(error=error, error_description=description).model_dump())
    if status == 401:
        answer.headers["WWW-Authenticate"] = 'Basic realm="rooflab"'
    return answer


def _uncached(status: int, content: dict[str, object]) -> JSONResponse:
    return JSONResponse(content, status, headers={"Cache-Control": "no-store", "Pragma": "no-cache"})
