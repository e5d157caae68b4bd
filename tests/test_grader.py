"""Every question gets one verdict: only a named fault of ours leaves the grader, and no zero is without a reason."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grading import grader, pack
from grading.answers.model import Answer, Answers
from grading.answers.reading import read
from grading.grader import OurFault, grade, seed_for
from grading.kinds import KINDS
from grading.kinds.contract import Question
from grading.verdict import State, Verdict
from labcore.runner.protocol import Call, Ending, IntegerWanted, Job, Observation

FOLDER = Path(grader.__file__).parent / "packs" / "lab1"
PACK = pack.load(FOLDER)
IDS = [question.id for question in PACK.questions]


class EndedAtOnce:
    """A sandbox whose children all end before the first call. Keeps the jobs that it was given."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Observation:
        self.jobs.append(job)
        return Observation(Ending.EXITED, ())


class Breaks:
    """A sandbox that raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, job: Job) -> Observation:
        raise self.error


def answers(*found: Answer) -> Answers:
    return Answers(answers=found)


def all_found() -> Answers:
    return answers(*(Answer(question=name, found=True, source="pass\n", definition="pass\n") for name in IDS))


def graded(
    given: Answers,
    run: Callable[[Job], Observation] | None = None,
    explanations_left: Callable[[str], int] = lambda question: 1,
    progress: Callable[[int], None] = lambda judged: None,
    last: bool = False,
) -> list[Verdict]:
    return grade(PACK, given, run or EndedAtOnce(), b"seed", explanations_left, progress, last)


@pytest.mark.parametrize("given", [answers(), all_found(), answers(Answer(question="9.9", found=True))])
def test_every_question_gets_exactly_one_verdict_in_the_packs_order(given: Answers) -> None:
    verdicts = graded(given)
    assert [verdict.question for verdict in verdicts] == IDS
    assert [verdict.out_of for verdict in verdicts] == [question.points for question in PACK.questions]
    assert all(verdict.headline for verdict in verdicts)


def test_what_was_not_found_says_why_and_runs_nothing() -> None:
    sandbox = EndedAtOnce()
    reasons = answers(Answer(question="1.1", found=False, reason="Cell 3 has a syntax error.", notes=("a note",)))
    verdicts = graded(reasons, sandbox)
    assert sandbox.jobs == []
    assert {verdict.state for verdict in verdicts} == {State.NOT_ANSWERED}
    assert (verdicts[0].headline, verdicts[0].remarks) == ("Cell 3 has a syntax error.", ("a note",))
    assert verdicts[1].headline == "`gemm_mac` was not found in what you handed in."


def test_of_two_answers_to_one_question_the_first_counts() -> None:
    first = Answer(question="1.1", found=False, reason="first")
    assert graded(answers(first, first.model_copy(update={"reason": "second"})))[0].headline == "first"


def test_a_name_that_is_defined_nowhere_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "lab.py"
    path.write_text("def gelu_tanh_python(x):\n    return helper(x)\n\ndef gemm_io(A, B):\n    return helper(A)\n")
    verdicts = graded(read(path, path.name, PACK.outline.wanted()))
    told = [verdict.remarks for verdict in verdicts if any("helper" in line for line in verdict.remarks)]
    assert told == [("`helper` is used but never defined in the file.",)] * len(told)
    assert len(told) == 2


def test_an_answer_that_hangs_at_once_is_waited_for_once() -> None:
    """Otherwise a student would wait for the wall limit once for each child of the question."""
    children = EndedAtOnce()

    [verdict] = [one for one in graded(all_found(), children) if one.question == "1.3"]

    assert verdict.state is State.FAILED
    assert len(children.jobs) == len(IDS)


def test_an_answer_whose_process_was_killed_from_outside_fails_and_goes_to_a_person() -> None:
    for verdict in graded(all_found(), lambda job: Observation(Ending.KILLED, (), signal=9)):
        assert verdict.state is State.FAILED and verdict.points == 0
        assert verdict.remarks[0] == grader.KILLED
        assert verdict.needs_review is not None and grader.KILLED_FOR_STAFF in verdict.needs_review


def test_a_fault_of_ours_leaves_the_grader() -> None:
    with pytest.raises(OurFault) as caught:
        graded(all_found(), Breaks(OurFault("the sandbox died")))
    assert caught.value.cause == "the sandbox died"


def once_faulty(entry: str) -> Callable[[Job], Observation]:
    """A sandbox that fails whenever one function is called."""

    def run(job: Job) -> Observation:
        if job.entry == entry:
            raise OurFault("the sandbox died")
        return Observation(Ending.EXITED, ())

    return run


def test_on_the_last_try_a_fault_of_ours_costs_no_question_but_leaves_it_open() -> None:
    with pytest.raises(OurFault):
        graded(all_found(), once_faulty("gemm_io"))
    verdicts = {verdict.question: verdict for verdict in graded(all_found(), once_faulty("gemm_io"), last=True)}
    assert list(verdicts) == IDS
    met = [verdict for verdict in verdicts.values() if verdict.state is State.OURS]
    assert [(one.question, one.evidence) for one in met] == [("1.4", {"fault": "the sandbox died"})]
    assert "costs you no points" in met[0].headline and "sandbox" not in met[0].headline
    assert {verdict.state for verdict in verdicts.values()} == {State.OURS, State.FAILED}


def test_where_nothing_but_faults_of_ours_came_of_what_was_answered_the_grading_failed() -> None:
    only = answers(Answer(question="1.4", found=True, source="pass\n", definition="pass\n"))
    with pytest.raises(OurFault):
        graded(only, once_faulty("gemm_io"), last=True)


class LostDevice(OurFault):
    """One kind of fault of ours."""


def test_every_kind_of_our_faults_leaves_the_grader() -> None:
    with pytest.raises(LostDevice):
        graded(all_found(), Breaks(LostDevice("gone")))


@pytest.mark.parametrize(
    "error", [ValueError("SECRET"), RecursionError("SECRET"), MemoryError(), UnicodeError("SECRET")]
)
def test_whatever_else_is_raised_is_a_failure_that_a_person_sees(error: Exception) -> None:
    for verdict in graded(all_found(), Breaks(error)):
        assert (verdict.state, verdict.points) == (State.FAILED, Decimal(0))
        assert verdict.needs_review == f"the grader raised {type(error).__name__}"
        assert verdict.evidence["raised"] == type(error).__name__
        assert "SECRET" not in verdict.model_dump_json()


def test_a_kind_that_raises_costs_no_other_question(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raises(ModuleType):
        """A kind whose judge raises."""

        def read(self, question: Question, answer: Answer) -> Answer:
            return answer

        def plan(self, question: Question, answer: Answer, seed: bytes) -> list[Job]:
            return [Job("", "f", (Call((), IntegerWanted()),))]

        def judge(self, *arguments: Any) -> Verdict:
            raise ZeroDivisionError

    monkeypatch.setitem(KINDS, "implementation", Raises("raises"))
    by_kind = {question.kind: verdict for question, verdict in zip(PACK.questions, graded(all_found()), strict=True)}
    assert by_kind["implementation"].needs_review == "the grader raised ZeroDivisionError"
    assert by_kind["formula"].needs_review is None


def test_progress_is_told_after_each_question() -> None:
    told: list[int] = []
    graded(answers(), progress=told.append)
    assert told == list(range(1, len(IDS) + 1))


def test_explanations_are_given_for_as_long_as_they_last() -> None:
    asked: list[str] = []

    def left(question: str) -> int:
        asked.append(question)
        return 0

    verdicts = graded(all_found(), explanations_left=left)
    assert asked == IDS
    assert not any(verdict.explained for verdict in verdicts)


def test_questions_draw_from_seeds_of_their_own() -> None:
    seeds = {seed_for(secret, question) for secret in (b"a", b"b") for question in IDS}
    assert len(seeds) == 2 * len(IDS)
    assert seed_for(b"a", "1.1") == seed_for(b"a", "1.1")
    assert all(len(seed) == 32 for seed in seeds)


def test_points_are_never_more_than_the_question_has() -> None:
    assert sum((verdict.points for verdict in graded(all_found())), Decimal(0)) == 0
