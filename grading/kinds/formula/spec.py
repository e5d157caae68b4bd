"""What a pack's data says about a formula question, and how named sizes become the arguments of a call."""

from collections.abc import Sequence
from decimal import Decimal
from math import prod
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from grading.kinds.formula.count import Values
from labcore.runner.protocol import Config, Tensor, Value

Share = Annotated[Decimal, Field(ge=0, le=1)]


class Spec(BaseModel):
    """A formula question.

    An argument is the name of a variable (an integer), a list of names (a two-dimensional fp32 tensor of that shape),
    or a mapping (a configuration: attribute to variable, derived size or plain number). `derived` sizes are products
    of variables, so that heads divide: {n_h: [G, n_kv]}.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    arguments: tuple[str | tuple[str, ...] | dict[str, str | int], ...]
    degrees: dict[str, Annotated[int, Field(ge=1, le=8)]]  # the highest power of each variable that is read off
    derived: dict[str, tuple[str, ...]] = {}
    unit: Literal["MAC", "bytes"]
    width: int = 1  # bytes an element, where the unit is bytes
    combine: int = 1  # how many departures from the plain assumptions are taken at once
    unstated: Share = Decimal("0.8")  # the share of the points for a variant that no comment states
    unstated_most: int = 1  # with more departures unstated than this, slips are the likelier reading
    slips: dict[str, Share] = {}  # excusable mistakes by their code
    show_formula: bool = False  # print what was read off, and the expected shape beside an explanation
    hints: tuple[str, ...] = ()  # for an answer far from right; they never give the reference away
    profile: str = "cpu"

    @model_validator(mode="after")
    def _names_are_known(self) -> "Spec":
        used = set()
        for argument in self.arguments:
            parts = argument.values() if isinstance(argument, dict) else argument
            used |= {argument} if isinstance(argument, str) else {part for part in parts if isinstance(part, str)}
        factors = {factor for factors in self.derived.values() for factor in factors}
        if unknown := (used - self.derived.keys() | factors) - self.degrees.keys():
            raise ValueError(f"no degree is given for {', '.join(sorted(unknown))}")
        return self

    @property
    def takes_tensors(self) -> bool:
        return any(isinstance(argument, tuple) for argument in self.arguments)

    def call(self, values: Values) -> tuple[Value, ...]:
        """The arguments of a call at these sizes."""
        sizes = {**values, **{name: prod(values[f] for f in factors) for name, factors in self.derived.items()}}
        made: list[Value] = []
        for argument in self.arguments:
            if isinstance(argument, str):
                made.append(sizes[argument])
            elif isinstance(argument, tuple):
                made.append(_matrix(tuple(sizes[name] for name in argument)))
            else:
                made.append(Config({n: sizes[v] if isinstance(v, str) else v for n, v in argument.items()}))
        return tuple(made)

    def values(self, arguments: Sequence[Value]) -> Values:
        """The sizes from which `call` made these arguments."""
        sizes: dict[str, int] = {}
        for argument, made in zip(self.arguments, arguments, strict=True):
            if isinstance(argument, str) and type(made) is int:
                sizes[argument] = made
            elif isinstance(argument, tuple) and isinstance(made, Tensor):
                sizes.update(zip(argument, made.shape, strict=True))
            elif isinstance(argument, dict) and isinstance(made, Config):
                sizes.update({v: made.attributes[n] for n, v in argument.items() if isinstance(v, str)})
        for name, factors in self.derived.items():
            whole = sizes.pop(name)
            for factor in factors:
                if factor not in sizes:
                    sizes[factor] = whole // prod(sizes[other] for other in factors if other in sizes)
        return {name: sizes[name] for name in self.degrees}


def _matrix(shape: tuple[int, ...]) -> Tensor:
    strides = tuple(prod(shape[place + 1 :]) for place in range(len(shape)))
    return Tensor("float32", shape, strides, bytes(4 * prod(shape)))
