"""The part of a document that one answer needs: imports, definitions and assignments, as the student wrote them.

Which binding of a name counts is the question here; the rules are in docs/decisions/050-which-binding-counts.md.
"""

import ast
import builtins
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from grading.answers import excerpt
from grading.answers.effort import Effort, TooLarge
from grading.answers.modules import CUSTOMARY, is_known, is_quick
from grading.answers.scopes import Uses, uses
from grading.answers.statements import COMPOUND, Definition, Order, Statement, blocks, keeps

MAX_STATEMENTS = 2000  # in one slice
MAX_BLOCK = 10_000  # statements in one compound statement of which a part is needed
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

    def __init__(self, statements: Iterable[Statement], effort: Effort, supplied: dict[str, str] | None = None) -> None:
        self.statements = list(statements)
        self.effort = effort
        self.supplied: dict[str, str] = {}
        self.binders: dict[str, list[Statement]] = defaultdict(list)
        self.mutators: dict[str, list[Statement]] = defaultdict(list)
        self.foreign: dict[str, str] = {}
        self.stars: list[Statement] = []
        self.foreign_stars: list[str] = []
        self.future = False
        self._last_function: dict[str, int] = {}
        self._uses: dict[Statement, Uses] = {}
        self._imports: dict[str, list[Statement]] = {}
        self._set_by: dict[str, list[Statement]] | None = None
        for statement in self.statements:
            self._index(statement)
        # What a star of the course's own module brings is not known, but a lab's notebook counts on these.
        self.supplied = supplied or (CUSTOMARY if self.foreign_stars else {})

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
                self._add_binder(next(iter(statement.binds)), statement)
            else:
                self.foreign[next(iter(statement.binds))] = excerpt.module_name(statement)
            return
        for name in statement.binds:
            self._add_binder(name, statement)
        for name in statement.mutates:
            self.mutators[name].append(statement)

    def _add_binder(self, name: str, statement: Statement) -> None:
        self.binders[name].append(statement)
        if name in statement.functions:
            self._last_function[name] = len(self.binders[name]) - 1

    def uses(self, statement: Statement, needed: set[str]) -> Uses:
        """What the statement reads; of a compound one, only what the parts that are kept read."""
        if statement.alias is not None:
            return Uses()
        if statement.compound:
            self.effort.spend(statement.size)
            return uses(_kept_parts(statement.node, needed), self.effort)
        if statement not in self._uses:
            self._uses[statement] = uses([statement.node], self.effort)
        return self._uses[statement]

    def with_earlier(self, name: str, last: int) -> list[Statement]:
        """The name's binder at this position, and before it those that count where it is conditional."""
        binders = self.binders[name]
        if isinstance(binders[last].node, ast.Import):
            return self._plain_imports(name)
        first = last
        while first > 0 and name not in binders[first].surely:
            first -= 1
        return binders[first : last + 1]

    def last_function(self, name: str) -> int | None:
        """The position of the last binder that makes the name a thing to call or a module."""
        return self._last_function.get(name)

    def setters(self, name: str) -> list[Statement]:
        """Bare calls of functions that set this name through a `global` statement."""
        if self._set_by is None:
            self._set_by = self._all_setters()
        return self._set_by.get(name, [])

    def slice(self, name: str, chosen: list[Statement]) -> Slice:
        """All that the chosen statements, which bind the name, need, in notebook order."""
        return _Selection(self, name, chosen).result()

    def _plain_imports(self, name: str) -> list[Statement]:
        """`import a.b` and `import a.c` both bind `a`, and both may be needed."""
        if name not in self._imports:
            plain = [one for one in self.binders[name] if one.alias is not None and isinstance(one.node, ast.Import)]
            different = {(one.module, one.alias and one.alias.asname): one for one in reversed(plain)}
            self._imports[name] = list(different.values())
        return self._imports[name]

    def _all_setters(self) -> dict[str, list[Statement]]:
        found: dict[str, list[Statement]] = defaultdict(list)
        calls: dict[str, list[Statement]] = defaultdict(list)
        for statement in self.statements:
            match statement.node:
                case ast.Expr(value=ast.Call(func=ast.Name(id=function))):
                    calls[function].append(statement)
        for function, called in calls.items():
            defined = [one for one in self.binders.get(function, ()) if isinstance(one.node, Definition)]
            for name in self.uses(defined[-1], set()).sets if defined else ():
                self.effort.spend(len(called))
                found[name] += called
        for several in found.values():
            several.sort(key=_order)
        return found


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
    eager: dict[Statement, None] = field(default_factory=dict)
    lazy: dict[Statement, None] = field(default_factory=dict)


