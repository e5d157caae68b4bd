"""The bytes handed in, each under its SHA-256: `blobs/ab/abcd…`. Whole or absent, private, never changed."""

import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CHUNK = 1 << 20
HALF_WRITTEN = ".*"
STALE_SECONDS = 3600.0  # whatever is younger may be somebody's who is still at work


class Staged:
    """Bytes that are written and synchronised, but not yet kept."""

    def __init__(self, folder: Path, temporary: Path, sha256: str, size: int) -> None:
        self.sha256 = sha256
        self.size = size
        self._temporary = temporary
        self._final = path(folder, sha256)

    def keep(self) -> None:
        """Put the bytes in their place, in one step. They outlast a loss of power from now on."""
        os.rename(self._temporary, self._final)
        for folder in (self._final.parent, self._final.parent.parent):  # the folder too may be new
            synchronise(folder)


@contextmanager
def staged(folder: Path, source: Path) -> Iterator[Staged]:
    """Copy a file's bytes in; what has not been kept when the block ends is gone."""
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        synchronise(folder.parent)
    temporary = folder / f".{secrets.token_hex(16)}"
    try:
        sha256, size = _copy(source, temporary)
        path(folder, sha256).parent.mkdir(mode=0o700, exist_ok=True)
        yield Staged(folder, temporary, sha256, size)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def keep(folder: Path, source: Path) -> str:
    """Keep a file's bytes; the name they go by from now on."""
    with staged(folder, source) as copy:
        copy.keep()
        return copy.sha256


def path(folder: Path, sha256: str) -> Path:
    """Where the bytes of this name are."""
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise ValueError("not a SHA-256 in hexadecimal")
    return folder / sha256[:2] / sha256


def purge(folder: Path, pattern: str = HALF_WRITTEN) -> None:
    """Delete what a process left in a folder when it died, half-written bytes or others by their names."""
    for path in folder.glob(pattern):
        with suppress(FileNotFoundError):
            if path.is_file() and time.time() - path.stat().st_mtime > STALE_SECONDS:
                path.unlink()


def synchronise(folder: Path) -> None:
    """Have the disk keep what was made, renamed and deleted in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(source: Path, target: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(source, "rb") as read, open(descriptor, "wb") as write:
        while chunk := read.read(CHUNK):
            digest.update(chunk)
            size += write.write(chunk)
        write.flush()
        os.fsync(write.fileno())
    return digest.hexdigest(), size
