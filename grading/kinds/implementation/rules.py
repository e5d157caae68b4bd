"""What an answer's source calls that it should not, read off its syntax: nothing here runs or unparses it.

Only what the entry can reach counts, so that a comparison with `@` beside it accuses nobody. What is found is graded:
`known` where the name is a library's own for certain, `aside` where it may never run (under `if`, in a helper).
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

LIBRARIES: Final = {"torch", "numpy", "scipy", "transformers", "flash_attn", "einops", "opt_einsum", "operator", "jax"}
OPAQUE_NAMES: Final = {"exec", "eval", "compile", "__import__", "globals", "vars", "locals"}
OPAQUE_ATTRIBUTES: Final = {
    "__dict__", "__getattribute__", "__globals__", "__code__", "__closure__", "__subclasses__",
    "import_module", "methodcaller", "attrgetter", "_getframe", "ctypes", "_disable_current_modes", "_pop_mode",
}  # fmt: skip
OPAQUE_MODULES: Final = {"importlib", "ctypes", "inspect", "gc", "base64", "codecs", "marshal", "pickle"}
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


@dataclass(frozen=True, slots=True)
class Reading:
    """The part of a source that its entry can reach. `readable` is false where Python's own parser gave up."""

    readable: bool
    lines: tuple[str, ...] = ()
    nodes: tuple[tuple[ast.AST, bool], ...] = ()  # each with whether it stands aside
    libraries: frozenset[str] = frozenset()  # names that are a library, or a part of one
    imported: tuple[tuple[str, str], ...] = ()  # name here -> name in its library
    starred: bool = False  # `from torch import *`
    defined: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Every name and attribute that is used."""
        used = {node.id for node, _ in self.nodes if isinstance(node, ast.Name)}
        return frozenset(used | {node.attr for node, _ in self.nodes if isinstance(node, ast.Attribute)})

    def find(self, names: Iterable[str], operators: Iterable[str] = ()) -> list[Finding]:
        """Where these names of libraries, or these operators, are used."""
        wanted, signs = set(names), tuple(_OPERATORS[operator] for operator in operators)
        imported = dict(self.imported)
        found = []
        for node, aside in self.nodes:
            name, known = self._used(node, wanted, imported)
            if name:
                found.append(self._finding(node, name, known, aside))
            elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, signs):
                found.append(self._finding(node, "@", False, aside))
        return sorted(found, key=lambda one: (one.line, one.name))

    def opaque(self) -> list[Finding]:
        """Where names are reached in a way that cannot be read."""
        found = []
        for node, aside in self.nodes:
            name = ""
            if isinstance(node, ast.Name) and node.id in OPAQUE_NAMES and node.id not in self.defined:
                name = node.id
            elif isinstance(node, ast.Attribute) and node.attr in OPAQUE_ATTRIBUTES:
                name = node.attr
            elif _is_getattr(node) and _attribute_asked(node) is None:
                name = "getattr"
            elif isinstance(node, ast.Import | ast.ImportFrom):
                name = next((root for root in _roots(node) if root in OPAQUE_MODULES), "")
            if name:
                found.append(self._finding(node, name, False, aside))
        return found

    def _used(self, node: ast.AST, wanted: set[str], imported: dict[str, str]) -> tuple[str, bool]:
        if isinstance(node, ast.Attribute) and node.attr in wanted:
            known = self._is_library(node.value)
            return (node.attr, known) if known or node.attr not in self.defined else ("", False)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if imported.get(node.id) in wanted:
                return imported[node.id], node.id not in self.defined
            if self.starred and node.id in wanted and node.id not in self.defined:
                return node.id, True
        if _is_getattr(node) and (asked := _attribute_asked(node)) in wanted:
            return str(asked), False
        return "", False

    def _is_library(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.libraries

    def _finding(self, node: ast.AST, name: str, known: bool, aside: bool) -> Finding:
        line = getattr(node, "lineno", 0)
        text = shown(self.lines[line - 1]) if 0 < line <= len(self.lines) else ""
        return Finding(name, line, text, known, aside)


def look(source: str, entry: str) -> Reading:
    """Read a source from its entry on."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Reading(False)
    libraries, imported, starred = _imports(tree)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return Reading(
        readable=True,
        lines=tuple(source.split("\n")),
        nodes=tuple(_reachable(tree, entry)),
        libraries=frozenset(libraries),
        imported=tuple(imported.items()),
        starred=starred,
        defined=frozenset(defined),
    )


def shown(line: str) -> str:
    """A source line as it may be quoted: short, and without characters that hide or turn round what follows."""
    return "".join(one if one.isprintable() else " " for one in line.strip()[:SHOWN])


def _reachable(tree: ast.Module, entry: str) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of every top-level statement that the entry needs, by the names that they bind."""
    binding: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _bound(statement):
            binding.setdefault(name, []).append(statement)
    waiting, seen, done = [entry], {entry}, set()
    while waiting:
        name = waiting.pop()
        for statement in binding.get(name, ()):
            if id(statement) in done:
                continue
            done.add(id(statement))
            for node, aside in _walk(statement, name != entry):
                yield node, aside
                if isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    waiting.append(node.id)


def _walk(statement: ast.stmt, elsewhere: bool) -> Iterator[tuple[ast.AST, bool]]:
    """A statement's nodes, each with whether it may never run. `elsewhere`: the statement is not the entry's own."""
    waiting: list[tuple[ast.AST, bool, bool]] = [(statement, elsewhere, False)]
    while waiting:
        node, aside, inside = waiting.pop()
        yield node, aside
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            aside = elsewhere or inside  # a definition under `if` runs as a whole; one inside another may not
            inside = True
        maybe = _may_not_run(node)
        for child in ast.iter_child_nodes(node):
            waiting.append((child, aside or any(child is one for one in maybe), inside))


def _may_not_run(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.If | ast.While | ast.For):
        return [*(node.body if isinstance(node, ast.If) else []), *node.orelse]
    if isinstance(node, ast.Try):
        return [*node.handlers, *node.orelse]
    if isinstance(node, ast.Assert):
        return [node.test]
    return list(node.cases) if isinstance(node, ast.Match) else []


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a top-level statement binds, also inside `if` and `try`, but not inside its definitions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name))  # `A.f = …` changes A
        waiting.extend(ast.iter_child_nodes(node))


def _imports(tree: ast.Module) -> tuple[set[str], dict[str, str], bool]:
    libraries, imported, starred = set(LIBRARIES), {}, False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in LIBRARIES:
                    libraries.add(alias.asname or alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in LIBRARIES:
            for alias in node.names:
                starred |= alias.name == "*"
                libraries.add(alias.asname or alias.name)
                imported[alias.asname or alias.name] = alias.name
    return libraries, imported, starred


def _roots(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield (node.module or "").split(".")[0]
    else:
        yield from (alias.name.split(".")[0] for alias in node.names)


def _is_getattr(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"


def _attribute_asked(node: ast.AST) -> str | None:
    """The constant name that a `getattr` asks for."""
    if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
        value = node.args[1].value
        return value if isinstance(value, str) else None
    return None
