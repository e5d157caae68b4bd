"""What a child may use and reach, as data: rows of limits, system calls it may make."""

import os
from functools import cache

from labcore.runner.confine import Limits

MIB = 1 << 20

PROFILES = {
    "cpu": Limits(
        wall_seconds=10.0,
        cpu_seconds=12,
        memory_bytes=2048 * MIB,
        processes=64,
        open_files=64,
        file_bytes=64 * MIB,
        output_bytes=64 << 10,
        scratch_bytes=64 * MIB,
        scratch_files=1024,
        threads=1,
    ),
}

SLOT_MEMORY_BYTES = max(row.memory_bytes + row.scratch_bytes for row in PROFILES.values()) + 512 * MIB
"""What a slot may use in all, where control groups are to be had: a child with all its files in memory, beside the warm
parent and the spares that wait."""

FIRST_SLOT_UID = 61000
"""As root, slot n runs under the uid 61000 + n, which no account should have."""

_CALLS = """
access arch_prctl brk chdir chmod clock_getres clock_gettime clock_nanosleep close close_range copy_file_range dup
dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd2 exit exit_group faccessat
faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fcntl fdatasync flock fstat fstatfs fsync ftruncate futex
futex_waitv get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getpgid getpgrp getpid
getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid gettimeofday getuid lseek lstat
madvise membarrier mincore mkdir mkdirat mmap mprotect mremap msync munmap nanosleep newfstatat open openat pause pipe
pipe2 poll ppoll pread64 preadv preadv2 pselect6 pwrite64 pwritev pwritev2 read readlink readlinkat readv recvmsg
rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn
rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam
sched_getscheduler sched_rr_get_interval sched_yield select sendfile set_robust_list set_tid_address sigaltstack stat
statfs statx symlink symlinkat sysinfo time times truncate umask uname unlink unlinkat utimensat wait4 waitid write
writev
"""
_THREAD = 0x00010000 | 0x00000100  # CLONE_THREAD | CLONE_VM: a clone without both would be a process
_TERMINAL_QUESTIONS = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONREAD FIONCLEX FIOCLEX
_NAME_OF_THREAD = (15, 16)  # PR_SET_NAME, PR_GET_NAME


@cache
def seccomp_program() -> bytes:
    """The filter as a BPF program: a list of what is allowed; everything else is refused with EPERM.

    Not on the list: new processes, programs, signals, sockets, memory outside the limits (memfd, System V), mounts,
    namespaces, tracing, keys, io_uring, BPF. `recvmsg` is on it for the request; when student code is loaded, no socket
    is left to use it on. Raises ImportError or OSError where libseccomp is missing.
    """
    import pyseccomp as seccomp

    filter_ = seccomp.SyscallFilter(seccomp.ERRNO(1))
    for name in _CALLS.split():
        _allow(filter_, name)
    _allow(filter_, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, _THREAD, _THREAD))
    filter_.add_rule(seccomp.ERRNO(38), "clone3")  # ENOSYS: the C library then takes clone, whose flags can be seen
    _allow(filter_, "prlimit64", seccomp.Arg(0, seccomp.EQ, 0))
    for command in _TERMINAL_QUESTIONS:
        _allow(filter_, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, command))
    for option in _NAME_OF_THREAD:
        _allow(filter_, "prctl", seccomp.Arg(0, seccomp.EQ, option))
    with os.fdopen(os.memfd_create("seccomp"), "w+b") as file:
        filter_.export_bpf(file)
        file.seek(0)
        return file.read()


def _allow(filter_: object, name: str, *conditions: object) -> None:
    import pyseccomp as seccomp

    if seccomp.resolve_syscall(seccomp.system_arch(), name) == -1:
        return  # an older libseccomp does not know it: then it stays refused
    filter_.add_rule(seccomp.ALLOW, name, *conditions)  # type: ignore[attr-defined]
