"""What a pack's data says about an implementation question."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from grading.kinds.implementation.case import MAIN
from grading.kinds.implementation.loops import DEEP
from grading.kinds.implementation.vocabulary import GROUPS, words
from grading.outline import Points

Dtype = Literal["float16", "bfloat16", "float32", "float64"]
_DATA = ConfigDict(frozen=True, strict=True, extra="forbid")


class Tolerance(BaseModel):
    """An element may be off by `relative` of its scale, plus `absolute`, plus some times the reference's own error."""

    model_config = _DATA
    relative: Annotated[float, Field(ge=0, lt=1)]
    absolute: Annotated[float, Field(ge=0)] = 0.0


class Part(BaseModel):
    """A group of cases on which only these points hang. `hint` is told when they are lost."""

    model_config = _DATA
    group: str
    title: str
    points: Points
    hint: str = ""


class Forbidden(BaseModel):
    """What may not be called: names of functions and methods, operators, and what torch dispatches for them.

    `dispatched` takes patterns. What the child counts is a claim: it confirms what the source says, never more.
    """

    model_config = _DATA
    names: tuple[str, ...]
    operators: tuple[Literal["@"], ...] = ()
    dispatched: tuple[str, ...] = ()
    why: str


class Suspicious(BaseModel):
    """Names that cost nothing but send an answer to a person, and why."""

    model_config = _DATA
    names: tuple[str, ...]
    why: str


class Allowed(BaseModel):
    """What of a library an answer may use: groups of `vocabulary` and further names. Anything else goes to a person."""

    model_config = _DATA
    groups: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def words(self) -> frozenset[str]:
        return words(self.groups, self.names)

    @field_validator("groups")
    @classmethod
    def _known(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := set(groups) - set(GROUPS):
            raise ValueError(f"no such group of names: {', '.join(sorted(unknown))}")
        return groups


class Loops(BaseModel):
    """Honest loops stand `deep` inside each other, take `seconds` a step, and dispatch one of `each_step`.

    The last two do not hold for an answer that uses one of the names of `unless`, which make plain numbers of elements.
    """

    model_config = _DATA
    deep: Annotated[int, Field(ge=1, le=DEEP)]
    seconds: Annotated[float, Field(gt=0)]
    each_step: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    why: str


class Spec(BaseModel):
    """An implementation question. Cases of the group `main` must hold for any points; each part costs its own."""

    model_config = _DATA
    tolerances: dict[Dtype, Tolerance]
    parts: tuple[Part, ...] = ()
    changed_input: Points | None = None
    forbidden: Forbidden | None = None
    suspicious: tuple[Suspicious, ...] = ()
    allowed: Allowed | None = None
    loops: Loops | None = None
    profile: str = "cpu"

    @model_validator(mode="after")
    def _groups_differ(self) -> "Spec":
        groups = [MAIN, *(part.group for part in self.parts)]
        if len(set(groups)) < len(groups):
            raise ValueError(f"two parts have one group, or one is called {MAIN!r}")
        return self
