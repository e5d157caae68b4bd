"""What an answer's source calls that it should not, read off its syntax: nothing here runs or unparses it.

Only what the entry or loading can reach counts, so that a comparison with `@` beside it accuses nobody. What is found
is graded: `known` where a library's own thing is called for certain, `aside` where it may never run.
"""

import ast
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy
import torch

from grading.kinds.implementation import loops
from grading.kinds.implementation.names import Names, Path, Role, TooLarge, Use, attribute_asked

OPAQUE_BUILTINS: Final = {"exec", "eval", "compile", "__import__", "globals", "vars", "locals", "__builtins__"}
OPAQUE_NAMES: Final = {
    "__dict__", "__getattribute__", "__globals__", "__code__", "__closure__", "__subclasses__", "__builtins__",
    "__torch_function__", "__torch_dispatch__", "__import__", "import_module", "methodcaller", "attrgetter",
    "_getframe", "ctypes", "_disable_current_modes", "_pop_mode", "overrides",
}  # fmt: skip
OPAQUE_MODULES: Final = {
    "builtins", "importlib", "ctypes", "inspect", "gc", "base64", "codecs", "marshal", "pickle", "code", "codeop",
    "runpy", "pkgutil", "pydoc", "ast", "dis", "subprocess", "unittest", "doctest",
}  # fmt: skip
OPAQUE_PATHS: Final = {
    ("sys", "modules"), ("string", "Formatter"), ("types", "FunctionType"), ("types", "CodeType"),
    ("timeit", "timeit"), ("timeit", "repeat"), ("timeit", "Timer"),
}  # fmt: skip
_MODULES: Final = {"nn", "functional", "special", "linalg", "cuda", "jit", "random", "testing", "utils"}
_METHODS: Final = frozenset(dir(torch.Tensor)) | frozenset(dir(numpy.ndarray))
_PLAIN: Final = sys.stdlib_module_names - {"operator"}  # builtins among them
_NAMING: Final = (ast.Name, ast.Attribute, ast.Call)  # the last for `getattr` with a constant
_OPERATORS: Final = {"@": ast.MatMult}
SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Finding:
    """A name or operator in the source that a rule speaks of."""

    name: str
    line: int
    text: str  # the source line, shortened
    known: bool
    aside: bool


