"""What to run for a formula: public cases and probes, then drawn cases that decide, small before large.

Two children. The first holds nothing secret, so what goes wrong in a public case may be told word for word; the probes
stand last in it, so that one which hangs or overflows costs nothing. The second has the drawn cases, ordered so that
running out of time on large sizes leaves the small ones answered.
"""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Final

from grading.answers.model import Answer
from grading.kinds.contract import Question
from grading.kinds.formula.count import Case, Count, Values
from grading.kinds.formula.spec import Spec
from grading.polynomial import digit_bytes, spaced
from labcore.runner.protocol import Call, IntegerWanted, Job

UNIT: Final = 12  # sizes of a probe are multiples of this, so that halves, thirds and twelfths are whole
DIGIT_BITS: Final = 96  # a coefficient c of degree n takes the digit c·12^n: room for c past a million at n = 10
NODE: Final = 6  # tensors of a probe have sides 6, 12, 18, …

PROBE: Final = "probe"
DRAWN: Final = "drawn"
LARGE: Final = "large"


def plan(question: Question, answer: Answer, seed: bytes) -> list[Job]:
    """The jobs for an answer; the drawn sizes follow from the seed alone."""
    if not answer.found:
        return []
    spec, count = parts(question)
    random = Random(seed)
    drawn = [_call(spec, values, DRAWN) for values in count.ordinary(random)]
    large = [_call(spec, values, LARGE) for values in count.large(random)]
    shown = [
        Call(spec.call(case.values), IntegerWanted(), label=case.label, public=True) for case in public_cases(question)
    ]

    def job(calls: list[Call]) -> Job:
        return Job(answer.source, question.entry, tuple(calls), profile=spec.profile)

    return [job(shown + list(_probes(spec))), job(drawn + large)]


def parts(question: Question) -> tuple[Spec, Count]:
    """The typed halves of a formula question: its data and its hidden count."""
    spec, count = question.spec, getattr(question.hidden, "COUNT", None)
    if not isinstance(spec, Spec) or not isinstance(count, Count):
        raise TypeError(f"question {question.id} is no formula question: it needs a Spec and a hidden COUNT")
    return spec, count


def public_cases(question: Question) -> list[Case]:
    """The public cases, cheapest first: an answer that loops gets through as many as it can."""
    return sorted(getattr(question.public, "CASES", ()), key=lambda case: case.result)


def nodes(spec: Spec) -> dict[str, list[int]]:
    """The grid of sizes on which a formula of tensors is interpolated."""
    return {name: [NODE * (place + 1) for place in range(degree + 1)] for name, degree in spec.degrees.items()}


def _probes(spec: Spec) -> Iterator[Call]:
    if spec.takes_tensors:
        grid = nodes(spec)
        for point in product(*grid.values()):
            yield _call(spec, dict(zip(grid, point, strict=True)), PROBE)
    else:
        wanted = IntegerWanted(digit_bytes(spec.degrees, DIGIT_BITS))
        yield Call(spec.call(spaced(spec.degrees, UNIT, DIGIT_BITS)), wanted, label=PROBE)


def _call(spec: Spec, values: Values, label: str) -> Call:
    return Call(spec.call(values), IntegerWanted(), label=label)
