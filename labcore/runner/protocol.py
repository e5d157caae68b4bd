"""The frame between the trusted worker and a child: a job goes in, raw results come out through memory of fixed size.

Covered here: the words of both sides and the exact layout of the two memories. Not covered: trust. Everything that a
child writes is a claim; `worker.sandbox.collect` reads it as hostile data, and the verdict is computed elsewhere.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

ITEM_BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
}
ALIGNMENT = 64
NOTE_BYTES = 2048
RECORD_HEAD = 8  # u32 outcome, u32 bytes of note


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dense tensor to be handed in: `data` is its storage; shape, strides and offset count elements."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    data: bytes
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Config:
    """A model configuration: named integers, read by the student as attributes."""

    attributes: Mapping[str, int]


Value = int | float | bool | None | Tensor | Config


@dataclass(frozen=True, slots=True)
class IntegerWanted:
    """The call must return an exact integer of at most `max_bytes` bytes (two's complement, little-endian)."""

    max_bytes: int = 64


@dataclass(frozen=True, slots=True)
class TensorWanted:
    """The call must return a tensor of exactly this dtype and shape; its elements come back contiguous."""

    dtype: str
    shape: tuple[int, ...]


Wanted = IntegerWanted | TensorWanted


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the student's function. `label` and `public` stay with the worker and are never sent."""

    args: tuple[Value, ...]
    wanted: Wanted
    label: str = ""
    public: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to run in one child: a source text, the name to call in it, and the calls in order.

    `profile` names a row of the worker's table of limits. `count_operations` asks the child to count what torch
    dispatches during each call (a claim, like all that a child counts).
    """

    source: str
    entry: str
    calls: tuple[Call, ...]
    profile: str = "cpu"
    count_operations: bool = False


class Outcome(IntEnum):
    """What became of one call, as the child wrote it. Zero is what untouched memory says."""

    NOT_REACHED = 0
    RETURNED = 1
    RAISED = 2
    WRONG_TYPE = 3  # not an exact integer, or not a plain torch.Tensor
    WRONG_SHAPE = 4
    WRONG_DTYPE = 5
    TOO_LARGE = 6  # an integer longer than was wanted


class Ending(StrEnum):
    """How the child ended, as the worker saw it from outside."""

    FINISHED = "finished"
    NOT_LOADED = "not loaded"  # the source itself raised, or the entry was not there
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    FLOODED = "flooded"  # more output than the limit
    KILLED = "killed"  # from outside and by nobody here, twice, at little memory of its own
    CRASHED = "crashed"  # died by another signal
    EXITED = "exited"  # ended by itself before the last call


@dataclass(frozen=True, slots=True)
class Note:
    """What the child says about a call, every field bounded and cleaned by the collector. A claim, for words only."""

    error: str = ""  # exception class
    message: str = ""
    line: int | None = None  # line in the job's source
    got: str = ""  # "float", "tensor float16 (3, 4)"
    mutated: tuple[int, ...] = ()  # positions of arguments whose contents changed
    aliased: tuple[int, ...] = ()  # positions of arguments whose storage the result shares
    operations: Mapping[str, int] | None = None  # torch operations dispatched during the call


@dataclass(frozen=True, slots=True)
class Returned:
    """One call's result. `value` is an int, or the raw bytes of the wanted tensor. `seconds` is the worker's clock."""

    outcome: Outcome
    value: int | bytes | None = None
    note: Note = Note()
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """All that came back of a job: raw, untrusted, and as many `returned` as the job had calls."""

    ending: Ending
    returned: tuple[Returned, ...]
    load: Note = Note()
    output: str = ""  # stdout and stderr, capped; for staff only, since it may carry hidden inputs
    seconds: float = 0.0  # from the request to the child's death
    load_seconds: float | None = None  # from the request to the first tick, which an honest child sends when loaded
    signal: int | None = None
    isolation: str = ""


def encode(job: Job) -> tuple[bytes, bytes]:
    """The request line (JSON, ASCII) and the contents of the input memory for a job."""
    memory = bytearray()
    calls = []
    for call in job.calls:
        calls.append({"args": [_encode_value(value, memory) for value in call.args], "wanted": _encode_wanted(call)})
    request = {"source": job.source, "entry": job.entry, "calls": calls, "count": job.count_operations}
    return json.dumps(request).encode("ascii"), bytes(memory)


def enclose(job: Job) -> bytes:
    """All of the input memory: the length of the request, the request, and aligned after it the tensors' storages."""
    request, memory = encode(job)
    head = len(request).to_bytes(8, "little") + request
    return head + bytes(_aligned(len(head)) - len(head)) + memory


def unclose(memory: memoryview) -> tuple[dict[str, Any], memoryview]:
    """The request and the storages in an input memory. For the child, which may trust the worker."""
    length = int.from_bytes(memory[:8], "little")
    request: dict[str, Any] = json.loads(bytes(memory[8 : 8 + length]))
    return request, memory[_aligned(8 + length) :]


def records(wanted: Sequence[Wanted]) -> tuple[list[int], int]:
    """Where each call's record begins in the output memory, and the memory's whole size. A load record comes first.

    A record is: head (`RECORD_HEAD`), note (`NOTE_BYTES`, JSON), value (as many bytes as wanted).
    """
    starts, end = [], _aligned(RECORD_HEAD + NOTE_BYTES)
    for one in wanted:
        starts.append(end)
        end = _aligned(end + RECORD_HEAD + NOTE_BYTES + value_bytes(one))
    return starts, end


def value_bytes(wanted: Wanted) -> int:
    """How many bytes of value a wanted result has room for."""
    if isinstance(wanted, IntegerWanted):
        return wanted.max_bytes
    count = ITEM_BYTES[wanted.dtype]
    for size in wanted.shape:
        count *= size
    return count


def _encode_value(value: Value, memory: bytearray) -> Any:
    if isinstance(value, Tensor):
        memory.extend(bytes(_aligned(len(memory)) - len(memory)))
        start = len(memory)
        memory.extend(value.data)
        return {
            "tensor": value.dtype,
            "shape": value.shape,
            "strides": value.strides,
            "offset": value.offset,
            "at": start,
            "bytes": len(value.data),
        }
    if isinstance(value, Config):
        return {"config": {name: hex(number) for name, number in value.attributes.items()}}
    if type(value) is int:
        return {"int": hex(value)}  # hexadecimal: decimal conversion of long integers is bounded and slow
    return {"plain": value}


def _encode_wanted(call: Call) -> dict[str, Any]:
    wanted = call.wanted
    if isinstance(wanted, IntegerWanted):
        return {"integer": wanted.max_bytes}
    return {"tensor": wanted.dtype, "shape": wanted.shape}


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT
