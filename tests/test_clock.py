"""What one call takes, from runs alone: the line, the reasons for having none, and the chance that is stated."""

from collections.abc import Sequence
from itertools import combinations
from random import Random

import pytest

from labcore.clock import FEWEST_LENGTHS, Figure, Reason, Run, Runs, Void, chance, enough, fit, judge

LENGTHS = (3, 1, 6, 2, 5, 4, 6, 1, 2, 5, 3, 4)


def runs(call: float, lengths: Sequence[int] = LENGTHS, apart: float = 0.0, noise: float = 0.0) -> list[Run]:
    random = Random(5)
    return [Run(n, (apart + call * n) * (1 + noise * random.random())) for n in lengths]


def timed(candidate: Sequence[Run], baseline: float = 0.003, hand_over: float = 0.001) -> Runs:
    return Runs(candidate, runs(baseline), runs(hand_over))


def reason(verdict: Figure | Void) -> Reason:
    assert isinstance(verdict, Void), verdict
    return verdict.reason


def test_a_line_gives_back_what_it_was_made_of() -> None:
    line = fit(runs(0.007, apart=0.002))
    assert (line.slope, line.intercept, line.scatter) == pytest.approx((0.007, 0.002, 0.0), abs=1e-12)


def test_a_few_runs_beside_the_line_do_not_move_it() -> None:
    disturbed = runs(0.007)
    disturbed[2] = Run(6, 0.5)
    disturbed[7] = Run(1, 0.1)
    assert fit(disturbed).slope == pytest.approx(0.007, rel=0.02)


def test_two_lengths_are_no_line() -> None:
    with pytest.raises(ValueError, match=str(FEWEST_LENGTHS)):
        fit(runs(0.007, lengths=(1, 6, 1, 6)))


def test_the_figure_leaves_handing_over_out() -> None:
    figure = judge(timed(runs(0.007)), claimed=0.006, checked=20)
    assert isinstance(figure, Figure)
    assert (figure.seconds, figure.baseline, figure.ratio) == pytest.approx((0.006, 0.002, 3.0))
    assert figure.low <= figure.ratio <= figure.high
    assert (figure.calls, figure.checked) == (42, 20)


def test_the_interval_holds_the_ratio_of_a_noisy_machine() -> None:
    figure = judge(timed(runs(0.007, noise=0.2)), claimed=0.006, checked=20)
    assert isinstance(figure, Figure)
    assert figure.low < figure.ratio < figure.high


def test_time_that_is_in_no_call_voids_the_run() -> None:
    assert reason(judge(timed(runs(0.007, apart=0.03)), 0.006, 20)) is Reason.HEAD_START
    assert reason(judge(timed([Run(n, 0.007 * max(n - 2, 0.1)) for n in LENGTHS]), 0.006, 20)) is Reason.HEAD_START


def test_delays_in_the_short_runs_lower_a_slope_and_void_the_run() -> None:
    delayed = [Run(run.calls, run.seconds + 0.004 * (6 - run.calls)) for run in runs(0.007)]
    assert fit(delayed).slope < 0.5 * 0.007  # by the slope alone the delay would have won
    assert reason(judge(timed(delayed), 0.006, 20)) in (Reason.HEAD_START, Reason.CROOKED)


def test_runs_off_any_line_are_void() -> None:
    scattered = [Run(run.calls, run.seconds * (1 if number % 2 else 3)) for number, run in enumerate(runs(0.007))]
    assert reason(judge(timed(scattered), 0.006, 20)) in (Reason.CROOKED, Reason.HEAD_START)


def test_nothing_is_faster_than_handing_the_argument_back() -> None:
    assert reason(judge(timed(runs(0.0009)), 0.0, 20)) is Reason.IMPOSSIBLE


@pytest.mark.parametrize("claimed", [0.0, 0.0005, 0.02, float("nan"), float("inf"), -1.0])
def test_a_clock_of_its_own_that_tells_another_time_voids_the_run(claimed: float) -> None:
    assert reason(judge(timed(runs(0.007)), claimed, 20)) is Reason.OWN_CLOCK


def test_a_baseline_slower_than_it_was_here_means_a_busy_machine() -> None:
    slowed = timed(runs(0.007), baseline=0.02)
    assert reason(judge(slowed, 0.006, 20, standing=0.002)) is Reason.BUSY
    assert isinstance(judge(slowed, 0.006, 20), Figure)


def test_an_uneven_baseline_is_not_laid_at_the_answers_door() -> None:
    uneven = Runs(runs(0.007), runs(0.003, apart=0.05), runs(0.001))
    assert reason(judge(uneven, 0.006, 20)) is Reason.BUSY
    assert [each for each in Reason if each.ours] == [Reason.BUSY]


@pytest.mark.parametrize(("calls", "checked"), [(10, 3), (12, 4), (20, 5)])
def test_the_chance_is_that_of_drawing_one_that_was_left_out(calls: int, checked: int) -> None:
    left_out = set(range(-(-calls // 10)))
    drawn = [left_out & set(each) for each in combinations(range(calls), checked)]
    assert chance(calls, checked) == pytest.approx(sum(map(bool, drawn)) / len(drawn))


def test_just_enough_calls_are_checked() -> None:
    for calls in (1, 9, 42, 100):
        assert chance(calls, enough(calls)) >= 0.99
        assert enough(calls) == 0 or chance(calls, enough(calls) - 1) < 0.99
