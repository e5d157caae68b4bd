"""The child: waits for one job, runs it, writes raw results into memory of fixed size, and ends.

From the moment the student's source is loaded, nothing in this process can be trusted, this module included: what it
writes is a claim that the worker reads as hostile data. It knows inputs only, never an expected value.
"""

import json
import linecache
import mmap
import os
import random
import socket
import sys
import types
from collections import Counter
from contextlib import suppress
from typing import Any, TextIO

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from labcore.runner.protocol import (
    NOTE_BYTES,
    RECORD_HEAD,
    IntegerWanted,
    Outcome,
    TensorWanted,
    Wanted,
    records,
    unclose,
)

FILENAME = "answer.py"
TICK = 3  # the descriptor of the pipe that takes one byte after loading and one after each call
_INTEGER_TENSORS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


class Config(types.SimpleNamespace):
    """A model configuration as the student sees it: attributes, and `to_dict()` as configurations have."""

    def to_dict(self) -> dict[str, int]:
        return dict(vars(self))


def warm_before_fork() -> str:
    """Import what a child will need, and pay for torch's first operations once.

    The environment gives the warm parent one thread, so that these operations start no pool: none survives a fork.
    """
    for module in ("numpy.random", "dataclasses", "typing", "functools", "itertools", "collections", "traceback"):
        with suppress(ImportError):
            __import__(module)
    torch.cpu._is_avx2_supported()  # has torch look at /proc/cpuinfo, which a child does not have; then half() works
    _first_operations()
    return str(torch.__version__)


def warm_after_fork(threads: int) -> None:
    """Give the child randomness and threads of its own, and touch the memory that first operations touch."""
    random.seed()
    torch.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    torch.set_num_threads(threads)
    sys.set_int_max_str_digits(0)  # probes use integers of thousands of digits, which a student may print
    _first_operations()


def _first_operations() -> None:
    square = torch.ones(8, 8)
    torch.softmax(torch.nn.functional.gelu(square @ square), -1).sum().item()


