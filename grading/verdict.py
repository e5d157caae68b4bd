"""A verdict: one question's judgement, with a reason that a student can act on."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue


def _shortest(points: Decimal) -> Decimal:
    """The same number without trailing zeros or an exponent: 0.00 is 0, and 1E+1 is 10."""
    return Decimal(format(points.normalize(), "f"))


Points = Annotated[Decimal, AfterValidator(_shortest)]


class State(StrEnum):
    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"
    NOT_ANSWERED = "not answered"
    OURS = "ours"


class Check(BaseModel):
    """One line of a verdict's table: a public case by name, or drawn ones with a reason of the closed list."""

    model_config = ConfigDict(frozen=True)
    label: str
    public: bool
    passed: bool
    text: str = ""


class Diagnosis(BaseModel):
    """What is wrong with an answer, as a code (to be counted over a class) and in words (to be read by one student)."""

    model_config = ConfigDict(frozen=True)
    code: str  # "missing: write the output", "doubled: MAC", "variant: causal"
    text: str


class Verdict(BaseModel):
    """One question's judgement.

    `headline` is the reason, never empty. `remarks` go to the student, `evidence` to staff alone. `needs_review` says
    why a person should look; the points stand until one has. `explained` marks a verdict whose diagnosis compares the
    answer with the reference: those are bounded per student and day.
    """

    model_config = ConfigDict(frozen=True)
    question: str
    state: State
    points: Points
    out_of: Points
    headline: str
    checks: tuple[Check, ...] = ()
    remarks: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None
    explained: bool = False
    needs_review: str | None = None
    evidence: dict[str, JsonValue] = {}