class _Selection:
    """The statements chosen so far, and where each name leads."""

    def __init__(self, program: Program, name: str, chosen: list[Statement]) -> None:
        self._program = program
        self._entry = chosen
        self._at_call: dict[str, list[Statement]] = {name: self._with_mutators(name, chosen, None)}
        self._needs: dict[Statement, _Needs] = {}
        self._queue: dict[Statement, None] = {}
        self._missing: set[str] = set()
        self._starred = False
        self._future = program.future
        self._supplied: dict[str, str] = {}
        for statement in self._at_call[name]:
            self._take(statement, name)
        while self._queue:
            statement = next(iter(self._queue))
            del self._queue[statement]
            self._follow(statement)

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
                raise TooLarge(f"it has more than {MAX_STATEMENTS:,} statements")
            if statement.size > MAX_BLOCK:
                raise TooLarge(f"it stands in a block of more than {MAX_BLOCK:,} statements")
            self._needs[statement] = _Needs({name})
            self._queue[statement] = None
        elif name not in needs.names:
            needs.names.add(name)
            if statement.compound:
                self._queue[statement] = None

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

    def _need(self, name: str, statement: Statement, found: list[Statement], into: dict[Statement, None]) -> None:
        if not found and name not in ALWAYS_THERE:
            found = self._program.setters(name)
        if not found:
            self._not_bound(name)
        self._program.effort.spend(len(found))
        for one in found:
            self._take(one, name)
            if one is not statement:
                into[one] = None

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
        earlier = bisect_left(binders, statement.order, key=_order)
        if earlier:
            return self._with_mutators(name, self._program.with_earlier(name, earlier - 1), statement.order)
        if name in statement.binds and statement.compound:
            return [statement]
        if not binders or name in ALWAYS_THERE:
            return []
        return self._with_mutators(name, self._program.with_earlier(name, 0), None)

    def _later(self, name: str, statement: Statement) -> list[Statement]:
        """What the name stands for when a function of this statement is called. One meaning for the whole slice."""
        if name not in self._at_call:
            self._at_call[name] = self._when_called(name, statement)
        return self._at_call[name]

    def _when_called(self, name: str, statement: Statement) -> list[Statement]:
        binders = self._program.binders.get(name, [])
        if not binders:
            return []
        earlier = bisect_right(binders, statement.order[0], key=_cell) - 1
        function = self._program.last_function(name)
        if function is not None and (earlier < 0 or name in binders[earlier].functions):
            return self._with_mutators(name, self._program.with_earlier(name, function), None)
        if earlier >= 0:
            end = (max(statement.order[0], binders[earlier].order[0]) + 1, 0, 0)
            return self._with_mutators(name, self._program.with_earlier(name, earlier), end)
        if name in ALWAYS_THERE:
            return []
        return self._with_mutators(name, self._program.with_earlier(name, 0), (binders[0].order[0] + 1, 0, 0))

    def _with_mutators(self, name: str, chosen: list[Statement], end: Order | None) -> list[Statement]:
        """The binders and the statements that change the bound thing afterwards. A module's settings are left alone."""
        if not chosen or chosen[-1].alias is not None:
            return chosen
        mutators = self._program.mutators.get(name, [])
        first = bisect_right(mutators, chosen[-1].order, key=_order)
        last = len(mutators) if end is None else bisect_left(mutators, end, key=_order)
        return [*chosen, *mutators[first:last]]

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
            self._program.effort.spend(1)
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
                    if isinstance(one.node, ast.Assign) and not one.functions:
                        continue
                    found[one] = None
                    waiting.append(one)
        return sorted(found, key=lambda one: one.order)


def _order(statement: Statement) -> Order:
    return statement.order


def _cell(statement: Statement) -> int:
    return statement.order[0]
