"""A pack is read when it has changed, and its files are looked at once a second, however many requests come."""

import shutil
import time
from pathlib import Path

import pytest
from classroom import eventually

from grading import shelf
from grading.settings import Settings

PACK = Path(__file__).parent.parent / "grading" / "packs" / "lab1"


def test_many_requests_look_at_the_files_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Path] = []
    look = shelf.stamp

    def noted(folder: Path) -> shelf.Stamp:
        looks.append(folder)
        return look(folder)

    monkeypatch.setattr(shelf, "stamp", noted)
    began = time.monotonic()
    for _ in range(200):
        shelf.outline_of(Settings(), "lab1")
    assert len(looks) <= time.monotonic() - began + 2


def test_a_change_of_a_pack_is_seen_without_a_restart(tmp_path: Path) -> None:
    shutil.copytree(PACK, tmp_path / "mine")
    settings = Settings(packs=tmp_path)
    before = shelf.outline_of(settings, "mine")
    described = tmp_path / "mine" / "lab.yaml"
    described.write_text(described.read_text().replace(before.title, "Another title"))
    eventually(lambda: shelf.outline_of(settings, "mine").title == "Another title")
