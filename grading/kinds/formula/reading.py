"""What came back of a formula's jobs: a point for each call, and the polynomial that the probes read off."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from grading.kinds.contract import Ran
from grading.kinds.formula.count import Values
from grading.kinds.formula.planning import DIGIT_BITS, DRAWN, LARGE, PROBE, UNIT, nodes
from grading.kinds.formula.spec import Spec
from grading.polynomial import Polynomial, interpolate, read_digits
from labcore.runner.protocol import Call, Ending, IntegerWanted, Note, Observation, Outcome, Returned


class Trouble(Enum):
    """Why a call gave no integer."""

    NOT_LOADED = auto()
    RAISED = auto()
    WRONG_TYPE = auto()
    TOO_LARGE = auto()
    TIMED_OUT = auto()
    OUT_OF_MEMORY = auto()
    FLOODED = auto()
    STOPPED = auto()


_TROUBLE_OF_ENDING = {
    Ending.NOT_LOADED: Trouble.NOT_LOADED,
    Ending.TIMED_OUT: Trouble.TIMED_OUT,
    Ending.OUT_OF_MEMORY: Trouble.OUT_OF_MEMORY,
    Ending.FLOODED: Trouble.FLOODED,
}


@dataclass(frozen=True, slots=True)
class Point:
    """One call at known sizes: the integer that it gave, or the trouble instead, with the child's own note."""

    label: str
    values: Values
    result: int | None
    trouble: Trouble | None
    note: Note


@dataclass(frozen=True, slots=True)
class Seen:
    """All that came back, sorted. `formula` is None where no polynomial could be read off."""

    shown: tuple[Point, ...]
    drawn: tuple[Point, ...]
    large: tuple[Point, ...]
    probed: bool  # whether every probe gave an integer
    formula: Polynomial | None
    load: Note | None  # what the child with the public cases says of loading the answer, when that failed


def look(spec: Spec, ran: Ran) -> Seen:
    """Sort what came back. Total: whatever an observation holds, the result is points with or without a value."""
    shown: list[Point] = []
    hidden: dict[str, list[Point]] = {PROBE: [], DRAWN: [], LARGE: []}
    load = None
    for job, observation in ran:
        for place, call in enumerate(job.calls):
            returned = observation.returned[place] if place < len(observation.returned) else Returned(Outcome(0))
            point = _point(spec, call, returned, observation)
            if call.public:
                shown.append(point)
                if point.trouble is Trouble.NOT_LOADED:
                    load = observation.load
            else:
                hidden.setdefault(call.label, []).append(point)
    probed = bool(hidden[PROBE]) and all(point.result is not None for point in hidden[PROBE])
    formula = _formula(spec, hidden[PROBE]) if probed else None
    return Seen(tuple(shown), tuple(hidden[DRAWN]), tuple(hidden[LARGE]), probed, formula, load)


def _point(spec: Spec, call: Call, returned: Returned, observation: Observation) -> Point:
    trouble = _trouble(call, returned, observation.ending)
    value = returned.value if trouble is None and type(returned.value) is int else None
    return Point(call.label, spec.values(call.args), value, trouble, returned.note)


def _trouble(call: Call, returned: Returned, ending: Ending) -> Trouble | None:
    if returned.outcome is Outcome.NOT_REACHED:
        return _TROUBLE_OF_ENDING.get(ending, Trouble.STOPPED)
    if returned.outcome is Outcome.RAISED:
        return Trouble.RAISED
    if returned.outcome is Outcome.TOO_LARGE:
        return Trouble.TOO_LARGE
    if returned.outcome is not Outcome.RETURNED or type(returned.value) is not int:
        return Trouble.WRONG_TYPE
    room = call.wanted.max_bytes if isinstance(call.wanted, IntegerWanted) else 0
    return Trouble.TOO_LARGE if returned.value.bit_length() >= 8 * room else None


def _formula(spec: Spec, probes: Sequence[Point]) -> Polynomial | None:
    if not spec.takes_tensors:
        return read_digits(probes[0].result or 0, spec.degrees, UNIT, DIGIT_BITS)
    grid = nodes(spec)
    values = {tuple(point.values[name] for name in grid): point.result or 0 for point in probes}
    return interpolate(grid, values)
