"""The API's routes, one module for each thing they are about."""

from fastapi import APIRouter

from api.problems import documented
from api.routes import health, oauth, tokens

router = APIRouter()
api = APIRouter(prefix="/api/v1", responses=documented(422, 500, 503))
for module in (health, tokens):
    api.include_router(module.router)
router.include_router(api)
router.include_router(oauth.router)
