"""What an answer's values mean: the count it equals, or how it differs from the nearest one, told in named terms.

No oracle: one thing at a time, in full only for an answer that is close (one slip away, or two where there are four
terms and more, or half of the monomials right). An answer far away gets a hint of the pack's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from grading.kinds.formula.count import Combination, Count
from grading.kinds.formula.slips import Points, Slip, TermSlips, agrees, of_the_whole, shown, told
from grading.kinds.formula.spec import Spec
from grading.kinds.formula.statements import Said, stated
from grading.polynomial import Polynomial

MOST_READINGS: Final = 8
ENOUGH_TERMS_FOR_TWO: Final = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found. `equal` is the count that the answer equals, if any; `clear` the departures that are stated.

    `code` and `text` say how it differs (empty for an equal one without anything to say); `close` tells whether that
    compares with the reference, and `share` is what the pack gives for an excusable slip.
    """

    equal: Combination | None = None
    clear: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    text: str = ""
    close: bool = False


def find(spec: Spec, count: Count, points: Points, formula: Polynomial | None, said: tuple[Said, ...]) -> Finding:
    """The best reading of an answer: fewest slips and unstated assumptions first, every equally good one named."""
    if len({result for _, result in points}) == 1:
        return _constant(spec, points[0][1])
    equal = [one for one in count.combinations(spec.combine) if agrees(one, points)]
    if any(not one.departures for one in equal):
        return Finding(count.plain, text=_same_as(equal))
    ranked = sorted(
        (
            (len(one.departures) - len(stated(said, one)), len(one.departures), place, one)
            for place, one in enumerate(equal)
        ),
        key=lambda row: row[:3],
    )
    if ranked and ranked[0][0] == 0:
        return Finding(ranked[0][3], stated(said, ranked[0][3]))
    slips = _slips(spec, count, count.plain, points)
    if ranked and (ranked[0][0] == 1 or not slips):
        level = [one for cost, _, _, one in ranked if cost == ranked[0][0]][:2]
        return _unstated(level, stated(said, level[0]), slips)
    return _differs(spec, count, points, formula, said, slips)


def _unstated(level: list[Combination], clear: Mapping[str, str], slips: list[Slip]) -> Finding:
    titles = ", or with ".join(" and ".join(choice.title for choice in one.departures) for one in level)
    text = f"This equals the count with {titles}. If that is what you assume, say so in a comment above the function."
    if slips:
        text += f" If not: {_small(told(slips))}"
    names = "|".join("+".join(choice.name for choice in one.departures) for one in level)
    codes = "|".join([f"variant:{names}", *(slip.code for slip in slips)])
    return Finding(level[0], clear, codes, text, close=True)


def _differs(
    spec: Spec, count: Count, points: Points, formula: Polynomial | None, said: tuple[Said, ...], slips: list[Slip]
) -> Finding:
    if slips:
        return Finding(code="|".join(slip.code for slip in slips), text=told(slips), close=True)
    others = [one for one in count.combinations(spec.combine) if one.departures]
    announced = [one for one in others if len(stated(said, one)) == len(one.departures)]
    for base in announced + [one for one in others if len(one.departures) == 1 and one not in announced]:
        exact = [(values, result) for values, result in points if base.exact_at(values)]
        if found := _slips(spec, count, base, exact) if exact else []:
            titles = " and ".join(choice.title for choice in base.departures)
            lead = "With what your comments state" if base in announced else f"If you assume {titles}"
            return Finding(
                code="|".join(slip.code for slip in found), text=f"{lead}: {_small(told(found))}", close=True
            )
    if len(count.plain.terms) >= ENOUGH_TERMS_FOR_TWO and (
        two := TermSlips(spec, count, count.plain).first_of_two(points)
    ):
        return Finding(
            code=two[0].code, text=f"More than one thing differs. One of them: {_small(told(two))}", close=True
        )
    return _by_monomials(spec, count, formula) or _far(spec)


def _slips(spec: Spec, count: Count, base: Combination, points: Points) -> list[Slip]:
    found = of_the_whole(spec, count, base, points) + TermSlips(spec, count, base).one(points)
    if not found:
        return []
    best = min(slip.rank for slip in found)
    kept = sorted((slip for slip in found if slip.rank <= max(best, 1)), key=lambda slip: slip.rank)
    return kept[:MOST_READINGS]


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
            here = [term.thing for term in count.plain.terms if monomial in term.size.coefficients]
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


def _small(text: str) -> str:
    """The text with a small first letter, unless its first word is a symbol such as K."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
