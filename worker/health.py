"""Whether the worker of this container can grade: it reached database and broker lately, and has a warm sandbox.

For the container's health check, run as `python -m worker.health`: quick, since it imports neither torch nor Celery.
Not covered: two workers with one host name and one data folder, who leave word in one place.
"""

import os
import socket
import sys
import time
from pathlib import Path
from typing import Final

from grading.settings import Settings

SWEEPS: Final = 3  # without word for so long, a worker counts as cut off
_WARM_PARENT = b"labcore.runner.zygote"


def note(settings: Settings, worker: int) -> None:
    """Leave word that the worker with this main process has just reached database and broker."""
    path = _word(settings)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    written = path.with_name(f"{path.name}.{os.getpid()}")
    written.write_text(str(worker), encoding="ascii")
    written.rename(path)


def forget(settings: Settings) -> None:
    """Take the word back: nothing was reached yet, or will be any more."""
    _word(settings).unlink(missing_ok=True)


def reaching(settings: Settings) -> int | None:
    """The main process of the worker here, if it reached database and broker within the last sweeps."""
    path = _word(settings)
    try:
        fresh = time.time() - path.stat().st_mtime < SWEEPS * settings.sweep_seconds
        return int(path.read_text(encoding="ascii")) if fresh else None
    except FileNotFoundError:
        return None


def stands(worker: int, proc: Path = Path("/proc")) -> bool:
    """Whether a warm parent stands among the processes that come from this one."""
    for path in proc.glob("[0-9]*/cmdline"):
        try:
            if _WARM_PARENT in path.read_bytes().split(b"\0") and _comes_from(worker, int(path.parent.name), proc):
                return True
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return False


def _comes_from(worker: int, process: int, proc: Path) -> bool:
    while process not in (0, worker):
        facts = (proc / str(process) / "stat").read_bytes().rpartition(b")")[2].split()
        process = int(facts[1])  # after the name, which may hold anything: its state, then its parent
    return process == worker


def _word(settings: Settings) -> Path:
    return settings.data / "run" / f"worker-{socket.gethostname()}"


if __name__ == "__main__":
    found = reaching(Settings())
    if found is None:
        sys.exit("database or broker has not been reached lately")
    sys.exit(None if stands(found) else "no warm sandbox stands")
