"""`rooflab serve`: the whole service on one machine, with a demo that hands in a sample through the HTTP door."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from rich.console import Console

from api.cli.demo import Demo, hand_in_sample, make_demo
from grading.settings import Settings
from grading.store import migrate

err = Console(stderr=True)
STOP_SECONDS = 20


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    data: Annotated[Path | None, typer.Option(help="Folder of the database and the files handed in.")] = None,
    with_worker: Annotated[bool, typer.Option("--worker/--no-worker", help="Start a worker beside the server.")] = True,
    demo: Annotated[
        bool | None,
        typer.Option("--demo/--no-demo", help="Make a demo course and hand in its sample. On with a worker."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Stop after the demo's feedback; exit 0 if it is right.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Submissions graded side by side.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line when ready.")] = False,
) -> None:
    """Start the API, the pages and a worker; Ctrl-C stops them all."""
    settings = _settings(data)
    listener = _listen(host, port)
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # where one can go, not where all may come from
    url = f"http://{shown}:{listener.getsockname()[1]}"
    if settings.database_url == "" or with_worker:
        migrate.upgrade(settings.database)
    show_demo = with_worker if demo is None else demo
    made = make_demo(settings) if show_demo or once else None
    if made is not None and not as_json:
        err.print(made.describe(url), markup=False, highlight=False, soft_wrap=True)
    worker = _start_worker(settings, concurrency) if with_worker else None
    try:
        code = _run(settings, listener, url, made, once, as_json, worker)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # somebody who presses Ctrl-C twice wants no other end than this
        if worker is not None:
            _stop(worker)
    raise typer.Exit(code)


def _settings(data: Path | None) -> Settings:
    settings = Settings() if data is None else Settings(data=data)
    settings.data = settings.data.resolve()
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = settings.data / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _stopped(
            f"The data folder {settings.data} cannot be written ({error.strerror}): "
            "choose another with --data FOLDER or ROOFLAB_DATA."
        ) from None
    return settings


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except socket.gaierror:
        raise _stopped(f"There is no address {host} to listen on: choose another with --host.") from None
    except OSError as error:
        raise _stopped(
            f"Cannot listen on {host} port {port} ({error.strerror}): "
            "stop what uses it or choose another with --port (0 takes a free one)."
        ) from None
    return listener


def _start_worker(settings: Settings, concurrency: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "api.cli", "worker", "run", "--with-parent", "--concurrency", str(concurrency)]
    environment = os.environ | {"ROOFLAB_DATA": str(settings.data)}
    return subprocess.Popen(command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL)


def _stop(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()  # a soft stop: the running grading is finished first
    try:
        worker.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def _run(
    settings: Settings,
    listener: socket.socket,
    url: str,
    demo: Demo | None,
    once: bool,
    as_json: bool,
    worker: subprocess.Popen[bytes] | None,
) -> int:
    from api.app import make_app

    config = uvicorn.Config(
        make_app(settings),
        log_level="warning",
        timeout_graceful_shutdown=3,
        forwarded_allow_ips=settings.proxies,
    )
    server = _Server(config)
    result = {"code": 0}

    def watch(worker: subprocess.Popen[bytes]) -> None:
        status = worker.wait()
        if not server.should_exit:
            err.print(f"The worker ended (status {status}), so nothing would be graded: stopping.", markup=False)
            result["code"] = 1
            server.should_exit = True

    def announce() -> None:
        server.ready.wait()
        if as_json:
            ready = {"url": url, "pid": os.getpid()} | (demo.tokens() if demo else {})
            typer.echo(json.dumps(ready))
            sys.stdout.flush()
        if demo is not None and (once or not as_json):
            code = hand_in_sample(url, demo, settings, alive=lambda: worker is None or worker.poll() is None)
            result["code"] = code if once else result["code"]
        if once:
            server.should_exit = True
        elif not as_json:
            err.print(f"Serving on {url} - Ctrl-C stops.", markup=False)

    if worker is not None:
        threading.Thread(target=watch, args=(worker,), daemon=True).start()
    threading.Thread(target=announce, daemon=True).start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):  # uvicorn stops in good order, and then raises the signal again
        server.run(sockets=[listener])
    return result["code"]


class _Server(uvicorn.Server):
    """uvicorn, with an event set once requests are answered."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _stopped(message: str) -> typer.Exit:
    err.print(message, markup=False)
    return typer.Exit(1)
