"""Reads what a dead child left in its output memory and on its output pipe, as hostile data.

Total: any bytes whatever give results, never an exception. Everything is bounded and cleaned; nothing is unpickled, and
nothing in the memory says how long anything is but for the note, which is capped.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from labcore.runner.protocol import (
    NOTE_BYTES,
    RECORD_HEAD,
    IntegerWanted,
    Note,
    Outcome,
    Returned,
    Wanted,
    records,
    value_bytes,
)

WORD_LENGTH = 100
MESSAGE_LENGTH = 400
MOST_OPERATIONS = 64
MOST_LINES = 1_000_000
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\uffff]"
)
_TRUTH = bytes([0]) + bytes([1]) * 255


def results(memory: bytes | memoryview, wanted: Sequence[Wanted]) -> tuple[Returned, list[Returned]]:
    """What the load record and the records of the calls say. Times are not in the memory: they are the worker's."""
    view = memoryview(memory)
    starts, size = records(wanted)
    if len(view) < size:
        view = memoryview(bytes(view) + bytes(size - len(view)))
    load = Returned(_outcome(view, 0), note=_note(view, 0))
    return load, [_returned(view, start, one) for start, one in zip(starts, wanted, strict=True)]


def text(raw: bytes, length: int) -> str:
    """Bytes as text that can be shown: no control characters but tabs and line feeds, no surrogates, bounded."""
    return clean(raw.decode("utf-8", "replace"), length)


def clean(value: str, length: int) -> str:
    return _CONTROLS.sub("\ufffd", value[:length].replace("\r\n", "\n"))


def _returned(view: memoryview, start: int, wanted: Wanted) -> Returned:
    outcome = _outcome(view, start)
    value: int | bytes | None = None
    if outcome is Outcome.RETURNED:
        at = start + RECORD_HEAD + NOTE_BYTES
        raw = bytes(view[at : at + value_bytes(wanted)])
        if isinstance(wanted, IntegerWanted):
            value = int.from_bytes(raw, "little", signed=True)
        else:
            value = raw.translate(_TRUTH) if wanted.dtype == "bool" else raw
    return Returned(outcome, value, _note(view, start))


def _outcome(view: memoryview, start: int) -> Outcome:
    try:
        return Outcome(int.from_bytes(view[start : start + 4], "little"))
    except ValueError:
        return Outcome.NOT_REACHED


def _note(view: memoryview, start: int) -> Note:
    length = int.from_bytes(view[start + 4 : start + RECORD_HEAD], "little")
    if not 0 < length <= NOTE_BYTES:
        return Note()
    try:
        said = json.loads(bytes(view[start + RECORD_HEAD : start + RECORD_HEAD + length]))
    except (ValueError, RecursionError):
        return Note()
    if not isinstance(said, dict):
        return Note()
    return Note(
        error=_word(said.get("error")),
        message=_words(said.get("message"), MESSAGE_LENGTH),
        line=_whole(said.get("line"), MOST_LINES),
        got=_words(said.get("got"), 2 * WORD_LENGTH),
        mutated=_positions(said.get("mutated")),
        aliased=_positions(said.get("aliased")),
        operations=_operations(said.get("operations")),
    )


def _words(value: Any, length: int) -> str:
    return clean(value, length) if isinstance(value, str) else ""


def _word(value: Any) -> str:
    return re.sub(r"\s", " ", _words(value, WORD_LENGTH))


def _whole(value: Any, most: int) -> int | None:
    return value if type(value) is int and 0 < value <= most else None


def _positions(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(sorted({one for one in value[:MOST_OPERATIONS] if type(one) is int and 0 <= one < MOST_OPERATIONS}))


def _operations(value: Any) -> dict[str, int] | None:
    if not isinstance(value, dict):
        return None
    counted = {}
    for name, count in list(value.items())[:MOST_OPERATIONS]:
        if type(count) is int and 0 < count < 1 << 53:
            counted[_word(name)] = count
    return counted
