"""A child that is killed for others' sake gets a second try; one that has itself killed in the same way gains nothing.

No signal can be sent from inside; but the kernel kills whoever runs out of a processor time that it set itself.
"""

import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from labcore.runner.protocol import Call, Ending, IntegerWanted, Job
from worker.sandbox import slot as module
from worker.sandbox.profile import MIB, PROFILES
from worker.sandbox.slot import Slot

HONEST = "def f(a, b): return a * b"
ENDS_ITSELF = """
import resource
kept = b'x' * {}
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
def f(a, b):
    while True: pass
"""


class HandedOver:
    """Hands jobs over as ever and counts them; kills so many of the first children once they have their job."""

    def __init__(self, kills: int) -> None:
        self.kills = kills
        self.count = 0
        self._hand_over = module._hand_over

    def __call__(self, open_here: Any, spare: Any, job: Any, out: int) -> Any:
        self.count += 1
        doomed = self.count <= self.kills
        if doomed:
            signal.pidfd_send_signal(spare.pidfd, signal.SIGSTOP)
        pipes = self._hand_over(open_here, spare, job, out)
        if doomed:
            signal.pidfd_send_signal(spare.pidfd, signal.SIGKILL)
        return pipes


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    with Slot() as slot:
        yield slot


def job(source: str) -> Job:
    return Job(source, "f", (Call((6, 7), IntegerWanted()),))


def test_a_child_killed_once_from_outside_costs_nothing(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_hand_over", children := HandedOver(kills=1))

    seen = slot.run(job(HONEST))

    assert (seen.ending, seen.returned[0].value, children.count) == (Ending.FINISHED, 42, 2)


def test_there_is_no_third_try_and_the_next_job_is_answered(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_hand_over", children := HandedOver(kills=2))

    seen = slot.run(job(HONEST))

    assert (seen.ending, seen.signal, seen.returned[0].value) == (Ending.KILLED, signal.SIGKILL, None)
    assert children.count == 2
    assert slot.run(job(HONEST)).returned[0].value == 42


def test_a_child_that_has_itself_killed_is_run_twice_and_fails(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_hand_over", children := HandedOver(kills=0))

    seen = slot.run(job(ENDS_ITSELF.format(0)))

    assert (seen.ending, seen.signal, seen.returned[0].value) == (Ending.KILLED, signal.SIGKILL, None)
    assert children.count == 2


def test_one_that_is_killed_with_much_memory_of_its_own_is_run_once(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(PROFILES["cpu"], memory_bytes=512 * MIB)
    monkeypatch.setitem(PROFILES, "cpu", small)
    monkeypatch.setattr(module, "_hand_over", children := HandedOver(kills=0))

    seen = slot.run(job(ENDS_ITSELF.format(small.memory_bytes * 3 // 4)))

    assert (seen.ending, seen.signal) == (Ending.OUT_OF_MEMORY, signal.SIGKILL)
    assert children.count == 1


def test_a_child_stopped_by_the_sandbox_itself_is_run_once(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_hand_over", children := HandedOver(kills=0))

    assert slot.run(job("while True: print('x' * 4096)")).ending is Ending.FLOODED
    assert children.count == 1
