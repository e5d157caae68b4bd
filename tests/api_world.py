"""Two courses with people of every role, for tests of the web door: real tables, real tokens, one graded submission."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import httpx
import uvicorn
from fastapi import FastAPI
from sqlalchemy.orm import Session

from api.app import make_app
from grading.answers.model import Answer, Answers
from grading.score import Score
from grading.settings import Settings
from grading.store import blobs, courses, gradings, people, submissions, tokens
from grading.store.session import transaction
from grading.store.tables import Role
from grading.store.tokens import Purpose, Scope
from grading.verdict import Check, State, Verdict

NOW = datetime.now(UTC).replace(microsecond=0)
SECRET = "a hidden value: 48151623"
SCOPES = {
    Role.STUDENT: (Scope.SUBMIT, Scope.READ),
    Role.TA: (Scope.SUBMIT, Scope.READ, Scope.STAFF),
    Role.ADMIN: (Scope.SUBMIT, Scope.READ, Scope.STAFF, Scope.ADMIN),
}
PEOPLE = (
    ("ann", "gpu", Role.STUDENT),
    ("bob", "gpu", Role.STUDENT),
    ("tess", "gpu", Role.TA),
    ("ada", "gpu", Role.ADMIN),
    ("eve", "other", Role.ADMIN),
)
SOURCE = "def gemm_mac(N, K, M):\n    return N * K * M\n"


@dataclass(frozen=True)
class World:
    """`gpu` has lab1; ann handed in there and was graded. `other` has lab2. Secrets go by login, clients by course."""

    settings: Settings
    app: FastAPI
    http: httpx.Client
    secrets: dict[str, str]
    users: dict[str, int]
    clients: dict[str, tuple[str, str]]
    submission: str
    grading: str

    def get(self, login: str, path: str) -> httpx.Response:
        """What somebody reads at a path of the API."""
        return self.http.get(f"/api/v1{path}", headers=self.bearer(login))

    def bearer(self, login: str) -> dict[str, str]:
        """The header of somebody's personal token; nobody's for an empty login."""
        return {"Authorization": f"Bearer {self.secrets[login]}"} if login else {}

    def access(self, course: str) -> dict[str, str]:
        """The header of a course's client, with a token fetched the way an LMS does."""
        answer = self.http.post("/oauth2/token", data={"grant_type": "client_credentials"}, auth=self.clients[course])
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}


@contextmanager
def make_world(settings: Settings, folder: Path) -> Iterator[World]:
    """Fill a migrated, empty database, and serve it on a port of its own."""
    secrets, users, clients = {}, {}, {}
    file = folder / "answers.py"
    file.write_text(SOURCE)
    with transaction(settings.database) as session:
        for course, lab in (("gpu", "lab1"), ("other", "lab2")):
            courses.create_course(session, id=course, title=f"Course {course}", now=NOW, timezone="Asia/Seoul")
            courses.create_lab(session, id=lab, course_id=course, title=f"Lab of {course}", pack="lab1", now=NOW)
            client, secret = courses.create_client(session, course_id=course, name="LMS", now=NOW)
            clients[course] = (client.id, secret)
        for login, course, role in PEOPLE:
            users[login], secrets[login] = add_person(session, login, course, role)
        digest = blobs.keep(settings.data / "blobs", file)
        submission, grading = hand_in_graded(session, users["ann"], digest, [Decimal("2"), Decimal("0")])
    app = make_app(settings)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as http:
        yield World(settings, app, http, secrets, users, clients, submission, grading)


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """An app behind a real HTTP server, on a free port. Reading processes start with the first upload, not before."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, lifespan="off", log_level="error", timeout_graceful_shutdown=3
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server.ready.wait(60)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


def add_person(session: Session, login: str, course: str, role: Role) -> tuple[int, str]:
    """Somebody new with a place in a course: their id, and the secret of a token for all that they may do."""
    user = people.add_user(session, login=login, name=login.capitalize(), email=f"{login}@x.edu", now=NOW)
    people.enroll(session, course_id=course, user_id=user.id, role=role, section="A", now=NOW)
    _, secret = tokens.issue(
        session,
        Purpose.PERSONAL,
        now=NOW,
        scopes=SCOPES[role],
        user_id=user.id,
        name="test",
        lifetime=timedelta(days=30),
    )
    return user.id, secret


def hand_in_graded(
    session: Session, user_id: int, digest: str, points: list[Decimal], lab: str = "lab1"
) -> tuple[str, str]:
    """A submission and its grading, through the same store functions as the real ones."""
    submission = hand_in(session, user_id, digest, lab)
    grading = gradings.current(session, submission).id
    grade(session, [verdict(question, value) for question, value in zip(("1.1", "1.3"), points, strict=True)])
    return submission, grading


def hand_in(session: Session, user_id: int, digest: str = "0" * 64, lab: str = "lab1") -> str:
    """A submission that waits to be graded; its id."""
    now = datetime.now(UTC)
    submission = submissions.record(
        session,
        lab_id=lab,
        user_id=user_id,
        filename="answers.py",
        sha256=digest,
        size=len(SOURCE),
        answers=Answers(answers=(Answer(question="1.3", found=True, source=SOURCE, where="line 1"),), filename="a.py"),
        received_at=now,
    )
    return submission.id


def grade(session: Session, verdicts: list[Verdict]) -> None:
    """Be the worker: claim what has waited longest and finish it with these verdicts."""
    now = datetime.now(UTC)
    claimed = gradings.claim(session, "cpu", now, 30, 3)
    assert claimed is not None
    score = Score(
        points=sum((one.points for one in verdicts), Decimal(0)),
        bonus=Decimal("1.5"),
        pending=Decimal(0),
        out_of=Decimal(80),
        bonus_out_of=Decimal(20),
    )
    assert gradings.finish(session, claimed, verdicts, score, "full", "0" * 64, now)


def verdict(question: str, points: Decimal) -> Verdict:
    """A verdict that holds something which no student may read."""
    return Verdict(
        question=question,
        state=State.PASSED if points else State.FAILED,
        points=points,
        out_of=Decimal(2),
        headline="It counts FLOPs." if not points else "Right.",
        checks=(
            Check(label="N=2, K=3, M=4", public=True, passed=True),
            Check(label=f"N={SECRET}", public=False, passed=bool(points), text="" if points else "another number"),
        ),
        needs_review=None if points else f"suspicious: {SECRET}",
        evidence={"output": SECRET},
    )


class _Server(uvicorn.Server):
    """uvicorn, with an event set once requests are answered."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
