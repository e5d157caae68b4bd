"""The API's routes, one module for each thing they are about."""

from fastapi import APIRouter

from api.problems import documented
from api.routes import clients, events, grades, health, labs, oauth, retry, roster, scoreboard, submissions, tokens

router = APIRouter()
api = APIRouter(prefix="/api/v1", responses=documented(405, 422, 500, 503))
for module in (health, labs, submissions, retry, events, scoreboard, roster, clients, grades, tokens):
    api.include_router(module.router)
router.include_router(api)
router.include_router(oauth.router)
