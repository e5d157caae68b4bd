"""What a child does with an honest answer: its arguments, exactly what counts as a result, and what is noted."""

import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest
import torch

from labcore.runner.protocol import (
    Call,
    Config,
    Ending,
    IntegerWanted,
    Job,
    Observation,
    Outcome,
    Returned,
    Tensor,
    TensorWanted,
    Value,
    Wanted,
)
from worker.sandbox.slot import Slot, _memory

INTEGER = IntegerWanted()


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    with Slot() as slot:
        yield slot


def observed(slot: Slot, source: str, *args: Value, wanted: Wanted = INTEGER, count: bool = False) -> Observation:
    return slot.run(Job(source, "f", (Call(args, wanted),), count_operations=count))


def called(slot: Slot, source: str, *args: Value, wanted: Wanted = INTEGER, count: bool = False) -> Returned:
    seen = observed(slot, source, *args, wanted=wanted, count=count)
    assert seen.ending is Ending.FINISHED, seen
    return seen.returned[0]


def tensor(values: torch.Tensor) -> Tensor:
    """A contiguous float32 tensor as the protocol has it."""
    flat = values.contiguous()
    data = struct.pack(f"<{flat.numel()}f", *flat.flatten().tolist())
    return Tensor("float32", tuple(flat.shape), tuple(flat.stride()), data)


def floats(result: Returned) -> list[float]:
    assert isinstance(result.value, bytes), result
    return list(struct.unpack(f"<{len(result.value) // 4}f", result.value))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("a * b", 2**200 * 3),
        ("-a", -(2**200)),
        ("0", 0),
        ("__import__('numpy').int64(-5)", -5),
        ("__import__('numpy').uint8(5)", 5),
        ("__import__('torch').tensor(2**40)", 2**40),
        ("__import__('torch').tensor(-7, dtype=__import__('torch').int8)", -7),
        ("(1 << 511) - 1", (1 << 511) - 1),
        ("-(1 << 511) + 1", -(1 << 511) + 1),
        ("int(str(10**120)) // 10**100", 10**20),
    ],
)
def test_an_exact_integer_is_taken(slot: Slot, expression: str, value: int) -> None:
    assert called(slot, f"def f(a, b): return {expression}", 2**200, 3).value == value


@pytest.mark.parametrize(
    ("expression", "got"),
    [
        ("float(6)", "float"),
        ("True", "bool"),
        ("None", "NoneType"),
        ("'6'", "str"),
        ("6 / 2", "float"),
        ("(6,)", "tuple"),
        ("type('Six', (int,), {'__eq__': lambda *_: True})(6)", "Six"),
        ("__import__('numpy').float64(6)", "float64"),
        ("__import__('numpy').bool_(True)", "bool"),
        ("__import__('torch').tensor(6.0)", "tensor float32 ()"),
        ("__import__('torch').tensor([6])", "tensor int64 (1,)"),
        ("__import__('torch').tensor(True)", "tensor bool ()"),
        ("__import__('fractions').Fraction(6)", "Fraction"),
    ],
)
def test_anything_but_an_exact_integer_is_refused_by_its_name(slot: Slot, expression: str, got: str) -> None:
    result = called(slot, f"def f(): return {expression}")

    assert (result.outcome, result.value, result.note.got) == (Outcome.WRONG_TYPE, None, got)


def test_an_integer_longer_than_wanted_is_told_apart(slot: Slot) -> None:
    result = called(slot, "def f(): return 1 << 511")

    assert (result.outcome, result.note.got) == (Outcome.TOO_LARGE, "integer of 512 bits")


def test_integers_of_many_thousand_digits_pass_both_ways_and_may_be_printed(slot: Slot) -> None:
    wanted = IntegerWanted(max_bytes=40_000)

    seen = observed(slot, "def f(n):\n    print(len(str(n)))\n    return n + 1", 10**20_000, wanted=wanted)

    assert seen.returned[0].value == 10**20_000 + 1
    assert seen.output == "20001\n"


