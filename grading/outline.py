"""The public part of a pack: its questions, prompts and stubs, as `lab.yaml` and the files beside it say.

All that the web door may know of a pack. Not here: cases, references and specs of kinds (`grading.pack`), so that
reading this needs no torch and shows nothing hidden.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from grading.answers.model import Wanted
from grading.settings import Settings

MOST_BYTES: Final = 256 * 1024
MOST_DEPTH: Final = 32
_RESERVED = re.compile(r"(current|final|override) (score|points|grade|status)", re.IGNORECASE)
_ENDS_LIKE_AN_ID = re.compile(r"\s\(\d+\)$")


class PackError(Exception):
    """A pack is not as it should be; the message names file, question and field in words."""


def _points(value: Any) -> Decimal:
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,4}(\.\d{1,4})?", value):
        raise ValueError('points are a decimal in quotes, such as "2.5"')
    return Decimal(value)


Points = Annotated[Decimal, BeforeValidator(_points, json_schema_input_type=str)]
Filename = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Line = Annotated[str, StringConstraints(pattern=r"^\S[^\n]{0,199}$")]


class Described(BaseModel):
    """One question as `lab.yaml` describes it. `spec` belongs to its kind."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,31}$")]
    heading: Line
    title: Line
    kind: Identifier
    points: Points
    bonus: bool = False
    prompt: Filename
    entry: Identifier | None = None
    parameters: tuple[Identifier, ...] = ()
    stub: Filename | None = None
    module: Identifier | None = None
    spec: dict[str, JsonValue] = Field(default_factory=dict)


class Description(BaseModel):
    """`lab.yaml` as it stands."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    title: Line
    questions: Annotated[tuple[Described, ...], Field(min_length=1, max_length=200)]


class Asked(BaseModel):
    """One question as students may see it."""

    model_config = ConfigDict(frozen=True)
    id: str
    title: str
    heading: str  # the number in the notebook's own heading; two questions may share one
    kind: str
    points: Decimal
    bonus: bool
    entry: str  # the function asked for; "" for a question answered in words
    parameters: tuple[str, ...]
    prompt: str  # Markdown
    stub: str  # the template's own text of the definition; "" where there is none


class Outline(BaseModel):
    """A pack's public part. `digest` covers what is public only; `grading.pack.Pack.digest` covers all of it."""

    model_config = ConfigDict(frozen=True)
    name: str
    title: str
    digest: str
    questions: tuple[Asked, ...]

    @property
    def out_of(self) -> Decimal:
        return sum((question.points for question in self.questions if not question.bonus), Decimal(0))

    @property
    def bonus_out_of(self) -> Decimal:
        return sum((question.points for question in self.questions if question.bonus), Decimal(0))

    def wanted(self) -> tuple[Wanted, ...]:
        """What to look for in a file, in the pack's order."""
        return tuple(
            Wanted(
                question=question.id,
                entry=question.entry,
                heading=question.heading,
                stubs=(question.stub,) if question.stub else (),
            )
            for question in self.questions
        )


def find(settings: Settings, name: str) -> Path:
    """The folder of a pack by name, among the deployment's own packs or those that come with Rooflab."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
        raise PackError("a pack's name has small letters, digits, _ and - only")
    folder = (settings.packs or Path(__file__).parent / "packs") / name
    if not (folder / "lab.yaml").is_file():
        raise PackError(f"there is no pack {name!r} in {folder.parent}")
    return folder


def read(folder: Path) -> Outline:
    """The public part of the pack in a folder."""
    lab = describe(folder)
    paths = [folder / "lab.yaml"]
    asked = []
    for question in lab.questions:
        prompt = folder / "prompts" / question.prompt
        stub = folder / "stubs" / question.stub if question.stub else None
        paths += [prompt, *([stub] if stub else [])]
        asked.append(
            Asked(
                id=question.id,
                title=question.title,
                heading=question.heading,
                kind=question.kind,
                points=question.points,
                bonus=question.bonus,
                entry=question.entry or "",
                parameters=question.parameters,
                prompt=text_of(prompt, f"question {question.id}, prompt"),
                stub=text_of(stub, f"question {question.id}, stub") if stub else "",
            )
        )
    return Outline(name=lab.name, title=lab.title, digest=digest(folder, paths), questions=tuple(asked))


def describe(folder: Path) -> Description:
    """What `lab.yaml` says, checked."""
    raw = yaml_of(folder / "lab.yaml", "the pack")
    try:
        lab = Description.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        raise PackError("\n".join(_in_words(raw, error))) from error
    problems = [problem for problem in (_repeated(lab), reserved(lab.title)) if problem]
    if problems:
        raise PackError("\n".join(f"lab.yaml: {problem}" for problem in problems))
    return lab


def reserved(title: str) -> str | None:
    """Why a gradebook would drop or misread a column of this title, or None."""
    found = _RESERVED.search(title)
    if found:
        return f"the title {title!r} holds {found.group()!r}: gradebooks drop columns with these words"
    if _ENDS_LIKE_AN_ID.search(title):
        return f"the title {title!r} ends in a number in brackets: gradebooks take it for an assignment's id"
    return None


def text_of(path: Path, what: str) -> str:
    """A pack's own text file, bounded, with line feeds alone."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PackError(f"{what}: {path.name} cannot be read: {error.strerror}") from error
    if len(raw) > MOST_BYTES:
        raise PackError(f"{what}: {path.name} is longer than {MOST_BYTES} bytes")
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise PackError(f"{what}: {path.name} is not UTF-8") from error


def yaml_of(path: Path, what: str) -> Any:
    """What a pack's own YAML file says: plain data that JSON could say as well."""
    text = text_of(path, what)
    try:
        raw = yaml.load(text, Loader=_Loader)
        json.dumps(raw)
    except (yaml.YAMLError, RecursionError, TypeError, ValueError) as error:
        raise PackError(f"{what}: {path.name} is not readable: {' '.join(str(error).split())}") from error
    return raw


def digest(folder: Path, paths: Iterable[Path]) -> str:
    """SHA-256 over files, each by its path in the folder and its bytes, in order of path."""
    total = hashlib.sha256()
    for path in sorted(set(paths)):
        total.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


class _Loader(yaml.SafeLoader):
    """YAML without aliases and repeated keys, and not deeper than a pack can be."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not taken")
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise yaml.YAMLError(f"nested deeper than {MOST_DEPTH}")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key, times in keys.items():
            if times > 1:
                raise yaml.YAMLError(f"{key!r} is given {times} times{node.start_mark}")
        return super().construct_mapping(node, deep)


def in_words(error: ValidationError) -> list[str]:
    """What is wrong, a line for each field."""
    return [f"{_path(one['loc'])}: {one['msg'].removeprefix('Value error, ')}" for one in error.errors()]


def _in_words(raw: Any, error: ValidationError) -> list[str]:
    lines = []
    for one in error.errors():
        where, place = "lab.yaml", one["loc"]
        if len(place) > 1 and place[0] == "questions" and isinstance(place[1], int):
            question = raw["questions"][place[1]]
            name = question.get("id") if isinstance(question, dict) else None
            where, place = f"lab.yaml, question {name or place[1] + 1}", place[2:]
        lines.append(f"{where}, {_path(place)}: {one['msg'].removeprefix('Value error, ')}")
    return lines


def _path(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place) or "the whole"


def _repeated(lab: Description) -> str | None:
    for what, values in (
        ("id", [question.id for question in lab.questions]),
        ("entry", [question.entry for question in lab.questions if question.entry]),
    ):
        for value, times in Counter(values).items():
            if times > 1:
                return f"{times} questions have the {what} {value!r}"
    return None
