"""What an answer's values mean: the count it equals, or how it differs from the nearest one, told in named terms.

No oracle: one thing at a time, in full only for an answer that is close (one slip away, or two where there are four
terms and more, or half of the monomials right). An answer far away gets a hint of the pack's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from grading.kinds.formula.count import Combination, Count
from grading.kinds.formula.slips import Points, Slip, Slips, agrees, lowered, shown, told
from grading.kinds.formula.spec import Spec
from grading.kinds.formula.statements import Said, stated, touching
from grading.polynomial import Polynomial

MOST_READINGS: Final = 8
MOST_BESIDE: Final = 2  # unstated assumptions that are named beside a mistake
MOST_ANNOUNCED: Final = 8  # words that fit several choices announce each; trying them all would be work without bound


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found. `equal` is the count that the answer equals, if any; `clear` the departures that are stated.

    `heard` are all sentences that speak of its assumptions, for staff. `code` and `text` say how it differs (empty for
    an equal one without anything to say); `close` tells whether that compares with the reference. `review` is why a
    person should look at one that equals no count.
    """

    equal: Combination | None = None
    clear: Mapping[str, str] = field(default_factory=dict)
    heard: tuple[str, ...] = ()
    code: str = ""
    text: str = ""
    close: bool = False
    review: str = ""


def find(spec: Spec, count: Count, points: Points, formula: Polynomial | None, said: tuple[Said, ...]) -> Finding:
    """The best reading of an answer: fewest slips and unstated assumptions first, every equally good one named."""
    if len({result for _, result in points}) == 1:
        return _constant(spec, points[0][1])
    known = count.combinations(spec.combine)
    equal = [one for one in known if agrees(one, points) and _may_be_taken(one, said)]
    if any(not one.departures for one in equal):
        return Finding(count.plain, text=_same_as(equal))
    ranked = sorted(((_unsaid(one, said), len(one.departures), place) for place, one in enumerate(equal)))
    if ranked and ranked[0][0] == 0:
        best = equal[ranked[0][2]]
        return Finding(best, stated(said, best), touching(said, best))
    slips = Slips(spec, count, points)
    found = _likeliest(slips.of(count.plain))
    level = [equal[place] for cost, _, place in ranked if cost == ranked[0][0]][:2]
    otherwise = _slipped(found) if found else None
    if ranked and (ranked[0][0] == 1 or (not found and ranked[0][0] <= spec.unstated_most)):
        return _unstated(level, said, otherwise)
    otherwise = otherwise or _further(spec, count, slips, said)
    if ranked and otherwise and ranked[0][0] <= MOST_BESIDE and not touching(said, level[0]):
        return _perhaps(_unstated(level, said, otherwise))
    if level and not otherwise:
        return _unstated(level, said, None)
    return otherwise or _by_monomials(spec, count, formula) or _far(spec)


def _may_be_taken(combination: Combination, said: tuple[Said, ...]) -> bool:
    shy = {choice.name for choice in combination.departures if choice.unstated == 0}
    return not shy or shy <= stated(said, combination).keys()


def _unsaid(combination: Combination, said: tuple[Said, ...]) -> int:
    return len(combination.departures) - len(stated(said, combination))


def _unstated(level: list[Combination], said: tuple[Said, ...], otherwise: Finding | None) -> Finding:
    titles = ", or with ".join(" and ".join(choice.title for choice in one.departures) for one in level)
    text = f"This equals the count with {titles}. If that is what you assume, say so in a comment above the function."
    if otherwise:
        text += f" If not: {lowered(otherwise.text)}"
    names = "|".join("+".join(choice.name for choice in one.departures) for one in level)
    codes = f"variant:{names}|{otherwise.code}" if otherwise else f"variant:{names}"
    return Finding(level[0], stated(said, level[0]), touching(said, level[0]), codes, text, close=True)


def _perhaps(unstated: Finding) -> Finding:
    """Two assumptions that nothing states, where fewer mistakes would do: told and looked at, but worth no points."""
    return replace(unstated, equal=None, clear={}, review="Two assumptions that no comment states would explain it.")


def _slipped(slips: list[Slip], lead: str = "") -> Finding:
    text = f"{lead}: {lowered(told(slips))}" if lead else told(slips)
    return Finding(code="|".join(slip.code for slip in slips), text=text, close=True)


def _further(spec: Spec, count: Count, slips: Slips, said: tuple[Said, ...]) -> Finding | None:
    """One slip beside assumptions that are stated; else two slips; else a plain one beside an unstated assumption."""
    others = [one for one in count.combinations(spec.combine) if one.departures]
    announced = [one for one in others if said and not _unsaid(one, said)][:MOST_ANNOUNCED]
    for base in announced:
        lead = "With what your comments state"
        if found := _likeliest(slips.of(base)):
            return _slipped(found, lead)
        if found := slips.first_of_two(base):
            return _slipped(found, f"{lead}, more than one thing differs. One of them")
    if found := slips.first_of_two(count.plain):
        return _slipped(found, "More than one thing differs. One of them")
    for base in others:
        if len(base.departures) == 1 and base not in announced and base.departures[0].unstated != 0:
            likely = [slip for slip in slips.of(base) if slip.rank <= 1]
            if found := _likeliest(likely):
                return _slipped(found, f"If you assume {base.departures[0].title}")
    return None


def _likeliest(slips: list[Slip]) -> list[Slip]:
    best = min((slip.rank for slip in slips), default=0)
    worst = best if best < 0 else max(best, 1)
    return sorted((slip for slip in slips if slip.rank <= worst), key=lambda slip: slip.rank)[:MOST_READINGS]


def _by_monomials(spec: Spec, count: Count, formula: Polynomial | None) -> Finding | None:
    """The first monomial that differs, for a formula of which at least half the monomials are right."""
    if formula is None:
        return None
    expected = count.plain.total.coefficients
    right = [monomial for monomial, number in expected.items() if formula.coefficients.get(monomial) == number]
    if 2 * len(right) < len(expected):
        return None
    for monomial, number in expected.items():
        got = formula.coefficients.get(monomial)
        if got != number:
            parts = [f"{one.thing} {one.deed}" for one in count.plain.terms if monomial in one.size.coefficients]
            here = list(dict.fromkeys(parts))
            part = shown(spec, Polynomial({monomial: 1}))
            text = (
                f"The part in {part} is too {'small' if (got or 0) < number else 'large'}. It holds: {'; '.join(here)}."
            )
            return Finding(code=f"part:{part}", text=text, close=True)
    extra = next(monomial for monomial in formula.coefficients if monomial not in expected)
    part = shown(spec, Polynomial({extra: formula.coefficients[extra]}))
    text = f"There is a part that nothing in the question calls for: {part}."
    return Finding(code="extra", text=text, close=True)


def _same_as(equal: list[Combination]) -> str:
    others = [" and ".join(choice.title for choice in one.departures) for one in equal if one.departures]
    return f"The same figure comes out with {'; or with '.join(others[:2])}." if others else ""


def _constant(spec: Spec, value: int) -> Finding:
    if value == 0:
        return Finding(code="zero", text=" ".join(["The function returns 0 whatever the sizes.", *spec.hints[:1]]))
    return Finding(
        code="constant", text=" ".join(["The function returns the same number whatever the sizes.", *spec.hints[:1]])
    )


def _far(spec: Spec) -> Finding:
    return Finding(code="far", text=" ".join(["Still far from the count asked for.", *spec.hints[:1]]))
