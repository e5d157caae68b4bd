"""Grades follow the lab's policy, change only when something did, and reach scoreboard and LMS: on both databases."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import pytest
from classroom import COURSE, LAB, enrolled, finish, graded, hand_in, minutes, open_course, taken
from sqlalchemy import event

from grading.policy import Late, Policy
from grading.store import grades, gradings
from grading.store.session import engine, reading, transaction
from grading.store.tables import Course, Grade, GradeChange, Lab, Member, Role, Submission


def grade_of(url: str, student: int) -> Grade | None:
    with reading(url) as session:
        return grades.of_student(session, LAB, student)


@pytest.mark.parametrize(("counts", "points", "counted"), [("best", "4", 2), ("latest", "2", 3)])
def test_the_policy_says_which_submission_counts(database_url: str, counts: str, points: str, counted: int) -> None:
    (student,) = open_course(database_url, policy=Policy.model_validate({"counts": counts}))
    handed_in = [graded(database_url, student, worth, at=minutes(at)) for at, worth in enumerate(("1", "4", "2"))]
    with reading(database_url) as session:
        (row,) = grades.scoreboard(session, LAB)
    assert (row.points, row.submission_id, row.handed_in) == (Decimal(points), handed_in[counted - 1], 3)


def test_the_best_counts_points_and_bonus_together_and_the_earliest_of_equals(database_url: str) -> None:
    (student,) = open_course(database_url)
    first = graded(database_url, student, "4", bonus="1", at=minutes(0))
    graded(database_url, student, "5", bonus="0", at=minutes(1))
    with reading(database_url) as session:
        (row,) = grades.scoreboard(session, LAB)
    assert (row.submission_id, row.points, row.bonus) == (first, 4, 1)


def test_lateness_takes_its_share_exactly_and_may_leave_an_earlier_submission_the_best(database_url: str) -> None:
    policy = Policy(late=Late.PENALTY, penalty_per_day=Decimal("0.1"))
    first, second = open_course(database_url, students=2, policy=policy, due_at=minutes(60))
    graded(database_url, first, "4.5", at=minutes(61))
    graded(database_url, second, "4.6", at=minutes(60))
    graded(database_url, second, "5", at=minutes(60 + 1441))
    late, in_time = grade_of(database_url, first), grade_of(database_url, second)
    assert late is not None and in_time is not None
    assert (str(late.points), late.late) == ("4.05", True)
    assert (str(in_time.points), in_time.late) == ("4.6", False)


def test_what_is_not_graded_counts_nothing(database_url: str) -> None:
    (student,) = open_course(database_url, policy=Policy(counts="latest"))
    graded(database_url, student, "2", at=minutes(0))
    with transaction(database_url) as session:
        hand_in(session, student, minutes(1))
        assert not grades.recompute(session, LAB, student, why="a look", by_user_id=None, now=minutes(2))
    grade = grade_of(database_url, student)
    assert grade is not None and grade.points == 2


def test_the_revision_rises_with_every_real_change_and_with_no_other(database_url: str) -> None:
    first, second = open_course(database_url, students=2)
    graded(database_url, first, "2", at=minutes(0))
    graded(database_url, second, "5", at=minutes(1))
    graded(database_url, first, "1", at=minutes(2))
    graded(database_url, first, "2", at=minutes(3))
    graded(database_url, first, "3", at=minutes(4))
    with reading(database_url) as session:
        assert session.get_one(Course, COURSE).revision == 3
        changes = session.query(GradeChange).order_by(GradeChange.id).all()
        assert [(one.user_id, one.points_before, one.points_after, one.at) for one in changes] == [
            (first, None, 2, minutes(0)),
            (second, None, 5, minutes(1)),
            (first, 2, 3, minutes(4)),
        ]
        assert {one.why for one in changes} == {"handed in"}


def test_a_puller_sees_each_change_once_and_in_order(database_url: str) -> None:
    students = open_course(database_url, students=5)
    with transaction(database_url) as session:
        session.get_one(Lab, LAB).released = True
    for student in students:
        graded(database_url, student, "0")
    with reading(database_url) as session:
        first = grades.since(session, COURSE, 0, limit=2)
    assert [(grade.user_id, grade.points, user.login) for grade, user in first] == [
        (students[0], 0, "student0000"),
        (students[1], 0, "student0001"),
    ]
    graded(database_url, students[0], "5")  # while the puller walks
    with reading(database_url) as session:
        rest = grades.since(session, COURSE, first[-1][0].revision, limit=100)
        assert [grade.user_id for grade, _ in rest] == [*students[2:], students[0]]
        assert grades.since(session, COURSE, rest[-1][0].revision, limit=100) == []


def test_grades_leave_when_the_lab_is_released_and_then_all_of_them(database_url: str) -> None:
    student, dropped = open_course(database_url, students=2)
    graded(database_url, student, "5")
    graded(database_url, dropped, "4")
    with transaction(database_url) as session:
        teacher = enrolled(session, "teacher", Role.TA)
        session.get_one(Member, (COURSE, dropped)).active = False
    graded(database_url, teacher, "3")
    with transaction(database_url) as session:
        seen = session.get_one(Course, COURSE).revision
        assert grades.since(session, COURSE, 0, limit=100) == []
        grades.release(session, LAB, minutes(9))
        grades.release(session, LAB, minutes(10))
        assert [(grade.user_id, grade.changed_at) for grade, _ in grades.since(session, COURSE, seen, limit=100)] == [
            (student, minutes(9)),
            (dropped, minutes(9)),
        ]


def test_the_scoreboard_tells_nothing_from_nought(database_url: str) -> None:
    absent, nought, waiting, dropped = open_course(database_url, students=4)
    graded(database_url, nought, "0", "0")
    with transaction(database_url) as session:
        enrolled(session, "teacher", Role.TA)
        session.get_one(Member, (COURSE, dropped)).active = False
        queued, _ = hand_in(session, waiting, minutes(1))
    with reading(database_url) as session:
        rows = {row.user_id: row for row in grades.scoreboard(session, LAB)}
    assert rows.keys() == {absent, nought, waiting}
    assert (rows[absent].points, rows[absent].submission_id, rows[absent].questions) == (None, None, {})
    assert (rows[waiting].points, rows[waiting].submission_id) == (None, queued)
    assert (rows[nought].points, rows[nought].out_of, rows[nought].isolation) == (0, 10, "full")
    assert rows[nought].questions == {"1.1": ("failed", Decimal(0), False), "1.2": ("failed", Decimal(0), False)}


def test_the_scoreboard_is_one_statement_that_looks_at_no_old_submission(database_url: str) -> None:
    students = open_course(database_url, students=20)
    for student in students:
        graded(database_url, student, "5", "4")
    with transaction(database_url) as session:
        for student in students:
            for at in range(5):
                hand_in(session, student, minutes(at))
    with statements(database_url) as seen, reading(database_url) as session:
        rows = grades.scoreboard(session, LAB)
    assert len(rows) == 20 and len(seen) == 1
    with transaction(database_url) as session:
        session.query(Submission).filter(Submission.number > 1, Submission.number < 6).update({"answers": {"bad": []}})
    with reading(database_url) as session:
        assert grades.scoreboard(session, LAB) == rows


def test_a_change_of_the_due_time_is_taken_in_by_a_recomputation(database_url: str) -> None:
    policy = Policy(late=Late.PENALTY, penalty_per_day=Decimal("0.5"))
    (student,) = open_course(database_url, policy=policy, due_at=minutes(1))
    graded(database_url, student, "5", at=minutes(2))
    with transaction(database_url) as session:
        session.get_one(Lab, LAB).due_at = minutes(3)
        assert grades.recompute(session, LAB, student, why="more time", by_user_id=None, now=minutes(4))
    grade = grade_of(database_url, student)
    assert grade is not None and (grade.points, grade.late) == (5, False)


def test_a_finish_that_cannot_be_stored_whole_stores_nothing(database_url: str) -> None:
    (student,) = open_course(database_url)
    with transaction(database_url) as session:
        hand_in(session, student)
        claimed = taken(session)
    with pytest.raises(ZeroDivisionError), transaction(database_url) as session:
        finish(session, claimed, "5")
        raise ZeroDivisionError
    with reading(database_url) as session:
        assert gradings.current(session, claimed.submission_id).state == "running"
        assert gradings.verdicts(session, claimed.grading_id) == []
    assert grade_of(database_url, student) is None


@contextmanager
def statements(url: str) -> Iterator[list[str]]:
    """The SQL that the block sends, without what opens and ends transactions."""
    seen: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        if statement.startswith("SELECT"):
            seen.append(statement)

    event.listen(engine(url), "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine(url), "before_cursor_execute", note)
