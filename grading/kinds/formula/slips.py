"""The ways of being nearly right: one slip away from a count, each with a stable code and a sentence.

A slip is found by value: the difference between what the answer gave and what a count gives, at every case that ran,
is the slip's own polynomial. So it is named for answers that loop or round as well, which no polynomial describes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final
from weakref import WeakKeyDictionary

from grading.kinds.formula.count import Combination, Count, Term, Values
from grading.kinds.formula.spec import Spec
from grading.polynomial import Monomial, Number, Polynomial, symbol

WIDTHS: Final = (1, 2, 4, 8)
ENOUGH_TERMS_FOR_TWO: Final = 4
FEWEST_EXACT: Final = 3  # points at which an answer must agree exactly before it is called equal to anything

Points = Sequence[tuple[Values, int]]


@dataclass(frozen=True, slots=True)
class Slip:
    """One mistake. Slips with the same `lead` are told in one sentence, their clauses joined by "or"."""

    code: str
    lead: str
    clause: str
    rank: int = 0  # the likelier come first


def told(slips: Iterable[Slip]) -> str:
    """The slips as sentences: readings that differ are joined by "or"."""
    by_lead: dict[str, list[str]] = {}
    for slip in slips:
        by_lead.setdefault(slip.lead, []).append(slip.clause)
    parts = [": ".join(filter(None, [lead, ", or ".join(filter(None, clauses))])) for lead, clauses in by_lead.items()]
    return ". Or it may be: ".join([parts[0], *map(lowered, parts[1:])]) + "."


def lowered(text: str) -> str:
    """The text with a small first letter, unless its first word is a symbol such as K."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def shown(spec: Spec, polynomial: Polynomial, limit: int = 8) -> str:
    """A polynomial in the pack's own symbols: products that have a name of their own are written by it."""
    return folded(spec, polynomial).text(_order(spec), limit)


def folded(spec: Spec, polynomial: Polynomial) -> Polynomial:
    """The polynomial with each derived size (such as n_h = G·n_kv) in place of its factors, as far as they go."""
    for name, factors in spec.derived.items():
        total: dict[Monomial, Number] = {}
        for monomial, number in polynomial.coefficients.items():
            exponents = dict(monomial)
            times = min(exponents.get(factor, 0) for factor in factors)
            kept = {n: e - times if n in factors else e for n, e in exponents.items()}
            kept[name] = kept.get(name, 0) + times
            total[tuple(sorted((n, e) for n, e in kept.items() if e))] = number
        polynomial = Polynomial(total)
    return polynomial


def agrees(combination: Combination, points: Points) -> bool:
    """Whether an answer equals this count, exactly wherever the combination's choices ask for that."""
    exact = 0
    for values, result in points:
        if combination.exact_at(values):
            if combination.total.at(values) != result:
                return False
            exact += 1
    return exact >= FEWEST_EXACT


_KNOWN: Final = WeakKeyDictionary[Count, dict[Term, list[tuple[Slip, Polynomial]]]]()  # worked out once a process


class Slips:
    """Finds what is wrong with an answer's values. What the mistakes in a term amount to is worked out once."""

    def __init__(self, spec: Spec, count: Count, points: Points) -> None:
        self._spec, self._count, self._points = spec, count, points
        self._amounts: dict[tuple[int, Term], list[Fraction]] = {}

    def of(self, base: Combination) -> list[Slip]:
        """Every single mistake that explains the answer, if it was meant to be this count."""
        places = self._places(base)
        if not places:
            return []
        points = [self._points[place] for place in places]
        found = _of_the_whole(self._spec, self._count, base, points)
        left = [result - base.total.at(values) for values, result in points]
        for term in base.terms:
            for (slip, change), amount in zip(self._changes(term), self._at(places[0], term), strict=True):
                if amount == left[0] and self._fits(change, points, left):
                    found.append(slip)
        return found

    def first_of_two(self, base: Combination) -> list[Slip]:
        """Where two mistakes, each a term forgotten, repeated or of wrong width, explain the answer: the first.

        Only where half of the terms are right even so.
        """
        places = self._places(base)
        if not places or len(base.terms) < ENOUGH_TERMS_FOR_TWO:
            return []
        points = [self._points[place] for place in places]
        left = [result - base.total.at(values) for values, result in points]
        simple: list[tuple[Slip, Polynomial, Fraction]] = []
        for term in base.terms:
            for (slip, change), amount in zip(self._changes(term), self._at(places[0], term), strict=True):
                if slip.rank <= 1:
                    simple.append((slip, change, amount))
        alike: dict[str, list[tuple[Slip, Polynomial, Fraction]]] = {}
        for one in simple:
            alike.setdefault(one[0].code.partition(":")[0], []).append(one)
        for likelier in (*alike.values(), simple):  # two mistakes of a kind first
            by_amount = {amount: change for _, change, amount in likelier}
            for slip, change, amount in likelier:
                other = by_amount.get(left[0] - amount)
                if other is not None and self._fits(change + other, points, left):
                    return [slip]
        return []

    def _places(self, base: Combination) -> list[int]:
        return [place for place, (values, _) in enumerate(self._points) if base.exact_at(values)]

    def _changes(self, term: Term) -> list[tuple[Slip, Polynomial]]:
        known = _KNOWN.setdefault(self._count, {})
        if term not in known:
            known[term] = list(_in_term(self._spec, self._count, term))
        return known[term]

    def _at(self, place: int, term: Term) -> list[Fraction]:
        if (place, term) not in self._amounts:
            values, _ = self._points[place]
            self._amounts[place, term] = [change.at(values) for _, change in self._changes(term)]
        return self._amounts[place, term]

    @staticmethod
    def _fits(change: Polynomial, points: Points, left: Sequence[Fraction]) -> bool:
        return all(change.at(values) == rest for (values, _), rest in zip(points, left, strict=True))


def _of_the_whole(spec: Spec, count: Count, base: Combination, points: Points) -> list[Slip]:
    """Mistakes that touch every term alike: a wrong unit or width, a factor forgotten, sizes taken for one another."""
    found = [*_right_only_where(count, base, points), *_ratio(spec, base, points)]
    total = base.total
    names = sorted(total.variables(), key=list(spec.degrees).index)
    for name in names:
        word = count.names.get(name, name)
        if all(total.at({**values, name: 1}) == result for values, result in points):
            found.append(Slip(f"factor:{name}", f"The factor {word} is missing throughout", "", 2))
        if all(total.at(values) * values[name] == result for values, result in points):
            found.append(Slip(f"extra-factor:{name}", f"There is one factor {word} too many throughout", "", 3))
        for other in names:
            if other != name and all(total.at({**v, name: v[other]}) == result for v, result in points):
                text = f"{count.names.get(other, other)} stands everywhere that {word} belongs"
                found.append(Slip(f"dimension:{name}", text, "", 2))
    for misreading in count.misreadings:
        if all(total.at(misreading.values(values)) == result for values, result in points):
            found.append(Slip(misreading.code, misreading.text, "", 1))
    for mistake in count.mistakes:
        if _equal(total + mistake.change, points):
            found.append(Slip(mistake.code, mistake.text, "", -1))
    return found


def _in_term(spec: Spec, count: Count, term: Term) -> Iterator[tuple[Slip, Polynomial]]:
    """Mistakes in one term and what each adds to the count."""
    amount = f"{shown(spec, term.size)} {spec.unit}"
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
    if ratio <= 0 or ratio == 1 or not _equal(base.total * ratio, points):
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
    return [*spec.degrees, *spec.derived]
