"""One code cell's text as top-level statements, each with the names that it binds; what cannot be parsed as faults.

A cell is parsed as Python; failing that, with notebook magics turned into comments; failing that, in pieces, so that a
slip in one line costs only the definition that it stands in. Text is never rewritten except for such lines, and for a
cell that is indented as a whole, which a notebook runs without that indent.
"""

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from grading.answers.decoding import printable
from grading.answers.effort import Effort
from grading.answers.modules import is_known
from grading.answers.notebook import Cell

MAX_PIECE_LINES = 400
MAX_PIECE_TRIES = 30
TRY_COSTS = 100  # as much as so many characters

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Order = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Fault:
    """A syntax error, placed by line and column of its cell, and the text that it spoils.

    `magic` is the cell magic that makes the whole cell something else than Python.
    """

    cell: Cell
    line: int
    column: int
    message: str
    text: str
    magic: str = ""


@dataclass(eq=False, slots=True)
class Statement:
    """One top-level statement, or one alias of an import. `lines` are those of its whole cell, in UTF-8."""

    cell: Cell
    order: Order
    node: ast.stmt
    lines: list[bytes]
    binds: frozenset[str] = frozenset()
    surely: frozenset[str] = frozenset()  # bound whatever branch is taken
    mutates: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()  # made a thing to call or a module, not a value that is set again and again
    alias: ast.alias | None = None
    size: int = 1  # how many statements are in it, itself counted

    @property
    def compound(self) -> bool:
        return isinstance(self.node, COMPOUND)

    @property
    def module(self) -> str:
        """The module that an import needs; "." for a relative one."""
        if isinstance(self.node, ast.ImportFrom):
            return "." if self.node.level else self.node.module or ""
        return self.alias.name if self.alias else ""


@dataclass(slots=True)
class Parsed:
    """What a cell holds."""

    statements: list[Statement] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    indented: bool = False  # the cell as a whole; it was read without


COMPOUND = (ast.If, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While, ast.Match)
MUTATORS = {"append", "extend", "insert", "update", "setdefault", "add"}

_INDENT = re.compile(r"(?:[ \t]*+\n)*+([ \t]++)")
_HIDDEN = re.compile(r"[ \t]*+#++[ \t]*+(BEGIN|END) HIDDEN TESTS")
_PYTHON_CELL_MAGICS = {"time", "timeit", "capture", "prun", "memit", "debug", "python", "python3", "py"}
_MAGIC = re.compile(
    r"^[ \t]*+(?:[%!?]|[\w.]++\?{1,2}[ \t]*+$|[\w., \t]++=[ \t]*+[%!](?!=)"
    r"|(?:pip|pip3|conda|apt|apt-get|wget|cd|ls|pwd|mkdir)[ \t]+[-\w./~])"
)
_PIECE = re.compile(r"^(?![ \t\f#)\]}]|(?:else|elif|except|finally)\b)\S")


def parse(cell: Cell, effort: Effort) -> Parsed:
    """The statements of a code cell, in order."""
    source = cell.source
    hidden = _hidden_lines(source)
    begins = [first for first, _ in hidden]

    def is_hidden(line: int) -> bool:
        at = bisect_right(begins, line) - 1
        return at >= 0 and line <= hidden[at][1]

    magic = re.match(r"\s*%%(\w+)", source)
    if magic and magic[1] not in _PYTHON_CELL_MAGICS:
        name = printable(magic[1], 60)
        return Parsed(faults=[Fault(cell, 1, 1, f"the cell begins with %%{name}", source, magic=name)])
    found = Parsed()
    lines = source.split("\n")
    nodes: list[ast.stmt] | Fault = _attempt(cell, source, 1)
    indent = _INDENT.match(source)
    if isinstance(nodes, Fault):
        if indent:
            lines, found.indented = [line.removeprefix(indent[1]) for line in lines], True
        lines = _without_magics(lines)
        text = "\n".join(lines)
        if text != source:
            nodes = _attempt(cell, text, 1)
    if isinstance(nodes, Fault):
        nodes = list(_pieces(cell, lines, nodes, found.faults, effort))
    encoded = [line.encode(errors="replace") for line in lines]
    walrus = ":=" in source
    for position, node in enumerate(nodes):
        if not is_hidden(node.lineno):
            found.statements.extend(_statements(cell, position, node, encoded, walrus))
    moved = len(indent[1]) if indent and found.indented else 0
    found.faults = [replace(one, column=one.column + moved) for one in found.faults if not is_hidden(one.line)]
    return found