@pytest.mark.parametrize(
    ("expression", "outcome", "got"),
    [
        ("x.half()", Outcome.WRONG_DTYPE, "tensor float16 (2, 3)"),
        ("x.t()", Outcome.WRONG_SHAPE, "tensor float32 (3, 2)"),
        ("x[:1]", Outcome.WRONG_SHAPE, "tensor float32 (1, 3)"),
        ("torch.nn.Parameter(x)", Outcome.WRONG_TYPE, "Parameter float32 (2, 3)"),
        ("x.as_subclass(type('Sly', (torch.Tensor,), {}))", Outcome.WRONG_TYPE, "Sly float32 (2, 3)"),
        ("x.to('meta')", Outcome.WRONG_TYPE, "tensor float32 (2, 3) on meta"),
        ("x.to_sparse()", Outcome.WRONG_TYPE, "tensor float32 (2, 3)"),
        ("x.tolist()", Outcome.WRONG_TYPE, "list"),
        ("x.numpy()", Outcome.WRONG_TYPE, "ndarray"),
        ("None", Outcome.WRONG_TYPE, "NoneType"),
    ],
)
def test_a_tensor_of_another_type_shape_or_dtype_is_refused(
    slot: Slot, expression: str, outcome: Outcome, got: str
) -> None:
    wanted = TensorWanted("float32", (2, 3))

    result = called(slot, f"import torch\ndef f(x): return {expression}", tensor(torch.ones(2, 3)), wanted=wanted)

    assert (result.outcome, result.value, result.note.got) == (outcome, None, got)


@pytest.mark.parametrize(
    "expression",
    [
        "(x * 2)",
        "(x * 2).t().contiguous().t()",
        "(x * 2).requires_grad_()",
        "torch._neg_view(x * -2)",
        "(x + x).clone()",
    ],
)
def test_the_elements_come_back_whatever_the_layout(slot: Slot, expression: str) -> None:
    given = tensor(torch.arange(6.0).view(2, 3))

    result = called(slot, f"import torch\ndef f(x): return {expression}", given, wanted=TensorWanted("float32", (2, 3)))

    assert floats(result) == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64"]
)
def test_every_dtype_passes_both_ways_bit_for_bit(slot: Slot, dtype: str) -> None:
    raw = torch.tensor([0, 1, 1, 0, 1], dtype=torch.int32).to(getattr(torch, dtype))
    given = Tensor(dtype, (5,), (1,), bytes(raw.view(torch.uint8).tolist()))

    result = called(slot, "def f(x): return x", given, wanted=TensorWanted(dtype, (5,)))

    assert result.value == given.data


def test_strides_and_offset_reach_the_student(slot: Slot) -> None:
    storage = tensor(torch.arange(12.0)).data
    given = Tensor("float32", (2, 3), (1, 4), storage, offset=1)
    source = (
        "def f(x):\n    assert x.stride() == (1, 4) and x.storage_offset() == 1 and x._base is None\n    return x * 1"
    )

    assert floats(called(slot, source, given, wanted=TensorWanted("float32", (2, 3)))) == [1, 5, 9, 2, 6, 10]


def test_an_expanded_tensor_is_not_written_out(slot: Slot) -> None:
    given = Tensor("float32", (1000, 1000, 1000), (0, 0, 0), struct.pack("<f", 3.0))
    source = "def f(x): return x.shape[0] * x.untyped_storage().nbytes()"

    assert called(slot, source, given).value == 4000


