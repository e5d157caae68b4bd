"""What one call takes, from the worker's own clock: a line through runs of several lengths, or a reason for none.

Pure. Three children are timed in turn: the candidate, the baseline, and one that hands its argument back, whose line is
what handing over and taking back cost. Nothing here trusts the candidate: its own clock is a claim, held beside ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import ceil, comb
from random import Random
from statistics import median
from typing import Final, NamedTuple

FEWEST_LENGTHS: Final = 3
LEFT_OUT: Final = 10
"""The chance that is stated is that of catching an answer which leaves out one call in ten."""
MOST_SCATTER: Final = 0.25
"""Half of an honest child's runs lie within a few percent of its line, and within a fifth beside two busy processes."""
MOST_HEAD_START: Final = 1.0
"""In calls: what a run may take, or save, apart from its calls. A call that is not counted precedes each run, so honest
lines begin at nothing; noise moves them by up to half a call."""
MOST_BESIDE_LINE: Final = 1.6
"""How much longer a call of the longest runs may take than the line says."""
OWN_CLOCK: Final = 0.4
"""Part of the figure, beside one hand-over, by which an honest child's clock may differ: it does not see the kernel."""
BUSY: Final = 2.5
"""A baseline this many times slower than it has been here: more than sharing a core with one other process explains."""
RESAMPLES: Final = 200


class Reason(StrEnum):
    """Why there is no figure, in words for whoever reads it. Only a busy machine is no doing of the answer's."""

    BUSY = "the machine was too busy to measure"
    WRONG = "a result was wrong while it was being timed"
    CHANGED = "a result was changed after it had been handed over"
    CROOKED = "the time does not grow evenly with the number of calls"
    HEAD_START = "calls at the start of a run take another time than those that follow"
    IMPOSSIBLE = "it came out faster than handing the argument back"
    OWN_CLOCK = "its own clock tells another time than ours"
    ENDED = "it ended while it was being timed"
    RAISED = "it raised an exception while it was being timed"
    OTHER_KIND = "it returned another kind of result while it was being timed"
    TIMED_OUT = "it took too long"
    FLOODED = "it printed too much"
    NOT_STOPPED = "it could not be held still while others were timed"

    @property
    def ours(self) -> bool:
        """Whether it may be tried again: no other void is a free try."""
        return self is Reason.BUSY


class Run(NamedTuple):
    """One run: how many calls, and how long they took from the first input's way in to the last output's way out."""

    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of the three children. Runs at one position have one length and were timed one after the other."""

    candidate: Sequence[Run]
    baseline: Sequence[Run]
    hand_over: Sequence[Run]


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds for each call, seconds apart from calls, and how far off half of the runs are, as part of their time."""

    slope: float
    intercept: float
    scatter: float


@dataclass(frozen=True, slots=True)
class Figure:
    """What one call takes, all in seconds by the worker's clock; `claimed` is by the child's own.

    `low` and `high` hold 95 of 100 ratios of resampled runs; `chance`: of having caught one call in ten left out.
    """

    seconds: float
    baseline: float
    ratio: float
    low: float
    high: float
    spread: float
    hand_over: float
    claimed: float
    calls: int
    checked: int
    chance: float


@dataclass(frozen=True, slots=True)
class Void:
    """No figure, and why."""

    reason: Reason


def fit(runs: Sequence[Run]) -> Line:
    """The line through runs by Theil and Sen. Raises ValueError for less than three different lengths."""
    if len({run.calls for run in runs}) < FEWEST_LENGTHS:
        raise ValueError(f"a line needs runs of at least {FEWEST_LENGTHS} lengths")
    slope = _slope(runs)
    intercept = median(run.seconds - slope * run.calls for run in runs)
    scatter = median(abs(run.seconds - intercept - slope * run.calls) / run.seconds for run in runs)
    return Line(slope, intercept, scatter)


def judge(runs: Runs, claimed: float, checked: int, standing: float | None = None) -> Figure | Void:
    """The figure that three children's runs come to, or why there is none.

    `claimed` is the candidate's own time for a call, `checked` how many of its counted outputs were compared in full,
    `standing` what the baseline has taken on this device before.
    """
    candidate, baseline, hand_over = (fit(each) for each in (runs.candidate, runs.baseline, runs.hand_over))
    own, theirs = candidate.slope - hand_over.slope, baseline.slope - hand_over.slope
    if theirs <= 0 or hand_over.slope <= 0 or (standing is not None and theirs > BUSY * standing):
        return Void(Reason.BUSY)
    if _uneven(runs.baseline, baseline) or _uneven(runs.hand_over, hand_over):
        return Void(Reason.BUSY)
    if reason := _uneven(runs.candidate, candidate):
        return Void(reason)
    if own <= 0:
        return Void(Reason.IMPOSSIBLE)
    if not abs(claimed - own) <= OWN_CLOCK * own + hand_over.slope:  # not even where it is no number
        return Void(Reason.OWN_CLOCK)
    low, high = _interval(runs)
    calls = sum(run.calls for run in runs.candidate)
    return Figure(
        seconds=own,
        baseline=theirs,
        ratio=own / theirs,
        low=low,
        high=high,
        spread=candidate.scatter,
        hand_over=hand_over.slope,
        claimed=claimed,
        calls=calls,
        checked=checked,
        chance=chance(calls, checked),
    )


def chance(calls: int, checked: int) -> float:
    """The chance that `checked` calls, drawn from all, hold one of those that an answer left out."""
    left_out = ceil(calls / LEFT_OUT)
    return 1 - comb(calls - left_out, checked) / comb(calls, checked)


def enough(calls: int, wanted: float = 0.99) -> int:
    """The fewest calls to check for at least this chance."""
    return next(checked for checked in range(calls + 1) if chance(calls, checked) >= wanted)


def _slope(runs: Sequence[Run]) -> float:
    return median(
        (one.seconds - other.seconds) / (one.calls - other.calls)
        for one, other in combinations(runs, 2)
        if one.calls != other.calls
    )


def _uneven(runs: Sequence[Run], line: Line) -> Reason | None:
    if line.slope <= 0 or line.scatter > MOST_SCATTER:
        return Reason.CROOKED
    if abs(line.intercept) > MOST_HEAD_START * line.slope:
        return Reason.HEAD_START
    longest = max(run.calls for run in runs)
    bound = median(run.seconds / run.calls for run in runs if run.calls == longest)
    return Reason.CROOKED if bound > MOST_BESIDE_LINE * line.slope else None


def _interval(runs: Runs) -> tuple[float, float]:
    """Where the ratio lies when rounds are drawn again from those that were timed."""
    random = Random(0)  # equal runs give an equal interval
    rounds = list(zip(runs.candidate, runs.baseline, runs.hand_over, strict=True))
    ratios: list[float] = []
    while len(ratios) < RESAMPLES:
        drawn = random.choices(rounds, k=len(rounds))
        if len({one[0].calls for one in drawn}) < FEWEST_LENGTHS:
            continue
        own, theirs, over = (_slope(each) for each in zip(*drawn, strict=True))
        ratios.append((own - over) / (theirs - over) if theirs > over else float("inf"))
    ratios.sort()
    outside = RESAMPLES // 40
    return ratios[outside], ratios[-1 - outside]