def leaves(node: ast.stmt) -> Iterator[ast.stmt]:
    """The simple statements and definitions in a compound statement, in order; a simple one is its own leaf."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, COMPOUND):
            stack.extend(reversed([inner for block in blocks(at) for inner in block]))
        else:
            yield at


def probes(node: ast.stmt) -> set[ast.stmt]:
    """The imports in the bodies of `try` statements: whether they fail decides which way the code goes."""
    found: set[ast.stmt] = set()
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, COMPOUND):
            if isinstance(at, ast.Try | ast.TryStar):
                found.update(one for one in at.body if isinstance(one, ast.Import | ast.ImportFrom))
            stack.extend(inner for block in blocks(at) for inner in block)
    return found


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of statements directly inside a compound statement."""
    found = [getattr(node, name) for name in ("body", "orelse") if getattr(node, name, None)]
    if isinstance(node, ast.Try | ast.TryStar):
        found[1:1] = [handler.body for handler in node.handlers]
        found += [node.finalbody] if node.finalbody else []
    if isinstance(node, ast.Match):
        found = [case.body for case in node.cases]
    return found


def touched(node: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that one simple statement, or the head of a compound one, binds, and those whose value it changes."""
    binds: set[str] = set()
    mutates: set[str] = set()
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}, mutates
        case ast.Import() | ast.ImportFrom():
            return {alias.asname or alias.name.partition(".")[0] for alias in node.names}, mutates
        case ast.Assign():
            targets: list[ast.expr] = list(node.targets)
        case ast.AnnAssign():
            targets = [node.target] if node.value is not None else []
        case ast.AugAssign():
            targets = [node.target]
        case ast.For() | ast.AsyncFor():
            targets = [node.target]
        case ast.With() | ast.AsyncWith():
            targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=ast.Name(id=name)))) if method in MUTATORS:
            return binds, {name}
        case _:
            alias = getattr(node, "name", None)  # `type X = …` of Python 3.12
            targets = [alias] if isinstance(alias, ast.Name) else []
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Name):
            binds.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            targets.extend(target.elts)
        elif isinstance(target, ast.Starred):
            targets.append(target.value)
        elif (root := _root(target)) is not None:
            mutates.add(root)
    return binds, mutates


def keeps(node: ast.stmt, needed: set[str]) -> bool:
    """Whether a simple statement inside a compound one stays, given the names that are needed of it."""
    binds, mutates = touched(node)
    return bool((binds | mutates) & needed) or isinstance(node, ast.Break | ast.Continue | ast.Pass)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _hidden_lines(source: str) -> list[tuple[int, int]]:
    """The line ranges of hidden tests. They may have been edited: a beginning without its end hides nothing."""
    if "HIDDEN TESTS" not in source:
        return []
    ranges, begin = [], 0
    for number, line in enumerate(source.split("\n"), start=1):
        match = _HIDDEN.match(line)
        if match and match[1] == "BEGIN":
            begin = number
        elif match and begin:
            ranges.append((begin, number))
            begin = 0
    return ranges


def _attempt(cell: Cell, text: str, first_line: int) -> list[ast.stmt] | Fault:
    """The statements of a text that begins at this line of the cell."""
    if "\0" in text or "\f" in text:
        at = min(place for place in (text.find("\0"), text.find("\f")) if place >= 0)
        line = text.count("\n", 0, at)
        return Fault(
            cell, first_line + line, at - text.rfind("\n", 0, at), "a control character that does not belong", text
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        return Fault(cell, first_line + line - 1, max(1, column), printable(error.msg or "invalid syntax"), text)
    except (RecursionError, MemoryError):
        return Fault(cell, first_line, 1, "the code is nested too deeply", text)
    except (ValueError, OverflowError):
        return Fault(cell, first_line, 1, "the code holds something that Python cannot read", text)


def _without_magics(lines: list[str]) -> list[str]:
    """The lines with notebook magics as comments behind a `pass`, where a statement may begin."""
    found, open_string, depth, continued, in_magic = [], "", 0, False, False
    for line in lines:
        beginning = not open_string and depth == 0 and not continued
        if in_magic or (beginning and _MAGIC.match(line)):
            indent = line[: len(line) - len(line.lstrip())]
            found.append(f"{indent}# {line.strip()}" if in_magic else f"{indent}pass  # {line.strip()}")
            in_magic = line.endswith("\\")
            continue
        open_string, depth, continued = _scan(line, open_string, depth)
        found.append(line)
    return found


_TOKEN = re.compile(r"""\\.|\"\"\"|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#.*|[()\[\]{}]""")


def _scan(line: str, open_string: str, depth: int) -> tuple[str, int, bool]:
    """Follow triple quotes and brackets over a line, roughly: only for lines that do not parse as they stand."""
    position = 0
    comment = False
    while True:
        if open_string:
            end = line.find(open_string, position)
            if end < 0:
                return open_string, depth, False
            position, open_string = end + 3, ""
        match = _TOKEN.search(line, position)
        if match is None:
            break
        token, position = match[0], match.end()
        if token in ('"""', "'''"):
            open_string = token
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(0, depth - 1)
        elif token.startswith("#"):
            comment = True
            break
    return open_string, depth, line.endswith("\\") and not comment


