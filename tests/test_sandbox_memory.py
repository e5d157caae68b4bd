"""A slot's memory is bound as a whole where the machine grants control groups; elsewhere the doctor says so."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import parts
import pytest

from labcore.runner.protocol import Call, Ending, IntegerWanted, Job
from worker.sandbox import memory, profile
from worker.sandbox.memory import MemoryGroup
from worker.sandbox.slot import Slot

MIB = profile.MIB
HONEST = "def f(n): return n"
# A single process would be stopped by its own limit; here the heap and files in memory each stay far below theirs.
SPREAD = """
def f(n):
    heap = b'x' * (160 << 20)
    for number in range(3):
        with open(f'/dev/shm/{number}', 'wb') as file:
            file.write(heap[:60 << 20])
    return len(heap)
"""


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slot]:
    """A slot with a bound of 512 MiB in all, and room for files that a single limit would not mind."""
    granted = MemoryGroup.make(64 * MIB)
    if granted is None:
        raise parts.NotGranted("memory control group", "no group may be made below this process's own, or beside it")
    granted.close()
    roomy = replace(profile.PROFILES["cpu"], scratch_bytes=1024 * MIB)
    monkeypatch.setitem(profile.PROFILES, "cpu", roomy)
    monkeypatch.setattr(profile, "SLOT_MEMORY_BYTES", 512 * MIB)
    with Slot() as slot:
        yield slot


def job(source: str) -> Job:
    return Job(source, "f", (Call((1,), IntegerWanted()),))


def test_heap_and_files_in_memory_together_stay_below_the_bound(bound: Slot) -> None:
    assert bound.run(job(SPREAD)).ending is Ending.OUT_OF_MEMORY


def test_the_next_child_has_all_of_it_again(bound: Slot) -> None:
    bound.run(job(SPREAD))
    assert bound.run(job(HONEST)).returned[0].value == 1


def test_without_a_group_nothing_holds_them_together(bound: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryGroup, "make", classmethod(lambda cls, limit_bytes: None))
    with Slot() as unbound:
        assert unbound.run(job(SPREAD)).ending is Ending.FINISHED


def test_nothing_is_left_of_a_slot(bound: Slot) -> None:
    group = bound._zygote and bound._zygote.memory
    assert group is not None and group._folder.is_dir()
    bound.close()
    assert not group._folder.exists()


class Version2:
    """The files of a control group of version 2, as a kernel of 6.1 lays them out, under a folder of the test."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.own = root / "mount/system.slice/rooflab.service/worker"
        self.own.mkdir(parents=True)
        (root / "mount/cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        (root / "mountinfo").write_text(
            f"31 25 0:27 / {root}/mount rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
        )
        (root / "cgroup").write_text("0::/system.slice/rooflab.service/worker\n")
        monkeypatch.setattr(MemoryGroup, "_mounts", root / "mountinfo")
        monkeypatch.setattr(MemoryGroup, "_own", root / "cgroup")
        make = Path.mkdir

        def as_the_kernel_does(folder: Path) -> None:
            make(folder)
            if folder.parent == self.own:
                folder.rmdir()
                raise OSError(95, "Operation not supported")  # a group with processes of its own has none below it
            (folder / "memory.events").write_text("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n")

        monkeypatch.setattr(memory.Path, "mkdir", as_the_kernel_does)


def test_version_2_is_used_beside_the_workers_own_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version2 = Version2(tmp_path, monkeypatch)

    group = MemoryGroup.make(64 * MIB)

    assert group is not None and group._folder.parent == version2.own.parent
    assert (version2.own.parent / "cgroup.subtree_control").read_text() == "+memory"
    assert (group._folder / "memory.max").read_text() == str(64 * MIB)
    assert (group._folder / "memory.swap.max").read_text() == "0"
    assert group.entering(["true"])[-2:] == [str(group._folder / "cgroup.procs"), "true"]


def test_a_child_that_is_killed_for_others_did_not_run_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Version2(tmp_path, monkeypatch)
    group = MemoryGroup.make(64 * MIB)
    assert group is not None
    events = group._folder / "memory.events"

    events.write_text("low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n")
    assert not group.ran_out()
    events.write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\n")
    assert group.ran_out()
    assert not group.ran_out()


def test_what_a_dead_worker_left_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version2 = Version2(tmp_path, monkeypatch)
    dead, alive = version2.own.parent / "rooflab-999999999-abc", version2.own.parent / "rooflab-1-abc"
    for folder in (dead, alive):
        folder.mkdir()
        (folder / "memory.events").unlink()

    assert MemoryGroup.make(64 * MIB) is not None
    assert not dead.exists() and alive.exists()
