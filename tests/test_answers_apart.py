"""Reading apart: whatever a file does to the process that reads it, the service answers and reads the next one."""

import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_process
import pytest
from documents import FOUR, SCRIPT, notebook

from grading.answers import reading
from grading.answers.model import Refused

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    path = tmp_path / "upload"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@pytest.fixture
async def one_process() -> AsyncIterator[None]:
    limiter = anyio.to_process.current_default_process_limiter()
    before, limiter.total_tokens = limiter.total_tokens, 1
    yield
    limiter.total_tokens = before


async def test_reading_apart_gives_what_reading_here_gives(lab: Path) -> None:
    await reading.warm(1)
    assert await reading.read_apart(lab, "lab.py", FOUR) == reading.read(lab, "lab.py", FOUR)
    pasted = {"1.3": SCRIPT}
    assert await reading.read_pasted_apart(pasted, FOUR) == reading.read_pasted(pasted, FOUR)


async def test_a_refusal_arrives_as_it_was_made(lab: Path) -> None:
    lab.write_bytes(b"%PDF-1.4")
    with pytest.raises(Refused) as caught:
        await reading.read_apart(lab, "lab.pdf", FOUR)
    assert caught.value.code == "binary"
    assert "PDF" in caught.value.message


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang() -> None:
    time.sleep(1000)


def _burn() -> None:
    while True:
        pass


def _swallow_memory() -> int:
    return len([bytes(1 << 28) for _ in range(100)])


def _recurse() -> None:
    _recurse()


def _write() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"x")


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("attack", [_die, _hang, _burn, _swallow_memory, _recurse, _write])
async def test_the_death_of_a_reading_process_costs_a_refusal_and_nothing_else(
    attack: object, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await reading.warm(1)
    monkeypatch.setattr(reading, "WALL_SECONDS", 1.0)
    with pytest.raises(Refused) as caught:
        await reading._apart(attack)  # type: ignore[arg-type]
    assert caught.value.code == "unreadable"
    monkeypatch.setattr(reading, "WALL_SECONDS", 30.0)
    assert (await reading.read_apart(lab, "lab.py", FOUR)).answers[0].found


async def test_waiting_for_a_process_does_not_count_against_the_time(lab: Path) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(reading.read_apart, lab, "lab.py", FOUR)


async def test_a_file_that_is_gone_is_a_refusal_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        await reading.read_apart(tmp_path / "gone", "lab.py", FOUR)
    assert caught.value.code == "unreadable"


async def test_a_flood_of_tiny_values_stays_within_memory(lab: Path) -> None:
    lab.write_bytes(notebook()[:-1] + b',"x":[' + b"0," * 25_000_000 + b"0]}")
    assert not (await reading.read_apart(lab, "lab.ipynb", FOUR)).answers[0].found
