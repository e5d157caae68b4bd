"""Exact sparse polynomials with rational coefficients, and the two ways of reading one off a function's values.

A monomial is a sorted tuple of (variable, exponent) pairs, so that polynomials in different variables mix freely.
Nothing here formats an integer of unknown length in full.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Final

Monomial = tuple[tuple[str, int], ...]
Number = int | Fraction

SHOWN_BITS: Final = 60


class Polynomial:
    """A sum of monomials with exact coefficients: immutable, hashable, equal when its coefficients are."""

    __slots__ = ("_hash", "coefficients")

    def __init__(self, coefficients: Mapping[Monomial, Number] | None = None) -> None:
        # Whole ones as int: a count has hardly any others, and arithmetic with Fraction takes many times as long.
        kept = {
            monomial: number.numerator if number.denominator == 1 else number
            for monomial, number in (coefficients or {}).items()
            if number
        }
        self.coefficients: Final[dict[Monomial, Number]] = kept
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.coefficients == other.coefficients

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.coefficients.items()))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.coefficients)

    def __repr__(self) -> str:
        return f"Polynomial({self.text()})"

    def __add__(self, other: "Polynomial | Number") -> "Polynomial":
        total: dict[Monomial, Number] = dict(self.coefficients)
        for monomial, number in _polynomial(other).coefficients.items():
            total[monomial] = total.get(monomial, 0) + number
        return Polynomial(total)

    def __neg__(self) -> "Polynomial":
        return Polynomial({monomial: -number for monomial, number in self.coefficients.items()})

    def __sub__(self, other: "Polynomial | Number") -> "Polynomial":
        return self + -_polynomial(other)

    def __mul__(self, other: "Polynomial | Number") -> "Polynomial":
        if not isinstance(other, Polynomial):
            return Polynomial({monomial: number * other for monomial, number in self.coefficients.items()})
        total: dict[Monomial, Number] = {}
        for right, factor in other.coefficients.items():
            for left, number in self.coefficients.items():
                monomial = _joined(left, right)
                total[monomial] = total.get(monomial, 0) + number * factor
        return Polynomial(total)

    def __truediv__(self, divisor: Number) -> "Polynomial":
        return self * (1 / Fraction(divisor))

    __radd__ = __add__
    __rmul__ = __mul__

    def variables(self) -> set[str]:
        """The names that occur."""
        return {name for monomial in self.coefficients for name, _ in monomial}

    def at(self, values: Mapping[str, int]) -> Fraction:
        """The exact value with these numbers for the variables."""
        whole = lcm(*(number.denominator for number in self.coefficients.values()))
        total = 0
        for monomial, number in self.coefficients.items():
            scaled = number.numerator * (whole // number.denominator)
            total += scaled * prod(values[name] ** exponent for name, exponent in monomial)
        return Fraction(total, whole)

    def replace(self, replacements: Mapping[str, "Polynomial | Number"]) -> "Polynomial":
        """The polynomial with variables replaced, all at once."""
        total = Polynomial()
        for monomial, number in self.coefficients.items():
            part = constant(number)
            for name, exponent in monomial:
                factor = _polynomial(replacements[name]) if name in replacements else symbol(name)
                for _ in range(exponent):
                    part = part * factor
            total = total + part
        return total

    def text(self, order: Sequence[str] = (), limit: int = 8) -> str:
        """The polynomial as people write it, `4·B·H·L_q + …`, at most `limit` monomials of it."""
        places = {name: place for place, name in enumerate(order)}

        def key(monomial: Monomial) -> tuple[object, ...]:
            return (-sum(exponent for _, exponent in monomial), [(places.get(n, len(places)), n) for n, _ in monomial])

        written = ""
        for monomial in sorted(self.coefficients, key=key)[:limit]:
            number = self.coefficients[monomial]
            sign = "−" if number < 0 else "+"
            names = "·".join(
                name + (f"^{exponent}" if exponent > 1 else "")
                for name, exponent in sorted(monomial, key=lambda pair: (places.get(pair[0], len(places)), pair[0]))
            )
            size = number if number > 0 else -number
            piece = names if size == 1 and names else "·".join(filter(None, [abridged_fraction(size), names]))
            written += f" {sign} {piece}" if written else f"{'−' if number < 0 else ''}{piece}"
        return (written or "0") + (" + …" if len(self.coefficients) > limit else "")


def added(parts: Iterable[Polynomial]) -> Polynomial:
    """Their sum, without a polynomial for each step on the way."""
    total: dict[Monomial, Number] = {}
    for part in parts:
        for monomial, number in part.coefficients.items():
            total[monomial] = total.get(monomial, 0) + number
    return Polynomial(total)


def symbol(name: str) -> Polynomial:
    """The polynomial that is one variable."""
    return Polynomial({((name, 1),): 1})


def symbols(names: str) -> tuple[Polynomial, ...]:
    """One polynomial for each of the names, which blanks separate."""
    return tuple(symbol(name) for name in names.split())


def constant(number: Number) -> Polynomial:
    """The polynomial that is one number."""
    return Polynomial({(): number})


def abridged(number: int) -> str:
    """An integer in words short enough for a page: long ones by their length, since nobody reads 900 digits."""
    if number.bit_length() <= SHOWN_BITS:
        return str(number)
    return f"{'a negative' if number < 0 else 'an'} integer of {number.bit_length()} bits"


def abridged_fraction(number: Number) -> str:
    """A fraction as `1/2`, long parts abridged."""
    if number.denominator == 1:
        return abridged(number.numerator)
    return f"{abridged(number.numerator)}/{abridged(number.denominator)}"


def spaced(degrees: Mapping[str, int], unit: int, digit_bits: int) -> dict[str, int]:
    """Widely spaced powers, one for each variable: the arguments from whose result `read_digits` reads coefficients.

    Every argument is a multiple of `unit`, so that an exact `//` by a divisor of `unit` stays exact.
    """
    arguments, weight = {}, 1
    for name, degree in degrees.items():
        arguments[name] = unit << (digit_bits * weight)
        weight *= degree + 1
    return arguments


def digit_bytes(degrees: Mapping[str, int], digit_bits: int) -> int:
    """How long, in bytes, the value of a polynomial within the degrees can be at `spaced` arguments."""
    return prod(degree + 1 for degree in degrees.values()) * digit_bits // 8 + 1


def read_digits(value: int, degrees: Mapping[str, int], unit: int, digit_bits: int) -> Polynomial | None:
    """The polynomial whose value at `spaced` arguments this is (Kronecker substitution), or None when none fits.

    A coefficient c of a monomial of degree n shows up as the balanced digit c·unit^n, so it may be negative, and
    rational with a denominator that divides unit^n.
    """
    count = prod(degree + 1 for degree in degrees.values())
    width, half = digit_bits // 8, 1 << (digit_bits - 1)
    lifted = value + half * ((1 << (digit_bits * count)) - 1) // ((1 << digit_bits) - 1)
    if lifted < 0 or lifted.bit_length() > digit_bits * count:
        return None
    digits = lifted.to_bytes(width * count, "little")
    found: dict[Monomial, Number] = {}
    names = list(degrees)
    zero = half.to_bytes(width, "little")
    exponents_of = product(*(range(degrees[name] + 1) for name in reversed(names)))
    for place, exponents in enumerate(exponents_of):
        digit = digits[place * width : (place + 1) * width]
        if digit != zero:
            number = int.from_bytes(digit, "little") - half
            monomial = _monomial(zip(reversed(names), exponents, strict=True))
            found[monomial] = Fraction(number, unit ** sum(exponents))
    return Polynomial(found)


def interpolate(nodes: Mapping[str, Sequence[int]], values: Mapping[tuple[int, ...], int]) -> Polynomial:
    """The only polynomial, of degree below the number of nodes in each variable, with these values on their grid.

    `values` has one entry for each point of the grid, its coordinates in the order of `nodes`.
    """
    names = list(nodes)
    bases = {name: _lagrange(name, nodes[name]) for name in names}
    table: dict[tuple[int, ...], Polynomial] = {point: constant(value) for point, value in values.items()}
    for name in reversed(names):
        shorter: dict[tuple[int, ...], Polynomial] = {}
        for point, part in table.items():
            head = point[:-1]
            shorter[head] = shorter.get(head, Polynomial()) + part * bases[name][point[-1]]
        table = shorter
    return table[()]


def _lagrange(name: str, nodes: Sequence[int]) -> dict[int, Polynomial]:
    basis = {}
    for here in nodes:
        part = constant(1)
        for other in nodes:
            if other != here:
                part = part * (symbol(name) - other) / (here - other)
        basis[here] = part
    return basis


def _polynomial(value: Polynomial | Number) -> Polynomial:
    return value if isinstance(value, Polynomial) else constant(value)


def _joined(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    exponents = dict(left)
    for name, exponent in right:
        exponents[name] = exponents.get(name, 0) + exponent
    return _monomial(exponents.items())


def _monomial(pairs: Iterable[tuple[str, int]]) -> Monomial:
    return tuple(sorted((name, exponent) for name, exponent in pairs if exponent))
