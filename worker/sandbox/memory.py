"""A bound over all the memory of a slot: a control group that its warm parent is born into, where groups are to be had.

Limits per process (`labcore.runner.confine`) say nothing of shared memory, of files in memory and of what several
processes take together. A group counts it all, and when it is full the kernel ends the child, which has put itself
first in line. Both versions of control groups are known; which one holds memory is the machine's choice.
"""

import os
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

CLOSE_SECONDS = 5.0
_NAME = "rooflab-"  # then the worker's process id, so that what a dead worker left can be told


@dataclass(frozen=True, slots=True)
class _Files:
    """What the files of a version are called, and the line of `counts` that says how often memory ran out."""

    limit: str
    swap: tuple[str, bool]  # the file, and whether it counts memory and swap together
    counts: tuple[str, str]
    most: str = ""  # the most that was ever in use, set back by writing; version 2 needs none


# Version 2 counts apart what ran out in the group itself; version 1 counts all that was killed, for whosever sake.
_VERSION_1 = _Files(
    "memory.limit_in_bytes",
    ("memory.memsw.limit_in_bytes", True),
    ("memory.oom_control", "oom_kill"),
    "memory.max_usage_in_bytes",
)
_VERSION_2 = _Files("memory.max", ("memory.swap.max", False), ("memory.events", "oom"))


class MemoryGroup:
    """One slot's group. `close` it after the last process in it is gone."""

    _mounts: ClassVar[Path] = Path("/proc/self/mountinfo")
    _own: ClassVar[Path] = Path("/proc/self/cgroup")

    def __init__(self, folder: Path, files: _Files, limit_bytes: int) -> None:
        self._folder, self._files = folder, files
        self.limit_bytes = limit_bytes
        folder.mkdir()
        try:
            (folder / files.limit).write_text(str(limit_bytes))
            with suppress(OSError):  # no swap on this machine, or no account of it
                (folder / files.swap[0]).write_text(str(limit_bytes if files.swap[1] else 0))
            self._count = self._counted()
        except OSError:
            folder.rmdir()
            raise

    @classmethod
    def make(cls, limit_bytes: int) -> "MemoryGroup | None":
        """A new group below this process's own, or beside it where that is where groups may be made; None where
        neither is allowed."""
        for parent, files in cls._parents():
            _clear(parent)
            if files is _VERSION_2:
                with suppress(OSError):  # on already, or refused: then the limit cannot be written
                    (parent / "cgroup.subtree_control").write_text("+memory")
            with suppress(OSError):
                return cls(parent / f"{_NAME}{os.getpid()}-{secrets.token_hex(4)}", files, limit_bytes)
        return None

    def entering(self, command: list[str]) -> list[str]:
        """The command that enters the group and then becomes `command`: there is no moment outside."""
        shell = shutil.which("sh") or "/bin/sh"
        return [shell, "-c", 'echo 0 >"$0" && exec "$@"', str(self._folder / "cgroup.procs"), *command]

    def ran_out(self) -> bool:
        """Whether the group itself was full and the kernel ended a process for it, since this was last asked."""
        try:
            before, self._count = self._count, self._counted()
            if self._count == before or not self._files.most:
                return self._count > before
            most = self._folder / self._files.most
            full = int(most.read_text()) >= 0.95 * self.limit_bytes
            most.write_text("0")
            return full
        except OSError:  # somebody took the group away; the limits per process hold as ever
            return False

    def close(self) -> None:
        """Take the group away once the last process in it has left, which the kernel does not tell. One that stays
        busy is taken away by the next worker that makes one."""
        until = time.monotonic() + CLOSE_SECONDS
        while self._folder.is_dir() and time.monotonic() < until:
            with suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(0.005)

    def _counted(self) -> int:
        file, name = self._files.counts
        lines = (self._folder / file).read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)

    @classmethod
    def _parents(cls) -> list[tuple[Path, _Files]]:
        """Where groups might be made: this process's own group, then the one around it."""
        found = []
        for line in cls._mounts.read_text().splitlines():
            where, _, rest = line.partition(" - ")
            kind, _, options = rest.partition(" ")
            root, mounted = where.split()[3:5]
            if kind == "cgroup" and "memory" in options.split()[-1].split(","):
                found.append((Path(mounted), root, cls._own_path("memory"), _VERSION_1))
            elif kind == "cgroup2" and _offers_memory(Path(mounted)):
                found.append((Path(mounted), root, cls._own_path(""), _VERSION_2))
        parents = []
        for mount, root, own, files in found:
            folder = mount / os.path.relpath(own, root)
            if folder.is_relative_to(mount) and ".." not in folder.parts and folder.is_dir():
                parents += [(folder, files), *([(folder.parent, files)] if folder != mount else [])]
            else:  # a container that sees its own group as the root, and the machine's name of it
                parents.append((mount, files))
        return parents

    @classmethod
    def _own_path(cls, controller: str) -> str:
        for line in cls._own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(",") if controller else not controllers:
                return path
        return "/"


def _offers_memory(mount: Path) -> bool:
    with suppress(OSError):
        return "memory" in (mount / "cgroup.controllers").read_text().split()
    return False


def _clear(parent: Path) -> None:
    """Take away the groups of workers that are no more."""
    for folder in parent.glob(f"{_NAME}*-*"):
        process = folder.name.removeprefix(_NAME).split("-")[0]
        if process.isdigit() and not os.path.exists(f"/proc/{process}"):
            with suppress(OSError):
                folder.rmdir()
