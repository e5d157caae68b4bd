"""A lab's rules on attempts and lateness, and what they make of points. Stored with the lab as JSON."""

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

DAY = timedelta(days=1)
SMALLEST = Decimal("0.0001")


class Late(StrEnum):
    """What becomes of a submission after the due time."""

    ACCEPTED = "accepted"  # marked late, and no more
    PENALTY = "penalty"  # loses a share of its points for every day begun
    CLOSED = "closed"  # not taken


class Policy(BaseModel):
    """Which submission counts, how many are taken, and what being late costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    counts: Literal["best", "latest"] = "best"
    attempts: int | None = Field(default=None, ge=1, description="how many submissions are taken; none: no limit")
    late: Late = Late.ACCEPTED
    penalty_per_day: Decimal = Field(
        default=Decimal(0), ge=0, le=1, max_digits=5, decimal_places=4, description='share of the points: "0.1" is 10 %'
    )

    def effective(self, points: Decimal, received_at: datetime, due_at: datetime | None) -> Decimal:
        """What points are worth after the late rule, to four decimals when it takes something off."""
        if self.late is not Late.PENALTY or not is_late(received_at, due_at):
            return points
        kept = max(Decimal(0), 1 - self.penalty_per_day * days_late(received_at, due_at))
        return Decimal(format((points * kept).quantize(SMALLEST, ROUND_HALF_UP).normalize(), "f"))

    def closed(self, now: datetime, due_at: datetime | None) -> bool:
        """Whether nothing more is taken."""
        return self.late is Late.CLOSED and is_late(now, due_at)


def is_late(received_at: datetime, due_at: datetime | None) -> bool:
    """Whether a submission came after the due time; the due moment itself is in time."""
    return due_at is not None and received_at > due_at


def days_late(received_at: datetime, due_at: datetime | None) -> int:
    """How many days after the due time have begun."""
    if due_at is None or received_at <= due_at:
        return 0
    return -(-(received_at - due_at) // DAY)
