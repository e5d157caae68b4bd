"""Errors as pages in the same layout; who is not signed in is sent to sign in and comes back."""

from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from api.pages.rendering import page

TITLES = {
    400: "That request could not be read",
    403: "This is not yours to do",
    404: "There is no such page",
    405: "That does not work here",
    409: "Things have moved on",
    413: "That file is too large",
    422: "Something in the address or form is not right",
    429: "Too many tries",
    500: "Something broke on our side",
    503: "Rooflab cannot answer right now",
}


def error_page(request: Request, status: int, detail: str) -> Response:
    """The page for an error outside the API's addresses."""
    if status == 401:
        return _sign_in(request)
    title = TITLES.get(status, "That did not work")
    return page(request, "error.html", status, status=status, title=title, text=detail)


def _sign_in(request: Request) -> Response:
    safe = request.method in ("GET", "HEAD")
    back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Refresh": "true"})
    target = f"/login?next={quote(back)}" if safe and back != "/" else "/login"
    return RedirectResponse(target, 303)
