"""The template environment and the one function that answers with a page."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api.auth import csrf_token
from api.pages import text, words

HERE = Path(__file__).resolve().parent.parent
STATIC = HERE / "static"


def page(request: Request, template: str, code: int = 200, **context: Any) -> HTMLResponse:
    """A template as an answer, with who is signed in. Pages are somebody's own: no cache keeps them."""
    person = getattr(request.state, "person", None)
    content = (
        environment()
        .get_template(template)
        .render(person=person, csrf=csrf_token(request) if person else "", **context)
    )
    return HTMLResponse(content, status_code=code, headers={"Cache-Control": "no-store"})


@cache
def environment() -> Environment:
    """The templates, with everything escaped and an unknown name an error."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(visible=text.visible, told=text.told, points=text.points, size=text.size)
    made.globals.update(static=static_url, counted=words.counted)
    return made


@cache
def static_url(name: str) -> str:
    """A static file's address, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"
