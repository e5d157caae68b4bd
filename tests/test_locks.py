"""The locks hold everything that the project asks for, pinned and hashed, and name no registry."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted((ROOT / ".lock").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TORCH = "torch"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_and_hashed(lock: Path) -> None:
    entries = _entries(lock)
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==[^ ]+", entry)
        assert re.search(r"--hash=sha256:[0-9a-f]{64}(\s|$)", entry)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_no_lock_names_a_registry(lock: Path) -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links", lock.read_text("utf-8"))


@pytest.mark.parametrize("wanted", PROJECT["dependencies"])
def test_what_the_project_needs_is_in_the_lock(wanted: str) -> None:
    _assert_locked(Requirement(wanted), "runtime")


@pytest.mark.parametrize("wanted", PROJECT["optional-dependencies"]["test"])
def test_what_the_tests_need_is_in_the_lock(wanted: str) -> None:
    _assert_locked(Requirement(wanted), "test")


def test_tests_run_on_the_versions_that_are_deployed() -> None:
    runtime, test = _versions("runtime"), _versions("test")
    assert {name: test.get(name) for name in runtime} == runtime


def test_both_builds_of_torch_have_one_version() -> None:
    [cpu], [gpu] = _versions("torch-cpu")[TORCH], _versions("torch-gpu")[TORCH]
    assert cpu == f"{gpu}+cpu"
    assert TORCH not in _versions("test")


def _assert_locked(wanted: Requirement, lock: str) -> None:
    locked = _versions("torch-gpu" if wanted.name == TORCH else lock)
    versions = locked.get(canonicalize_name(wanted.name))
    assert versions, f"{wanted.name} is not locked: run .lock/make"
    assert all(wanted.specifier.contains(version) for version in versions), "locked too old: run .lock/make"


def _versions(lock: str) -> dict[str, set[str]]:
    """Each name's versions: some have one for older Pythons and one for newer."""
    found: dict[str, set[str]] = {}
    for entry in _entries(ROOT / ".lock" / f"{lock}.txt"):
        name, version = re.split("==|[ ;]", entry, maxsplit=2)[:2]
        found.setdefault(name, set()).add(version)
    return found


def _entries(lock: Path) -> list[str]:
    """One string for each requirement, its continuation lines joined."""
    lines = [line for line in lock.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [entry for entry in "\n".join(lines).replace("\\\n", " ").splitlines() if entry.strip()]
