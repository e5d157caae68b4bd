"""How many loops stand around a product that an answer's entry can reach: through helpers, methods and lambdas too.

Generous: what looks like a loop or a product counts as one. It says only that an answer has none to show.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from grading.kinds.implementation.names import MOST, Comprehension, Function, Names

DEEP: Final = 3  # from which on nobody counts
_LOOPING: Final = {"map", "starmap", "reduce", "filter", "accumulate"}  # each a loop over what it is given to call
_PRODUCTS: Final = {"product", "ndindex", "cartesian_prod"}
_MULTIPLYING: Final = {"mul", "mul_", "multiply", "addcmul", "addcmul_", "prod", "fma", "__mul__", "imul"}
_WRAPPING: Final = {"enumerate", "reversed", "list", "tuple", "iter", "tqdm", "sorted"}


Place = ast.AST | tuple[object, str]  # a function, class or value; or a name, with the scope in which it is bound
_ATTRIBUTE: Final = "attribute"  # stands for the scope of all attributes


@dataclass(slots=True, eq=False)
class _Unit:
    """A function, or the module: in how many loops of its own its products stand, and what else it refers to."""

    products: int | None = None  # None where it has none
    recursive: bool = False
    refers: set[tuple[Place, int]] = field(default_factory=set)


def depth(names: Names, entry: str) -> int:
    """The most loops around a product that calling the entry can reach, at most `DEEP`; recursion counts as that."""
    source = _Source(names)
    waiting: list[tuple[Place, int]] = [(one, 0) for one in names.in_module(entry) if isinstance(one, ast.AST)]
    done, deepest = set(waiting), 0
    while waiting and deepest < DEEP:
        place, outer = waiting.pop()
        unit = source.unit(place)
        if unit.products is not None:
            deepest = max(deepest, DEEP if unit.recursive else outer + unit.products)
        for target, level in unit.refers:
            after = target, min(DEEP, outer + level)
            if after not in done:
                done.add(after)
                waiting.append(after)
    return min(deepest, DEEP)


class _Source:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._units: dict[Place, _Unit] = {}
        self._attributes: dict[str, list[ast.AST]] = {}  # methods and values that an attribute of this name may be
        self._assigned: dict[str, ast.expr] = {}
        self._plain: dict[ast.AST, int] = {}
        for node in ast.walk(names.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._attributes.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Attribute):
                        self._attributes.setdefault(target.attr, []).append(node.value)
                    elif isinstance(target, ast.Name):
                        self._assigned[target.id] = node.value
        self._walk(names.tree)

    def unit(self, place: Place) -> _Unit:
        """A function's own; for anything else, one that refers to all that it may lead to."""
        if place not in self._units:
            if isinstance(place, ast.AST):
                leads = [lead for one in ast.walk(place) if (lead := self._lead(one)) is not None]
            elif place[0] == _ATTRIBUTE:
                leads = list(self._attributes.get(place[1], ()))
            else:
                leads = [one for one in self._names.bound(*place) if isinstance(one, ast.AST)]
            self._units[place] = _Unit(refers={(one, 0) for one in leads})
        return self._units[place]

    def _lead(self, node: ast.AST) -> Place | None:
        if isinstance(node, Function):
            return node
        if isinstance(node, ast.Name):
            return self._names.place(node)
        if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
            return _ATTRIBUTE, node.attr
        return None

    def _walk(self, tree: ast.Module) -> None:
        waiting: list[tuple[ast.AST, _Unit, int, str]] = [(tree, _Unit(), 0, "")]
        while waiting:
            node, unit, level, around = waiting.pop()
            lead = self._lead(node)
            if lead is not None and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                unit.refers.add((lead, level))
            if around in (getattr(node, "id", None), getattr(node, "attr", None)):
                unit.recursive = True
            if _multiplies(node):
                unit.products = max(unit.products or 0, level)
            if isinstance(node, Function):
                around = "" if isinstance(node, ast.Lambda) else node.name
                unit, level = _Unit(), 0
                self._units[node] = unit
            for child, deeper in self._children(node, level):
                waiting.append((child, unit, deeper, around))

    def _children(self, node: ast.AST, level: int) -> Iterator[tuple[ast.AST, int]]:
        if isinstance(node, ast.For | ast.AsyncFor):
            yield node.iter, level
            within = level + self._loops(node.iter)
            yield from ((one, within) for one in node.body)
        elif isinstance(node, ast.While):
            yield from ((one, level + 1) for one in [node.test, *node.body])
        elif isinstance(node, Comprehension):
            for generator in node.generators:
                yield generator.iter, level
                level += self._loops(generator.iter)
                yield from ((one, level) for one in generator.ifs)
            yield from ((one, level) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
        elif isinstance(node, ast.Call):
            within = level + (_tail(node.func) in _LOOPING)
            yield node.func, level
            yield from ((one, within) for one in [*node.args, *node.keywords])
        else:
            yield from ((one, level) for one in ast.iter_child_nodes(node))

    def _loops(self, over: ast.expr) -> int:
        """How many loops one `for` over this stands for: three over `product(range(N), range(M), range(K))`."""
        over = self._followed(over)
        if isinstance(over, Comprehension):
            return len(over.generators)
        if not isinstance(over, ast.Call):
            return 1
        name = _tail(over.func)
        if name in self._attributes:
            return max(1, *(self._plain_loops(one) for one in self._attributes[name][:MOST]))
        if not over.args:
            return 1
        if name in _PRODUCTS:
            if over.keywords or any(isinstance(one, ast.Starred) for one in over.args):
                return DEEP
            return min(DEEP, 2 if len(over.args) == 1 else len(over.args))
        if name == "ndenumerate":
            return 2
        return self._factors(over.args[0 if len(over.args) == 1 else 1]) if name == "range" else 1

    def _plain_loops(self, node: ast.AST) -> int:
        """How many loops stand inside each other in one function's own syntax."""
        if node not in self._plain:
            self._plain[node] = 1
            waiting = [(node, 0)]
            while waiting:
                one, level = waiting.pop()
                level += len(one.generators) if isinstance(one, Comprehension) else isinstance(one, ast.For | ast.While)
                self._plain[node] = max(self._plain[node], level)
                waiting.extend((child, level) for child in ast.iter_child_nodes(one))
        return self._plain[node]

    def _factors(self, count: ast.expr) -> int:
        """How many sizes are multiplied in the bound of a range."""
        count = self._followed(count)
        if isinstance(count, ast.Call) and _tail(count.func) == "prod":
            return DEEP
        found = 1
        while isinstance(count, ast.BinOp) and isinstance(count.op, ast.Mult) and found < DEEP:
            found, count = found + 1, self._followed(count.left)
        return found

    def _followed(self, node: ast.expr) -> ast.expr:
        for _ in range(MOST):
            if isinstance(node, ast.Name) and node.id in self._assigned:
                node = self._assigned[node.id]
            elif isinstance(node, ast.Call) and _tail(node.func) in _WRAPPING and node.args:
                node = node.args[0]
            else:
                break
        return node


def _multiplies(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.Mult)
    return isinstance(node, ast.Name | ast.Attribute) and _tail(node) in _MULTIPLYING


def _tail(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
