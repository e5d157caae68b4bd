"""What student code may try, and what becomes of it; after each attempt the next honest job is answered right."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent

import pytest

import grading
from labcore.runner.protocol import Call, Ending, IntegerWanted, Job, Observation, Outcome
from worker.sandbox import profile
from worker.sandbox.slot import Slot

HONEST = Job("def product(a, b):\n    return a * b\n", "product", (Call((6, 7), IntegerWanted()),), profile="prompt")
VERDICT = str(Path(grading.__file__).with_name("verdict.py"))


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    """A slot with rows of limits: a wall clock never met, one to be timed out by, the second an honest answer has."""
    usual = replace(profile.PROFILES["cpu"], memory_bytes=256 * profile.MIB, file_bytes=16 * profile.MIB)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(profile.PROFILES, "usual", usual)
        patch.setitem(profile.PROFILES, "short", replace(usual, wall_seconds=0.5))
        patch.setitem(profile.PROFILES, "prompt", replace(usual, wall_seconds=1.0))
        with Slot() as slot:
            yield slot


@dataclass(frozen=True)
class Attack:
    """One attempt: a promise as its name, the source of `attack()`, and what may be observed."""

    promise: str
    source: str
    endings: tuple[Ending, ...] = (Ending.FINISHED,)
    value: int | None = None  # what attack() says about itself, where it comes to an end
    errors: tuple[str, ...] = ()


TIMED_OUT = (Ending.TIMED_OUT,)

ATTACKS = [
    Attack(
        "an endless loop is ended",
        """
        def attack():
            while True: pass
        """,
        TIMED_OUT,
    ),
    Attack(
        "an endless loop while loading is ended",
        "while True: pass",
        TIMED_OUT,
    ),
    Attack(
        "a sleep without end is ended",
        """
        import time
        def attack():
            time.sleep(1e9)
        """,
        TIMED_OUT,
    ),
    Attack(
        "a loop that ignores signals is ended",
        """
        import signal
        def attack():
            [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15, 24)]
            while True: pass
        """,
        TIMED_OUT,
    ),
    Attack(
        "a fork bomb cannot fork once",
        """
        import os
        def attack():
            while True: os.fork()
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "30 GB in one piece are refused",
        """
        def attack():
            bytearray(30 << 30)
        """,
        errors=("MemoryError",),
    ),
    Attack(
        "30 GB in many pieces are refused",
        """
        def attack():
            kept = []
            while True: kept.append(bytearray(1 << 24))
        """,
        (Ending.FINISHED, Ending.OUT_OF_MEMORY),
        errors=("MemoryError",),
    ),
    Attack(
        "30 GB of tensors are refused",
        """
        import torch
        def attack():
            torch.ones(30 << 30, dtype=torch.uint8)
        """,
        errors=("RuntimeError",),
    ),
    Attack(
        "30 GB of shared memory are refused",
        """
        import mmap
        def attack():
            mmap.mmap(-1, 30 << 30)
        """,
        errors=("OSError", "MemoryError", "PermissionError"),
    ),
    Attack(
        "a file of 50 GB is refused",
        """
        def attack():
            with open('/tmp/big', 'wb') as file:
                while True: file.write(bytes(1 << 22))
        """,
        errors=("OSError",),
    ),
    Attack(
        "a sparse file of 50 GB is refused",
        """
        import os
        def attack():
            with open('/dev/shm/big', 'wb') as file:
                os.truncate(file.fileno(), 50 << 30)
        """,
        errors=("OSError",),
    ),
    Attack(
        "several files share one bound",
        """
        def attack():
            for n in range(100):
                open(f'/tmp/{n}', 'wb').write(bytes(1 << 23))
        """,
        errors=("OSError",),
    ),
    Attack(
        "a million small files are refused",
        """
        def attack():
            for n in range(1_000_000): open(f'/tmp/{n}', 'w').close()
        """,
        errors=("OSError",),
    ),
    Attack(
        "1 GB of output is cut off",
        """
        def attack():
            for _ in range(1 << 20): print('x' * 1023)
        """,
        (Ending.FLOODED,),
    ),
    Attack(
        "1 GB on stderr is cut off",
        """
        import os
        def attack():
            while True: os.write(2, b'x' * 4096)
        """,
        (Ending.FLOODED,),
    ),
    Attack(
        "an overflow of the C stack ends one child",
        """
        import sys
        sys.setrecursionlimit(10**9)
        def attack(*_):
            return max([0], key=attack)
        """,
        (Ending.CRASHED, Ending.FINISHED, Ending.OUT_OF_MEMORY),
        errors=("RecursionError",),
    ),
    Attack(
        "a recursion without end ends one child",
        """
        import sys
        sys.setrecursionlimit(10**9)
        def attack():
            return attack()
        """,
        (Ending.CRASHED, Ending.FINISHED, Ending.OUT_OF_MEMORY, Ending.TIMED_OUT),
    ),
    Attack(
        "a segfault ends one child",
        """
        import ctypes
        def attack():
            ctypes.string_at(8)
        """,
        (Ending.CRASHED,),
    ),
    Attack(
        "an abort ends one child",
        """
        import os
        def attack():
            os.abort()
        """,
        (Ending.CRASHED,),
    ),
    Attack(
        "os._exit(0) proves nothing",
        """
        import os
        def attack():
            os._exit(0)
        """,
        (Ending.EXITED,),
    ),
    Attack(
        "os._exit(0) while loading proves nothing",
        """
        import os
        os._exit(0)
        """,
        (Ending.EXITED,),
    ),
    Attack(
        "SystemExit is an error like any other",
        """
        def attack():
            raise SystemExit(0)
        """,
        errors=("SystemExit",),
    ),
    Attack(
        "SystemExit while loading is an error",
        "raise SystemExit(0)",
        (Ending.NOT_LOADED,),
    ),
    Attack(
        "KeyboardInterrupt is an error",
        """
        def attack():
            raise KeyboardInterrupt
        """,
        errors=("KeyboardInterrupt",),
    ),
    Attack(
        "an exception that breaks when it is shown is an error",
        """
        class Bad(BaseException):
            def __str__(self): raise self
            __repr__ = __str__
        def attack():
            raise Bad
        """,
        errors=("Bad",),
    ),
    Attack(
        "SIGSTOP to itself is refused",
        """
        import os, signal
        def attack():
            os.kill(os.getpid(), signal.SIGSTOP)
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "threads that go on end with the child",
        """
        import threading
        def spin():
            while True: pass
        def attack():
            for _ in range(4): threading.Thread(target=spin).start()
            return 4
        """,
        value=4,
    ),
    Attack(
        "a thousand threads are refused",
        """
        import threading, time
        def attack():
            for _ in range(1000): threading.Thread(target=time.sleep, args=(99,)).start()
        """,
        errors=("RuntimeError",),
    ),
    Attack(
        "a daemonised grandchild cannot be made",
        """
        import os
        def attack():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while True: pass
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "a program cannot be started",
        """
        import subprocess
        def attack():
            subprocess.run(['/opt/python/bin/python3'])
        """,
        errors=("PermissionError", "FileNotFoundError"),
    ),
    Attack(
        "a program cannot replace the child",
        """
        import os, sys
        def attack():
            os.execv(f'/opt/python/bin/python3.{sys.version_info.minor}', ['python', '-c', '0'])
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "the grader's sources cannot be read",
        """
        def attack():
            open('@@VERDICT')
        """,
        errors=("FileNotFoundError",),
    ),
    Attack(
        "no part of Rooflab but the runner can be imported or found",
        """
        import os, importlib.util
        def attack():
            found = sum(importlib.util.find_spec(name) is not None for name in ('grading', 'worker', 'api'))
            for folder, names, files in os.walk('/'):
                if folder.count('/') < 4 and not folder.startswith('/proc'):
                    found += sum(name in ('grading', 'worker', 'migrations', 'lab1', 'hidden') for name in names)
            return found
        """,
        value=0,
    ),
    Attack(
        "accounts cannot be read",
        """
        def attack():
            open('/etc/passwd')
        """,
        errors=("FileNotFoundError",),
    ),
    Attack(
        "homes, devices and the kernel's files are not there",
        """
        import os
        def attack():
            return sum(os.path.exists(p) for p in ('/root', '/home', '/sys', '/run', '/var', '/etc/shadow'))
        """,
        value=0,
    ),
    Attack(
        "other processes are not to be seen",
        """
        import os
        def attack():
            return len([n for n in os.listdir('/proc') if n.isdigit() and n != '1']) + os.getppid()
        """,
        value=0,
    ),
    Attack(
        "nothing outside the scratch folder can be written",
        """
        import os, torch
        def attack():
            written = 0
            for path in ('/x', '/usr/lib/x', '/opt/x', '/dev/x', '/opt/rooflab/labcore/runner/x', torch.__file__,
                         '/proc/sys/kernel/core_pattern', '/proc/self/oom_score_adj', '/proc/self/mem'):
                try:
                    open(path, 'ab').close()
                    written += 1
                except OSError: pass
            return written
        """,
        value=0,
    ),
    Attack(
        "a socket of the family AF_INET is refused",
        """
        import socket
        def attack():
            socket.socket(socket.AF_INET, socket.SOCK_RAW if 'AF_INET' == 'AF_NETLINK' else 1)
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "a socket of the family AF_INET6 is refused",
        """
        import socket
        def attack():
            socket.socket(socket.AF_INET6, socket.SOCK_RAW if 'AF_INET6' == 'AF_NETLINK' else 1)
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "a socket of the family AF_UNIX is refused",
        """
        import socket
        def attack():
            socket.socket(socket.AF_UNIX, socket.SOCK_RAW if 'AF_UNIX' == 'AF_NETLINK' else 1)
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "a socket of the family AF_NETLINK is refused",
        """
        import socket
        def attack():
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW if 'AF_NETLINK' == 'AF_NETLINK' else 1)
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "a pair of sockets is refused",
        """
        import socket
        def attack():
            socket.socketpair()
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "killing the parent is refused",
        """
        import os
        def attack():
            os.kill(os.getppid(), 9)
        """,
        errors=("PermissionError", "ProcessLookupError"),
    ),
    Attack(
        "killing process 1 is refused",
        """
        import os
        def attack():
            os.kill(1, 9)
        """,
        errors=("PermissionError", "ProcessLookupError"),
    ),
    Attack(
        "killing everybody is refused",
        """
        import os
        def attack():
            os.kill(-1, 9)
        """,
        errors=("PermissionError", "ProcessLookupError"),
    ),
    Attack(
        "no descriptor but the standard ones and the tick is open",
        """
        import os
        def attack():
            found = 0
            for n in range(4, 4096):
                try:
                    os.fstat(n)
                    found += 1
                except OSError: pass
            return found
        """,
        value=0,
    ),
    Attack(
        "writing past the output memory ends one child",
        """
        import ctypes
        def attack():
            for line in open('/proc/self/maps'):
                if 'memfd:job' in line and 'rw-s' in line:
                    start, end = (int(n, 16) for n in line.split()[0].split('-'))
                    ctypes.memset(start, 255, end - start + (1 << 30))
        """,
        (Ending.CRASHED,),
    ),
    Attack(
        "output memory full of ones is read without harm",
        """
        import ctypes, os
        def attack():
            for line in open('/proc/self/maps'):
                if 'memfd:job' in line and 'rw-s' in line:
                    start, end = (int(n, 16) for n in line.split()[0].split('-'))
                    ctypes.memset(start, 255, end - start)
            os._exit(0)
        """,
        (Ending.EXITED,),
    ),
    Attack(
        "a flood of ticks is not read",
        """
        import os
        def attack():
            for _ in range(1 << 10): os.write(3, b'.' * 1024)
        """,
        errors=("BrokenPipeError",),
    ),
    Attack(
        "closing every descriptor harms nobody else",
        """
        import os
        def attack():
            os.closerange(0, 4096)
            return 1
        """,
        value=1,
    ),
    Attack(
        "replacing modules harms no other child",
        """
        import sys, json, builtins, torch
        def attack():
            torch.Tensor.copy_ = torch.equal = json.dumps = None
            builtins.int = builtins.type = str
            sys.modules.clear()
            return 1
        """,
        (Ending.FINISHED, Ending.EXITED),
    ),
    Attack(
        "a stream that never ends its flush is not flushed",
        """
        import sys, types
        def flush():
            while True: pass
        def attack():
            sys.stdout = sys.stderr = types.SimpleNamespace(flush=flush)
            return 1
        """,
        value=1,
    ),
    Attack(
        "when the machine is short of memory, the child goes first",
        """
        def attack():
            return int(open('/proc/self/oom_score_adj').read())
        """,
        value=1000,
    ),
    Attack(
        "walking frames finds no expected value",
        """
        import sys
        def attack():
            frame, seen = sys._getframe(), ''
            while frame:
                seen += ' '.join(frame.f_locals)
                frame = frame.f_back
            return int('expected' in seen or 'reference' in seen)
        """,
        value=0,
    ),
    Attack(
        "memory without a bound is refused",
        """
        import os
        def attack():
            os.memfd_create('x')
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "limits cannot be raised",
        """
        import resource
        def attack():
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        """,
        errors=("ValueError", "PermissionError"),
    ),
    Attack(
        "another user cannot be taken",
        """
        import os
        def attack():
            os.setuid(1)
        """,
        errors=("PermissionError",),
    ),
    Attack(
        "no capability is left, and none can be won",
        """
        def attack():
            said = dict(line.split(':', 1) for line in open('/proc/self/status'))
            sets = sum(int(said[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'))
            return sets + 1 - int(said['NoNewPrivs'])
        """,
        value=0,
    ),
    Attack(
        "mounts, namespaces, tracing, keys and kernel programs are refused",
        """
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        def refused(number, *args):
            result = libc.syscall(number, *args)
            return result == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS)
        import platform
        def attack():
            numbers = {'x86_64': (101, 165, 272, 308, 250, 321, 323, 425, 298, 29, 161),
                       'aarch64': (117, 40, 97, 268, 219, 280, 282, 425, 241, 194, 51)}[platform.machine()]
            return sum(not refused(number, 0, 0, 0, 0, 0) for number in numbers)
        """,
        value=0,
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.promise)
def test_contained(slot: Slot, attack: Attack) -> None:
    limits = "short" if attack.endings == TIMED_OUT else "usual"
    source = dedent(attack.source).replace("@@VERDICT", VERDICT)
    job = Job(source, "attack", (Call((), IntegerWanted()),), profile=limits)

    seen = slot.run(job)

    assert seen.ending in attack.endings, seen
    (result,) = seen.returned
    if attack.value is not None:
        assert result.value == attack.value, seen
    if attack.errors and seen.ending is Ending.FINISHED:
        assert result.outcome is Outcome.RAISED and result.note.error in attack.errors, seen
    assert len(seen.output) <= profile.PROFILES["usual"].output_bytes
    _still_answers(slot.run(HONEST))


def test_nothing_is_left_for_the_next_child(slot: Slot) -> None:
    leave = "def attack():\n    for f in ('/tmp/left', '/dev/shm/left'): open(f, 'w').write('secret')\n    return 1"
    look = "import os\ndef attack():\n    return len(os.listdir('/tmp') + os.listdir('/dev/shm'))"

    left = slot.run(Job(leave, "attack", (Call((), IntegerWanted()),), profile="usual"))
    found = slot.run(Job(look, "attack", (Call((), IntegerWanted()),), profile="usual"))

    assert (left.returned[0].value, found.returned[0].value) == (1, 0)


def test_inputs_of_another_job_are_nowhere_in_memory(slot: Slot) -> None:
    secret = int.from_bytes(b"a number that only one job may see")
    look = (
        "def attack(low, high):\n    wanted, found = (low + high).to_bytes(34).hex().encode(), 0\n"
        "    for line in open('/proc/self/maps'):\n        place = line.split()\n"
        "        if 'r' in place[1] and 'memfd' in line:\n"
        "            import ctypes\n            start, end = (int(n, 16) for n in place[0].split('-'))\n"
        "            found += ctypes.string_at(start, end - start).count(wanted)\n    return found"
    )
    slot.run(Job("def attack(n): return 1", "attack", (Call((secret,), IntegerWanted()),), profile="usual"))

    seen = slot.run(Job(look, "attack", (Call((secret - 1, 1), IntegerWanted()),), profile="usual"))

    assert seen.returned[0].value == 0, seen


def test_the_time_of_the_next_calls_is_kept_after_a_call_that_raised(slot: Slot) -> None:
    source = "def attack(n):\n    if n == 2: raise ValueError(n)\n    return n"
    calls = tuple(Call((n,), IntegerWanted()) for n in (1, 2, 3))

    seen = slot.run(Job(source, "attack", calls, profile="usual"))

    assert [one.value for one in seen.returned] == [1, None, 3]
    assert all(one.seconds is not None for one in seen.returned)


def test_calls_before_a_timeout_keep_their_results(slot: Slot) -> None:
    source = "def attack(n):\n    while n == 2: pass\n    return n"
    calls = tuple(Call((n,), IntegerWanted()) for n in (1, 2, 3))

    seen = slot.run(Job(source, "attack", calls, profile="short"))

    assert seen.ending is Ending.TIMED_OUT
    assert [one.outcome for one in seen.returned] == [Outcome.RETURNED, Outcome.NOT_REACHED, Outcome.NOT_REACHED]


def test_processor_time_is_bounded_too(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(profile.PROFILES, "busy", replace(profile.PROFILES["cpu"], wall_seconds=60.0, cpu_seconds=1))
    source = "import threading\ndef spin():\n    while True: pass\ndef attack():\n    spin()"

    seen = slot.run(Job(source, "attack", (Call((), IntegerWanted()),), profile="busy"))

    assert seen.ending is Ending.TIMED_OUT


def _still_answers(seen: Observation) -> None:
    assert seen.ending is Ending.FINISHED and seen.returned[0].value == 42, seen
