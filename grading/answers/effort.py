"""How much work one document may cost: counted, not timed, so that the same file always reads the same.

An honest document stays far below; one made to be slow meets the end of it before it meets the limit on time.
"""

MAX_STEPS = 1_000_000  # of looking up where names lead, for all questions together
MAX_REPAIRED = 500_000  # characters parsed again and again to save the good parts of broken cells


class TooLarge(Exception):
    """The code is more than anybody writes. The message says of what there is too much."""


class Effort:
    """What is left to spend on one document."""

    def __init__(self, steps: int = MAX_STEPS, repaired: int = MAX_REPAIRED) -> None:
        self._steps = steps
        self._repaired = repaired

    def spend(self, steps: int) -> None:
        """Take steps off; raises `TooLarge` when none are left."""
        self._steps -= steps
        if self._steps < 0:
            raise TooLarge("the names in it depend on each other in too many ways")

    def may_repair(self, characters: int) -> bool:
        """Whether so many characters more may be parsed in search of what is whole; takes them off if so."""
        if characters > self._repaired:
            self._repaired = 0  # else every smaller piece that follows would be cut out, only to be refused as well
            return False
        self._repaired -= characters
        return True
