"""The layout that both sides share: what is written is what is found, and no two records touch."""

import json

from hypothesis import given
from hypothesis import strategies as st

from labcore.runner.protocol import (
    ALIGNMENT,
    ITEM_BYTES,
    NOTE_BYTES,
    RECORD_HEAD,
    Call,
    Config,
    IntegerWanted,
    Job,
    Tensor,
    TensorWanted,
    enclose,
    records,
    unclose,
    value_bytes,
)

shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
wanted = st.one_of(
    st.integers(1, 5000).map(IntegerWanted), st.builds(TensorWanted, st.sampled_from(sorted(ITEM_BYTES)), shapes)
)


@given(st.lists(wanted, max_size=20))
def test_records_are_aligned_in_order_and_never_overlap(many: list[IntegerWanted | TensorWanted]) -> None:
    starts, size = records(many)

    ends = [
        RECORD_HEAD + NOTE_BYTES,
        *(start + RECORD_HEAD + NOTE_BYTES + value_bytes(one) for start, one in zip(starts, many, strict=True)),
    ]
    assert all(end <= start for end, start in zip(ends, [*starts, size], strict=True))
    assert all(start % ALIGNMENT == 0 for start in starts)
    assert (RECORD_HEAD + NOTE_BYTES) % max(ITEM_BYTES.values()) == 0  # a value is aligned for its dtype


@given(st.text(), st.lists(st.binary(max_size=50), max_size=5))
def test_the_child_finds_the_source_and_every_storage(source: str, storages: list[bytes]) -> None:
    arguments = tuple(Tensor("uint8", (len(one),), (1,), one) for one in storages)
    job = Job(source, "f", (Call(arguments, IntegerWanted()),))

    request, memory = unclose(memoryview(enclose(job)))

    assert (request["source"], request["entry"]) == (source, "f")
    found = [bytes(memory[one["at"] : one["at"] + one["bytes"]]) for one in request["calls"][0]["args"]]
    assert found == storages
    assert all(one["at"] % ALIGNMENT == 0 for one in request["calls"][0]["args"])


@given(st.integers(-(10**30), 10**30), st.dictionaries(st.text(max_size=5), st.integers(0, 2**80), max_size=3))
def test_integers_keep_their_value_in_hexadecimal(number: int, attributes: dict[str, int]) -> None:
    job = Job("", "f", (Call((number, Config(attributes)), IntegerWanted()),))

    request, _ = unclose(memoryview(enclose(job)))

    first, second = request["calls"][0]["args"]
    assert int(first["int"], 16) == number
    assert {name: int(value, 16) for name, value in second["config"].items()} == attributes


def test_what_a_call_is_called_and_whether_it_is_public_is_never_sent() -> None:
    job = Job("", "f", (Call((1,), IntegerWanted(), label="the hidden one", public=True),))

    sent = enclose(job)

    assert b"hidden" not in sent and b"public" not in sent and b"label" not in sent
    assert json.loads(sent[8 : 8 + int.from_bytes(sent[:8], "little")])["calls"] == [
        {"args": [{"int": "0x1"}], "wanted": {"integer": 64}}
    ]
