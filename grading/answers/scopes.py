"""Which global names a piece of code reads, and when: as it is loaded, or only once a function in it is called.

Iterative throughout: the depth of a student's code costs no stack. Nothing is evaluated.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grading.answers.effort import Effort


@dataclass(slots=True)
class Uses:
    """Global names by when they are read. `annotations` holds those that only annotations need."""

    eager: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)
    annotations: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)  # assigned in a function, through a `global` statement


def uses(nodes: Sequence[ast.AST], effort: Effort) -> Uses:
    """The names that these nodes, standing in order at the top level of a module, read from it."""
    return _Reader(effort).read(nodes)


@dataclass(slots=True, eq=False)
class _Scope:
    kind: str  # "module", "class", "function", "inline" (a comprehension, type parameters)
    parent: "_Scope | None" = None
    lazy: bool = False
    bound: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)  # by `global`


@dataclass(slots=True)
class _Read:
    name: str
    scope: _Scope
    annotation: bool
    bound_here: bool  # at that moment: modules and classes run from top to bottom
    bound_in_module: bool


class _Reader:
    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._module = _Scope("module")
        self._stack: list[tuple[ast.AST, _Scope, bool]] = []
        self._reads: list[_Read] = []
        self._uses = Uses()

    def read(self, nodes: Sequence[ast.AST]) -> Uses:
        self._push(nodes, self._module)
        while self._stack:
            self._effort.spend(1)
            self._visit(*self._stack.pop())
        for read in self._reads:
            self._resolve(read)
        self._uses.annotations -= self._uses.eager | self._uses.lazy
        return self._uses

    def _push(self, nodes: Iterable[ast.AST | None], scope: _Scope, annotation: bool = False) -> None:
        """To be visited in this order, before all that already waits."""
        self._stack.extend((node, scope, annotation) for node in reversed(list(nodes)) if node is not None)

    def _visit(self, node: ast.AST, scope: _Scope, annotation: bool) -> None:
        match node:
            case ast.Name(ctx=ast.Load()):
                self._reads.append(
                    _Read(node.id, scope, annotation, node.id in scope.bound, node.id in self._module.bound)
                )
            case ast.Name():
                self._bind(node.id, scope)
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, scope, annotation)
            case ast.ClassDef():
                inner = _Scope("class", _typed(node, scope), scope.lazy, {"__qualname__", "__module__"})
                self._push([_store(node.name)], scope)
                self._push(node.body, inner)
                self._push([*node.decorator_list, *node.bases, *node.keywords], scope)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                self._comprehension([node.elt], node.generators, scope, annotation)
            case ast.DictComp():
                self._comprehension([node.key, node.value], node.generators, scope, annotation)
            case ast.Assign():
                self._push([node.value, *node.targets], scope)
            case ast.AugAssign():
                read = ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name) else None
                self._push([read, node.value, node.target], scope)
            case ast.AnnAssign():
                self._annotated(node, scope)
            case ast.NamedExpr():
                home = scope
                while home.kind == "inline" and home.parent:
                    home = home.parent
                self._push([node.target], home)
                self._push([node.value], scope, annotation)
            case ast.For() | ast.AsyncFor():
                self._push([node.iter, node.target, *node.body, *node.orelse], scope)
            case ast.Global():
                scope.declared.update(node.names)
            case _:
                for name in _bound_by(node):
                    self._bind(name, scope)
                self._push(ast.iter_child_nodes(node), scope, annotation)

    def _bind(self, name: str, scope: _Scope) -> None:
        if name in scope.declared:
            self._uses.sets.add(name)
        else:
            scope.bound.add(name)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: _Scope, annotation: bool
    ) -> None:
        outer = scope
        while outer.kind == "class" and outer.parent:  # a method does not see its class's names
            outer = outer.parent
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        present = [argument for argument in every if argument is not None]
        inner = _Scope("function", outer, lazy=True, bound={argument.arg for argument in present})
        if isinstance(node, ast.Lambda):
            self._push([node.body], inner, annotation)
        else:
            typed = _typed(node, scope)
            inner.parent = outer if typed is scope else typed
            self._push([_store(node.name)], scope)
            self._push(node.body, inner)
            self._push([*(argument.annotation for argument in present), node.returns], typed, annotation=True)
            self._push(node.decorator_list, scope)
        self._push([*arguments.defaults, *arguments.kw_defaults], scope)

    def _comprehension(
        self, results: list[ast.expr], generators: list[ast.comprehension], scope: _Scope, annotation: bool
    ) -> None:
        inner = _Scope("inline", scope, scope.lazy)
        self._push(results, inner, annotation)
        for position, generator in reversed(list(enumerate(generators))):
            self._push([generator.target, *generator.ifs], inner, annotation)
            self._push([generator.iter], inner if position else scope, annotation)

    def _annotated(self, node: ast.AnnAssign, scope: _Scope) -> None:
        if scope.kind in ("module", "class"):  # those of local variables are never evaluated
            self._push([node.annotation], scope, annotation=True)
        if node.value is not None or scope.kind == "function" or not isinstance(node.target, ast.Name):
            self._push([node.target], scope)
        self._push([node.value], scope)

    def _resolve(self, read: _Read) -> None:
        at: _Scope | None = read.scope
        lazy = False
        while at is not None and at.kind != "module":
            self._effort.spend(1)
            lazy = lazy or at.lazy
            if read.name in at.declared:
                break
            if at.kind == "class":
                if at is read.scope and read.bound_here:
                    return
            elif read.name in at.bound:
                return
            at = at.parent
        if read.annotation:
            self._uses.annotations.add(read.name)
        elif lazy:
            self._uses.lazy.add(read.name)
        elif not read.bound_in_module:
            self._uses.eager.add(read.name)


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _typed(node: ast.AST, scope: _Scope) -> _Scope:
    """The scope that holds a definition's type parameters (Python 3.12), or the one around it when it has none."""
    parameters = getattr(node, "type_params", ())
    return _Scope("inline", scope, scope.lazy, {one.name for one in parameters}) if parameters else scope


def _bound_by(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Import() | ast.ImportFrom():
            return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
    return ()
