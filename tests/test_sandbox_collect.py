"""Whatever bytes a child leaves, they are read without an exception, and what is read is bounded and clean."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labcore.runner.protocol import NOTE_BYTES, RECORD_HEAD, IntegerWanted, Note, Outcome, TensorWanted, records
from worker.sandbox import collect

WANTED = [IntegerWanted(8), TensorWanted("float32", (2, 2)), TensorWanted("bool", (3,)), TensorWanted("int8", (0,))]
STARTS, SIZE = records(WANTED)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def memory(outcome: int = 1, note: bytes = b"", value: bytes = b"", length: int | None = None) -> bytes:
    """Output memory whose first call's record says this."""
    whole = bytearray(SIZE)
    head = outcome.to_bytes(4, "little") + (len(note) if length is None else length).to_bytes(4, "little")
    written = head + note.ljust(NOTE_BYTES, b"\0") + value
    whole[STARTS[0] : STARTS[0] + len(written)] = written
    return bytes(whole)


def noted(said: Any) -> Note:
    note = json.dumps(said).encode()
    return collect.results(memory(note=note), WANTED)[1][0].note


@given(st.binary(max_size=SIZE + 10), st.integers(0, SIZE))
def test_any_bytes_are_read_without_an_exception(some: bytes, at: int) -> None:
    whole = (bytes(at) + some)[: SIZE + 10]

    _, returned = collect.results(whole, WANTED)

    assert len(returned) == len(WANTED)
    assert all((one.value is not None) == (one.outcome is Outcome.RETURNED) for one in returned)


@given(st.integers(0, 2**32 - 1), st.binary(max_size=NOTE_BYTES), st.integers(0, 2**32 - 1))
def test_any_head_and_note_are_read_without_an_exception(outcome: int, note: bytes, length: int) -> None:
    collect.results(memory(outcome, note, length=length), WANTED)


@given(
    st.dictionaries(st.sampled_from(["error", "message", "line", "got", "mutated", "aliased", "operations"]), anything)
)
def test_any_note_is_bounded_and_clean(said: dict[str, Any]) -> None:
    if len(json.dumps(said)) > NOTE_BYTES:
        return

    note = noted(said)

    assert len(note.error) <= 100 and len(note.message) <= 400 and len(note.got) <= 200
    assert note.line is None or 0 < note.line <= 1_000_000
    assert all(type(one) is int and 0 <= one < 64 for one in note.mutated + note.aliased)
    for word in (note.error, note.message, note.got, *(note.operations or {})):
        word.encode()  # no surrogates
        assert not [letter for letter in word if ord(letter) < 32 and letter not in "\n\t"]


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_are_read_back(number: int) -> None:
    _, returned = collect.results(memory(value=number.to_bytes(8, "little", signed=True)), WANTED)

    assert returned[0].value == number


def test_untouched_memory_says_that_nothing_was_reached() -> None:
    load, returned = collect.results(bytes(SIZE), WANTED)

    assert {load.outcome, *(one.outcome for one in returned)} == {Outcome.NOT_REACHED}


def test_memory_full_of_ones_is_no_outcome() -> None:
    load, returned = collect.results(b"\xff" * SIZE, WANTED)

    assert {load.outcome, *(one.outcome for one in returned)} == {Outcome.NOT_REACHED}


def test_a_bool_is_nothing_but_zero_or_one() -> None:
    whole = bytearray(SIZE)
    whole[STARTS[2]] = Outcome.RETURNED
    at = STARTS[2] + RECORD_HEAD + NOTE_BYTES
    whole[at : at + 3] = bytes([0, 7, 255])

    assert collect.results(bytes(whole), WANTED)[1][2].value == bytes([0, 1, 1])


def test_a_note_as_deep_as_it_is_long_is_dropped() -> None:
    assert collect.results(memory(note=b"[" * NOTE_BYTES), WANTED)[1][0].note == Note()
    assert collect.results(memory(note=b'{"a":' * 400), WANTED)[1][0].note == Note()


def test_a_number_longer_than_python_converts_is_dropped() -> None:
    assert collect.results(memory(note=b'{"line": ' + b"9" * 2000 + b"}"), WANTED)[1][0].note.line is None


def test_what_would_break_a_page_or_a_terminal_is_replaced() -> None:
    note = noted({"error": "Bad\nError", "message": "a\x00b\x1b[31mc\u202ed\udc80e\nf"})

    assert note.error == "Bad Error"
    assert note.message == "a\ufffdb\ufffd[31mc\ufffdd\ufffde\nf"


@given(st.binary(max_size=300))
def test_output_is_text_of_bounded_length(raw: bytes) -> None:
    shown = collect.text(raw, 100)

    assert len(shown) <= 100
    shown.encode()
    assert not [letter for letter in shown if ord(letter) < 32 and letter not in "\n\t"]
