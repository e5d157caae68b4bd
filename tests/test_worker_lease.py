"""A lease is as long as it is said to be, a lost one is let go, and times are read where nobody can come between."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from classroom import COURSE, LAB, enrolled, eventually, finish, hand_in, open_course, take, taken, verdict
from sqlalchemy import event, text

from grading import queue
from grading.score import Score
from grading.settings import Settings
from grading.store import courses, grades, gradings
from grading.store.gradings import Claimed
from grading.store.session import engine, hold_course, reading, transaction
from grading.store.tables import Grade, Grading, Lab
from worker import tasks


class QuickPlace:
    """Judges everything at once, with full points."""

    def __init__(self, settings: Settings) -> None: ...

    def warm(self) -> None: ...

    def close(self) -> None: ...

    def grade(
        self, claimed: Claimed, explanations_left: Callable[[str], int], progress: Callable[[int], None]
    ) -> tasks.Judged:
        score = Score(
            points=Decimal(5), bonus=Decimal(0), pending=Decimal(0), out_of=Decimal(5), bonus_out_of=Decimal(0)
        )
        return tasks.Judged([verdict("1.3", "5")], score, "full", "digest")


def on(engine_name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("database_url", [engine_name], indirect=True)


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Run something beside the block, and to its end."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        yield
    running.result()


def test_a_lost_lease_is_noticed_said_once_and_extended_no_more(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.lease_seconds = 1
    (student,) = open_course(settings.database)
    now = tasks._now()
    with transaction(settings.database) as session:
        _, grading_id = hand_in(session, student, now)
        lost = taken(session, now - timedelta(minutes=5))
        won = taken(session, now)
    with tasks.Lease(settings, lost) as lease:
        eventually(lambda: not lease._thread.is_alive())
        lease._told -= 1
        lease.judged(3)
    assert caplog.text.count(f"the lease of {grading_id} was lost") == 1
    with reading(settings.database) as session:
        found = session.get_one(Grading, grading_id)
        assert (found.claim, found.progress, found.lease_until) == (won.claim, 0, now + timedelta(seconds=30))


@on("sqlite")
def test_a_lease_begins_when_the_claim_gets_its_turn_and_not_before(settings: Settings) -> None:
    (student,) = open_course(settings.database)
    worker, waits = tasks.Worker(settings, queue.CPU, QuickPlace), threading.Event()

    def about_to_wait(connection: object, cursor: object, statement: str, *rest: object) -> None:
        if statement == "BEGIN IMMEDIATE":
            waits.set()

    with transaction(settings.database) as session:
        _, grading_id = hand_in(session, student, tasks._now())
        session.flush()
        event.listen(engine(settings.database), "before_cursor_execute", about_to_wait)
        with beside(worker._claim):
            assert waits.wait(30)
            turn = tasks._now()
            session.commit()
    with reading(settings.database) as session:
        lease = session.get_one(Grading, grading_id).lease_until
        assert lease is not None and lease >= turn + timedelta(seconds=settings.lease_seconds)


@on("postgresql")
def test_a_grade_s_change_is_stamped_after_the_wait_for_others_that_change_grades(settings: Settings) -> None:
    (student,) = open_course(settings.database)
    with transaction(settings.database) as session:
        _, grading_id = hand_in(session, student, tasks._now())
    worker = tasks.Worker(settings, queue.CPU, QuickPlace)
    worker._make_ready()

    def waits() -> object:
        with reading(settings.database) as session:
            return session.scalar(text("select count(*) from pg_stat_activity where wait_event_type = 'Lock'"))

    with transaction(settings.database) as session:
        hold_course(session, COURSE)
        with beside(lambda: worker.serve(grading_id)):
            eventually(waits)
            turn: datetime = tasks._now()
            session.commit()
    with reading(settings.database) as session:
        assert session.get_one(Grade, (LAB, student)).changed_at >= turn


def test_a_puller_misses_nothing_when_grades_are_released_while_gradings_end(settings: Settings) -> None:
    """A puller asks for what came after the last revision that it saw; in the end it must have seen every grade."""
    students = open_course(settings.database, students=8)
    with transaction(settings.database) as session:
        students += [enrolled(session, f"more{number}") for number in range(4)]
        for student in students * 3:
            hand_in(session, student)
    for _ in students:  # each has a grade before the release, and two gradings to come
        with transaction(settings.database) as session:
            assert finish(session, taken(session), "1")
    start, over = threading.Barrier(5), threading.Event()

    def grade_all(points: int) -> None:
        start.wait()
        while True:
            with transaction(settings.database) as session:
                claimed = take(session)
            if claimed is None:
                return
            points = points % 5 + 1
            with transaction(settings.database) as session:
                gradings.hold(session, claimed)
                assert finish(session, claimed, f"{points}", at=tasks._now())

    def release() -> None:
        start.wait()
        with transaction(settings.database) as session:
            courses.hold(session, session.get_one(Lab, LAB))
            grades.release(session, LAB, tasks._now())

    def pull() -> dict[int, Decimal]:
        seen: dict[int, Decimal] = {}
        last = 0
        start.wait()
        while True:
            ending = over.is_set()
            with reading(settings.database) as session:
                for grade, user in grades.since(session, COURSE, last, limit=5):
                    assert grade.revision > last
                    seen[user.id], last, ending = grade.points, grade.revision, False
            if ending:
                return seen

    with ThreadPoolExecutor(5) as pool:
        puller = pool.submit(pull)
        for work in [pool.submit(release), *(pool.submit(grade_all, points) for points in (0, 2, 4))]:
            work.result()
        over.set()
        seen = puller.result()
    with reading(settings.database) as session:
        rows = grades.scoreboard(session, LAB)
        assert seen == {row.user_id: row.points for row in rows}
        revisions = [grade for grade, _ in grades.since(session, COURSE, 0, limit=100)]
        assert [one.changed_at for one in revisions] == sorted(one.changed_at for one in revisions)
