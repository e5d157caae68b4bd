"""A whole pack, hidden part included: for the worker, never for the web door.

A pack is written by the course and trusted: its modules are run in this process. They know nothing of students' code.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from grading import grader
from grading import outline as outlines
from grading.answers import reading
from grading.answers.model import Refused
from grading.grader import Run
from grading.kinds import KINDS, implementation
from grading.kinds.contract import Question
from grading.outline import Described, Outline, PackError, Points
from grading.verdict import State, Verdict

PARTS: Final = ("prompts", "stubs", "public", "hidden")
PERFECT, EMPTY, WRONG = PROOFS = ("perfect", "empty", "wrong")


@dataclass(frozen=True, slots=True)
class Pack:
    """A loaded pack. `digest` covers everything that a verdict depends on, the hidden part included."""

    folder: Path
    outline: Outline
    digest: str
    questions: tuple[Question, ...]  # in the outline's order


def load(folder: Path) -> Pack:
    """The pack in a folder; raises `PackError` with all that is wrong with its questions."""
    outline = outlines.read(folder)
    digest = outlines.digest(folder, _files(folder))
    questions, problems = [], []
    for described, asked in zip(outlines.describe(folder).questions, outline.questions, strict=True):
        try:
            questions.append(_question(folder, digest, described, asked.stub))
        except PackError as error:
            problems.append(str(error))
    if problems:
        raise PackError("\n".join(problems))
    return Pack(folder, outline, digest, tuple(questions))


def check(folder: Path, run: Run) -> list[str]:
    """Everything that is wrong with a pack, in words: its form, and samples graded otherwise than they expect."""
    try:
        pack = load(folder)
    except PackError as error:
        return str(error).split("\n")
    problems, seen = [], {question.id: set[str]() for question in pack.questions}
    samples = folder / "samples"
    for sample in sorted(path for path in samples.iterdir() if path.is_dir()) if samples.is_dir() else []:
        try:
            expected, verdicts = _expected(pack, sample), _sample(pack, sample, run)
        except PackError as error:
            problems += str(error).split("\n")
            continue
        for verdict in verdicts:
            if verdict.question in expected:
                problems += _differences(sample.name, expected[verdict.question], verdict)
                seen[verdict.question].add(_proves(verdict))
    for question in pack.questions:
        missing = [proof for proof in PROOFS if proof not in seen[question.id]]
        problems += [f"question {question.id}: no sample is {proof}" for proof in missing]
        if question.kind == "implementation":
            problems += implementation.unproved(question)
    return problems


class Expect(BaseModel):
    """What a sample's `expect.yaml` says of one question."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    points: Points
    state: State
    review: bool = False


def _expected(pack: Pack, sample: Path) -> dict[str, Expect]:
    where = f"sample {sample.name}"
    raw = outlines.yaml_of(sample / "expect.yaml", where)
    try:
        expected = TypeAdapter(dict[str, Expect]).validate_json(json.dumps(raw))
    except ValidationError as error:
        raise PackError("\n".join(f"{where}, expect.yaml, {line}" for line in outlines.in_words(error))) from error
    if unknown := expected.keys() - {question.id for question in pack.questions}:
        raise PackError(f"{where}, expect.yaml: the pack has no question {', '.join(sorted(unknown))}")
    return expected


def _sample(pack: Pack, sample: Path, run: Run) -> list[Verdict]:
    path = next((sample / name for name in ("answers.py", "answers.ipynb") if (sample / name).is_file()), None)
    if path is None:
        raise PackError(f"sample {sample.name}: there is no answers.py and no answers.ipynb")
    try:
        answers = reading.read(path, path.name, pack.outline.wanted())
    except Refused as error:
        raise PackError(f"sample {sample.name}: {path.name} is refused: {error.message}") from error
    return grader.grade(pack, answers, run, sample.name.encode(), lambda question: 1, lambda judged: None)


def _differences(sample: str, expected: Expect, verdict: Verdict) -> Iterable[str]:
    for what, wanted, got in (
        ("points", expected.points, verdict.points),
        ("state", expected.state, verdict.state),
        ("review", expected.review, verdict.needs_review is not None),
    ):
        if wanted != got:
            yield (
                f"sample {sample}, question {verdict.question}: {what} should be {wanted} and is {got}: "
                f"{verdict.needs_review or verdict.headline}"
            )


def _proves(verdict: Verdict) -> str:
    if verdict.state is State.NOT_ANSWERED:
        return EMPTY
    return PERFECT if verdict.points == verdict.out_of else WRONG


def _question(folder: Path, digest: str, described: Described, stub: str) -> Question:
    where = f"question {described.id}"
    kind = KINDS.get(described.kind)
    if kind is None:
        raise PackError(f"{where}, kind: there is no kind {described.kind!r}; there are {', '.join(KINDS)}")
    try:
        spec = kind.Spec.model_validate_json(json.dumps(described.spec))
    except ValidationError as error:
        raise PackError("\n".join(f"{where}, spec, {line}" for line in outlines.in_words(error))) from error
    return Question(
        id=described.id,
        kind=described.kind,
        points=described.points,
        entry=described.entry or "",
        stubs=(stub,) if stub else (),
        spec=spec,
        public=_module(folder, "public", described, digest),
        hidden=_module(folder, "hidden", described, digest),
    )


def _module(folder: Path, part: str, described: Described, digest: str) -> ModuleType | None:
    """A question's module of one part. Modules there whose names begin with `_` are shared: `from ._name import …`."""
    if described.module is None:
        return None
    path = folder / part / f"{described.module}.py"
    if not path.is_file():
        if part == "public":
            return None
        raise PackError(f"question {described.id}, module: there is no {part}/{path.name}")
    place = sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    package = f"pack_{place}_{digest[:12]}_{part}"
    for shared in sorted((folder / part).glob("_*.py")):
        _loaded(package, shared, f"question {described.id}")
    return _loaded(package, path, f"question {described.id}")


def _loaded(package: str, path: Path, where: str) -> ModuleType:
    """A module under a name of its own, so that packs cannot collide; the import path stays as it is."""
    name = f"{package}.{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__, module.__package__ = str(path), package
    sys.modules.setdefault(package, ModuleType(package))  # what relative imports in it start from
    sys.modules[name] = module  # dataclasses look up their own module by name
    try:
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        del sys.modules[name]
        raise PackError(f"{where}: {path.parent.name}/{path.name} raises {type(error).__name__}: {error}") from error
    return module


def _files(folder: Path) -> Iterable[Path]:
    yield folder / "lab.yaml"
    for part in PARTS:
        for path in (folder / part).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
