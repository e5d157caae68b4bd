"""The warm parent of one slot: imports torch once, then forks a confined child ahead of each request.

It never runs student code, touches no CUDA (a fork after that is broken) and has one thread (a pool does not survive a
fork). Its control socket carries, one JSON object a packet:

    worker → zygote   {"torch", "namespaces", "fresh_proc", "readable", "syscalls"}      once, first
    zygote → worker   {"warm": version}                                           once, first
    worker → zygote   {"spare": number, "limits": {…}} and the child's socket
    zygote → worker   {"born": number} and a pidfd
    zygote → worker   {"died": number, "status", "cpu_seconds", "peak_bytes"}   bytes beyond the parent's own
"""

import gc
import json
import os
import resource
import selectors
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from labcore.runner import confine


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    orders = json.loads(control.recv(1 << 16))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    version = ""
    if orders["torch"]:
        from labcore.runner import child  # here, so that a probe of the host need not wait for torch

        version = child.warm_before_fork()
    gc.collect()
    gc.freeze()
    _send(control, {"warm": version})
    _serve(control, orders)


def _serve(control: socket.socket, orders: dict[str, Any]) -> None:
    """Make spares as ordered and report deaths, until the worker's end of the socket is closed."""
    home = os.pidfd_open(os.getpid())
    warm = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children: dict[int, tuple[int, int]] = {}  # pidfd: (number, pid)
    waiting = selectors.DefaultSelector()
    waiting.register(control, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fd in children:
                waiting.unregister(key.fd)
                number, pid = children.pop(key.fd)
                os.close(key.fd)
                _, status, used = os.wait4(pid, 0)
                died = {
                    "died": number,
                    "status": status,
                    "cpu_seconds": used.ru_utime + used.ru_stime,
                    "peak_bytes": max(0, used.ru_maxrss - warm) * 1024,
                }
                _send(control, died)
                continue
            message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
            if not message:
                os._exit(0)  # as the namespace ends, so does everything in it
            order = json.loads(message)
            inherited = socket.socket(fileno=descriptors[0])
            pid = _fork(home, orders, order["limits"], inherited)
            inherited.close()
            pidfd = os.pidfd_open(pid)
            children[pidfd] = (order["spare"], pid)
            waiting.register(pidfd, selectors.EVENT_READ)
            _send(control, {"born": order["spare"]}, pidfd)


def _fork(home: int, orders: dict[str, Any], limits: dict[str, Any], inherited: socket.socket) -> int:
    if orders["namespaces"]:
        confine.unshare(confine.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        _become_spare(orders, limits, inherited)
    if orders["namespaces"]:
        confine.enter(home, confine.CLONE_NEWPID)
    return pid


def _become_spare(orders: dict[str, Any], limits: dict[str, Any], inherited: socket.socket) -> None:
    status = 1
    try:
        _keep_only(inherited.fileno())
        table = confine.Limits(**limits)
        confine.confine(
            table,
            namespaces=orders["namespaces"],
            fresh_proc=orders["fresh_proc"],
            readable=orders["readable"],
            syscalls=bytes.fromhex(orders["syscalls"]),
        )
        if orders["torch"]:
            from labcore.runner import child

            child.warm_after_fork(table.threads)
            os.write(inherited.fileno(), b"ready")
            child.serve(inherited)
        else:
            os.write(inherited.fileno(), b"ready")
        status = 0
    except BaseException as error:
        with suppress(BaseException):
            os.write(inherited.fileno(), f"{type(error).__name__}: {error}".encode()[:1000])
    finally:
        os._exit(status)


def _keep_only(line: int) -> None:
    """Close every descriptor but the line to the worker; the standard ones lead nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.closerange(3, line)
    os.closerange(line + 1, 1 << 16)


def _send(control: socket.socket, message: dict[str, Any], *descriptors: int) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], list(descriptors))


if __name__ == "__main__":
    main()
