"""What a kind is: a typed spec and three pure functions. The table of kinds is `grading.kinds.KINDS`."""

from collections.abc import Sequence
from decimal import Decimal
from types import ModuleType
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from grading.answers.model import Answer
from grading.verdict import Verdict
from labcore.runner.protocol import Job, Observation


class Question(BaseModel):
    """One question of a loaded pack, its hidden part included. `spec` is the kind's own typed spec.

    `public` and `hidden` are the pack's modules named by the question's `module` (cases, reference, terms, variants).
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)
    id: str
    kind: str = ""
    points: Decimal
    entry: str = ""  # the function to call; "" for a question answered in words
    stubs: tuple[str, ...] = ()  # the template's own text of the definition: equal to it means not answered
    spec: Any
    public: ModuleType | None = None
    hidden: ModuleType | None = None


Ran = Sequence[tuple[Job, Observation]]


class Kind(Protocol):
    """A way of asking and a way of judging. All three functions are pure and never run a student's code."""

    @property
    def Spec(self) -> type[BaseModel]: ...

    def read(self, question: Question, answer: Answer) -> Answer:
        """The answer as this kind takes it, or the same with `found` false and a reason."""
        ...

    def plan(self, question: Question, answer: Answer, seed: bytes) -> list[Job]:
        """What to run; may be empty. Equal arguments give equal jobs."""
        ...

    def judge(self, question: Question, answer: Answer, ran: Ran, explain: bool) -> Verdict:
        """The verdict on what came back. Without `explain`, nothing that compares with the reference may be said."""
        ...
