"""The part of a document that one answer needs: imports, definitions and assignments, as the student wrote them.

Which binding of a name counts is the question here; the rules are in docs/decisions/050-which-binding-counts.md.
"""

import ast
import builtins
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from grading.answers import excerpt
from grading.answers.modules import is_known, is_quick
from grading.answers.scopes import TooLarge, Uses, uses
from grading.answers.statements import COMPOUND, Definition, Order, Statement, blocks, keeps, leaves, touched

MAX_STATEMENTS = 2000  # in one slice
ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__builtins__"}


@dataclass(frozen=True, slots=True)
class Slice:
    """One answer's code. `foreign` tells which missing names come from a module that the sandbox does not have."""

    source: str
    definition: str
    missing: tuple[str, ...]
    foreign: dict[str, str]
    statements: tuple[Statement, ...]


class Program:
    """The statements of a document by the names that they bind and change."""

    def __init__(self, statements: Iterable[Statement], supplied: dict[str, str] | None = None) -> None:
        self.statements = list(statements)
        self.supplied = supplied or {}
        self.binders: dict[str, list[Statement]] = defaultdict(list)
        self.mutators: dict[str, list[Statement]] = defaultdict(list)
        self.foreign: dict[str, str] = {}
        self.stars: list[Statement] = []
        self.foreign_stars: list[str] = []
        self.future = False
        self._uses: dict[Statement, Uses] = {}
        for statement in self.statements:
            self._index(statement)

    def _index(self, statement: Statement) -> None:
        if statement.alias is not None:
            if statement.module == "__future__":
                self.future = self.future or statement.alias.name == "annotations"
            elif statement.alias.name == "*":
                if is_known(statement.module):
                    self.stars.append(statement)
                else:
                    self.foreign_stars.append(excerpt.module_name(statement))
            elif is_known(statement.module):
                self.binders[next(iter(statement.binds))].append(statement)
            else:
                self.foreign[next(iter(statement.binds))] = excerpt.module_name(statement)
            return
        for name in statement.binds:
            self.binders[name].append(statement)
        for name in statement.mutates:
            self.mutators[name].append(statement)

    def uses(self, statement: Statement, needed: set[str]) -> Uses:
        """What the statement reads; of a compound one, only what the parts that are kept read."""
        if statement.alias is not None:
            return Uses()
        if statement.compound:
            return uses(_kept_parts(statement.node, needed))
        if statement not in self._uses:
            self._uses[statement] = uses([statement.node])
        return self._uses[statement]

    def setters(self, name: str) -> list[Statement]:
        """Bare calls of functions that set this name through a `global` statement."""
        found = []
        for statement in self.statements:
            match statement.node:
                case ast.Expr(value=ast.Call(func=ast.Name(id=function))):
                    defined = [one for one in self.binders.get(function, ()) if isinstance(one.node, Definition)]
                    if defined and name in self.uses(defined[-1], set()).sets:
                        found.append(statement)
        return found

    def slice(self, name: str, chosen: list[Statement]) -> Slice:
        """All that the chosen statements, which bind the name, need, in notebook order."""
        return _Selection(self, name, chosen).result()


def is_function_like(statement: Statement, name: str) -> bool:
    """Whether the statement makes the name a thing to call or a module, not a value that is set again and again."""
    if statement.alias is not None:
        return True
    for leaf in leaves(statement.node):
        match leaf:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if leaf.name == name:
                    return True
            case ast.Import() | ast.ImportFrom():
                if name in touched(leaf)[0]:
                    return True
            case ast.Assign(value=ast.Lambda()) | ast.AnnAssign(value=ast.Lambda()):
                if name in touched(leaf)[0]:
                    return True
    return False


def with_earlier(name: str, binders: list[Statement], last: int) -> list[Statement]:
    """The binder at this position, and before it those that count where it is conditional."""
    first = last
    while first > 0 and name not in binders[first].surely:
        first -= 1
    chosen = binders[first : last + 1]
    if binders[last].alias is not None and isinstance(binders[last].node, ast.Import):
        # `import a.b` and `import a.c` both bind `a`, and both may be needed.
        plain = [one for one in binders if one.alias is not None and isinstance(one.node, ast.Import)]
        return list({(one.module, one.alias and one.alias.asname): one for one in reversed(plain)}.values())
    return chosen


def _kept_parts(node: ast.stmt, needed: set[str]) -> list[ast.AST]:
    parts: list[ast.AST] = []
    stack: list[ast.AST] = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, COMPOUND):
            inside: list[ast.AST] = [inner for block in blocks(at) for inner in block]
            if isinstance(at, ast.For | ast.AsyncFor):
                parts += [at.iter, at.target]
            elif isinstance(at, ast.Match):
                parts += [at.subject, *(case.pattern for case in at.cases)]
                parts += [case.guard for case in at.cases if case.guard is not None]
            elif isinstance(at, ast.Try | ast.TryStar):
                parts += [handler.type for handler in at.handlers if handler.type is not None]
                parts += [ast.Name(handler.name, ast.Store()) for handler in at.handlers if handler.name]
            elif isinstance(at, ast.With | ast.AsyncWith):
                parts += at.items
            elif isinstance(at, ast.If | ast.While):
                parts.append(at.test)
            stack.extend(reversed(inside))
        elif isinstance(at, ast.stmt) and keeps(at, needed):
            parts.append(at)
    return parts


@dataclass(slots=True)
class _Needs:
    """What one chosen statement rests on."""

    names: set[str]
    eager: list[Statement] = field(default_factory=list)
    lazy: list[Statement] = field(default_factory=list)