@dataclass(frozen=True)
class Reading:
    """The part of a source that its entry can reach, or why it could not be read."""

    entry: str
    lines: tuple[str, ...] = ()
    names: Names | None = None
    unreadable: str = ""

    def find(self, wanted: Iterable[str], operators: Iterable[str] = ()) -> list[Finding]:
        """Where these names of libraries, or these operators, are called or passed on."""
        names, signs = frozenset(wanted), tuple(_OPERATORS[operator] for operator in operators)
        found = []
        for use in self._uses:
            if isinstance(use.node, ast.BinOp | ast.AugAssign) and isinstance(use.node.op, signs):
                found.append(self._finding(use, "@", False))
            elif name := self._named(use, names):
                known = use.certain and use.role is Role.CALLED and bool(_of_libraries(use))
                found.append(self._finding(use, name, known))
        return sorted(found, key=lambda one: (one.line, one.name))

    def opaque(self) -> list[Finding]:
        """Where names are reached in a way that cannot be read."""
        return [self._finding(use, name, False) for use in self._uses if (name := self._hiding(use))]

    def unlisted(self, allowed: frozenset[str], spoken_of: frozenset[str]) -> list[Finding]:
        """Where something of a library is used that is neither allowed nor spoken of by another rule."""
        listed = allowed | spoken_of
        found = []
        for use in self._uses:
            if use.role is Role.READ or not isinstance(use.node, _NAMING):
                continue
            aliased = use.role is Role.ALIASED  # so may modules be
            for path in _of_libraries(use) if not any(path[0] == "builtins" for path in use.paths) else ():
                known = len(path) > 1 and (path[0] == "operator" or _is_listed(path[1:], listed))
                if not known and not (aliased and (len(path) == 1 or path[-1] in _MODULES)):
                    found.append(self._finding(use, ".".join(path), False))
            last = use.attributes[-1] if use.attributes and not use.paths else ""
            if last in _METHODS and not _is_listed((last,), listed) and not self._is_own(use, last):
                found.append(self._finding(use, last, False))
        return found

    def uses(self, wanted: Iterable[str]) -> bool:
        """Whether any of these names or attributes is read."""
        names = frozenset(wanted)
        return any(
            (isinstance(use.node, ast.Name) and use.node.id in names)
            or (isinstance(use.node, ast.Attribute) and use.node.attr in names)
            for use in self._uses
        )

    @cached_property
    def depth(self) -> int:
        """In how many loops a product stands that the entry can reach."""
        return loops.depth(self.names, self.entry) if self.names else 0

    @property
    def _uses(self) -> list[Use]:
        return self.names.uses if self.names else []

    def _named(self, use: Use, names: frozenset[str]) -> str:
        if isinstance(use.node, ast.MatchClass):
            return next((name for name in use.node.kwd_attrs if name in names), "")
        if use.role is Role.READ or not isinstance(use.node, _NAMING):
            return ""
        if (
            isinstance(use.node, ast.Name)
            and use.role is not Role.CALLED
            and not use.certain
            and self._is_bound(use.node)
        ):
            return ""  # something of its own may have taken the name, and a number is passed on as a function is
        for path in _of_libraries(use):
            if "backends" not in path and (name := next((part for part in path[1:] if part in names), "")):
                return name
        if use.paths and use.certain:
            return ""
        return next((one for one in use.attributes if one in names and not self._is_own(use, one)), "")

    def _hiding(self, use: Use) -> str:
        node = use.node
        if isinstance(node, ast.Import | ast.ImportFrom):
            return next((root for root in _roots(node) if root in OPAQUE_MODULES), "")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            return "getattr" if attribute_asked(node) is None and not self._is_bound(node.func) else ""
        for path in use.paths:
            if path[0] == "builtins" and (
                path[-1] in OPAQUE_BUILTINS or (path[-1] == "getattr" and use.role is not Role.CALLED)
            ):
                return path[-1]
            if path[:2] in OPAQUE_PATHS:
                return ".".join(path[:2])
            if hidden := next((part for part in path[1:] if part in OPAQUE_NAMES), ""):
                return hidden
        return next((one for one in use.attributes if one in OPAQUE_NAMES), "")

    def _is_bound(self, name: ast.Name) -> bool:
        return self.names is not None and self.names.place(name) is not None

    def _is_own(self, use: Use, name: str) -> bool:
        return self.names is not None and name in self.names.defined and self.names.is_own(use.node)

    def _finding(self, use: Use, name: str, known: bool) -> Finding:
        line = getattr(use.node, "lineno", 0)
        text = shown(self.lines[line - 1]) if 0 < line <= len(self.lines) else ""
        return Finding(name, line, text, known, use.aside)


def look(source: str, entry: str) -> Reading:
    """Read a source from its entry on."""
    try:
        return Reading(entry, tuple(source.split("\n")), Names(source, entry))
    except TooLarge:
        return Reading(entry, unreadable="the source is too large to be searched for what it calls")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Reading(entry, unreadable="the source is too deep to be searched for what it calls")


def shown(line: str) -> str:
    """A source line as it may be quoted: short, and without characters that hide or turn round what follows."""
    return "".join(one if one.isprintable() else " " for one in line.strip()[:SHOWN])


def _of_libraries(use: Use) -> list[Path]:
    return [path for path in use.paths if path[0] not in _PLAIN]


def _is_listed(parts: Path, listed: frozenset[str]) -> bool:
    if any(part.startswith("_") and not part.startswith("__") for part in parts):
        return False
    last = parts[-1]
    return bool({last, last.rstrip("_"), last.strip("_")} & listed)


def _roots(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").split(".")[0]]
    return [alias.name.split(".")[0] for alias in node.names]
