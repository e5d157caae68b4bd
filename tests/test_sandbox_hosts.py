"""The sandbox on hosts of several sorts, and what is left when it ends; each host is made for real."""

import json
import os
import select
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from parts import Missing

import grading
from labcore.runner.protocol import Call, Ending, IntegerWanted, Job
from worker.sandbox import SandboxFault, isolation, profile, view
from worker.sandbox.slot import SPARES, Slot

REPOSITORY = Path(grading.__file__).parents[1]
PLAIN_UID = 60999
HONEST = "def f(a, b): return a * b"
as_root = pytest.mark.usefixtures("root")

TELL = """
import json, sys
from dataclasses import replace
from worker.sandbox import SandboxFault, isolation, profile, view
from worker.sandbox.slot import Slot
from labcore.runner.protocol import Call, IntegerWanted, Job
if "no bubblewrap" in sys.argv:
    view.bubblewrap = lambda: None
profile.PROFILES["cpu"] = replace(profile.PROFILES["cpu"], wall_seconds=2.0)
told = {"level": isolation().level, "missing": isolation().missing, "seen": []}
try:
    Slot().close()
except SandboxFault as fault:
    told["refused"] = fault.cause
with Slot(allow_reduced=True) as slot:
    for source in json.load(sys.stdin):
        seen = slot.run(Job(source, "f", (Call((6, 7), IntegerWanted()),)))
        told["seen"].append([seen.ending, seen.isolation, seen.returned[0].value, seen.returned[0].note.error])
print(json.dumps(told))
"""
TAKE_UID = """
import os, sys
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""
WORKER = """
from worker.sandbox.slot import Slot
from labcore.runner.protocol import Call, IntegerWanted, Job
with Slot() as slot:
    print("ready", flush=True)
    slot.run(Job("def f():\\n    while True: pass", "f", (Call((), IntegerWanted()),)))
