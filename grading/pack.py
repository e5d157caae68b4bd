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

from pydantic import ValidationError

from grading import outline as outlines
from grading.kinds import KINDS
from grading.kinds.contract import Question
from grading.outline import Described, Outline, PackError

PARTS: Final = ("prompts", "stubs", "public", "hidden")


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
    """A pack's module under a name of its own, so that packs cannot collide; the import path stays as it is."""
    if described.module is None:
        return None
    path = folder / part / f"{described.module}.py"
    if not path.is_file():
        if part == "public":
            return None
        raise PackError(f"question {described.id}, module: there is no {part}/{path.name}")
    place = sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    name = f"pack_{place}_{digest[:12]}_{part}_{described.module}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look up their own module by name
    try:
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        del sys.modules[name]
        raise PackError(
            f"question {described.id}: {part}/{path.name} raises {type(error).__name__}: {error}"
        ) from error
    return module


def _files(folder: Path) -> Iterable[Path]:
    yield folder / "lab.yaml"
    for part in PARTS:
        for path in (folder / part).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
