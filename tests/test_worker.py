"""Whatever dies, is lost or comes twice: what was handed in ends graded, once, and a fault of ours costs nothing.

Real workers, brokers and databases. In the first tests the judging is a stand-in that they can hold (`waiting_place`);
the last ones grade in the real sandbox.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from socket import SHUT_RDWR, create_connection, create_server, socket
from typing import Any

import anyio
import pytest
import redis
from classroom import LAB, enrolled, eventually, hand_in, open_course
from sqlalchemy import make_url
from waiting_place import begun

from grading import intake, queue
from grading.intake import Received
from grading.settings import Settings
from grading.store import grades, gradings
from grading.store.session import reading, transaction
from grading.store.tables import GradeChange, Grading, VerdictRow
from grading.verdict import State, Verdict
from labcore.runner.protocol import Job, Observation
from worker import tasks
from worker.sandbox import SandboxFault
from worker.sandbox.slot import Slot
from worker.workplace import Workplace

LEASE = 1.5
REAL = ("api.cli", "worker", "run")
ANSWERS = """
import time

def gemm_mac(x, y, began={began}):
    N, K = x.shape
    _, M = y.shape
    return N * K * M

def gemm_io(A, B):
    return 4 * (A.numel() + B.numel())
"""

PLAIN, PRODUCTION = ("sqlite", "files"), ("postgresql", "redis")


def on(*pairs: tuple[str, str]) -> pytest.MarkDecorator:
    """Not on every database with every broker, since what is tested depends on neither much."""
    return pytest.mark.parametrize(("database_url", "broker"), pairs, indirect=True)


@pytest.fixture(params=["files", "redis"])
def broker(request: pytest.FixtureRequest) -> str:
    """An empty broker's URL; each test runs on both."""
    if request.param == "files":
        return ""
    url: str = request.getfixturevalue("redis_url")
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@dataclass
class Deployment:
    """Settings, the workers that were started by them, and what they wrote."""

    settings: Settings
    student: int
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def log(self) -> str:
        return "".join(path.read_text() for path in sorted(self.settings.data.glob("*.log")))

    def start_worker(self, *command: str) -> "subprocess.Popen[bytes]":
        """A worker in a process group of its own; its judging is the stand-in unless another command is given."""
        settings = self.settings
        given = {
            "DATA": str(settings.data),
            "DATABASE_URL": settings.database_url,
            "BROKER_URL": settings.broker_url,
            "SECRET": settings.secret,
            "LEASE_SECONDS": str(settings.lease_seconds),
            "SWEEP_SECONDS": str(settings.sweep_seconds),
            "MAX_ATTEMPTS": str(settings.max_attempts),
        }
        environment = os.environ | {f"ROOFLAB_{name}": value for name, value in given.items()}
        with open(settings.data / f"{len(self.workers)}.log", "wb") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", *(command or ["waiting_place"])],
                cwd=Path(__file__).parent,
                env=environment | {"PYTHONPATH": str(Path(__file__).parent)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.workers.append(worker)
        return worker

    def hand_in(self, source: str = "at once", nudges: int = 1) -> str:
        """Record a submission and send so many nudges; its grading."""
        with transaction(self.settings.database) as session:
            _, grading_id = hand_in(session, self.student, tasks._now(), source)
        for _ in range(nudges):
            queue.nudge(self.settings, grading_id)
        return grading_id

    def receive(self, folder: Path, source: str) -> Received:
        """Hand a file in by the common way."""
        path = folder / "lab.py"
        path.write_text(source)
        return anyio.run(partial(intake.receive, self.settings, LAB, self.student, path, path.name))

    def verdicts(self, grading_id: str) -> list[Verdict]:
        with reading(self.settings.database) as session:
            return gradings.verdicts(session, grading_id)

    def grading(self, grading_id: str) -> Grading:
        with reading(self.settings.database) as session:
            return session.get_one(Grading, grading_id)

    def ended(self, grading_id: str, state: str = "graded") -> Grading:
        """The grading, once it is in this state."""
        found = eventually(lambda: self.grading(grading_id), lambda row: row.state in ("graded", "failed"))
        assert (found.state, found.fault if state == "graded" else None) == (state, None), self.log
        return found

    def begun(self, grading_id: str, attempt: int = 1) -> int:
        """The process that has begun this attempt, once one has."""

        def look() -> int | None:
            return next((pid for one, at, pid in begun(self.settings.data) if (one, at) == (grading_id, attempt)), None)

        found = eventually(look)
        assert found is not None
        return found

    def go_on(self) -> None:
        (self.settings.data / "go on").touch()


@pytest.fixture
def deployment(database_url: str, broker: str, tmp_path: Path) -> Iterator[Deployment]:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    settings = Settings(
        data=data,
        database_url=database_url,
        broker_url=broker,
        secret="not a secret, but for tests",
        lease_seconds=LEASE,
        sweep_seconds=0.25,
        max_attempts=2,
    )
    (student,) = open_course(database_url)
    made = Deployment(settings, student)
    yield made
    for worker in made.workers:
        kill_group(worker)


def kill_group(worker: "subprocess.Popen[bytes]") -> None:
    """The worker and its processes, at once and without a word."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def test_a_worker_killed_in_the_middle_of_a_grading_loses_nothing_and_nothing_counts_twice(
    deployment: Deployment,
) -> None:
    worker = deployment.start_worker()
    grading_id = deployment.hand_in("wait")
    deployment.begun(grading_id)
    kill_group(worker)
    deployment.go_on()
    deployment.start_worker()
    found = deployment.ended(grading_id)
    assert (found.attempts, found.points) == (2, 2)
    with reading(deployment.settings.database) as session:
        assert session.query(VerdictRow).count() == 1
        assert session.query(GradeChange).count() == 1
        grade = grades.of_student(session, LAB, deployment.student)
        assert grade is not None and grade.points == 2


@on(PLAIN, PRODUCTION)
def test_a_process_killed_in_the_middle_of_a_grading_is_replaced(deployment: Deployment) -> None:
    deployment.start_worker()
    grading_id = deployment.hand_in("wait")
    os.kill(deployment.begun(grading_id), signal.SIGKILL)
    deployment.go_on()
    assert deployment.ended(grading_id).attempts == 2


def test_a_lost_message_is_found_by_the_sweep(deployment: Deployment) -> None:
    grading_id = deployment.hand_in(nudges=0)
    deployment.start_worker()
    assert deployment.ended(grading_id).attempts == 1


@on(PLAIN, PRODUCTION)
def test_a_message_that_comes_again_and_again_is_graded_once(deployment: Deployment) -> None:
    deployment.start_worker()
    first = deployment.hand_in(nudges=5)
    deployment.ended(first)
    queue.nudge(deployment.settings, first)
    deployment.ended(deployment.hand_in())
    assert [one for one, _, _ in begun(deployment.settings.data)].count(first) == 1


@on(PLAIN, PRODUCTION)
def test_one_nudge_is_enough_for_all_that_waits_the_oldest_first(deployment: Deployment) -> None:
    settings = deployment.settings = deployment.settings.model_copy(update={"sweep_seconds": 1000.0})
    queued = [deployment.hand_in(nudges=0) for _ in range(5)]
    deployment.start_worker()
    queue.nudge(settings, queued[-1])
    for grading_id in queued:
        deployment.ended(grading_id)
    assert [one for one, _, _ in begun(settings.data)] == queued


@on(PLAIN, PRODUCTION)
def test_a_grading_that_kills_its_worker_each_time_fails_and_the_others_are_graded(deployment: Deployment) -> None:
    deployment.start_worker()
    poison = deployment.hand_in("poison")
    others = [deployment.hand_in() for _ in range(3)]
    for grading_id in others:
        deployment.ended(grading_id)
    found = deployment.ended(poison, "failed")
    assert (found.attempts, found.fault, found.points) == (2, gradings.LOST_TOO_OFTEN, None)


@on(PLAIN)
@pytest.mark.parametrize(
    ("source", "fault"), [("fault", "sandbox: not today"), ("defect", "defect: RuntimeError at waiting_place.py")]
)
def test_a_fault_of_ours_is_tried_again_and_then_named_to_staff(
    deployment: Deployment, source: str, fault: str
) -> None:
    deployment.start_worker()
    found = deployment.ended(deployment.hand_in(source), "failed")
    assert found.attempts == 2
    assert (found.fault or "").startswith(fault)
    assert "secret" not in deployment.log + (found.fault or "")


@on(PRODUCTION)
def test_a_worker_that_slept_through_its_lease_can_store_nothing(deployment: Deployment) -> None:
    deployment.start_worker()
    grading_id = deployment.hand_in("wait")
    sleeper = deployment.begun(grading_id)
    os.kill(sleeper, signal.SIGSTOP)
    deployment.start_worker()
    deployment.begun(grading_id, attempt=2)
    deployment.go_on()
    assert deployment.ended(grading_id).points == 2
    os.kill(sleeper, signal.SIGCONT)
    eventually(lambda: f"grading {grading_id} is void here" in deployment.log)
    assert deployment.grading(grading_id).points == 2
    with reading(deployment.settings.database) as session:
        assert session.query(GradeChange).count() == 1


@on(PLAIN)
def test_a_long_grading_keeps_its_lease(deployment: Deployment) -> None:
    deployment.start_worker()
    deployment.start_worker()
    grading_id = deployment.hand_in("wait")
    deployment.begun(grading_id)
    first = deployment.grading(grading_id).lease_until
    assert first is not None
    eventually(lambda: tasks._now() > first)
    deployment.ended(deployment.hand_in())
    deployment.go_on()
    assert deployment.ended(grading_id).attempts == 1


@on(PLAIN, PRODUCTION)
def test_a_worker_told_to_stop_finishes_what_it_grades_and_leaves_no_process(deployment: Deployment) -> None:
    worker = deployment.start_worker()
    grading_id = deployment.hand_in("wait")
    deployment.begun(grading_id)
    left = deployment.hand_in()
    worker.terminate()
    eventually(lambda: "Warm shutdown" in deployment.log)
    deployment.go_on()
    assert worker.wait(30) == 0
    assert deployment.ended(grading_id).attempts == 1
    assert deployment.grading(left).state == "queued"
    with pytest.raises(ProcessLookupError):
        os.killpg(worker.pid, 0)


@on(PRODUCTION)
def test_a_broker_that_is_away_at_the_upload_delays_the_grading_and_no_more(
    deployment: Deployment, tmp_path: Path
) -> None:
    with Line(deployment.settings.broker_url) as line:
        deployment.settings = deployment.settings.model_copy(update={"broker_url": line.url})
        deployment.start_worker()
        deployment.ended(deployment.hand_in())
        line.cut()
        grading_id = deployment.hand_in()
        line.mend()
        deployment.ended(grading_id)


@on(PRODUCTION)
def test_gradings_of_one_student_by_several_workers_leave_one_grade(deployment: Deployment) -> None:
    deployment.start_worker()
    deployment.start_worker()
    with transaction(deployment.settings.database) as session:
        others = [enrolled(session, f"other{number}") for number in range(3)]
        queued = [hand_in(session, student, tasks._now())[1] for student in others * 4]
    for grading_id in queued:
        queue.nudge(deployment.settings, grading_id)
    for grading_id in queued:
        assert deployment.ended(grading_id).attempts == 1
    with reading(deployment.settings.database) as session:
        assert session.query(GradeChange).count() == 3
        assert session.query(VerdictRow).count() == len(queued)


@on(PLAIN, PRODUCTION)
def test_a_file_is_graded_in_the_sandbox_and_its_text_stays_out_of_the_log(
    deployment: Deployment, tmp_path: Path
) -> None:
    worker = deployment.start_worker(*REAL)
    received = deployment.receive(tmp_path, ANSWERS.format(began="0"))
    found = deployment.ended(received.grading_id)
    assert (found.points, found.isolation, found.attempts) == (5, "full", 1)
    points = {verdict.question: verdict.points for verdict in deployment.verdicts(found.id)}
    assert found.progress == len(points)
    assert points["1.3"] == 5 and points["1.4"] < 5
    assert not any(secret in deployment.log for secret in ("gemm", "def ", deployment.settings.secret))
    assert "torch" not in Path(f"/proc/{worker.pid}/maps").read_text()


@on(PLAIN, PRODUCTION)
def test_a_worker_killed_while_the_sandbox_runs_an_answer_leaves_the_right_grade_once(
    deployment: Deployment, tmp_path: Path
) -> None:
    worker = deployment.start_worker(*REAL)
    received = deployment.receive(tmp_path, ANSWERS.format(began="time.sleep(2)"))
    eventually(lambda: deployment.grading(received.grading_id).progress)
    kill_group(worker)
    assert deployment.grading(received.grading_id).state == "running"
    deployment.start_worker(*REAL)
    found = deployment.ended(received.grading_id)
    assert (found.points, found.attempts) == (5, 2)
    with reading(deployment.settings.database) as session:
        assert session.query(GradeChange).count() == 1


@on(PLAIN)
def test_a_fault_that_meets_one_question_each_time_leaves_it_open_until_staff_have_it_graded_again(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Slot.run

    def run_all_but_bytes(slot: Slot, job: Job) -> Observation:
        if job.entry == "gemm_io":
            raise SandboxFault("not today")
        return run(slot, job)

    settings = deployment.settings
    received = deployment.receive(tmp_path, ANSWERS.format(began="0"))
    worker = tasks.Worker(settings, queue.CPU, Workplace)
    with ExitStack() as ending, monkeypatch.context() as patched:
        ending.callback(worker.close)
        patched.setattr(Slot, "run", run_all_but_bytes)
        worker.serve(received.grading_id)
        found = deployment.grading(received.grading_id)
        assert (found.state, found.attempts, found.fault) == ("graded", 2, "1.4: sandbox: not today")
        verdicts = {verdict.question: verdict for verdict in deployment.verdicts(found.id)}
        assert [name for name, verdict in verdicts.items() if verdict.state is State.OURS] == ["1.4"]
        whole = sum(verdict.out_of for name, verdict in verdicts.items() if "bonus" not in name)
        assert (found.points, found.out_of) == (5, whole - verdicts["1.4"].out_of)
        patched.undo()
        with transaction(settings.database) as session:
            again = gradings.retry(
                session, received.submission_id, why="mended", by_user_id=deployment.student, now=tasks._now()
            )
        assert again is not None
        worker.serve(again.id)
        assert State.OURS not in {verdict.state for verdict in deployment.verdicts(again.id)}
        with reading(settings.database) as session:
            grade = grades.of_student(session, LAB, deployment.student)
            assert grade is not None and (grade.grading_id, grade.out_of) == (again.id, whole)


class Line:
    """A network line to a server that can be cut and mended."""

    def __init__(self, url: str) -> None:
        self._server = make_url(url)
        self._listener = create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self.url = self._server.set(port=self._port).render_as_string(hide_password=False)
        self._ends: list[socket] = []
        self._closing = ExitStack()

    def __enter__(self) -> "Line":
        self._accepting = self._run(self._accept, self._listener)
        return self

    def __exit__(self, *error: object) -> None:
        self.cut()
        self._closing.close()

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        with suppress(OSError):
            self._listener.shutdown(SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(SHUT_RDWR)

    def mend(self) -> None:
        """Take connections again."""
        self._listener = create_server(("127.0.0.1", self._port))
        self._accepting = self._run(self._accept, self._listener)

    def _accept(self, listener: socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = create_connection((self._server.host or "", self._server.port or 0))
            for end in (near, far):
                self._closing.callback(end.close)
            self._ends += [near, far]
            self._run(self._pass, near, far)
            self._run(self._pass, far, near)

    def _pass(self, source: socket, target: socket) -> None:
        with suppress(OSError):
            while received := source.recv(65536):
                target.sendall(received)
            target.shutdown(SHUT_RDWR)

    def _run(self, work: Any, *arguments: socket) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self._closing.callback(thread.join)
        return thread
