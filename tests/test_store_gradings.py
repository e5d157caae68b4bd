"""Claims have one winner, leases run out, faults of ours cost nothing: on both databases."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

from classroom import (
    ATTEMPTS,
    LAB,
    LEASE,
    enrolled,
    finish,
    graded,
    hand_in,
    ids,
    minutes,
    open_course,
    take,
    taken,
    verdict,
)

from grading.score import Score
from grading.store import grades, gradings, submissions
from grading.store.session import reading, transaction
from grading.store.tables import GradeChange, Grading, GradingState, VerdictRow
from grading.verdict import Check, Diagnosis, State

CLAIM_ALL = """
import sys
from classroom import take
from grading.store.session import transaction
while True:
    with transaction(sys.argv[1]) as session:
        claimed = take(session)
    if claimed is None:
        break
    print(claimed.grading_id, flush=True)
"""


def test_the_oldest_is_claimed_first_and_nothing_twice(database_url: str) -> None:
    first, second = open_course(database_url, students=2)
    with transaction(database_url) as session:
        _, later = hand_in(session, first, minutes(2))
        _, earlier = hand_in(session, second, minutes(1))
        assert [taken(session, minutes(3)).grading_id for _ in range(2)] == [earlier, later]
        assert take(session, minutes(3)) is None


def test_of_many_processes_that_claim_at_once_each_grading_has_one_winner(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        queued = [hand_in(session, student)[1] for _ in range(40)]
    command = [sys.executable, "-c", CLAIM_ALL, database_url]
    processes = [subprocess.Popen(command, cwd="tests", stdout=subprocess.PIPE, text=True) for _ in range(3)]
    claimed = Counter(line for process in processes for line in process.communicate(timeout=60)[0].split())
    assert claimed == Counter(queued)


def test_a_lease_that_holds_is_left_alone_and_one_that_ran_out_is_taken_over(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        hand_in(session, student)
        lost = taken(session, minutes(0))
        assert take(session, minutes(0.4)) is None
        won = taken(session, minutes(1))
        assert (won.grading_id, won.attempt) == (lost.grading_id, 2)
        assert not gradings.heartbeat(session, lost, 3, minutes(1), LEASE)
        assert gradings.heartbeat(session, won, 1, minutes(1), LEASE)
        assert not finish(session, lost, "5", at=minutes(1))
        assert not gradings.release_with_fault(session, lost, "sandbox", minutes(1), LEASE, ATTEMPTS)
    with transaction(database_url) as session:
        found = session.get_one(Grading, won.grading_id)
        assert (found.state, found.attempts, found.progress, found.points) == ("running", 2, 1, None)
        assert grades.of_student(session, LAB, student) is None
        assert finish(session, won, "3", at=minutes(1))
        assert not finish(session, won, "5", at=minutes(1))
        assert session.query(VerdictRow).count() == 1
        assert session.query(GradeChange).count() == 1


def test_a_heartbeat_extends_the_lease(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        hand_in(session, student)
        claimed = taken(session, minutes(0))
        assert gradings.heartbeat(session, claimed, 0, minutes(0.4), LEASE)
        assert take(session, minutes(0.8)) is None
        assert take(session, minutes(1)) is not None


def test_a_grading_whose_workers_die_each_time_fails_with_a_named_fault_and_others_go_on(database_url: str) -> None:
    (student,) = open_course(database_url)
    graded(database_url, student, "4", at=minutes(0))
    with transaction(database_url) as session:
        submission_id, poison = hand_in(session, student, minutes(1))
        assert [taken(session, minutes(2 + at)).attempt for at in range(ATTEMPTS)] == [1, 2, 3]
        _, honest = hand_in(session, student, minutes(9))
        assert taken(session, minutes(10)).grading_id == honest
        assert session.get_one(Grading, poison).state == "failed"
        assert gradings.current(session, submission_id).fault == gradings.LOST_TOO_OFTEN
        grade = grades.of_student(session, LAB, student)
        assert grade is not None and grade.points == 4
        assert [(fault.number, fault.cause) for fault in gradings.faults(session, LAB)] == [
            (2, gradings.LOST_TOO_OFTEN)
        ]


def test_a_fault_of_ours_is_tried_again_at_once_then_later_and_then_given_up(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        submission_id, _ = hand_in(session, student)
        assert gradings.release_with_fault(session, taken(session), "sandbox: gone\0", minutes(0), LEASE, ATTEMPTS)
        assert gradings.release_with_fault(session, taken(session), "sandbox: gone", minutes(0), LEASE, ATTEMPTS)
        assert take(session, minutes(0.4)) is None
        assert gradings.current(session, submission_id).state == "queued"
        last = taken(session, minutes(1))
        assert gradings.release_with_fault(session, last, "sandbox: gone", minutes(1), LEASE, ATTEMPTS)
    with reading(database_url) as session:
        found = gradings.current(session, submission_id)
        assert (found.state, found.fault, found.points) == ("failed", "sandbox: gone", None)
        assert grades.of_student(session, LAB, student) is None
        assert submissions.attempts(session, LAB, student) == 0


def test_what_failed_can_be_graded_again(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        submission_id, _ = hand_in(session, student)
        gradings.release_with_fault(session, taken(session), "sandbox", minutes(0), LEASE, max_attempts=1)
        again = gradings.add(session, submission_id, why="again: repaired", by_user_id=None, now=minutes(1))
        assert gradings.current(session, submission_id).id == again.id
        assert finish(session, taken(session, minutes(2)), "5", at=minutes(2))
        assert gradings.current(session, submission_id).state == GradingState.GRADED


def test_what_failed_is_queued_again_once_and_nothing_else_is(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        teacher = enrolled(session, "teacher")
        submission_id, failed = hand_in(session, student)

        def again() -> Grading | None:
            return gradings.retry(session, submission_id, why="repaired", by_user_id=teacher, now=minutes(1))

        assert again() is None  # it waits
        claimed = taken(session)
        assert again() is None  # it runs
        gradings.release_with_fault(session, claimed, "sandbox", minutes(0), LEASE, max_attempts=1)
        queued = again()
        assert queued is not None
        assert (queued.state, queued.current, queued.why, queued.by_user_id) == ("queued", True, "repaired", teacher)
        assert again() is None  # it waits again
        assert gradings.faults(session, LAB) == []
        assert session.get_one(Grading, failed).fault == "sandbox"  # what happened is kept
        assert finish(session, taken(session, minutes(2)), "5", at=minutes(2))
        assert again() is None  # it is graded
        assert session.query(GradeChange).one().by_user_id == teacher


def test_what_a_fault_kept_from_being_judged_in_part_stays_in_force_until_it_is_graded_anew(database_url: str) -> None:
    (student,) = open_course(database_url)
    met = verdict("1.4", "0").model_copy(update={"state": State.OURS, "evidence": {"fault": "sandbox: gone\0"}})
    score = Score(points=Decimal(5), bonus=Decimal(0), pending=Decimal(0), out_of=Decimal(5), bonus_out_of=Decimal(0))
    with transaction(database_url) as session:
        submission_id, first = hand_in(session, student)
        assert gradings.finish(session, taken(session), [verdict("1.3", "5"), met], score, "full", "d", minutes(0))
        assert [fault.cause for fault in gradings.faults(session, LAB)] == ["1.4: sandbox: gone"]

        def again() -> Grading | None:
            return gradings.retry(session, submission_id, why="repaired", by_user_id=student, now=minutes(1))

        queued = again()
        assert queued is not None and not queued.current
        assert gradings.current(session, submission_id).id == first
        assert again() is None  # it waits again
        assert gradings.faults(session, LAB) == []
        claimed = taken(session, minutes(2))
        assert again() is None  # it runs
        assert finish(session, claimed, "5", "5", at=minutes(2))
        assert gradings.current(session, submission_id).id == queued.id
        assert gradings.faults(session, LAB) == [] and again() is None
        grade = grades.of_student(session, LAB, student)
        assert grade is not None and (grade.points, grade.out_of) == (10, 10)


def test_of_two_who_queue_a_failed_one_again_at_once_one_does(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        submission_id, _ = hand_in(session, student)
        gradings.release_with_fault(session, taken(session), "sandbox", minutes(0), LEASE, max_attempts=1)

    def again(_: int) -> bool:
        with transaction(database_url) as session:
            return gradings.retry(session, submission_id, why="", by_user_id=student, now=minutes(1)) is not None

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(again, range(4))) == [False, False, False, True]


def test_many_are_told_their_place_and_progress_at_once(database_url: str) -> None:
    first, second, third = open_course(database_url, students=3)
    with transaction(database_url) as session:
        (running, a), (waiting, b), (last, c) = (hand_in(session, who, minutes(who)) for who in (first, second, third))
        claimed = taken(session, minutes(9))
        gradings.heartbeat(session, claimed, 2, minutes(9), LEASE)
        told = gradings.standings(session, [running, waiting, last])
        assert told == {
            running: gradings.Standing(a, GradingState.RUNNING, 0, 2),
            waiting: gradings.Standing(b, GradingState.QUEUED, 0, 0),
            last: gradings.Standing(c, GradingState.QUEUED, 1, 0),
        }
        assert all(gradings.position(session, one.grading_id) == one.position for one in told.values())


def test_a_regrade_comes_into_force_when_it_is_graded_and_keeps_the_old_one_beside_it(database_url: str) -> None:
    (student,) = open_course(database_url)
    submission_id = graded(database_url, student, "5")
    with transaction(database_url) as session:
        teacher = enrolled(session, "teacher")
        before = gradings.current(session, submission_id).id
        again = gradings.add(session, submission_id, why="regrade: new case", by_user_id=teacher, now=minutes(1)).id
        assert gradings.current(session, submission_id).id == before
        assert finish(session, taken(session, minutes(2)), "3", at=minutes(2))
    with reading(database_url) as session:
        assert gradings.current(session, submission_id).id == again
        assert [one.points for one in gradings.verdicts(session, before)] == [5]
        grade = grades.of_student(session, LAB, student)
        assert grade is not None and grade.points == 3
        last = session.query(GradeChange).order_by(GradeChange.id.desc()).first()
        assert last is not None
        assert (last.by_user_id, last.why, last.points_before, last.points_after) == (
            teacher,
            "regrade: new case",
            5,
            3,
        )


def test_a_regrade_that_breaks_leaves_the_grade_as_it_was(database_url: str) -> None:
    (student,) = open_course(database_url)
    submission_id = graded(database_url, student, "5")
    with transaction(database_url) as session:
        gradings.add(session, submission_id, why="regrade", by_user_id=None, now=minutes(1))
        gradings.release_with_fault(session, taken(session, minutes(2)), "pack", minutes(2), LEASE, max_attempts=1)
        assert gradings.current(session, submission_id).points == 5
        assert take(session, minutes(9)) is None


def test_two_workers_finishing_for_one_student_leave_the_best_as_the_grade(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        for _ in range(8):
            hand_in(session, student)

    def work(points: int) -> None:
        with transaction(database_url) as session:
            claimed = taken(session)
        with transaction(database_url) as session:
            assert finish(session, claimed, f"{points / 2}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    with reading(database_url) as session:
        grade = grades.of_student(session, LAB, student)
        assert grade is not None and grade.points == Decimal("3.5")


def test_verdicts_come_back_whole_whatever_text_they_hold(database_url: str) -> None:
    (student,) = open_course(database_url)
    nasty = "nul \0, half a pair \ud800, right to left \u202e, quotes ' \" \\, <b>, 日本" + "x" * 600
    hostile = verdict("1.2", "2.25").model_copy(
        update={
            "headline": nasty,
            "needs_review": nasty,
            "remarks": (nasty,),
            "checks": (Check(label=nasty, public=True, passed=False, text=nasty),),
            "diagnosis": Diagnosis(code=nasty, text=nasty),
            "evidence": {"said": nasty, "times": [1.5, None, {"deep": True}]},
        }
    )
    given = [hostile, verdict("1.1", "5")]
    score = Score(
        points=Decimal("7.25"), bonus=Decimal(0), pending=Decimal(5), out_of=Decimal(10), bonus_out_of=Decimal(0)
    )
    with transaction(database_url) as session:
        hand_in(session, student)
        claimed = taken(session)
        assert gradings.finish(session, claimed, given, score, "full", "digest", minutes(1))
    with reading(database_url) as session:
        found = gradings.verdicts(session, claimed.grading_id)
        assert found == given
        assert str(found[0].points) == "2.25"
        assert len(session.get_one(VerdictRow, (claimed.grading_id, "1.2")).needs_review or "") == 500


def test_the_position_counts_what_is_queued_before(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        queued = [hand_in(session, student, minutes(at))[1] for at in range(3)]
        assert [gradings.position(session, one) for one in queued] == [0, 1, 2]
        taken(session, minutes(3))
        assert [gradings.position(session, one) for one in queued] == [0, 0, 1]


def test_the_sweep_finds_what_waits_without_a_recent_nudge_once(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        _, died = hand_in(session, student, minutes(0))
        taken(session, minutes(0))
        _, lost = hand_in(session, student, minutes(1))
        _, fresh = hand_in(session, student, minutes(5))
        assert ids(gradings.waiting(session, minutes(5), quiet_seconds=10, limit=10)) == [died, lost]
        assert ids(gradings.waiting(session, minutes(5), quiet_seconds=10, limit=10)) == []
        assert ids(gradings.waiting(session, minutes(6), quiet_seconds=10, limit=2)) == [died, lost]
        assert ids(gradings.waiting(session, minutes(6), quiet_seconds=10, limit=2)) == [fresh]


def test_explanations_count_submissions_and_not_their_regrades(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        for at in (0, 100):
            submission_id, _ = hand_in(session, student, minutes(at))
            finish(session, taken(session, minutes(at)), "3", explained=True)
        gradings.add(session, submission_id, why="regrade", by_user_id=None, now=minutes(200))
        finish(session, taken(session, minutes(200)), "3", explained=True)
        hand_in(session, student, minutes(300))
        finish(session, taken(session, minutes(300)), "3", explained=False)
        count = gradings.explained_since
        assert count(session, student, LAB, "1.1", minutes(0)) == 2
        assert count(session, student, LAB, "1.1", minutes(50)) == 1
        assert count(session, student, LAB, "1.2", minutes(0)) == 0
