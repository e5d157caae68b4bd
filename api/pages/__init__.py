"""The web pages: HTML from the same functions as the API, working without JavaScript.

Not covered: what a question's answer is worth. Pages show what was stored and hand in what was given.
"""

from fastapi import APIRouter

from api.pages import account, clients, handin, labs, login, roster, staff, submissions
from api.pages.errors import error_page

router = APIRouter()
for module in (login, labs, handin, submissions, account, staff, roster, clients):
    router.include_router(module.router)

__all__ = ["error_page", "router"]
