"""Bytes handed in are kept whole or not at all, and for the service alone."""

import hashlib
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from classroom import LAB, open_course
from sqlalchemy import event

from api.app import make_app
from grading import intake
from grading.settings import Settings
from grading.store import blobs
from grading.store.session import engine, reading


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """For as long as the block lasts, no file of this process may grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_bytes_are_found_again_under_their_digest(tmp_path: Path) -> None:
    content = b"print('hello')\r\n\0\xff" * 100_000
    (tmp_path / "given").write_bytes(content)
    name = blobs.keep(tmp_path / "blobs", tmp_path / "given")
    assert name == hashlib.sha256(content).hexdigest()
    kept = blobs.path(tmp_path / "blobs", name)
    assert kept == tmp_path / "blobs" / name[:2] / name
    assert kept.read_bytes() == content


def test_the_same_bytes_are_kept_once(tmp_path: Path) -> None:
    for given in ("one", "two"):
        (tmp_path / given).write_bytes(b"same")
    assert len({blobs.keep(tmp_path / "blobs", tmp_path / given) for given in ("one", "two", "one")}) == 1
    assert len(files(tmp_path / "blobs")) == 1


def test_nobody_else_may_read_them(tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"mine")
    kept = blobs.path(tmp_path / "blobs", blobs.keep(tmp_path / "blobs", tmp_path / "given"))
    assert [path.stat().st_mode & 0o777 for path in (kept, kept.parent, kept.parent.parent)] == [0o600, 0o700, 0o700]


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"x" * 3_000_000)
    with full_disk(2_000_000), pytest.raises(OSError, match="File too large"):
        blobs.keep(tmp_path / "blobs", tmp_path / "given")
    assert files(tmp_path / "blobs") == []


def test_what_is_not_kept_in_the_end_is_gone(tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"x")
    with pytest.raises(ZeroDivisionError), blobs.staged(tmp_path / "blobs", tmp_path / "given"):
        raise ZeroDivisionError
    assert files(tmp_path / "blobs") == []


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a" * 63, "A" * 64, "a" * 63 + "/"])
def test_only_a_digest_is_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        blobs.path(tmp_path, name)


def test_bytes_are_on_the_disk_with_their_name_before_their_row_is(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    synchronise, rename = os.fsync, os.rename

    def noted_fsync(descriptor: int) -> None:
        synchronise(descriptor)
        done.append(
            "file" if stat.S_ISREG(os.fstat(descriptor).st_mode) else os.readlink(f"/proc/self/fd/{descriptor}")
        )

    def noted_rename(source: Path, target: Path) -> None:
        rename(source, target)
        done.append("rename")

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    event.listen(engine(settings.database), "commit", lambda connection: done.append("commit"))
    (student,) = open_course(settings.database)
    (tmp_path / "lab.py").write_text("def gemm_mac(x, y): return 1\n")
    done.clear()
    anyio.run(intake.receive, settings, LAB, student, tmp_path / "lab.py", "lab.py")
    folder = settings.data / "blobs"
    (kept,) = files(folder)
    before_the_row = done[: done.index("commit")]
    assert before_the_row == [str(settings.data), "file", "rename", str(kept.parent), str(folder)]


def test_the_secret_is_on_the_disk_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[bytes | str] = []
    synchronise = os.fsync

    def noted(descriptor: int) -> None:
        synchronise(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        done.append(path.read_bytes() if path.is_file() else str(path))

    monkeypatch.setattr(os, "fsync", noted)
    secret = Settings(data=tmp_path, secret="").seed_secret
    assert done == [secret, str(tmp_path)]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_sqlite_has_committed_outlasts_a_loss_of_power(settings: Settings) -> None:
    with reading(settings.database) as session:
        full = 2
        assert session.connection().exec_driver_sql("PRAGMA synchronous").scalar_one() == full


def test_a_start_of_the_service_deletes_what_a_dead_one_left_and_nothing_in_use(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    (tmp_path / "given").write_bytes(b"kept")
    kept = blobs.path(tmp_path / "blobs", blobs.keep(tmp_path / "blobs", tmp_path / "given"))
    (tmp_path / "tmp").mkdir()
    left = [tmp_path / "blobs" / ".half", tmp_path / "tmp" / "upload-left"]
    in_use = [tmp_path / "blobs" / ".being-written", tmp_path / "tmp" / "upload-coming"]
    for path in left + in_use:
        path.write_bytes(b"x")
    for path in (*left, kept):
        os.utime(path, (0, 0))

    async def start() -> None:
        app = make_app(settings)
        async with app.router.lifespan_context(app):
            pass

    anyio.run(start)
    assert [path.exists() for path in (*left, *in_use, kept)] == [False, False, True, True, True]
