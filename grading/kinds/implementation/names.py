"""What the names in an answer's source mean: one walk over its syntax, nothing is run.

A name that its function, an enclosing one or the module binds is the answer's own; one that an import binds, or an
alias of it, stands for a path such as `torch.nn.functional.gelu`. Iterative, and bounded: what is larger than anybody
writes raises `TooLarge`, which is for a person to look at.
"""

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

MAX_BYTES: Final = 100_000
MAX_NODES: Final = 50_000
MOST: Final = 30  # names in a chain of aliases, meanings of one name, parts of one path

Path = tuple[str, ...]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Meaning = Path | ast.AST | None  # what an import brings, a definition or a value, or nothing that can be followed
SELF: Final = ast.ClassDef(name="self", bases=[], keywords=[], body=[], decorator_list=[])  # what `self` means
_BUILTINS: Final = frozenset(dir(builtins))


class TooLarge(Exception):
    """The source has more in it than anybody writes."""


class Role(Enum):
    """What becomes of a name or an attribute where it is read."""

    CALLED = auto()
    PASSED = auto()  # as an argument, into a container, as a result
    ALIASED = auto()  # given another name, under which it is followed
    READ = auto()  # an operand or an annotation: a function is of no use there


@dataclass(frozen=True, slots=True)
class Use:
    """A piece of syntax that may run. `aside`: it may also not (under `if`, in a helper)."""

    node: ast.AST
    role: Role
    aside: bool
    attributes: Path = ()  # read off whatever stands before them, in order
    paths: frozenset[Path] = frozenset()  # what it may stand for: Python's or a library's own things
    certain: bool = False  # it stands for nothing else


@dataclass(slots=True, eq=False)
class _Scope:
    kind: str  # "module", "class", "function", "inline" (a comprehension)
    parent: "_Scope | None" = None
    bound: dict[str, list[Meaning]] = field(default_factory=dict)
    declared: dict[str, "_Scope"] = field(default_factory=dict)  # by `global` and `nonlocal`


@dataclass(frozen=True, slots=True)
class _At:
    scope: _Scope
    role: Role = Role.PASSED
    aside: bool = False
    inside: bool = False  # in a definition


