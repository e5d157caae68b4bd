"""A file in a multipart form: written to disk as it arrives, never held whole in memory."""

import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from api.limits import too_large
from api.problems import ProblemError
from grading.settings import Settings


@asynccontextmanager
async def one_file(request: Request) -> AsyncIterator[tuple[UploadFile, dict[str, str]]]:
    """The form's `file`, and its other fields. Gone when the block ends."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise ProblemError(415, "wrong-media-type", "Send the file as multipart/form-data, in the field file.")
    async with request.form(max_files=1, max_fields=8, max_part_size=64 * 1024) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise ProblemError(422, "no-file", "The form has no file in the field file.")
        yield file, {name: value for name, value in form.multi_items() if isinstance(value, str)}


@asynccontextmanager
async def on_disk(settings: Settings, file: UploadFile) -> AsyncIterator[Path]:
    """An upload's bytes under a path, for as long as the block lasts."""
    path = settings.data / "tmp" / f"upload-{secrets.token_hex(16)}"
    try:
        await run_in_threadpool(_copy, file.file, path, settings.max_upload_bytes)
        yield path
    finally:
        path.unlink(missing_ok=True)


def _copy(file: BinaryIO, path: Path, limit: int) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(path, "xb", opener=_private) as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
        if copy.tell() > limit:
            raise too_large(limit)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