class _Selection:
    """The statements chosen so far, and where each name leads."""

    def __init__(self, program: Program, name: str, chosen: list[Statement]) -> None:
        self._program = program
        self._entry = chosen
        self._at_call: dict[str, list[Statement]] = {name: self._with_mutators(name, chosen, None)}
        self._needs: dict[Statement, _Needs] = {}
        self._queue: deque[Statement] = deque()
        self._missing: set[str] = set()
        self._starred = False
        self._future = program.future
        self._supplied: dict[str, str] = {}
        for statement in self._at_call[name]:
            self._take(statement, name)
        while self._queue:
            self._follow(self._queue.popleft())

    def result(self) -> Slice:
        stars = self._program.stars if self._starred else []
        missing = () if stars else tuple(sorted(self._missing))
        ours = ["from __future__ import annotations"] if self._future else []
        ours += sorted(set(self._supplied.values()))
        chosen = [(one, self._needs[one].names) for one in self._in_order()]
        source = excerpt.joined(ours, [(star, {"*"}) for star in stars] + chosen)
        behind = [*self._behind(self._entry), *self._entry]
        definition = "\n".join(excerpt.text(one, self._needs[one].names) for one in behind)
        foreign = {name: self._program.foreign[name] for name in missing if name in self._program.foreign}
        return Slice(source, definition, missing, foreign, tuple(self._needs))

    def _take(self, statement: Statement, name: str) -> None:
        needs = self._needs.get(statement)
        if needs is None:
            if len(self._needs) == MAX_STATEMENTS:
                raise TooLarge
            self._needs[statement] = _Needs({name})
            self._queue.append(statement)
        elif name not in needs.names:
            needs.names.add(name)
            if statement.compound:
                self._queue.append(statement)

    def _follow(self, statement: Statement) -> None:
        needs = self._needs[statement]
        read = self._program.uses(statement, needs.names)
        for name in sorted(read.eager):
            self._need(name, statement, self._before(name, statement), needs.eager)
        for name in sorted(read.lazy):
            self._need(name, statement, self._later(name, statement), needs.lazy)
        for name in sorted(read.annotations) if not self._program.future else ():
            found = self._before(name, statement)
            if all(one.alias is None or is_quick(one.module) for one in found) and (found or name in ALWAYS_THERE):
                self._need(name, statement, found, needs.eager)
            else:
                self._future = True

    def _need(self, name: str, statement: Statement, found: list[Statement], into: list[Statement]) -> None:
        if not found and name not in ALWAYS_THERE:
            found = self._program.setters(name)
        if not found:
            self._not_bound(name)
        for one in found:
            self._take(one, name)
            if one is not statement:
                into.append(one)

    def _not_bound(self, name: str) -> None:
        if name in self._program.supplied and name not in self._program.foreign:
            self._supplied[name] = self._program.supplied[name]
        elif self._program.stars:
            self._starred = True
        elif name not in ALWAYS_THERE:
            self._missing.add(name)

    def _before(self, name: str, statement: Statement) -> list[Statement]:
        """What the name stands for while this statement runs; failing that, what it is made to mean later."""
        binders = self._program.binders.get(name, [])
        earlier = [position for position, one in enumerate(binders) if one.order < statement.order]
        if earlier:
            return self._with_mutators(name, with_earlier(name, binders, earlier[-1]), statement.order)
        if name in statement.binds and statement.compound:
            return [statement]
        if not binders or name in ALWAYS_THERE:
            return []
        return self._with_mutators(name, with_earlier(name, binders, 0), None)

    def _later(self, name: str, statement: Statement) -> list[Statement]:
        """What the name stands for when a function of this statement is called. One meaning for the whole slice."""
        if name not in self._at_call:
            self._at_call[name] = self._when_called(name, statement)
        return self._at_call[name]

    def _when_called(self, name: str, statement: Statement) -> list[Statement]:
        binders = self._program.binders.get(name, [])
        if not binders:
            return []
        earlier = [position for position, one in enumerate(binders) if one.order[0] <= statement.order[0]]
        functions = [position for position, one in enumerate(binders) if is_function_like(one, name)]
        if functions and (not earlier or is_function_like(binders[earlier[-1]], name)):
            return self._with_mutators(name, with_earlier(name, binders, functions[-1]), None)
        if earlier:
            end = (max(statement.order[0], binders[earlier[-1]].order[0]) + 1, 0, 0)
            return self._with_mutators(name, with_earlier(name, binders, earlier[-1]), end)
        if name in ALWAYS_THERE:
            return []
        return self._with_mutators(name, with_earlier(name, binders, 0), (binders[0].order[0] + 1, 0, 0))

    def _with_mutators(self, name: str, chosen: list[Statement], end: Order | None) -> list[Statement]:
        """The binders and the statements that change the bound thing afterwards. A module's settings are left alone."""
        if not chosen or chosen[-1].alias is not None:
            return chosen
        after = [
            one
            for one in self._program.mutators.get(name, ())
            if chosen[-1].order < one.order and (end is None or one.order < end) and one not in chosen
        ]
        return [*chosen, *after]

    def _in_order(self) -> list[Statement]:
        """Notebook order, except that what a statement needs to run comes before it."""
        placed: dict[Statement, None] = {}
        begun: set[Statement] = set()
        for statement in sorted(self._needs, key=lambda one: one.order):
            stack = [(statement, False)]
            while stack:
                at, ready = stack.pop()
                if ready:
                    placed[at] = None
                elif at not in begun:
                    begun.add(at)
                    stack.append((at, True))
                    stack.extend((one, False) for one in reversed(self._to_run(at)))
        return list(placed)

    def _to_run(self, statement: Statement) -> list[Statement]:
        """What must be there when the statement runs: functions that it may call bring along what they read."""
        found: dict[Statement, None] = {}
        waiting = deque(self._needs[statement].eager)
        while waiting:
            one = waiting.popleft()
            if one not in found and one is not statement:
                found[one] = None
                waiting.extend(self._needs[one].lazy)
        return sorted(found, key=lambda one: one.order)

    def _behind(self, chosen: list[Statement]) -> list[Statement]:
        """The definitions that an assignment such as `gemm = torch.compile(fast)` passes on."""
        found: dict[Statement, None] = {}
        waiting = deque(one for one in chosen if isinstance(one.node, ast.Assign | ast.AnnAssign))
        while waiting:
            for one in self._needs[waiting.popleft()].eager:
                if one not in found and one not in chosen and isinstance(one.node, Definition | ast.Assign):
                    if isinstance(one.node, ast.Assign) and not is_function_like(one, next(iter(one.binds), "")):
                        continue
                    found[one] = None
                    waiting.append(one)
        return sorted(found, key=lambda one: one.order)
