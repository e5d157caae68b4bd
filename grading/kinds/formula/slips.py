"""The ways of being nearly right: one slip away from a count, each with a stable code and a sentence.

A slip is found by value: the difference between what the answer gave and what a count gives, at every case that ran,
is the slip's own polynomial. So it is named for answers that loop or round as well, which no polynomial describes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from grading.kinds.formula.count import Combination, Count, Term, Values
from grading.kinds.formula.spec import Spec
from grading.polynomial import Polynomial, symbol

WIDTHS: Final = (1, 2, 4, 8)
FEWEST_EXACT: Final = 3  # points at which an answer must agree exactly before it is called equal to anything

Points = Sequence[tuple[Values, int]]


@dataclass(frozen=True, slots=True)
class Slip:
    """One mistake. Slips with the same `lead` are told in one sentence, their clauses joined by "or"."""

    code: str
    lead: str
    clause: str
    rank: int = 0  # the likelier come first

    @property
    def text(self) -> str:
        return told((self,))


def told(slips: Iterable[Slip]) -> str:
    """The slips as sentences: readings that differ are joined by "or"."""
    by_lead: dict[str, list[str]] = {}
    for slip in slips:
        by_lead.setdefault(slip.lead, []).append(slip.clause)
    parts = [": ".join(filter(None, [lead, ", or ".join(filter(None, clauses))])) for lead, clauses in by_lead.items()]
    return ". Or it may be ".join([parts[0], *(part[:1].lower() + part[1:] for part in parts[1:])]) + "."


def agrees(combination: Combination, points: Points) -> bool:
    """Whether an answer equals this count, exactly wherever the combination's choices ask for that."""
    exact = 0
    for values, result in points:
        if combination.exact_at(values):
            if combination.total.at(values) != result:
                return False
            exact += 1
    return exact >= FEWEST_EXACT


def of_the_whole(spec: Spec, count: Count, base: Combination, points: Points) -> list[Slip]:
    """Mistakes that touch every term alike: a wrong unit or width, a factor forgotten, sizes taken for one another."""
    found = [*_right_only_where(count, base, points), *_ratio(spec, base, points)]
    names = sorted(base.total.variables(), key=list(spec.degrees).index)
    for name in names:
        word = count.names.get(name, name)
        if _equal(base.total.replace({name: 1}), points):
            found.append(Slip(f"factor:{name}", f"The factor {word} is missing throughout", "", 2))
        if _equal(base.total * symbol(name), points):
            found.append(Slip(f"extra-factor:{name}", f"There is one factor {word} too many throughout", "", 3))
        for other in names:
            if other != name and _equal(base.total.replace({name: symbol(other)}), points):
                text = f"{count.names.get(other, other)} stands everywhere that {word} belongs"
                found.append(Slip(f"dimension:{name}", text[:1].upper() + text[1:], "", 2))
    for misreading in count.misreadings:
        if all(base.total.at(misreading.values(values)) == result for values, result in points):
            found.append(Slip(misreading.code, misreading.text, "", 1))
    return found


class TermSlips:
    """The mistakes in one term of a count, found by the difference that each makes."""

    def __init__(self, spec: Spec, count: Count, base: Combination) -> None:
        self._base = base
        self._slips = [(slip, change) for term in base.terms for slip, change in _in_term(spec, count, term)]

    def one(self, points: Points) -> list[Slip]:
        """Every single mistake that explains the answer."""
        left = self._left(points)
        return [slip for slip, change in self._slips if all(change.at(values) == rest for values, rest in left)]

    def first_of_two(self, points: Points) -> list[Slip]:
        """Where two mistakes, each a term forgotten, repeated or of wrong width, explain the answer: the first."""
        left = self._left(points)
        simple = [(slip, change) for slip, change in self._slips if slip.rank <= 1]
        table = [tuple(change.at(values) for values, _ in left) for _, change in simple]
        places = {amounts: place for place, amounts in enumerate(table)}
        for place, amounts in enumerate(table):
            if tuple(rest - amount for (_, rest), amount in zip(left, amounts, strict=True)) in places:
                return [simple[place][0]]
        return []

    def _left(self, points: Points) -> list[tuple[Values, Fraction]]:
        return [(values, result - self._base.total.at(values)) for values, result in points]


