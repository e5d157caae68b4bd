"""Where an attack is tried: a running service with its sandbox, and what must be true of every attempt.

An attempt is handed in over HTTP by a student of its own, graded by the real worker, and then looked at from all sides:
the points, everything that the student is shown, what staff are told, and whether the next honest submission is right.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import httpx
import torch

from grading import outline, pack
from grading.grader import seed_for
from grading.kinds.contract import Question
from grading.kinds.formula.planning import parts
from grading.kinds.implementation.case import Draw
from grading.settings import Settings
from grading.store import people, tokens
from grading.store.session import transaction
from grading.store.tables import Role

WRONG: Mapping[str, str] = {
    "1.1": """
        import torch
        def gemm(A, B):
            return torch.zeros(A.shape[0], B.shape[1], dtype=A.dtype)
        """,
    "1.3": "def gemm_mac(x, y): return 1",
    "1.4": "def gemm_io(A, B): return 1",
    "3.1b": "def calc_attn_mac(B, H, L_q, L_kv, D_h): return 1",
    "4.3.1": """
        import torch
        def gelu_tanh_python(input):
            return torch.zeros_like(input)
        """,
}
"""An honest wrong answer to each question that attacks are aimed at: none may earn more."""

HONEST = "def gemm_mac(x, y):\n    N, K = x.shape\n    return N * K * y.shape[1]\n"
DIGITS, PLACES = 4, 6  # a whole number or a fraction this long is taken for a hidden one, not for a coincidence
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?")
_NUMBER = re.compile(r"(?<!\w)\d+(?:\.\d+(?:e[-+]?\d+)?)?(?!\w)")  # no part of an id


@dataclass(frozen=True)
class Graded:
    """A submission after its grading: what its student and what staff get to read, and all that a student is shown."""

    id: str
    read: dict[str, Any]
    for_staff: dict[str, Any]
    shown: str

    def verdict(self, question: str, staff: bool = False) -> dict[str, Any]:
        """One question's verdict as the student sees it, or as staff do."""
        verdicts = (self.for_staff if staff else self.read)["verdicts"]
        return dict(next(verdict for verdict in verdicts if verdict["question"] == question))