def _pieces(cell: Cell, lines: list[str], whole: Fault, faults: list[Fault], effort: Effort) -> Iterator[ast.stmt]:
    """The statements of a broken cell that parse by themselves; what does not is added to the faults."""
    starts = [number for number, line in enumerate(lines) if _PIECE.match(line)]
    if not starts:
        faults.append(whole)
        return
    ends = [*starts[1:], len(lines)]
    at = 0
    while at < len(starts):
        tried = slice(at, at + MAX_PIECE_TRIES)
        nodes, taken = _shortest(cell, lines, starts[tried], ends[tried], effort)
        if nodes is None:
            rest = "\n".join(lines[starts[at] :])
            faults.append(Fault(cell, whole.line, whole.column, whole.message, rest))
            return
        if isinstance(nodes, Fault):
            inside = starts[at] < whole.line <= ends[at]
            faults.append(Fault(cell, whole.line, whole.column, whole.message, nodes.text) if inside else nodes)
        else:
            for node in nodes:
                yield ast.increment_lineno(node, starts[at])
        at += taken


def _shortest(
    cell: Cell, lines: list[str], starts: list[int], ends: list[int], effort: Effort
) -> tuple[list[ast.stmt] | Fault | None, int]:
    """The statements of the fewest pieces that parse together, or what is wrong with the first one alone.

    None when too much has been parsed already to go on.
    """
    first: Fault | None = None
    for taken, end in enumerate(ends, start=1):
        if taken > 1 and end - starts[0] > MAX_PIECE_LINES:
            break
        text = "\n".join(lines[starts[0] : end])
        if not effort.may_repair(len(text) + TRY_COSTS):
            return first, 1
        nodes = _attempt(cell, text, starts[0] + 1)
        if not isinstance(nodes, Fault):
            return nodes, taken
        first = first or nodes
    return first, 1


def _statements(cell: Cell, position: int, node: ast.stmt, lines: list[bytes], walrus: bool) -> Iterator[Statement]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for number, alias in enumerate(node.names):
            name = frozenset({alias.asname or alias.name.partition(".")[0]})
            yield Statement(cell, (cell.number, position, number), node, lines, name, name, functions=name, alias=alias)
        return
    binds, mutates, functions, size = _all_touched(node)
    if walrus:
        binds |= _walrus(node)
    if binds or mutates or isinstance(node, ast.Expr):
        surely = _surely(node) if isinstance(node, COMPOUND) else binds
        yield Statement(
            cell,
            (cell.number, position, 0),
            node,
            lines,
            frozenset(binds),
            frozenset(surely),
            frozenset(mutates),
            frozenset(functions),
            size=size,
        )


def _all_touched(node: ast.stmt) -> tuple[set[str], set[str], set[str], int]:
    """The names that a statement binds, changes and makes functions, anywhere in it, and how many statements it is."""
    size = 0
    binds: set[str] = set()
    mutates: set[str] = set()
    functions: set[str] = set()
    stack = [node]
    while stack:
        at = stack.pop()
        size += 1
        if isinstance(at, COMPOUND):
            stack.extend(inner for block in blocks(at) for inner in block)
        more = touched(at)
        binds |= more[0]
        mutates |= more[1]
        match at:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                functions |= more[0]
            case ast.Assign(value=ast.Lambda()) | ast.AnnAssign(value=ast.Lambda()):
                functions |= more[0]
    return binds, mutates, functions, size


def _surely(node: ast.stmt) -> set[str]:
    """The names that a compound statement binds on every way through it. Elif chains are followed without recursion."""
    branches: list[set[str]] = []
    while isinstance(node, ast.If):
        branches.append(_in_block(node.body))
        if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
            branches.append(_in_block(node.orelse))
            return set.intersection(*branches)
        node = node.orelse[0]
    if isinstance(node, ast.Try | ast.TryStar):
        first = _in_block(node.body + node.orelse)
        ways = [_in_block(handler.body) for handler in node.handlers]
        return (set.intersection(first, *ways)) | _in_block(node.finalbody)
    if isinstance(node, ast.With | ast.AsyncWith):
        return touched(node)[0] | _in_block(node.body)
    return set()


def _in_block(block: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in block:
        found |= _surely(node) if isinstance(node, COMPOUND) else touched(node)[0]
    return found


def _walrus(node: ast.stmt) -> set[str]:
    """Names bound by assignment expressions, outside definitions."""
    if isinstance(node, Definition):
        return set()
    found = set()
    stack: list[ast.AST] = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, ast.NamedExpr):
            found.add(at.target.id)
        if not isinstance(at, Definition | ast.Lambda):
            stack.extend(ast.iter_child_nodes(at))
    return found


def is_foreign(statement: Statement) -> bool:
    """Whether the statement imports from a module that the sandbox does not have."""
    return statement.alias is not None and not is_known(statement.module)
