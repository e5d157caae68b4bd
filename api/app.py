"""The web service, put together: routes, pages, errors, limits. Nothing else constructs an app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware
from starlette.staticfiles import StaticFiles

from api import pages, problems, routes
from api.limits import Attempts, BodyLimit
from api.pages.headers import SecurityHeaders
from api.schemas import Progress
from api.streams import Streams
from grading.answers.reading import warm
from grading.settings import Settings
from grading.store import blobs

STATIC = Path(__file__).parent / "static"
DESCRIPTION = """Rooflab grades a GPU-performance lab: counts, code and measurements, with feedback that teaches.

Every error is `application/problem+json` with a stable `code`. Points are exact decimals, written as strings."""


def make_app(settings: Settings | None = None) -> FastAPI:
    """The service for these settings. It migrates nothing: `rooflab db upgrade` does."""
    settings = settings or Settings()
    app = FastAPI(
        title="Rooflab",
        version="1",
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # it would load scripts from elsewhere, which the content security policy forbids
        redoc_url=None,
        lifespan=_lifespan,
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(BodyLimit, upload_bytes=settings.max_upload_bytes),
        ],
    )
    app.state.settings = settings
    app.state.attempts = Attempts()
    app.state.streams = Streams(settings)
    problems.install(app, pages.error_page)
    app.include_router(routes.router)
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    settings.data.mkdir(parents=True, exist_ok=True)
    (settings.data / "tmp").mkdir(mode=0o700, exist_ok=True)
    blobs.purge(settings.data / "blobs")
    blobs.purge(settings.data / "tmp", "*")
    _ = settings.seed_secret
    await warm(settings.readers)
    yield


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        made["components"]["securitySchemes"]["clientBasic"] = {"type": "http", "scheme": "basic"}
        app.openapi_schema = problems.describe(made, Progress)
    return app.openapi_schema
