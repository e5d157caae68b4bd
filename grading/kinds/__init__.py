"""The kinds: reading this table is knowing them all."""

from grading.kinds import formula, implementation
from grading.kinds.contract import Kind

KINDS: dict[str, Kind] = {
    "formula": formula,
    "implementation": implementation,
}
