"""Packs as they stand on disk, read again only when one of their files has changed."""

from functools import lru_cache
from pathlib import Path

from grading import outline
from grading.outline import Outline
from grading.settings import Settings

Stamp = tuple[tuple[str, int, int], ...]


def outline_of(settings: Settings, name: str) -> Outline:
    """The public part of a pack; raises `PackError`."""
    folder = outline.find(settings, name)
    return _outline(folder, stamp(folder))


def stamp(folder: Path) -> Stamp:
    """What changes whenever a file of the pack does: each one's path, time and size."""
    files = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    facts = ((str(path.relative_to(folder)), path.stat()) for path in files)
    return tuple(sorted((name, fact.st_mtime_ns, fact.st_size) for name, fact in facts))


@lru_cache(maxsize=32)
def _outline(folder: Path, changed: Stamp) -> Outline:
    return outline.read(folder)
