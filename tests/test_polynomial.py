"""Polynomials are exact, and what is read off a function's values is the polynomial that made them."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.polynomial import (
    Polynomial,
    abridged,
    added,
    constant,
    digit_bytes,
    interpolate,
    read_digits,
    spaced,
    symbols,
)

NAMES = ("B", "H", "L")
DEGREES = {"B": 2, "H": 1, "L": 3}
UNIT, BITS = 12, 96

coefficients = st.builds(Fraction, st.integers(-(2**20), 2**20), st.sampled_from([1, 2, 3, 4, 12]))


@st.composite
def polynomials(draw: st.DrawFn) -> Polynomial:
    chosen = draw(st.dictionaries(st.tuples(*(st.integers(0, d) for d in DEGREES.values())), coefficients, max_size=6))
    total = Polynomial()
    for exponents, number in chosen.items():
        part = constant(number if any(exponents) else number.numerator)
        for variable, exponent in zip(symbols(" ".join(NAMES)), exponents, strict=True):
            for _ in range(exponent):
                part = part * variable
        total = total + part
    return total


@given(polynomials())
def test_kronecker_reads_back_every_polynomial_within_the_degrees(wanted: Polynomial) -> None:
    value = wanted.at(spaced(DEGREES, UNIT, BITS))
    assert value.denominator == 1
    assert len(value.numerator.to_bytes(digit_bytes(DEGREES, BITS), "little", signed=True)) < 3000
    assert read_digits(value.numerator, DEGREES, UNIT, BITS) == wanted


@given(st.lists(polynomials(), max_size=5))
def test_what_is_added_at_once_is_what_is_added_one_by_one(parts: list[Polynomial]) -> None:
    assert added(parts) == sum(parts, Polynomial())


@given(polynomials())
def test_whole_coefficients_are_kept_as_int_and_are_equal_to_fractions(some: Polynomial) -> None:
    assert all((type(one) is int) == (one.denominator == 1) for one in some.coefficients.values())
    as_fractions = {monomial: Fraction(one) for monomial, one in some.coefficients.items()}
    assert as_fractions == some.coefficients and hash(Polynomial(as_fractions)) == hash(some)


@given(polynomials())
def test_interpolation_reads_back_every_polynomial_on_its_grid(wanted: Polynomial) -> None:
    nodes = {name: [6 * (i + 1) for i in range(degree + 1)] for name, degree in DEGREES.items()}
    points = list(product(*nodes.values()))
    doubled = wanted * 12  # whole at every node
    values = {point: doubled.at(dict(zip(NAMES, point, strict=True))).numerator for point in points}
    assert interpolate(nodes, values) == doubled


@given(polynomials(), polynomials(), st.tuples(*[st.integers(-50, 50)] * 3))
def test_arithmetic_agrees_with_arithmetic_on_values(one: Polynomial, two: Polynomial, point: tuple[int, ...]) -> None:
    at = dict(zip(NAMES, point, strict=True))
    assert (one + two).at(at) == one.at(at) + two.at(at)
    assert (one - two).at(at) == one.at(at) - two.at(at)
    assert (one * two).at(at) == one.at(at) * two.at(at)
    assert (one / 3).at(at) == one.at(at) / 3
    assert one.replace({"B": two}).at(at) == one.at(at | {"B": two.at(at)})


@pytest.mark.parametrize("sign", [1, -1])
def test_a_value_beyond_the_degrees_is_no_polynomial(sign: int) -> None:
    assert read_digits(sign << 40_000, DEGREES, UNIT, BITS) is None


def test_text_is_what_people_write() -> None:
    B, H, L = symbols("B H L")
    assert (4 * B * H * L - L * L / 2 + 3).text(("B", "H", "L")) == "4·B·H·L − 1/2·L^2 + 3"
    assert Polynomial().text() == "0"
    assert (-1 * B).text() == "−B"
    assert (B + H + L).text(limit=2) == "B + H + …"


def test_long_integers_are_never_written_in_full() -> None:
    assert abridged(10**18) == str(10**18)
    assert abridged(1 << 10_000) == "an integer of 10001 bits"
    assert abridged(-(1 << 10_000)) == "a negative integer of 10001 bits"
    (B,) = symbols("B")
    assert len(((1 << 5_000) * B / 3**900).text()) < 80