"""


@pytest.fixture
def root() -> None:
    if os.geteuid() != 0:
        raise Missing("root", "only root can make hosts of other sorts to try the sandbox on")


@as_root
def test_a_plain_user_gets_the_full_sandbox_and_is_told_that_the_uid_is_shared() -> None:
    told = _tell_as_plain_user([HONEST, "def f(a, b): open('/etc/passwd')"])

    assert told["level"] == "full" and "refused" not in told
    assert any("own uid" in one for one in told["missing"])
    assert told["seen"] == [["finished", "full", 42, ""], ["finished", "full", None, "FileNotFoundError"]]


@as_root
def test_where_no_new_proc_is_to_be_had_the_sandbox_is_full_without_one() -> None:
    look = "import os\ndef f(a, b): return len(os.listdir('/proc'))"
    half = "import torch\ndef f(a, b): return int(torch.ones(a, b).half().sum())"

    told = _tell_as_plain_user([half, look], mounts=("--tmpfs", "/proc/fs"))

    assert told["level"] == "full"
    assert any("own /proc" in one for one in told["missing"])
    assert told["seen"] == [["finished", "full", 42, ""], ["finished", "full", 0, ""]]


@as_root
def test_without_bubblewrap_the_sandbox_refuses_unless_told_and_then_says_reduced_every_time() -> None:
    attacks = {
        HONEST: ("finished", 42, ""),
        f"def f(a, b): open({'/mnt/rooflab/grading/verdict.py'!r})": ("finished", None, "PermissionError"),
        "def f(a, b): open('/etc/passwd')": ("finished", None, "PermissionError"),
        "def f(a, b): open('/tmp/rooflab-was-here', 'w')": ("finished", None, "PermissionError"),
        "import os\ndef f(a, b): os.kill(os.getppid(), 9)": ("finished", None, "PermissionError"),
        "import os\ndef f(a, b): open(f'/proc/{os.getppid()}/environ')": ("finished", None, "PermissionError"),
        "import os\ndef f(a, b): os.fork()": ("finished", None, "PermissionError"),
        "import socket\ndef f(a, b): socket.socket()": ("finished", None, "PermissionError"),
        "def f(a, b): bytearray(30 << 30)": ("finished", None, "MemoryError"),
        "def f(a, b):\n    while True: pass": ("timed out", None, ""),
        "import ctypes\ndef f(a, b): ctypes.string_at(8)": ("crashed", None, ""),
        "import torch.optim\ndef f(a, b): return int(torch.ones(a, b).sum())": ("finished", 42, ""),
    }

    told = _tell_as_plain_user(list(attacks), "no bubblewrap")

    assert told["level"] == "reduced"
    assert "bubblewrap is not installed" in told["refused"]
    assert told["seen"] == [[ending, "reduced", value, error] for ending, value, error in attacks.values()]


@as_root
def test_each_slot_has_a_uid_of_its_own_that_is_not_the_workers() -> None:
    with Slot() as first, Slot() as second:
        owners = [_uids(_below(slot._zygote._process.pid)) for slot in (first, second)]  # type: ignore[union-attr]
    ours = {uid for owner in owners for uid in owner if uid}

    assert len(ours) == 2 and min(ours) >= profile.FIRST_SLOT_UID
    assert not owners[0] & owners[1] - {0}


def test_closing_a_slot_leaves_no_process_behind() -> None:
    before = set(_below(os.getpid()))
    with Slot() as slot:
        slot.run(Job(HONEST, "f", (Call((6, 7), IntegerWanted()),)))
        started = [os.pidfd_open(pid) for pid in set(_below(os.getpid())) - before]

    assert len(started) > 3  # bubblewraps, the warm parent, and spares
    assert _all_dead(started)


def test_a_worker_killed_in_the_middle_leaves_no_process_behind() -> None:
    with subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, cwd=REPOSITORY) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == b"ready\n"
        started = [os.pidfd_open(pid) for pid in _below(worker.pid)]
        worker.kill()

    assert len(started) > 3
    assert _all_dead(started)


def test_a_warm_parent_that_died_is_a_fault_of_ours_and_the_next_request_finds_a_new_one() -> None:
    before = set(_below(os.getpid()))  # the run's own database and queue among them
    with Slot() as slot:
        for pid in set(_below(os.getpid())) - before:
            os.kill(pid, signal.SIGKILL)
        job = Job(HONEST, "f", (Call((6, 7), IntegerWanted()),))
        with pytest.raises(SandboxFault):
            slot.run(job)

        assert slot.run(job).returned[0].value == 42


def test_spares_are_replaced_so_that_many_questions_in_a_row_are_answered() -> None:
    with Slot() as slot:
        job = Job(HONEST, "f", (Call((6, 7), IntegerWanted()),))
        seen = [slot.run(job) for _ in range(4 * SPARES)]
    assert {(one.ending, one.returned[0].value) for one in seen} == {(Ending.FINISHED, 42)}


def test_an_unknown_profile_is_a_fault_of_ours() -> None:
    with Slot() as slot, pytest.raises(SandboxFault, match="profile"):
        slot.run(Job(HONEST, "f", (), profile="no such row"))


def test_this_host_reaches_the_full_sandbox() -> None:
    assert isolation().level == "full", isolation()


def _tell_as_plain_user(sources: list[str], *words: str, mounts: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run TELL under an unprivileged uid, with this interpreter and these packages where that uid can read them."""
    binary = view.bubblewrap()
    assert binary is not None
    python = f"/mnt/python/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    places = {
        "/mnt/python": sys.base_prefix,
        "/mnt/site": sysconfig.get_path("purelib"),
        "/mnt/rooflab": str(REPOSITORY),
    }
    command = [str(binary), "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/mnt"]
    for target, source in places.items():
        command += ["--perms", "0755", "--dir", target, "--ro-bind", source, target]
    command += [*mounts, "--", python, "-I", "-S", "-c", TAKE_UID, str(PLAIN_UID), python, "-c", TELL, *words]
    done = subprocess.run(
        command,
        input=json.dumps(sources),
        env={"PYTHONPATH": "/mnt/rooflab:/mnt/site", "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _below(pid: int) -> list[int]:
    """Every process below one, on this machine's own /proc."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(int(after_name[1]), []).append(int(folder.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _uids(pids: Iterable[int]) -> set[int]:
    return {os.stat(f"/proc/{pid}").st_uid for pid in pids}


def _all_dead(pidfds: Iterable[int]) -> bool:
    """Wait for deaths that are due; a pidfd is readable when its process is dead."""
    deadline = time.monotonic() + 20
    dead = []
    for pidfd in pidfds:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        dead.append(bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000)))
        os.close(pidfd)
    return all(dead)
