"""A real site for the pages' tests: a small pack, a class, a server on a port of its own; grading is done by hand."""

import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import httpx
import uvicorn

from api.app import make_app
from grading.outline import find, read
from grading.score import total
from grading.settings import Settings
from grading.store import courses, gradings, people, tokens
from grading.store.gradings import Claimed
from grading.store.session import engine, reading, transaction
from grading.store.tables import Role
from grading.store.tokens import PERSONAL_SCOPES, Purpose
from grading.verdict import Check, Diagnosis, State, Verdict

LAB_YAML = """
name: small
title: A small lab
questions:
  - {id: "1.3", heading: "1.3", title: MAC of a product, kind: formula, points: "5", prompt: "1.3.md",
     entry: gemm_mac, parameters: [x, y], stub: gemm_mac.py}
  - {id: "1.4", heading: "1.4", title: I/O of a product, kind: formula, points: "5", prompt: "1.4.md",
     entry: gemm_io, parameters: [A, B]}
  - {id: "bonus-1", heading: "bonus 1", title: Something more, kind: formula, points: "2.5", bonus: true,
     prompt: "bonus.md", entry: more, parameters: [n]}
"""
STUB = "def gemm_mac(x, y):\n    # your code here\n    raise NotImplementedError()\n"
PROMPTS = {
    "1.3.md": "How many multiply-accumulates does `x @ y` take?\n\n| x | MAC |\n|---|---:|\n| 512×512 | 134217728 |\n",
    "1.4.md": "# Bytes\n\nHow many bytes move, in fp32?\n",
    "bonus.md": "Raw HTML stays text: <b id=raw>bold</b>.\n",
}
ANSWERS = """# the student's file
def gemm_mac(x, y):
    return x.shape[0] * x.shape[1] * y.shape[1]


def gemm_io(A, B):
    return 4 * (A.numel() + B.numel())
"""
HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\' \u202eesrever\u2066 \x1b[31mred'


@dataclass
class Site:
    """Where the site is, who is in it and by which token."""

    url: str
    settings: Settings
    secrets: dict[str, str] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    clients: list[httpx.Client] = field(default_factory=list)

    def client(self, login: str | None = None) -> httpx.Client:
        """A browser without scripts: keeps cookies, follows nothing. Signed in as `login`."""
        client = httpx.Client(base_url=self.url, headers={"Accept": "text/html"}, timeout=30)
        self.clients.append(client)
        if login is not None:
            answer = client.post("/login", data={"token": self.secrets[login]})
            assert answer.status_code == 303, answer.text
        return client

    def claim(self, submission_id: str) -> Claimed:
        """Take a submission as a worker does; others that wait are left claimed."""
        with transaction(self.settings.database) as session:
            while claimed := gradings.claim(session, "cpu", datetime.now(UTC), 60, 3):
                if claimed.submission_id == submission_id:
                    return claimed
        raise AssertionError("nothing to claim")

    def progress(self, claimed: Claimed, judged: int) -> None:
        """Tell how far the grading is, as a worker does."""
        with transaction(self.settings.database) as session:
            assert gradings.heartbeat(session, claimed, judged, datetime.now(UTC), 60)

    def finish(self, claimed: Claimed, verdicts: Sequence[Verdict], isolation: str = "full") -> None:
        """End the grading with these verdicts, as a worker does."""
        score = total(verdicts, read(find(self.settings, "small")))
        with transaction(self.settings.database) as session:
            assert gradings.finish(session, claimed, verdicts, score, isolation, "digest", datetime.now(UTC))

    def fail(self, claimed: Claimed, fault: str) -> None:
        """End the grading by a fault of ours, for good."""
        with transaction(self.settings.database) as session:
            assert gradings.release_with_fault(session, claimed, fault, datetime.now(UTC), 0, 1)

    def hand_in(self, client: httpx.Client, text: str = ANSWERS, filename: str = "answers.py") -> str:
        """Hand a file in by the page's form; the submission's id."""
        form = {"csrf": csrf(client, "/labs/lab1")}
        answer = client.post("/labs/lab1/submissions", data=form, files={"file": (filename, text.encode())})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].rpartition("/")[2]

    def graded(self, login: str, verdicts: Sequence[Verdict] | None = None, **arguments: str) -> str:
        """A submission that is handed in and graded; its id."""
        submission_id = self.hand_in(self.client(login), **arguments)
        self.finish(self.claim(submission_id), verdicts or usual())
        return submission_id


