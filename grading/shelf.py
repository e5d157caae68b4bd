"""Packs as they stand on disk, read again only when one of their files has changed."""

import time
from functools import lru_cache
from pathlib import Path
from typing import Final

from grading import outline
from grading.outline import Outline
from grading.settings import Settings

LOOK_SECONDS: Final = 1.0  # between two looks at a pack's files, of which there are dozens

Stamp = tuple[tuple[str, int, int], ...]


def outline_of(settings: Settings, name: str) -> Outline:
    """The public part of a pack; raises `PackError`. A change is seen within a second."""
    folder = outline.find(settings, name)
    return _outline(folder, _lately(folder, int(time.monotonic() / LOOK_SECONDS)))


def stamp(folder: Path) -> Stamp:
    """What changes whenever a file of the pack does: each one's path, time and size."""
    files = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    facts = ((str(path.relative_to(folder)), path.stat()) for path in files)
    return tuple(sorted((name, fact.st_mtime_ns, fact.st_size) for name, fact in facts))


@lru_cache(maxsize=32)
def _lately(folder: Path, look: int) -> Stamp:
    return stamp(folder)


@lru_cache(maxsize=32)
def _outline(folder: Path, changed: Stamp) -> Outline:
    return outline.read(folder)
