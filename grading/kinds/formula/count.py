"""The words in which a pack says what a formula should count: named terms, and the assumptions they rest on.

A pack's public module has `CASES`, its hidden module `COUNT`. Packs are written by the course and trusted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import combinations, product
from random import Random

from grading.polynomial import Polynomial, added

Values = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Case:
    """A public case: shown with its result."""

    label: str
    values: Values
    result: int


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a count. `thing` and `deed` make the sentences: "the output of A·V" is never "written"."""

    name: str
    size: Polynomial
    thing: str
    deed: str = "counted"


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to settle an assumption.

    `says` are patterns of a sentence that states it; a group named `key` marks the word before which a negation would
    turn the sentence round. `only_where` limits the comparison to some sizes (an exact half where a product is even),
    since elsewhere honest answers differ in their rounding or at the edges. `stated` and `unstated` are shares of the
    question's points; one that is worth nothing unstated is taken only where a comment states it.
    """

    name: str
    title: str
    says: tuple[str, ...] = ()
    only_where: Callable[[Values], bool] | None = None
    stated: Decimal = Decimal(1)
    unstated: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """One assumption and its choices; the first is the plain one, which needs no statement."""

    name: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class RightOnlyWhere:
    """A condition on the sizes under which a common mistake does not show."""

    code: str
    text: str
    where: Callable[[Values], bool]


@dataclass(frozen=True, slots=True)
class Misreading:
    """A common mistake that amounts to the right count of other sizes, such as a head size worked out wrongly."""

    code: str
    text: str
    values: Callable[[Values], Values]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A common mistake by what it adds to the count, such as work that the question leaves out."""

    code: str
    text: str
    change: Polynomial


@dataclass(frozen=True)
class Combination:
    """A choice for each assumption, and the count that follows."""

    chosen: Mapping[str, Choice]
    departures: tuple[Choice, ...]
    terms: tuple[Term, ...]

    @cached_property
    def total(self) -> Polynomial:
        return added(term.size for term in self.terms)

    def exact_at(self, values: Values) -> bool:
        """Whether an answer must agree exactly at these sizes."""
        return all(choice.only_where is None or choice.only_where(values) for choice in self.departures)


@dataclass(frozen=True, eq=False)
class Count:
    """What a formula should count: the terms under any choice of assumptions, and how to draw sizes."""

    terms: Callable[[Mapping[str, str]], tuple[Term, ...]]
    ordinary: Callable[[Random], Sequence[Values]]
    large: Callable[[Random], Sequence[Values]]
    axes: tuple[Axis, ...] = ()
    right_only_where: tuple[RightOnlyWhere, ...] = ()
    misreadings: tuple[Misreading, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # a variable in words: {"B": "the batch size"}
    _known: dict[int, tuple[Combination, ...]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def plain(self) -> Combination:
        return self._combination(())

    def combinations(self, most: int) -> tuple[Combination, ...]:
        """Every combination of at most this many departures from the plain one, fewest first."""
        if most not in self._known:
            self._known[most] = tuple(self._combination(departures) for departures in self._departures(most))
        return self._known[most]

    def _departures(self, most: int) -> Iterator[tuple[tuple[Axis, Choice], ...]]:
        for number in range(most + 1):
            for axes in combinations(self.axes, number):
                for choices in product(*(axis.choices[1:] for axis in axes)):
                    yield tuple(zip(axes, choices, strict=True))

    def _combination(self, departures: tuple[tuple[Axis, Choice], ...]) -> Combination:
        chosen = {axis.name: axis.choices[0] for axis in self.axes}
        chosen.update({axis.name: choice for axis, choice in departures})
        terms = self.terms({name: choice.name for name, choice in chosen.items()})
        return Combination(chosen, tuple(choice for _, choice in departures), tuple(t for t in terms if t.size))