@contextmanager
def serving(folder: Path, template: Path) -> Iterator[Site]:
    """A site with its database copied from a migrated template, for as long as the block lasts."""
    data, packs = folder / "data", folder / "packs"
    data.mkdir(mode=0o700)
    shutil.copy(template, data / "rooflab.sqlite")
    _write_pack(packs / "small")
    settings = Settings(data=data, packs=packs, secret="a secret for tests", max_upload_bytes=2 * 1024 * 1024)
    site = Site("", settings)
    _fill(site)
    listener = socket.create_server(("127.0.0.1", 0))
    site.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = _Server(uvicorn.Config(make_app(settings), log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert server.ready.wait(60)
        yield site
    finally:
        for client in site.clients:
            client.close()
        server.should_exit = True
        thread.join(30)
        listener.close()
        engine(settings.database).dispose()


def csrf(client: httpx.Client, path: str) -> str:
    """The token that the forms of a page carry."""
    text = client.get(path).text
    return text.partition('name="csrf" value="')[2].partition('"')[0]


def usual() -> list[Verdict]:
    """One right, one in part and flagged, one not answered."""
    return [
        Verdict(
            question="1.3",
            state=State.PASSED,
            points=Decimal(5),
            out_of=Decimal(5),
            headline="Exactly N·K·M.",
            checks=(
                Check(label="512×512 by 512×512", public=True, passed=True, text="134217728"),
                Check(label="a drawn case with secret sizes 77×13", public=False, passed=True),
            ),
        ),
        Verdict(
            question="1.4",
            state=State.PARTIAL,
            points=Decimal(3),
            out_of=Decimal(5),
            headline="One term is missing.",
            diagnosis=Diagnosis(code="missing: output", text="Short of 4·N·M bytes: the output is never written."),
            checks=(
                Check(label="512×512 by 512×512", public=True, passed=False, text="got 2097152, expected 3145728"),
                Check(label="drawn sizes", public=False, passed=False, text="the count is too small"),
            ),
            needs_review="staff alone may read this reason",
            remarks=("“assuming the output stays in cache” was read as an assumption.",),
            evidence={"polynomial": "4NK + 4KM"},
        ),
        Verdict(
            question="bonus-1",
            state=State.NOT_ANSWERED,
            points=Decimal(0),
            out_of=Decimal("2.5"),
            headline="No definition of more was found.",
        ),
    ]


class _Server(uvicorn.Server):
    """uvicorn, with an event set once requests are answered."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _write_pack(folder: Path) -> None:
    for name in ("prompts", "stubs"):
        (folder / name).mkdir(parents=True)
    (folder / "lab.yaml").write_text(LAB_YAML)
    (folder / "stubs" / "gemm_mac.py").write_text(STUB)
    for name, text in PROMPTS.items():
        (folder / "prompts" / name).write_text(text)


def _fill(site: Site) -> None:
    now = datetime.now(UTC)
    roles = {"ada": Role.STUDENT, "bob": Role.STUDENT, "tam": Role.TA, "amy": Role.ADMIN, "hex": Role.STUDENT}
    names = {"ada": "Ada Lovelace", "bob": "Bob Bitter", "tam": "Tam Tutor", "amy": "Amy Admin", "hex": HOSTILE}
    with transaction(site.settings.database) as session:
        courses.create_course(session, id="gpu", title="Efficient computing", now=now, timezone="America/Los_Angeles")
        courses.create_lab(
            session, id="lab1", course_id="gpu", title="Lab 1", pack="small", now=now, due_at=now + timedelta(days=3)
        )
        for lab, policy, due in (
            ("once", {"attempts": 1}, None),
            ("over", {"late": "closed"}, now - timedelta(hours=2)),
            ("dear", {"late": "penalty", "penalty_per_day": "0.1", "counts": "latest"}, now - timedelta(hours=2)),
        ):
            courses.create_lab(
                session, id=lab, course_id="gpu", title=f"Lab {lab}", pack="small", now=now, policy=policy, due_at=due
            )
        for login, role in roles.items():
            user = people.add_user(session, login=login, name=names[login], now=now)
            people.enroll(
                session, course_id="gpu", user_id=user.id, role=role, now=now, section="A" if login == "ada" else "B"
            )
            site.users[login] = user.id
        courses.create_course(session, id="soon", title="Course to come", now=now)
        for login, role in (("ada", Role.STUDENT), ("tam", Role.TA), ("amy", Role.ADMIN)):
            people.enroll(session, course_id="soon", user_id=site.users[login], role=role, now=now)
        site.users["eve"] = people.add_user(session, login="eve", name="Eve Elsewhere", now=now).id
        for login, user_id in site.users.items():
            _, site.secrets[login] = tokens.issue(
                session, Purpose.PERSONAL, now=now, scopes=PERSONAL_SCOPES, user_id=user_id, name="first"
            )


def current_grading_state(site: Site, submission_id: str) -> str:
    """The state of a submission's grading in force."""
    with reading(site.settings.database) as session:
        return gradings.current(session, submission_id).state
