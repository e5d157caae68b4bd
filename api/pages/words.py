"""How pages say the states: a word, an icon and a tone for each, so that no meaning hangs on colour alone."""

from dataclasses import dataclass

from grading.verdict import State


@dataclass(frozen=True, slots=True)
class Words:
    """A state in words. `mark` is one character for narrow tables; `tone` names the colours and the icon."""

    word: str
    tone: str
    mark: str


STATES: dict[State, Words] = {
    State.PASSED: Words("passed", "passed", "✓"),
    State.PARTIAL: Words("partial", "partial", "◐"),
    State.FAILED: Words("failed", "failed", "✗"),
    State.NOT_ANSWERED: Words("not answered", "absent", "–"),
    State.OURS: Words("our fault", "ours", "!"),
}

OURS = "It counts in no total until it has been judged. Staff can have it graded again; you need not hand in anew."
REVIEW = "A person will look at this. The points shown stand until then."

ISOLATION = {
    "reduced": "The sandbox of this run was not complete (reduced isolation).",
    "none": "This run had no sandbox (isolation: none).",
}


def state(name: str) -> Words:
    """The words for a state as it is stored."""
    return STATES[State(name)]


def counted(number: int, one: str, many: str) -> str:
    """`1 submission`, `3 submissions`."""
    return f"{number} {one if number == 1 else many}"


def isolation_words(stored: str | None) -> str:
    """What to say about the isolation of a run; nothing where it was full."""
    level = (stored or "").split(":")[0].split(" ")[0]
    if not stored or level == "full":
        return ""
    return ISOLATION.get(level, f"Isolation of this run: {stored}.")
