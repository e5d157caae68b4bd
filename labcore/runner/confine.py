"""Takes away from the calling process everything that student code must not have. There is no way back.

Covered here: own namespaces with a private scratch folder and an own /proc, limits on resources, capabilities,
Landlock, seccomp. Not covered: the view of the file system (bubblewrap makes it beforehand) and the wall clock (the
worker's). Every step raises `Unconfined` where it cannot be done whole: a process that is only partly confined must
not go on.
"""

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

SCRATCH = "/tmp"
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 24, 22, 38, 47
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture
_READ_FILE, _READ_DIR, _WRITE_FILE, _TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
_SCRATCH_RIGHTS = (
    _READ_FILE | _READ_DIR | _WRITE_FILE | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13 | _TRUNCATE
)
_libc = ctypes.CDLL(None, use_errno=True)


class Unconfined(Exception):
    """A layer of confinement could not be put on; the message names it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use. The worker keeps the table of them."""

    wall_seconds: float
    cpu_seconds: int
    memory_bytes: int  # address space on top of what the warm interpreter has mapped
    processes: int  # threads too; counted for the slot's uid
    open_files: int
    file_bytes: int
    output_bytes: int
    scratch_bytes: int
    scratch_files: int
    threads: int


def confine(limits: Limits, *, namespaces: bool, fresh_proc: bool, readable: Sequence[str], syscalls: bytes) -> None:
    """Put on every layer, in the one order that works. `syscalls` is the seccomp program."""
    if namespaces:
        _private_mounts(limits, fresh_proc)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # when the machine is short of memory, the child goes first
    _limit(limits)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _drop_capabilities()
    _landlock(readable, SCRATCH if namespaces else None)
    _seccomp(syscalls)


def landlock_abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    return max(0, int(_libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "namespaces")


def enter(descriptor: int, flags: int) -> None:
    _check(_libc.setns(descriptor, flags), "namespaces")


def _private_mounts(limits: Limits, fresh_proc: bool) -> None:
    unshare(CLONE_NEWNS | CLONE_NEWIPC)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE, "")
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    size = f"size={limits.scratch_bytes},nr_inodes={limits.scratch_files},mode=1777"
    _mount("tmpfs", SCRATCH, "tmpfs", flags, size)
    _mount(SCRATCH, "/dev/shm", None, _MS_BIND, "")
    if fresh_proc:
        _mount("proc", "/proc", "proc", flags, "subset=pid")
    else:
        _mount("tmpfs", "/proc", "tmpfs", flags | _MS_RDONLY, "size=4096,nr_inodes=2")
    os.chdir(SCRATCH)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str) -> None:
    kind_bytes = kind.encode() if kind else None
    result = _libc.mount(source.encode(), target.encode(), kind_bytes, ctypes.c_ulong(flags), options.encode() or None)
    _check(result, f"mount of {target}")


def _limit(limits: Limits) -> None:
    memory = limits.memory_bytes + _address_space()
    for which, amount in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 1),  # not 0, which still feeds a machine's crash handler; 1 is never enough for a dump
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 64),
    ):
        try:
            resource.setrlimit(which, (amount, amount))
        except (OSError, ValueError) as error:
            raise Unconfined(f"resource limits: {error}") from None


def _address_space() -> int:
    """Bytes of address space mapped now. Without a /proc, a figure that is generous for an interpreter with torch."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 8 << 30


def _drop_capabilities() -> None:
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    _libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)
    for capability in range(64):  # without CAP_SETPCAP this fails, and then there is nothing to drop
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_libc.capset(header, bytes(24)), "capabilities")


def _landlock(readable: Sequence[str], scratch: str | None) -> None:
    abi = landlock_abi()
    if abi < 1:
        raise Unconfined("Landlock: this kernel has none, or it is off")
    rights = (1 << 13) - 1
    for since, right in ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15)):
        if abi >= since:
            rights |= right
    attributes = struct.pack("=QQQ", rights, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = int(_libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    _check(ruleset, "Landlock")
    allowed = [(path, _READ_FILE | _READ_DIR) for path in readable]
    allowed += [("/dev/null", _READ_FILE | _WRITE_FILE | _TRUNCATE)]
    allowed += [(f"/dev/{name}", _READ_FILE) for name in ("zero", "random", "urandom")]
    if scratch:
        allowed += [(scratch, _SCRATCH_RIGHTS), ("/dev/shm", _SCRATCH_RIGHTS)]
    for path, wanted in allowed:
        _allow(ruleset, path, wanted & rights)
    _check(_libc.syscall(_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)), "Landlock")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no leave
    try:
        if not os.path.isdir(path):
            rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
        rule = struct.pack("=Qi", rights, descriptor)
        _check(
            _libc.syscall(_LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0)), "Landlock"
        )
    finally:
        os.close(descriptor)


def _seccomp(program: bytes) -> None:
    if not program or len(program) % 8:
        raise Unconfined("seccomp: there is no filter")
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _check(_libc.prctl(_PR_SET_SECCOMP, 2, head, 0, 0), "seccomp")


def _check(result: int, layer: str) -> None:
    if result < 0:
        raise Unconfined(f"{layer}: {os.strerror(ctypes.get_errno())}")
