"""One's own tokens: listed, made (the secret is shown once), revoked."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth import Person, check_csrf, current_person, settings_of
from api.pages.rendering import page
from api.pages.times import When, when
from api.problems import ProblemError
from api.routes import tokens as door
from api.schemas import NewToken
from grading.store import tokens
from grading.store.session import reading
from grading.store.tokens import Scope

router = APIRouter(prefix="/account")
LIFETIMES = ((30, "30 days"), (120, "120 days"), (365, "a year"))
SCOPES = {
    Scope.SUBMIT: "hand in",
    Scope.READ: "read labs and results",
    Scope.STAFF: "what course staff may do",
    Scope.ADMIN: "what admins may do",
}
NAMELESS = "Give it a name of 1 to 100 ordinary characters, and choose at least one use."
USUAL = (Scope.SUBMIT, Scope.READ)
Who = Annotated[Person, Depends(current_person)]


@router.get("")
def account(request: Request, person: Who) -> Response:
    """The tokens in force and a form to make one."""
    return _shown(request, person)


@router.post("/tokens")
def make(
    request: Request,
    person: Who,
    csrf: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    days: Annotated[int, Form(ge=1, le=365)] = 120,
    scopes: Annotated[list[Scope] | None, Form()] = None,
) -> Response:
    """Make a token; the answer is the only place where its secret appears."""
    check_csrf(request, csrf)
    try:
        wanted = NewToken(name=name, scopes=scopes or [], expires_at=datetime.now(UTC) + timedelta(days=days))
        made = door.make(request, Response(), wanted, person)
    except ValidationError:
        return _shown(request, person, 422, name=name, name_problem=NAMELESS)
    except ProblemError as refused:
        return _shown(request, person, refused.status_code, name=name, name_problem=str(refused.detail))
    return _shown(request, person, 201, secret=made.secret)


@router.post("/tokens/{token}/revoke")
def revoke(request: Request, token: int, person: Who, csrf: Annotated[str, Form()] = "") -> Response:
    """Revoke a token; the sessions opened with it end too."""
    check_csrf(request, csrf)
    door.revoke(request, token, person)
    return RedirectResponse("/account", 303)


def _shown(
    request: Request, person: Person, code: int = 200, secret: str = "", name: str = "", name_problem: str = ""
) -> Response:
    now = datetime.now(UTC)
    with reading(settings_of(request).database) as session:
        rows = tokens.of_user(session, person.user_id)
    listed = [
        {
            "id": row.id,
            "name": row.name,
            "hint": row.hint,
            "scopes": ", ".join(SCOPES[Scope(scope)] for scope in row.scopes),
            "created": when(row.created_at, "UTC", now),
            "used": _maybe(row.last_used_at, now),
            "expires": _maybe(row.expires_at, now),
        }
        for row in rows
    ]
    return page(
        request,
        "account.html",
        code,
        tokens=listed,
        secret=secret,
        name=name,
        name_problem=name_problem,
        lifetimes=LIFETIMES,
        scopes=[(scope, words, scope in USUAL) for scope, words in SCOPES.items() if scope in person.scopes],
    )


def _maybe(moment: datetime | None, now: datetime) -> When | None:
    return when(moment, "UTC", now) if moment else None