class Names:
    """A source and what it uses, as far as its entry or its loading can reach."""

    def __init__(self, source: str, entry: str) -> None:
        if len(source) > MAX_BYTES:
            raise TooLarge
        self.tree: Final = ast.parse(source)
        self.defined: Final = self._defined()  # names of functions, classes and attributes that are the source's own
        self._starred: list[Path] = []
        self._module = _Scope("module")
        self._scopes: dict[ast.Name, _Scope] = {}
        self._meant: dict[tuple[_Scope, str], tuple[frozenset[Path], bool]] = {}
        walked = [list(self._walk(one, entry)) for one in self.tree.body]
        reached = self._reached(walked, entry)
        self.uses: Final = [self._use(node, at) for position in reached for node, at in walked[position]]

    def meanings(self, name: ast.Name) -> list[Meaning]:
        """All that the source binds this name to, where it stands."""
        place = self.place(name)
        return self.bound(*place) if place else []

    def place(self, name: ast.Name) -> tuple[object, str] | None:
        """The scope, and the name in it, that a name stands for; None where nothing in the source binds it."""
        holder = self._holder(self._scopes.get(name, self._module), name.id)
        return (holder, name.id) if holder else None

    def bound(self, scope: object, name: str) -> list[Meaning]:
        return scope.bound.get(name, []) if isinstance(scope, _Scope) else []

    def is_own(self, node: ast.AST) -> bool:
        """Whether an attribute is read off a class of the source's own, one of its objects, or `self`."""
        for _ in range(MOST):
            if not isinstance(node, ast.Attribute):
                break
            node = node.value
        if isinstance(node, ast.Call):
            node = node.func
        if not isinstance(node, ast.Name):
            return False
        meant = [one.func if isinstance(one, ast.Call) else one for one in self.meanings(node)]
        known = [self.meanings(one) if isinstance(one, ast.Name) else [one] for one in meant]
        return bool(known) and all(one and all(isinstance(each, ast.ClassDef) for each in one) for one in known)

    def in_module(self, name: str) -> list[Meaning]:
        return self._module.bound.get(name, [])

    def _defined(self) -> set[str]:
        found = set()
        for count, node in enumerate(ast.walk(self.tree)):
            if count >= MAX_NODES:
                raise TooLarge
            if isinstance(node, Definition):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
        return found

    def _walk(self, statement: ast.stmt, entry: str) -> Iterator[tuple[ast.AST, _At]]:
        """A top-level statement's nodes in order; on the way, what each binds."""
        elsewhere = entry not in _bound(statement)
        waiting: list[tuple[ast.AST, _At]] = [(statement, _At(self._module, aside=elsewhere))]
        while waiting:
            node, at = waiting.pop()
            if isinstance(node, ast.Name):
                self._scopes[node] = at.scope
                if not isinstance(node.ctx, ast.Load):
                    self._bind(at.scope, node.id, None)
            yield node, at
            waiting.extend(reversed(list(self._children(node, at, elsewhere))))

    def _children(self, node: ast.AST, at: _At, elsewhere: bool) -> Iterator[tuple[ast.AST, _At]]:
        self._declare(node, at.scope)
        scope, aside, inside = at.scope, at.aside, at.inside
        if isinstance(node, Function):
            # A definition under `if` runs as a whole; one inside another may not.
            scope, aside, inside = _Scope("function", at.scope), elsewhere or at.inside, True
            given = node.args
            for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]:
                if argument is not None:
                    self._bind(
                        scope, argument.arg, SELF if at.scope.kind == "class" and argument.arg == "self" else None
                    )
        elif isinstance(node, ast.ClassDef):
            scope = _Scope("class", at.scope)
        elif isinstance(node, Comprehension):
            scope = _Scope("inline", at.scope)
        maybe = {id(one) for one in _may_not_run(node)}
        for name, child in _fields(node):
            if isinstance(child, ast.Name) and name in ("target", "targets") and isinstance(node, _ASSIGNING):
                self._bind_value(node, child, at.scope)
                continue
            within = name in ("body", "elt", "key", "value", "generators")
            yield (
                child,
                _At(
                    scope if within else at.scope,
                    _role(node, name, child, scope),
                    (aside if within else at.aside) or id(child) in maybe,
                    inside if within else at.inside,
                ),
            )

    def _declare(self, node: ast.AST, scope: _Scope) -> None:
        """What a statement binds otherwise than by a name in its syntax."""
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._bind(scope, name, node)
            case ast.Global(names=names):
                scope.declared |= dict.fromkeys(names, self._module)
            case ast.Nonlocal(names=names) if scope.parent is not None:
                scope.declared |= {name: self._holder(scope.parent, name) or self._module for name in names}
            case ast.Import(names=aliases):
                for alias in aliases:
                    path = tuple(alias.name.split("."))
                    self._bind(scope, alias.asname or path[0], path if alias.asname else path[:1])
            case ast.ImportFrom(module=module, names=aliases):
                path = tuple((module or ".").split("."))
                for alias in aliases:
                    if alias.name == "*":
                        self._starred.append(path)
                    else:
                        self._bind(scope, alias.asname or alias.name, (*path, alias.name))
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self._bind(scope, name, None)
            case ast.MatchMapping(rest=str(name)):
                self._bind(scope, name, None)

    def _bind_value(self, node: ast.AST, target: ast.Name, scope: _Scope) -> None:
        while isinstance(node, ast.NamedExpr) and scope.kind == "inline" and scope.parent is not None:
            scope = scope.parent
        self._bind(scope, target.id, getattr(node, "value", None))

    def _bind(self, scope: _Scope, name: str, meaning: Meaning) -> None:
        scope.declared.get(name, scope).bound.setdefault(name, []).append(meaning)

    def _holder(self, scope: _Scope, name: str) -> _Scope | None:
        """The scope whose name this is, seen from another: a class's names are seen from its own body only."""
        at: _Scope | None = scope
        while at is not None:
            if name in at.declared:
                at = at.declared[name]
                return at if name in at.bound else None
            if name in at.bound and (at.kind != "class" or at is scope):
                return at
            at = at.parent
        return None

    def _reached(self, walked: list[list[tuple[ast.AST, _At]]], entry: str) -> list[int]:
        """Top-level statements that run: all but definitions and imports, and those that they and the entry name."""
        binding: dict[str, list[int]] = {}
        waiting = []
        for position, statement in enumerate(self.tree.body):
            names = _bound(statement)
            for name in names:
                binding.setdefault(name, []).append(position)
            if entry in names or not isinstance(statement, Definition | ast.Import | ast.ImportFrom):
                waiting.append(position)
        reached = set(waiting)
        while waiting:
            for node, _ in walked[waiting.pop()]:
                for position in binding.pop(node.id, ()) if isinstance(node, ast.Name) else ():
                    if position not in reached:
                        reached.add(position)
                        waiting.append(position)
        return sorted(reached)

    def _use(self, node: ast.AST, at: _At) -> Use:
        if isinstance(node, ast.ImportFrom | ast.Import):
            return Use(node, Role.READ, at.aside)
        attributes, paths, certain = self._read(node, at.scope, 0)
        return Use(node, at.role, at.aside, attributes, paths, certain)

    def _read(self, node: ast.AST, scope: _Scope, aliases: int) -> tuple[Path, frozenset[Path], bool]:
        """The attributes of a chain such as `a.b.c`, and what the whole of it stands for."""
        attributes: list[str] = []
        while True:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                attributes.append(node.attr)
                node = node.value
            elif isinstance(node, ast.Call) and (asked := attribute_asked(node)) is not None:
                attributes.append(asked)
                node = node.args[0]
            else:
                break
            if len(attributes) > MOST:
                raise TooLarge
        attributes.reverse()
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return tuple(attributes), frozenset(), False
        paths, certain = self._stands_for(node.id, self._scopes.get(node, scope), aliases)
        longer = frozenset((*path, *attributes) for path in paths)
        if len(longer) > MOST or any(len(path) > MOST for path in longer):
            raise TooLarge
        return tuple(attributes), longer, certain

    def _stands_for(self, name: str, scope: _Scope, aliases: int) -> tuple[frozenset[Path], bool]:
        holder = self._holder(scope, name)
        if holder is None:
            own = {("builtins", name)} if name in _BUILTINS else set()
            return frozenset(own | {(*path, name) for path in self._starred[:MOST]}), bool(own) and not self._starred
        if (holder, name) in self._meant:
            return self._meant[holder, name]
        if aliases >= MOST:
            raise TooLarge
        self._meant[holder, name] = frozenset(), False  # what is an alias of itself stands for nothing
        found: set[Path] = set()
        certain = True
        for meaning in holder.bound[name]:
            if isinstance(meaning, tuple):
                found.add(meaning)
            elif isinstance(meaning, ast.Name | ast.Attribute | ast.Call):
                _, paths, sure = self._read(meaning, holder, aliases + 1)
                found |= paths
                certain &= sure
            else:
                certain = False
        self._meant[holder, name] = frozenset(found), certain and bool(found)
        return self._meant[holder, name]