def serve(line: socket.socket) -> None:
    """Take the one request that this child will ever get, and run it."""
    _, (given, out, tick, output), _, _ = socket.recv_fds(line, 64, 4)
    memory = mmap.mmap(given, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    results = mmap.mmap(out, 0)
    request, storages = unclose(memoryview(memory))
    wanted = [_wanted(call["wanted"]) for call in request["calls"]]
    os.dup2(output, 1)
    os.dup2(output, 2)
    streams = sys.stdout, sys.stderr = _stream(1), _stream(2)
    highest = max(line.fileno(), given, out, tick, output)
    os.dup2(tick, highest + 1)
    line.close()  # nothing but these is left for student code: no way to the worker, no memory that could be resized
    os.dup2(highest + 1, TICK, inheritable=False)
    os.closerange(TICK + 1, os.sysconf("SC_OPEN_MAX"))  # mmap keeps descriptors of its own
    _run(request, wanted, storages, results)
    for stream in streams:  # not what student code may have put in their places
        with suppress(BaseException):
            stream.flush()


def _stream(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _run(request: dict[str, Any], wanted: list[Wanted], storages: memoryview, results: mmap.mmap) -> None:
    starts, _ = records(wanted)
    try:
        function = _load(request["source"], request["entry"])
    except BaseException as error:
        _record(results, 0, Outcome.RAISED, _raised(error))
        return
    _record(results, 0, Outcome.RETURNED, {})
    _tick()
    for start, call, want in zip(starts, request["calls"], wanted, strict=True):
        operations = _Operations() if request["count"] else None
        try:
            arguments = [_Argument(value, storages) for value in call["args"]]
            result = _called(function, [argument.value for argument in arguments], operations)
            outcome, note = _take(result, want, results, start)
            note |= _touched(result, arguments)
        except BaseException as error:
            outcome, note = Outcome.RAISED, _raised(error)
        result, arguments = None, []
        if operations is not None:
            note["operations"] = dict(operations.counted.most_common(48))
        _record(results, start, outcome, note)
        _tick()


def _load(source: str, entry: str) -> Any:
    """Run the source as a module of its own, so that classes, tracebacks and `inspect` find what they look for."""
    module = types.ModuleType("answer")
    module.__file__ = FILENAME
    sys.modules["answer"] = module
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    exec(compile(source, FILENAME, "exec", dont_inherit=True), module.__dict__)
    if entry not in module.__dict__:
        raise NameError(f"name {entry!r} is not defined")
    return module.__dict__[entry]


def _called(function: Any, arguments: list[Any], operations: "_Operations | None") -> Any:
    if operations is None:
        return function(*arguments)
    with operations:
        return function(*arguments)


class _Argument:
    """One argument, made afresh for each call, with what is needed to see afterwards whether it was changed."""

    def __init__(self, encoded: dict[str, Any], storages: memoryview) -> None:
        self.value: Any
        self._given: torch.Tensor | dict[str, int] | None = None
        self._raw: torch.Tensor | None = None
        if "int" in encoded:
            self.value = int(encoded["int"], 16)
        elif "config" in encoded:
            self._given = {name: int(number, 16) for name, number in encoded["config"].items()}
            self.value = Config(**self._given)
        elif "tensor" in encoded:
            start, length = encoded["at"], encoded["bytes"]
            self._raw = torch.empty(length, dtype=torch.uint8)
            if length:
                self._given = torch.frombuffer(storages[start : start + length], dtype=torch.uint8)
                self._raw.copy_(self._given)
            dtype = getattr(torch, encoded["tensor"])
            # `set_` gives a tensor that is no view of another, over a storage that may be resized as usual.
            self.value = torch.empty(0, dtype=dtype).set_(
                self._raw.untyped_storage(), encoded["offset"], encoded["shape"], encoded["strides"]
            )
        else:
            self.value = encoded["plain"]

    def changed(self) -> bool:
        if isinstance(self._given, dict):
            return bool(vars(self.value) != self._given)
        return self._given is not None and self._raw is not None and not torch.equal(self._raw, self._given)

    def shares(self, result: torch.Tensor) -> bool:
        if self._raw is None or not self._raw.numel():
            return False
        return result.untyped_storage().data_ptr() == self._raw.untyped_storage().data_ptr()


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what torch dispatches, by name."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counted: Counter[str] = Counter()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or the first call would import the compiler, for half a second

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counted[str(func.overloadpacket.__name__)[:60]] += 1
        return func(*args, **(kwargs or {}))


def _take(result: Any, wanted: Wanted, results: mmap.mmap, start: int) -> tuple[Outcome, dict[str, Any]]:
    """Copy a result out as raw bytes, if it is exactly of the kind that was wanted."""
    at = start + RECORD_HEAD + NOTE_BYTES
    if isinstance(wanted, IntegerWanted):
        integer = _exact_integer(result)
        if integer is None:
            return Outcome.WRONG_TYPE, {"got": _described(result)}
        if integer.bit_length() >= 8 * wanted.max_bytes:
            return Outcome.TOO_LARGE, {"got": f"integer of {integer.bit_length()} bits"}
        results[at : at + wanted.max_bytes] = integer.to_bytes(wanted.max_bytes, "little", signed=True)
        return Outcome.RETURNED, {}
    if type(result) is not torch.Tensor or result.layout != torch.strided or result.device.type != "cpu":
        return Outcome.WRONG_TYPE, {"got": _described(result)}
    if tuple(result.shape) != wanted.shape:
        return Outcome.WRONG_SHAPE, {"got": _described(result)}
    dtype = getattr(torch, wanted.dtype)
    if result.dtype != dtype:
        return Outcome.WRONG_DTYPE, {"got": _described(result)}
    if result.numel():
        room = torch.frombuffer(results, dtype=dtype, count=result.numel(), offset=at)
        room.view(wanted.shape).copy_(result.detach())
    return Outcome.RETURNED, {}


def _exact_integer(result: Any) -> int | None:
    """The integer that a result is, or None: no bool, no float, no subclass."""
    if type(result) is int:
        return result
    if type(result) is torch.Tensor and result.ndim == 0 and result.dtype in _INTEGER_TENSORS:
        return int(result.item())
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(result).__module__ == "numpy" and isinstance(result, numpy.integer):
        return int(result)
    return None


def _described(result: Any) -> str:
    if isinstance(result, torch.Tensor):
        where = "" if result.device.type == "cpu" else f" on {result.device.type}"
        name = "tensor" if type(result) is torch.Tensor else type(result).__name__
        return f"{name} {str(result.dtype).removeprefix('torch.')} {tuple(result.shape)}{where}"[:200]
    return type(result).__name__[:100]


def _touched(result: Any, arguments: list[_Argument]) -> dict[str, Any]:
    plain = type(result) is torch.Tensor and result.layout == torch.strided and result.device.type == "cpu"
    return {
        "mutated": [position for position, argument in enumerate(arguments) if argument.changed()],
        "aliased": [position for position, argument in enumerate(arguments) if plain and argument.shares(result)],
    }


def _raised(error: BaseException) -> dict[str, Any]:
    """What is said about an exception. Its own methods are the student's and may raise in their turn."""
    note: dict[str, Any] = {"error": type(error).__name__[:100]}
    with suppress(BaseException):
        note["message"] = str(error)[:400]
    with suppress(BaseException):
        if isinstance(error, SyntaxError) and error.filename == FILENAME:
            note["line"] = error.lineno
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == FILENAME:
                note["line"] = trace.tb_lineno
            trace = trace.tb_next
    return note


def _record(results: mmap.mmap, start: int, outcome: Outcome, note: dict[str, Any]) -> None:
    """Write a record; its outcome last, so that a death in between leaves it unreached."""
    text = json.dumps(note)
    while len(text) > NOTE_BYTES:
        note = {name: _halved(value) for name, value in note.items()}
        text = json.dumps(note)
    at = start + RECORD_HEAD
    results[at : at + len(text)] = text.encode("ascii")
    results[start + 4 : start + 8] = len(text).to_bytes(4, "little")
    results[start : start + 4] = int(outcome).to_bytes(4, "little")


def _halved(value: Any) -> Any:
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2])
    return value[: len(value) // 2] if isinstance(value, str | list) else value


def _tick() -> None:
    with suppress(OSError):
        os.write(TICK, b".")


def _wanted(encoded: dict[str, Any]) -> Wanted:
    if "integer" in encoded:
        return IntegerWanted(encoded["integer"])
    return TensorWanted(encoded["tensor"], tuple(encoded["shape"]))
