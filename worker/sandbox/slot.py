"""A slot: one warm parent with its spares. A job goes in, an observation comes out.

All that a child does ends up in the observation; only a failure of the sandbox itself is a `SandboxFault`. One slot
serves one thread, and dies with it: the warm parent is bound to the thread that started it.
"""

import fcntl
import mmap
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from io import FileIO
from itertools import pairwise, zip_longest
from types import TracebackType

from labcore.runner.confine import Limits
from labcore.runner.protocol import Ending, Job, Observation, Outcome, Returned, enclose, records, value_bytes
from worker.sandbox import collect
from worker.sandbox.fault import SandboxFault
from worker.sandbox.host import isolation
from worker.sandbox.profile import PROFILES
from worker.sandbox.warm import Death, Spare, Zygote

SPARES = 8  # two for each of four questions in a row
DEATH_SECONDS = 30.0
"""How long a killed child may take to be gone before the sandbox is held to be broken."""


@dataclass(frozen=True, slots=True)
class Lent:
    """A child that has its job and makes calls as it is told to on `go`. Both memories are shared with it."""

    spare: Spare
    argument: mmap.mmap  # one after the other, as many as the job has calls
    results: mmap.mmap  # the records, and behind them eight bytes for each call
    go: FileIO
    tick: FileIO
    output: FileIO


class Slot:
    """Owns one warm parent. A context manager; `close` leaves no process behind."""

    def __init__(self, allow_reduced: bool = False) -> None:
        self.isolation = isolation()
        if self.isolation.level == "none" or (self.isolation.level == "reduced" and not allow_reduced):
            raise SandboxFault("the sandbox cannot be whole here: " + "; ".join(self.isolation.missing))
        self._zygote: Zygote | None = None
        self._spares: dict[Limits, deque[Spare]] = {}
        self._warm()

    def __enter__(self) -> "Slot":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the warm parent, its spares and whatever they run."""
        if self._zygote is not None:
            self._zygote.close()
        self._zygote = None
        self._spares.clear()

    def run(self, job: Job) -> Observation:
        """Run a job in a child of its own, and say what was seen once that child is dead.

        A child that is killed from outside at little memory of its own is given a second try, and no third.
        """
        limits = PROFILES.get(job.profile)
        if limits is None:
            raise SandboxFault(f"there is no profile {job.profile!r}")
        try:
            zygote = self._zygote or self._warm()
            observation = self._once(zygote, job, limits)
            if observation.ending is Ending.KILLED:  # most likely for memory that others took: the second time counts
                observation = self._once(zygote, job, limits)
            self._order(zygote, limits, 1)  # the next one is made while this result is judged
        except BaseException:
            self.close()  # the next request starts a new one
            raise
        return replace(observation, isolation=self.isolation.level)

    @contextmanager
    def lend(self, jobs: Sequence[Job]) -> Iterator[list[Lent]]:
        """A child for each job, to be timed side by side. They are dead when the block ends; a fault ends the slot."""
        limits = PROFILES["cpu"]
        try:
            zygote = self._zygote or self._warm()
            self._order(zygote, limits, len(jobs))
            with ExitStack() as open_here:
                lent = []
                for job in jobs:
                    spare = self._ready_spare(zygote, limits)
                    open_here.callback(_end, zygote, spare)
                    lent.append(_lend(open_here, spare, job))
                yield lent
        except BaseException:
            self.close()
            raise

    def replenish(self) -> None:
        """Make spares for the next submission. For the moment when nobody waits: it takes time from what runs."""
        self._order(self._zygote or self._warm(), PROFILES["cpu"], SPARES)

    def _warm(self) -> Zygote:
        self._zygote = Zygote(namespaces=self.isolation.level == "full", fresh_proc=self.isolation.fresh_proc)
        self._order(self._zygote, PROFILES["cpu"], SPARES)
        return self._zygote

    def _once(self, zygote: Zygote, job: Job, limits: Limits) -> Observation:
        spare = self._ready_spare(zygote, limits)
        try:
            return _watch(zygote, spare, job, limits)
        finally:
            spare.kill()
            spare.close()

    def _ready_spare(self, zygote: Zygote, limits: Limits) -> Spare:
        self._order(zygote, limits, 1)
        spare = self._spares[limits].popleft()
        zygote.await_ready(spare)
        return spare

    def _order(self, zygote: Zygote, limits: Limits, count: int) -> None:
        """See to it that `count` spares wait or are being made."""
        waiting = self._spares.setdefault(limits, deque())
        while len(waiting) < count:
            waiting.append(zygote.order(limits))


def _watch(zygote: Zygote, spare: Spare, job: Job, limits: Limits) -> Observation:
    """Hand the job over, follow the child until it is dead, and only then look at what it left."""
    wanted = [call.wanted for call in job.calls]
    _, size = records(wanted)
    seen = _Seen(limits.output_bytes, len(job.calls) + 1)
    with ExitStack() as open_here:
        out = _memory(open_here, bytes(0), size)
        tick, output = _hand_over(open_here, spare, job, out)
        seen.follow(spare, tick, output, time.perf_counter() + limits.wall_seconds)
        death = zygote.await_death(spare)
        spare.check_taken()
        load, returned = collect.results(os.pread(out, size, 0), wanted)
    times = [later - earlier for earlier, later in pairwise(seen.ticks)]
    return Observation(
        ending=_ending(seen, death, limits, [load, *returned]),
        returned=tuple(replace(one, seconds=took) for one, took in zip_longest(returned, times)),
        load=load.note,
        output=collect.text(bytes(seen.output), limits.output_bytes),
        seconds=seen.ended - seen.began,
        load_seconds=seen.ticks[0] - seen.began if seen.ticks else None,
        signal=death.signal,
    )


def _lend(open_here: ExitStack, spare: Spare, job: Job) -> Lent:
    wanted = [call.wanted for call in job.calls]
    _, size = records(wanted)
    with ExitStack() as theirs:
        out = _memory(theirs, bytes(0), size + 8 * len(wanted))
        argument = _memory(theirs, bytes(0), sum(map(value_bytes, wanted)))
        reading, writing = os.pipe2(os.O_CLOEXEC)
        theirs.callback(os.close, reading)
        go = open_here.enter_context(FileIO(writing, "wb"))
        tick, output = _hand_over(open_here, spare, job, out, argument, reading)
        return Lent(spare, mmap.mmap(argument, 0), mmap.mmap(out, 0), go, tick, output)


def _end(zygote: Zygote, spare: Spare) -> None:
    spare.kill()
    zygote.await_death(spare)
    spare.close()


def _hand_over(open_here: ExitStack, spare: Spare, job: Job, out: int, *timed: int) -> tuple[FileIO, FileIO]:
    """Give the spare its job, and keep our ends of the pipes alone."""
    with ExitStack() as theirs:
        request = enclose(job)
        given = _memory(theirs, request, len(request))
        tick = _pipe(open_here, theirs)
        output = _pipe(open_here, theirs)
        try:
            socket.send_fds(spare.line, [b"run"], [given, out, tick[1], output[1], *timed])
        except OSError as error:
            raise SandboxFault(f"a waiting child died: {error}") from error
        return tick[0], output[0]


class _Seen:
    """What the worker sees of a running child from outside, by its own clock."""

    def __init__(self, most_output: int, most_ticks: int) -> None:
        self.began = self.ended = time.perf_counter()
        self.ticks: list[float] = []
        self.output = bytearray()
        self.timed_out = False
        self._most_output = most_output
        self._most_ticks = most_ticks

    @property
    def flooded(self) -> bool:
        return len(self.output) > self._most_output

    def follow(self, spare: Spare, tick: FileIO, output: FileIO, deadline: float) -> None:
        """Read ticks and output until the child is dead; kill it at the deadline and when it floods."""
        assert spare.pidfd is not None
        poll = select.poll()
        for descriptor in (spare.pidfd, tick, output):
            poll.register(descriptor, select.POLLIN)
        killed = False
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(max(0.0, deadline - time.perf_counter()) * 1000)}
            for pipe, take in ((tick, self._take_ticks), (output, self._take_output)):
                if not pipe.closed and pipe.fileno() in ready and not take(pipe):
                    poll.unregister(pipe)
                    pipe.close()  # who writes on gets an error
            if spare.pidfd in ready:
                break
            late = time.perf_counter() >= deadline
            if late and killed:
                raise SandboxFault("a killed child does not die")
            if not killed and (late or self.flooded):
                self.timed_out = late and not self.flooded
                killed = True
                spare.kill()
                deadline = time.perf_counter() + DEATH_SECONDS
        self.ended = time.perf_counter()
        for pipe, take in ((tick, self._take_ticks), (output, self._take_output)):
            if not pipe.closed:
                take(pipe)

    def _take_ticks(self, tick: FileIO) -> bool:
        """Note when ticks came; false once there is nothing more to read, or more came than there are calls."""
        came = tick.read(self._most_ticks - len(self.ticks))
        self.ticks += [time.perf_counter()] * len(came or b"")
        return came != b"" and len(self.ticks) < self._most_ticks

    def _take_output(self, output: FileIO) -> bool:
        while not self.flooded:
            came = output.read(1 << 16)
            if not came:
                return came is None
            self.output += came
        return False


def _ending(seen: _Seen, death: Death, limits: Limits, returned: Sequence[Returned]) -> Ending:
    if seen.flooded:
        return Ending.FLOODED
    if seen.timed_out or (death.signal == signal.SIGKILL and death.cpu_seconds >= 0.9 * limits.cpu_seconds):
        return Ending.TIMED_OUT
    if death.memory_ran_out:
        return Ending.OUT_OF_MEMORY
    if death.signal is not None:
        if death.signal == signal.SIGKILL:
            # Nobody but the kernel, short of memory, kills from outside; and it may choose one who took little of it.
            return Ending.KILLED if death.peak_bytes < 0.5 * limits.memory_bytes else Ending.OUT_OF_MEMORY
        # What runs into the limit often crashes.
        return Ending.OUT_OF_MEMORY if death.peak_bytes >= 0.8 * limits.memory_bytes else Ending.CRASHED
    if returned[0].outcome is Outcome.RAISED:
        return Ending.NOT_LOADED
    if any(one.outcome is Outcome.NOT_REACHED for one in returned):
        return Ending.EXITED
    return Ending.FINISHED


def _memory(stack: ExitStack, contents: bytes, size: int) -> int:
    """Memory of fixed size; sealed against writing too when it comes with contents."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, descriptor)
    os.ftruncate(descriptor, size)
    rest = memoryview(contents)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL | (fcntl.F_SEAL_WRITE if contents else 0)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def _pipe(ours: ExitStack, theirs: ExitStack) -> tuple[FileIO, int]:
    """Both ends; reading gives None when nothing is there yet."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    theirs.callback(os.close, writing)
    os.set_blocking(reading, False)
    return ours.enter_context(FileIO(reading, "rb")), writing