def _in_term(spec: Spec, count: Count, term: Term) -> Iterator[tuple[Slip, Polynomial]]:
    """Mistakes in one term and what each adds to the count."""
    amount = f"{term.size.text(_order(spec))} {spec.unit}"
    yield Slip(f"missing:{term.name}", f"Short of {amount}", f"{term.thing} is never {term.deed}"), -term.size
    yield Slip(f"doubled:{term.name}", f"{amount} too many", f"{term.thing} is {term.deed} twice"), term.size
    again = Slip(f"tripled:{term.name}", f"{amount} too many, twice", f"{term.thing} is {term.deed} three times", 1)
    yield again, 2 * term.size
    if spec.unit == "bytes":
        for width in WIDTHS:
            if width != spec.width:
                what = "Elements, not bytes," if width == 1 else f"{width} bytes an element, not {spec.width},"
                slip = Slip(f"width-{width}:{term.name}", f"{what} are counted in one place", term.thing, 1)
                yield slip, term.size * Fraction(width - spec.width, spec.width)
    halved = Slip(f"halved:{term.name}", "Half of one part is missing", f"{term.thing} counts only half", 2)
    yield halved, -term.size / 2
    names = list(spec.degrees)
    for name in names:
        word = count.names.get(name, name)
        if name in term.size.variables():
            lead = f"A factor is missing in one place: {word}"
            yield (
                Slip(f"factor-{name}:{term.name}", lead, f"in {term.thing}", 3),
                term.size.replace({name: 1}) - term.size,
            )
            for other in names:
                if other != name:
                    lead = f"A wrong size in one place: {count.names.get(other, other)} where {word} belongs"
                    swapped = term.size.replace({name: symbol(other)}) - term.size
                    yield Slip(f"dimension-{name}:{term.name}", lead, f"in {term.thing}", 3), swapped
        lead = f"A factor too many in one place: {word}"
        yield Slip(f"extra-{name}:{term.name}", lead, f"in {term.thing}", 4), term.size * symbol(name) - term.size


def _right_only_where(count: Count, base: Combination, points: Points) -> Iterator[Slip]:
    for condition in count.right_only_where:
        inside = [(values, result) for values, result in points if condition.where(values)]
        if FEWEST_EXACT - 1 <= len(inside) < len(points) and _equal(base.total, inside):
            yield Slip(condition.code, condition.text, "", -1)


def _ratio(spec: Spec, base: Combination, points: Points) -> Iterator[Slip]:
    values, result = points[0]
    expected = base.total.at(values)
    ratio = result / expected if expected else Fraction()
    if not ratio or ratio == 1 or not _equal(base.total * ratio, points):
        return
    if spec.unit == "MAC" and ratio == 2:
        yield Slip("flops", "Twice the MAC", "these are FLOPs; a multiply and its add are one MAC", -1)
    elif spec.unit == "MAC" and ratio == Fraction(1, 2):
        yield Slip("halved", "Half the MAC", "every multiply-accumulate counts once", 2)
    elif spec.unit == "bytes" and ratio * spec.width in WIDTHS:
        width = int(ratio * spec.width)
        if width == 1:
            yield Slip("width-1", "These are elements, not bytes", f"an element has {spec.width} bytes", -1)
        else:
            yield Slip(f"width-{width}", "A wrong width", f"{width} bytes an element where {spec.width} belong", -1)
    elif spec.unit == "bytes" and ratio == 8:
        yield Slip("bits", "Eight times too many", "these are bits, not bytes", -1)
    elif ratio.numerator <= 64 and ratio.denominator <= 64:
        yield Slip("factor", f"The whole is {ratio} times what it should be", "", 2)


def _equal(polynomial: Polynomial, points: Points) -> bool:
    return all(polynomial.at(values) == result for values, result in points)


def _order(spec: Spec) -> list[str]:
    return [*spec.derived, *spec.degrees]


def shown(spec: Spec, polynomial: Polynomial, limit: int = 8) -> str:
    """A polynomial in the pack's own symbols: products that have a name of their own are written by it."""
    return folded(spec, polynomial).text(_order(spec), limit)


def folded(spec: Spec, polynomial: Polynomial) -> Polynomial:
    """The polynomial with each derived size (such as n_h = G·n_kv) in place of its factors, as far as they go."""
    for name, factors in spec.derived.items():
        total: dict[tuple[tuple[str, int], ...], Fraction] = {}
        for monomial, number in polynomial.coefficients.items():
            exponents = dict(monomial)
            times = min(exponents.get(factor, 0) for factor in factors)
            kept = {n: e - times if n in factors else e for n, e in exponents.items()} | {name: times}
            total[tuple(sorted((n, e) for n, e in kept.items() if e))] = number
        polynomial = Polynomial(total)
    return polynomial
