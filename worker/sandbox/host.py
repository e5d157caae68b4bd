"""What this machine can do for a sandbox: tried for real, with a warm parent that has no torch."""

import os
from dataclasses import dataclass
from functools import cache
from typing import Literal

from worker.sandbox.fault import SandboxFault
from worker.sandbox.profile import PROFILES
from worker.sandbox.warm import Zygote

Level = Literal["full", "reduced", "none"]


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation reached here, and by name what is missing from the whole of it.

    full: own view, namespaces, Landlock, seccomp, limits. reduced: no view and no namespaces, but the rest. none:
    nothing that would hold. As a plain user "own uid" is missing even from full: a child then has the worker's own uid,
    mapped in a user namespace.
    """

    level: Level
    missing: tuple[str, ...] = ()
    fresh_proc: bool = True  # false: the kernel allows no new /proc here, as in most containers; a child then has none


def isolation() -> Isolation:
    """What can be reached here: tried for real, and once per process where the answer is full."""
    reached = _reached()
    if reached.level != "full":
        _reached.cache_clear()  # it may have been a moment's shortage
    return reached


@cache
def _reached() -> Isolation:
    missing = () if os.geteuid() == 0 else ("own uid: only a worker started as root can give one to each slot",)
    failed = []
    for namespaces, fresh_proc in ((True, True), (True, False), (False, False)):
        try:
            _try(namespaces, fresh_proc)
        except SandboxFault as fault:
            failed.append(fault.cause)
            continue
        if not namespaces:
            return Isolation("reduced", ("view and namespaces: " + failed[0],))
        if not fresh_proc:
            missing = (*missing, "own /proc: the kernel allows no new one here, so a child has none")
        return Isolation("full", missing, fresh_proc)
    return Isolation("none", tuple(dict.fromkeys(failed)))


def _try(namespaces: bool, fresh_proc: bool) -> None:
    zygote = Zygote(namespaces=namespaces, fresh_proc=fresh_proc, torch=False)
    try:
        zygote.await_ready(zygote.order(PROFILES["cpu"]))
    finally:
        zygote.close()