@pytest.mark.parametrize(("shape", "strides"), [((0, 3), (3, 1)), ((2, 0), (0, 1)), ((), ())])
def test_empty_and_zero_dimensional_tensors_pass_both_ways(
    slot: Slot, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    data = b"" if 0 in shape else struct.pack("<f", 7.0)
    given = Tensor("float32", shape, strides, data)

    result = called(slot, "def f(x): return x + 0", given, wanted=TensorWanted("float32", shape))

    assert (result.outcome, result.value) == (Outcome.RETURNED, data)


def test_a_storage_may_be_resized_as_usual(slot: Slot) -> None:
    source = "def f(x):\n    x.resize_(100)\n    return x.numel()"

    assert called(slot, source, tensor(torch.ones(2))).value == 100


def test_changed_arguments_are_noted(slot: Slot) -> None:
    source = "def f(x, y, c):\n    y.add_(1)\n    c.heads = 9\n    return 0"

    result = called(slot, source, tensor(torch.ones(2)), tensor(torch.ones(2)), Config({"heads": 8}))

    assert result.note.mutated == (1, 2)


def test_unchanged_arguments_are_not_noted_even_with_values_that_equal_nothing(slot: Slot) -> None:
    result = called(slot, "def f(x): return 0", tensor(torch.tensor([float("nan"), 1.0])))

    assert result.note.mutated == ()


def test_a_result_that_shares_memory_with_an_argument_is_noted(slot: Slot) -> None:
    source = "def f(x, y): return y[1:]"

    result = called(slot, source, tensor(torch.ones(2)), tensor(torch.ones(2)), wanted=TensorWanted("float32", (1,)))

    assert result.note.aliased == (1,)


def test_each_call_gets_arguments_of_its_own(slot: Slot) -> None:
    call = Call((tensor(torch.ones(2)),), TensorWanted("float32", (2,)))

    seen = slot.run(Job("def f(x): return x.add_(1)", "f", (call, call)))

    assert [floats(one) for one in seen.returned] == [[2.0, 2.0], [2.0, 2.0]]


def test_operations_are_counted_by_name_and_only_when_asked(slot: Slot) -> None:
    source = "import torch\ndef f(x): return torch.relu(x @ x) @ x"
    wanted = TensorWanted("float32", (2, 2))

    counted = called(slot, source, tensor(torch.ones(2, 2)), wanted=wanted, count=True)
    plain = called(slot, source, tensor(torch.ones(2, 2)), wanted=wanted)

    assert counted.note.operations == {"mm": 2, "relu": 1}
    assert plain.note.operations is None and floats(plain) == floats(counted)


def test_a_configuration_is_read_by_attribute_getattr_and_hasattr(slot: Slot) -> None:
    source = (
        "def f(config):\n"
        "    assert not hasattr(config, 'head_dim') and 'heads=8' in repr(config)\n"
        "    return config.heads * getattr(config, 'hidden') + config.to_dict()['heads']"
    )

    assert called(slot, source, Config({"heads": 8, "hidden": 2**70})).value == 8 * 2**70 + 8


def test_plain_values_are_passed_as_they_are(slot: Slot) -> None:
    source = "def f(a, b, c, d): return 1 if (a is True and b is None and c == 0.1 and type(d) is int) else 0"

    assert called(slot, source, True, None, 0.1, -5).value == 1


def test_an_exception_is_told_with_its_class_message_and_line(slot: Slot) -> None:
    result = called(slot, "def g(n):\n    return 1 // n\n\ndef f(n):\n    return g(n)\n", 0)

    assert result.outcome is Outcome.RAISED
    assert (result.note.error, result.note.line) == ("ZeroDivisionError", 2)
    assert "division" in result.note.message


@pytest.mark.parametrize(
    ("source", "error", "line"),
    [
        ("x = 1\nimport nothing_of_this_name\n", "ModuleNotFoundError", 2),
        ("def f(:\n", "SyntaxError", 1),
        ("def g(): pass\n", "NameError", None),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt", 1),
        ("x = '\udc80'\n", "UnicodeEncodeError", None),
        ("x = '\x00'\n", "SyntaxError", None),
    ],
)
def test_a_source_that_does_not_load_says_why(slot: Slot, source: str, error: str, line: int | None) -> None:
    seen = observed(slot, source)

    assert (seen.ending, seen.load.error, seen.load.line) == (Ending.NOT_LOADED, error, line)
    assert seen.returned[0].outcome is Outcome.NOT_REACHED


def test_what_a_module_can_do_works(slot: Slot) -> None:
    source = """
from __future__ import annotations
import dataclasses, enum, inspect, pickle, typing, warnings

@dataclasses.dataclass
class Pair:
    a: int
    b: int

class Colour(enum.Enum):
    RED = 1

def f(a, b):
    warnings.warn("harmless")
    pair = pickle.loads(pickle.dumps(Pair(a, b)))
    assert __name__ != "__main__" and typing.get_type_hints(Pair)["a"] is int
    assert "harmless" in inspect.getsource(f)
    return pair.a * pair.b * Colour.RED.value
"""
    seen = observed(slot, source, 6, 7)

    assert seen.returned[0].value == 42
    assert "harmless" in seen.output


def test_output_is_kept_and_cleaned(slot: Slot) -> None:
    source = "import sys\nprint('née \\x1b[31m\\x00 \\udc80')\nprint('err', file=sys.stderr)\ndef f(): return 1"

    output = observed(slot, source).output

    assert "née" in output and "err" in output
    assert not set(output) & {"\x1b", "\x00", "\udc80"}


def test_packages_of_the_lab_can_be_imported_inside(slot: Slot) -> None:
    source = "import numpy, torch.nn.functional, transformers, tempfile\ndef f(): return 1"

    assert called(slot, source).value == 1


def test_gradients_work_inside(slot: Slot) -> None:
    source = "import torch\ndef f(x):\n    x.requires_grad_()\n    (x * x).sum().backward()\n    return x.grad"

    assert floats(called(slot, source, tensor(torch.arange(3.0)), wanted=TensorWanted("float32", (3,)))) == [0, 2, 4]


def test_children_draw_different_random_numbers(slot: Slot) -> None:
    source = (
        "import random, torch, numpy\n"
        "def f(which):\n"
        "    return [random.getrandbits(60), int(torch.randint(2**60, ())), int(numpy.random.randint(2**60))][which]"
    )
    calls = tuple(Call((which,), INTEGER) for which in range(3))

    drawn = [[one.value for one in slot.run(Job(source, "f", calls)).returned] for _ in range(2)]

    assert all(first != second for first, second in zip(*drawn, strict=True))


def test_nothing_of_the_workers_environment_reaches_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOFLAB_SECRET", "not for students")
    names = observed_environment()

    assert "ROOFLAB_SECRET" not in names and "PATH" in names
    assert not [value for value in names.values() if "not for students" in value]


def observed_environment() -> Mapping[str, str]:
    source = "import os\nfor name, value in os.environ.items(): print(f'{name}={value}')\ndef f(): return 1"
    with Slot() as fresh:
        lines = observed(fresh, source).output.splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_a_call_takes_time_by_the_workers_clock(slot: Slot) -> None:
    source = "import time\ndef f(s):\n    time.sleep(s)\n    return 1"
    calls = (Call((0.0,), INTEGER), Call((0.2,), INTEGER))

    seen = slot.run(Job(source, "f", calls))

    short, long = (one.seconds for one in seen.returned)
    assert short is not None and long is not None and long >= 0.2 and seen.seconds >= short + long


def test_input_memory_cannot_be_written_and_neither_can_be_resized() -> None:
    with ExitStack() as stack:
        given = _memory(stack, b"question", 8)
        out = _memory(stack, b"", 8)

        assert os.pwrite(out, b"answer", 0) == 6
        for refused in (
            lambda: os.pwrite(given, b"x", 0),
            lambda: mmap.mmap(given, 8),
            lambda: os.ftruncate(given, 4),
            lambda: os.ftruncate(out, 4),
            lambda: os.ftruncate(out, 4096),
        ):
            with pytest.raises(PermissionError):
                refused()


def test_no_package_is_in_view_but_those_of_the_profile(slot: Slot) -> None:
    source = """
import importlib.util, os, sysconfig
def f():
    unseen = ("pydantic", "sqlalchemy", "celery", "pyseccomp", "pip", "pytest", "fastapi")
    found = sum(importlib.util.find_spec(name) is not None for name in unseen)
    for name in ("purelib", "platlib"):
        folder = sysconfig.get_path(name)
        found += len(os.listdir(folder)) if os.path.exists(folder) else 0
    return found
"""
    assert called(slot, source).value == 0
