"""The demo of `rooflab serve`: a course with a student, a TA and an admin, and a sample that the student hands in."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer
import yaml
from rich.console import Console

from api.cli.client import show_feedback
from api.cli.server import Server
from grading import outline
from grading.settings import Settings
from grading.store import courses, people, tokens
from grading.store.session import transaction
from grading.store.tables import Role

COURSE = LAB = "demo"
PACK = "lab1"
SAMPLE = "notebook"
PEOPLE = {"student": "Sam Student", "ta": "Tia Assistant", "admin": "Ada Admin"}  # by role
LIFETIME = timedelta(days=1)
TOKEN_NAME = "demo"
err = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo made: the lab, and each person's token, which is shown at this start and no other."""

    lab: str
    student: str
    ta: str
    admin: str

    def tokens(self) -> dict[str, str]:
        return asdict(self)

    def describe(self, url: str) -> str:
        """Where to sign in, and as whom: one line each, so that no terminal cuts a token short."""
        lines = [f"{name:14} {getattr(self, role)}" for role, name in PEOPLE.items()]
        return "\n".join([f"Sign in at {url}/login with one of these tokens (new at every start):", *lines])


def make_demo(settings: Settings) -> Demo:
    """Make what is missing of the demo course, and give each of its people a new token in place of the old one."""
    now = datetime.now(UTC)
    title = outline.read(outline.find(settings, PACK)).title
    made = {}
    with transaction(settings.database) as session:
        if courses.course(session, COURSE) is None:
            courses.create_course(session, id=COURSE, title="Demo course", now=now)
        if courses.lab(session, LAB) is None:
            due = (now + timedelta(days=14)).replace(hour=23, minute=59, second=0, microsecond=0)
            courses.create_lab(
                session, id=LAB, course_id=COURSE, title=title, pack=PACK, now=now, due_at=due, released=True
            )
        for role, name in PEOPLE.items():
            login = f"demo-{role}"  # no real person's
            person = people.user_by_login(session, login) or people.add_user(session, login=login, name=name, now=now)
            people.enroll(session, course_id=COURSE, user_id=person.id, role=Role(role), now=now, section="01")
            for old in tokens.of_user(session, person.id):
                if old.name == TOKEN_NAME:
                    tokens.revoke(session, old.id, now)
            _, made[role] = tokens.issue(
                session,
                tokens.Purpose.PERSONAL,
                now=now,
                scopes=tokens.PERSONAL_SCOPES,
                user_id=person.id,
                name=TOKEN_NAME,
                lifetime=LIFETIME,
            )
    return Demo(lab=LAB, **made)


def hand_in_sample(url: str, demo: Demo, settings: Settings, alive: Callable[[], bool]) -> int:
    """Hand the sample in as the student would, print the feedback; 0 if it got the points that the pack expects."""
    folder = outline.find(settings, PACK) / "samples" / SAMPLE
    [file] = folder.glob("answers.*")
    expected = yaml.safe_load((folder / "expect.yaml").read_text("utf-8"))
    server = Server(url, demo.student)
    try:
        submission = _graded(server, demo.lab, file, alive)
        found = server.get(f"/submissions/{submission}")
    except typer.Exit as stopped:
        return stopped.exit_code
    show_feedback(found, f"{url}/submissions/{submission}")
    wrong = _differences(expected, found["verdicts"] or [])
    for line in wrong:
        err.print(line, markup=False)
    return 1 if wrong else 0


def _graded(server: Server, lab: str, file: Path, alive: Callable[[], bool]) -> str:
    submission = str(server.hand_in(lab, file)["id"])
    with err.status(f"The sample {file.name} is handed in; the worker warms up, then grades."):
        for _ in server.follow(submission):
            if not alive():
                err.print("The worker ended before the sample was graded; its reason is above.")
                raise typer.Exit(1)
    return submission


def _differences(expected: dict[str, dict[str, str]], verdicts: list[dict[str, str]]) -> list[str]:
    got = {verdict["question"]: (verdict["points"], verdict["state"]) for verdict in verdicts}
    return [
        f"Question {question}: expected {want['points']} points, {want['state']}; got {got.get(question)}."
        for question, want in expected.items()
        if got.get(question) != (want["points"], want["state"])
    ]