@dataclass(frozen=True)
class Court:
    """A running service, and the settings of its database. Attempts are made one after the other."""

    url: str
    lab: str
    ta: str
    settings: Settings
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _worth: dict[str, Decimal] = field(default_factory=dict)

    def withstands(self, question: str, source: str, named: str, most: str | None = None) -> Graded:
        """Hold one attack to the whole promise, and give back what became of it.

        It gains no point over an honest wrong answer, nothing hidden is shown, staff are told of it in words that match
        `named`, and the next honest submission is graded right. `most` is for an attack beside a partly right answer:
        what that answer earns by itself.
        """
        graded = self.hand_in({question: dedent(source)})
        verdict, for_staff = graded.verdict(question), graded.verdict(question, staff=True)
        worth = self.worth_of_wrong(question) if most is None else Decimal(most)
        assert Decimal(verdict["points"]) <= worth, for_staff
        assert verdict["headline"], "a verdict without a reason"
        assert self.hidden_shown(graded, question) == set()
        assert re.search(named, json.dumps(for_staff, ensure_ascii=False), re.IGNORECASE), for_staff
        self.grades_on()
        return graded

    def hand_in(self, answers: Mapping[str, str]) -> Graded:
        """Pasted answers, by a student who has handed in nothing before."""
        return self._graded(json={"answers": dict(answers)})

    def hand_in_file(self, name: str, contents: bytes) -> Graded:
        """A file, by a student who has handed in nothing before."""
        return self._graded(files={"file": (name, contents)})

    def grades_on(self) -> None:
        """After whatever was tried, an honest answer gets all its points and is not accused."""
        verdict = self.hand_in({"1.3": HONEST}).verdict("1.3", staff=True)
        assert (verdict["state"], verdict["points"], verdict["needs_review"]) == ("passed", "5", None), verdict

    def worth_of_wrong(self, question: str) -> Decimal:
        """What an honest wrong answer to a question earns here."""
        if question not in self._worth:
            verdict = self.hand_in({question: dedent(WRONG[question])}).verdict(question)
            self._worth[question] = Decimal(verdict["points"])
        return self._worth[question]

    def hidden_shown(self, graded: Graded, question: str) -> set[str]:
        """Those of a submission's hidden inputs and expected values that its student was shown: none, it should be."""
        return _telling(_MOMENT.sub("", graded.shown)) & self.hidden(graded, question)

    def hidden(self, graded: Graded, question: str) -> set[str]:
        """The submission's hidden inputs and expected values of a question, as text, where long enough to tell."""
        secret = hmac.digest(self.settings.seed_secret, graded.id.encode(), hashlib.sha256)
        return set(_hidden(_question(question), seed_for(secret, question)))

    def client(self, token: str) -> httpx.Client:
        """Somebody at the API."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=120)

    def newcomer(self) -> str:
        """A token of a student who has handed in nothing yet."""
        login, now = f"attacker{next(self._numbers)}", datetime.now(UTC)
        with transaction(self.settings.database) as session:
            person = people.add_user(session, login=login, name=login, now=now)
            people.enroll(session, course_id="demo", user_id=person.id, role=Role.STUDENT, now=now)
            _, secret = tokens.issue(
                session,
                tokens.Purpose.PERSONAL,
                now=now,
                scopes=tokens.PERSONAL_SCOPES,
                user_id=person.id,
                name="attack",
                lifetime=timedelta(days=1),
            )
        return secret

    def _graded(self, **body: Any) -> Graded:
        token = self.newcomer()
        with self.client(token) as student, self.client(self.ta) as staff:
            taken = student.post(f"/api/v1/labs/{self.lab}/submissions", **body)
            assert taken.status_code == 201, taken.text
            links = taken.json()["links"]
            events = student.get(links["events"]).text  # ends when the grading does
            read = student.get(links["self"])
            assert read.json()["state"] == "graded", read.text
            shown = [events, read.text, _page(student, token, links["page"])]
            return Graded(taken.json()["id"], read.json(), staff.get(links["self"]).json(), "\n".join(shown))


def _page(student: httpx.Client, token: str, path: str) -> str:
    """The page of a submission, for somebody signed in as in a browser."""
    with httpx.Client(base_url=student.base_url, follow_redirects=True, timeout=60) as browser:
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', browser.get("/login").text))
        browser.post("/login", data={**fields, "token": token})
        page = browser.get(path)
        assert page.status_code == 200
        return page.text


@cache
def _question(question: str) -> Question:
    folder: Path = outline.find(Settings(), "lab1")
    return next(one for one in pack.load(folder).questions if one.id == question)


def _hidden(question: Question, seed: bytes) -> Iterator[str]:
    if question.kind == "formula":
        random, counted = Random(seed), parts(question)[1]
        for values in [*counted.ordinary(random), *counted.large(random)]:
            yield from _texts([*values.values(), int(counted.plain.total.at(values))])
    else:
        for case in question.hidden.cases(Draw(seed)):  # type: ignore[union-attr]
            for tensor in (*case.args, question.hidden.reference(*case.args)):  # type: ignore[union-attr]
                yield from _texts(tensor.flatten().tolist() if isinstance(tensor, torch.Tensor) else [])


def _telling(text: str) -> set[str]:
    return set(_texts(int(number) if number.isdigit() else float(number) for number in _NUMBER.findall(text)))


def _texts(numbers: Iterable[float]) -> Iterator[str]:
    """Numbers as text, to as many digits as tell; those that are shorter are left out."""
    for number in numbers:
        text = str(abs(number)) if isinstance(number, int) else f"{abs(number):.{PLACES}g}"
        if len(text.split("e")[0].replace(".", "").strip("0")) >= (DIGITS if isinstance(number, int) else PLACES):
            yield text
