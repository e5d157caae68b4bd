"""Every error as `application/problem+json` (RFC 9457), with a stable `code` and a sentence that says what to do.

What was sent is never repeated: a message names the place of a fault (`body.due_at`), clipped, and not its content.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, Response

from grading.answers.model import Refused
from grading.intake import Closed
from grading.outline import PackError

MEDIA_TYPE = "application/problem+json"
FAULTS_SHOWN = 20
API_PREFIXES = ("/api/", "/oauth2/")
log = logging.getLogger(__name__)


class Fault(BaseModel):
    """One part of a request that is not as it should be."""

    where: str = Field(description="place in the request", examples=["body.due_at"])
    message: str


class Problem(BaseModel):
    """Why a request was not answered as asked."""

    type: str = Field(description="the code as an URN", examples=["urn:rooflab:problem:no-such-lab"])
    title: str = Field(description="the status in words", examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="a sentence for a person", examples=["There is no such lab, or it is not yours."])
    code: str = Field(description="short and stable, for programs", examples=["no-such-lab"])
    faults: list[Fault] = []


class ProblemError(HTTPException):
    """Raised wherever a request cannot be answered as asked."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, dict(headers) if headers else None)
        self.code = code


ErrorPage = Callable[[Request, int, str], Response]


def install(app: FastAPI, error_page: ErrorPage) -> None:
    """Answer every error of the app: as a problem under the API's addresses, as a page elsewhere."""

    def answer(
        request: Request,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        faults: Sequence[Fault] = (),
    ) -> Response:
        if not request.url.path.startswith(API_PREFIXES):
            response = error_page(request, status, detail)
            response.headers.update(headers or {})
            return response
        return respond(status, code, detail, headers, faults)

    def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, StarletteHTTPException)
        code = error.code if isinstance(error, ProblemError) else _slug(error.status_code)
        detail = DETAILS.get(error.status_code, "") if type(error) is StarletteHTTPException else str(error.detail)
        return answer(request, error.status_code, code, detail or _title(error.status_code), error.headers)

    def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        faults = [_fault(one) for one in error.errors()[:FAULTS_SHOWN]]
        if error.errors()[0]["type"] == "json_invalid":
            return answer(request, 400, "not-json", "The body is not valid JSON.")
        detail = f"{faults[0].where}: {faults[0].message}."
        return answer(request, 422, "invalid-request", detail, None, faults)

    def on_refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return answer(request, REFUSED.get(error.code, 422), _slugged(error.code), error.message)

    def on_closed(request: Request, error: Exception) -> Response:
        assert isinstance(error, Closed)
        return answer(request, 409, _slugged(error.code), error.message)

    def on_pack(request: Request, error: Exception) -> Response:
        log.error("A pack cannot be read: %s", error)
        detail = "The questions of this lab cannot be read on our side. Tell the course staff; it costs you nothing."
        return answer(request, 503, "pack", detail)

    def on_database(request: Request, error: Exception) -> Response:
        log.error("The database does not answer (%s).", type(getattr(error, "orig", error)).__name__)
        detail = "The database does not answer at the moment. Nothing was lost; try again shortly."
        return answer(request, 503, "database-unavailable", detail, {"Retry-After": "5"})

    def on_fault(request: Request, error: Exception) -> Response:
        detail = "Something went wrong on our side. It was recorded; it costs you nothing."
        return answer(request, 500, "internal-error", detail)

    app.add_exception_handler(StarletteHTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(Refused, on_refused)
    app.add_exception_handler(Closed, on_closed)
    app.add_exception_handler(PackError, on_pack)
    for away in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(away, on_database)
    app.add_exception_handler(Exception, on_fault)


def respond(
    status: int,
    code: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
    faults: Sequence[Fault] = (),
) -> JSONResponse:
    """A problem as an answer."""
    problem = Problem(
        type=f"urn:rooflab:problem:{code}",
        title=_title(status),
        status=status,
        detail=detail,
        code=code,
        faults=list(faults),
    )
    answer = JSONResponse(problem.model_dump(mode="json"), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)
    answer.headers.setdefault("Cache-Control", "no-store")
    return answer


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems of a route, for its OpenAPI description."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _title(status), "content": content} for status in statuses}


def describe(document: dict[str, Any], *models: type[BaseModel]) -> dict[str, Any]:
    """An OpenAPI document with the schemas that routes point to by name alone: a problem's, and these."""
    schemas = document["components"]["schemas"]
    wanted: list[type[BaseModel]] = [Problem, *models]
    for model in wanted:
        described = model.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        schemas.update(described.pop("$defs", {}))
        schemas[model.__name__] = described
    return document


REFUSED = {  # the status of a refused file, by its code; 422 for what is of a right kind but wrong inside
    "empty": 400,
    "truncated": 400,
    "unreadable": 400,
    "bad_zip": 400,
    "not_json": 400,
    "too_large": 413,
    "zip_bomb": 413,
    "binary": 415,
    "encoding": 415,
    "html_export": 415,
    "wrong_kind": 415,
}
DETAILS = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    400: "The request cannot be read.",
}


def _fault(error: Mapping[str, Any]) -> Fault:
    where = ".".join(_clipped(str(part), 64) for part in error["loc"][:8])
    return Fault(where=where, message=_clipped(str(error["msg"]), 200))


def _clipped(text: str, letters: int) -> str:
    cleaned = "".join(letter if letter.isprintable() else "�" for letter in text[:letters])
    return cleaned if len(text) <= letters else cleaned + "…"


def _slugged(code: str) -> str:
    return code.replace("_", "-")


def _slug(status: int) -> str:
    return _title(status).lower().replace(" ", "-")


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
