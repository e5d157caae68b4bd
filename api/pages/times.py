"""Times as a student reads them: in the course's time zone, with the zone named, and relative to now."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from api.pages.words import counted


@dataclass(frozen=True, slots=True)
class When:
    """A moment: for machines, for people, and how far away it is."""

    iso: str
    text: str  # "Fri 12 Dec 2025, 23:59"
    zone: str  # "America/Los_Angeles, PST"
    relative: str  # "in 3 days", "2 hours ago"
    past: bool


def when(moment: datetime, timezone: str, now: datetime) -> When:
    """A moment in a course's time zone, seen from `now`."""
    zone = _zone(timezone)
    local = moment.astimezone(zone)
    short = local.tzname() or ""
    name = timezone if zone.key == timezone else "UTC"
    return When(
        iso=moment.astimezone(UTC).isoformat(timespec="seconds"),
        text=f"{local:%a} {local.day} {local:%b %Y, %H:%M}",
        zone=name if short in (name, "") or short[0] in "+-" else f"{name}, {short}",
        relative=relative(moment - now),
        past=moment <= now,
    )


def relative(distance: timedelta) -> str:
    """`in 3 days`, `5 minutes ago`, `now`: the two largest units matter to nobody, so one is given."""
    seconds = distance.total_seconds()
    length = abs(seconds)
    if length < 45:
        return "in a moment" if seconds > 0 else "just now"
    for limit, unit, name in (
        (90 * 60, 60, "minute"),
        (36 * 3600, 3600, "hour"),
        (float("inf"), 86400, "day"),
    ):
        if length < limit:
            words = counted(max(1, round(length / unit)), name, name + "s")
            return f"in {words}" if seconds > 0 else f"{words} ago"
    raise AssertionError


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")  # a course with a misspelt zone still has pages
