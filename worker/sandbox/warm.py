"""A warm parent as the worker sees it: started by command, ordered about over one socket, asked for confined spares."""

import contextlib
import dataclasses
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labcore.runner.confine import Limits
from worker.sandbox import profile, view
from worker.sandbox.fault import SandboxFault
from worker.sandbox.memory import MemoryGroup

START_SECONDS = 120.0  # importing torch from a cold disk on a busy machine
SPARE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Death:
    """What the kernel told the warm parent about a dead child."""

    signal: int | None
    cpu_seconds: float
    peak_bytes: int  # on top of what it shared with the warm parent
    memory_ran_out: bool  # the slot's own bound was reached, and the kernel ended it for that


@dataclass
class Spare:
    """A confined child that waits for its one request."""

    number: int
    line: socket.socket
    pidfd: int | None = None
    death: Death | None = None

    def kill(self) -> None:
        if self.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def check_taken(self) -> None:
        """A child that fails before it runs its job says so on the line, which is closed ahead of student code."""
        with contextlib.suppress(ConnectionResetError):
            said = self.line.recv(2000)
            if said:
                raise SandboxFault(f"a child could not take its job: {said.decode('utf-8', 'replace')}")

    def close(self) -> None:
        self.line.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None


@dataclass
class Zygote:
    """One running warm parent. It and all below it end when `close` is called, and when the worker dies."""

    namespaces: bool
    torch: bool = True
    fresh_proc: bool = True
    _spares: dict[int, Spare] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self._uid = _SlotUid() if os.geteuid() == 0 else None
        uid = self._uid.uid if self._uid else None
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = os.memfd_create("errors")
        self.memory = MemoryGroup.make(profile.SLOT_MEMORY_BYTES) if self.namespaces else None
        try:
            with theirs:
                self._start(theirs, uid)
            self._send(
                {
                    "torch": self.torch,
                    "namespaces": self.namespaces,
                    "fresh_proc": self.fresh_proc,
                    "readable": view.readable() if self.namespaces else view.bare_readable(),
                    "syscalls": profile.seccomp_program().hex(),
                }
            )
            self._receive(time.monotonic() + START_SECONDS)
        except PermissionError as error:
            self.close()
            raise SandboxFault(f"no other user may start the interpreter {error.filename}") from error
        except (OSError, ImportError) as error:
            self.close()
            raise SandboxFault(f"the warm parent did not start: {error}") from error
        except SandboxFault:
            self.close()
            raise

    def _start(self, theirs: socket.socket, uid: int | None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if self.namespaces:
            binary = view.bubblewrap()
            if binary is None:
                raise SandboxFault("bubblewrap is not installed")
            command = view.command(binary, theirs.fileno(), uid, fresh_proc=self.fresh_proc)
            if self.memory is not None:
                command = self.memory.entering(command)
            environment = view.environment()
        else:
            command, environment = view.bare_command(theirs.fileno()), view.bare_environment()
        own = None if self.namespaces else uid  # in namespaces, the command itself takes the uid
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            user=own,
            group=own,
            extra_groups=None if own is None else [],
        )

    def order(self, limits: Limits) -> Spare:
        """Ask for a spare; it is made while the worker goes on."""
        self._count += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        spare = Spare(self._count, ours)
        self._spares[spare.number] = spare
        with theirs:
            self._send({"spare": spare.number, "limits": dataclasses.asdict(limits)}, theirs.fileno())
        return spare

    def await_ready(self, spare: Spare) -> None:
        """Wait until the spare is confined and says so; its refusal is a fault."""
        deadline = time.monotonic() + SPARE_SECONDS
        while spare.pidfd is None:
            self._receive(deadline)
        if not _readable(spare.line, deadline):
            raise SandboxFault("a child was not confined in time")
        # Without room for descriptors, any that came along would be closed by the kernel.
        said = spare.line.recv(2000)
        if said != b"ready":
            raise SandboxFault(f"a child could not be confined: {said.decode('utf-8', 'replace') or 'it died'}")

    def await_death(self, spare: Spare, seconds: float = 30.0) -> Death:
        """Wait for the report of a death that the spare's pidfd has told already."""
        deadline = time.monotonic() + seconds
        while spare.death is None:
            self._receive(deadline)
        return spare.death

    def close(self) -> None:
        """End the warm parent and everything below it, and wait until it is gone."""
        self.control.close()
        if self._process is not None:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for spare in self._spares.values():
            if spare.pidfd is not None:
                _readable(spare.pidfd, time.monotonic() + 5)
            spare.close()
        self._spares.clear()
        os.close(self._errors)
        if self.memory is not None:
            self.memory.close()
        if self._uid:
            self._uid.close()

    def _send(self, message: dict[str, Any], *descriptors: int) -> None:
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()], list(descriptors))
        except OSError as error:
            raise SandboxFault(f"the warm parent died: {self._last_words() or error}") from error

    def _receive(self, deadline: float) -> None:
        """Take one packet from the warm parent. It runs no student code, so its words are trusted."""
        if not _readable(self.control, deadline):
            raise SandboxFault(f"the warm parent does not answer: {self._last_words()}")
        message, descriptors = b"", list[int]()
        with contextlib.suppress(ConnectionResetError):
            message, descriptors, _, _ = socket.recv_fds(self.control, 1 << 16, 1)
        if not message:
            raise SandboxFault(f"the warm parent died: {self._last_words()}")
        said = json.loads(message)
        if "born" in said:
            self._spares[said["born"]].pidfd = descriptors[0]
        elif "died" in said:
            status = said["status"]
            spare = self._spares.pop(said["died"])
            spare.death = Death(
                os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                said["cpu_seconds"],
                said["peak_bytes"],
                self.memory is not None and self.memory.ran_out(),
            )

    def _last_words(self) -> str:
        return os.pread(self._errors, 4000, 0).decode("utf-8", "replace").strip()[-1000:]


class _SlotUid:
    """A uid that no other slot on this machine has: its number is held by a lock on a file."""

    def __init__(self) -> None:
        folder = Path("/run" if os.access("/run", os.W_OK) else tempfile.gettempdir(), "rooflab-slots")
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            raise SandboxFault(f"{folder} belongs to somebody else")
        for number in range(1000):
            descriptor = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            self._descriptor = descriptor
            self.uid = profile.FIRST_SLOT_UID + number
            return
        raise SandboxFault("a thousand slots are taken")

    def close(self) -> None:
        os.close(self._descriptor)


def _readable(file: socket.socket | int, deadline: float) -> bool:
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