def attribute_asked(node: ast.AST) -> str | None:
    """The constant name that a `getattr` asks for."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        asked = node.args[1] if len(node.args) > 1 else None
        if isinstance(asked, ast.Constant) and isinstance(asked.value, str):
            return asked.value
    return None


_ASSIGNING: Final = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
_OPERANDS: Final = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.FormattedValue, ast.Attribute, ast.Expr)


def _role(node: ast.AST, name: str, child: ast.AST, scope: _Scope) -> Role:
    """What becomes of a child of this node."""
    if (isinstance(node, ast.Call) and name == "func") or name == "decorator_list":
        return Role.CALLED
    if isinstance(node, ast.Call) and name == "args":
        asks = attribute_asked(node) is not None or (isinstance(node.func, ast.Name) and node.func.id == "hasattr")
        return Role.READ if asks and child is node.args[0] else Role.PASSED
    if isinstance(node, _OPERANDS) or name in ("annotation", "returns", "type", "cls"):
        return Role.READ
    if isinstance(node, _ASSIGNING) and name == "value" and scope.kind != "class":
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return Role.ALIASED if all(isinstance(one, ast.Name) for one in targets) else Role.PASSED
    return Role.PASSED


def _fields(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                yield name, child


def _may_not_run(node: ast.AST) -> Iterable[ast.AST]:
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.If | ast.While | ast.For):
        return [*(node.body if isinstance(node, ast.If) else []), *node.orelse]
    if isinstance(node, ast.Try):
        return [*node.handlers, *node.orelse]
    if isinstance(node, ast.Assert):
        return [node.test]
    return node.cases if isinstance(node, ast.Match) else ()


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds or changes, also inside `if` and `try`, but not inside definitions."""
    found = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition):
            found.add(node.name)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return found
