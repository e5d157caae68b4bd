"""Signing in with a personal token, and out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from api.auth import Person, check_csrf, close_session, current_person, open_session
from api.pages.rendering import page

router = APIRouter()
UNKNOWN = "This token is not known here. It may be mistyped, revoked or past its end."


@router.get("/login")
def form(request: Request, next: str = "/") -> Response:
    """The form that asks for a token."""
    return page(request, "login.html", next=local(next), error="")


@router.post("/login")
def sign_in(request: Request, token: Annotated[str, Form()] = "", next: Annotated[str, Form()] = "/") -> Response:
    """Open a session and go where the reader was headed."""
    answer = RedirectResponse(local(next), 303)
    if token.strip() and open_session(request, answer, token):
        return answer
    error = UNKNOWN if token.strip() else "Paste your token first."
    return page(request, "login.html", 401, next=local(next), error=error)


@router.post("/logout")
def sign_out(
    request: Request, person: Annotated[Person, Depends(current_person)], csrf: Annotated[str, Form()] = ""
) -> Response:
    """End the session."""
    check_csrf(request, csrf)
    answer = RedirectResponse("/login", 303)
    close_session(request, answer)
    return answer


def local(address: str) -> str:
    """An address of this site to go on to; anything that a browser could take for another site becomes the start."""
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return address if plain and address.startswith("/") and not address.startswith("//") else "/"
