"""From a document's cells to an answer, or a reason, for each question that wants code."""

import ast
import difflib
import re
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from itertools import islice

from grading.answers.decoding import printable
from grading.answers.effort import Effort, TooLarge
from grading.answers.excerpt import whole
from grading.answers.model import Answer, Wanted
from grading.answers.notebook import Cell
from grading.answers.slicing import Program, Slice
from grading.answers.statements import Definition, Fault, Statement, leaves, parse, touched

MAX_NAMES = 20
MAX_NODES = 20_000  # of the syntax tree of one answer's code, as often as they are compiled
MAX_COMPARED = 10_000  # characters of an earlier definition that is compared with the last one
MAX_PROSE = 50_000  # characters of a Markdown cell that may be code by a slip
MAX_PROSE_CELLS = 8
_RESULTS = {"abs", "float", "int", "len", "max", "min", "pow", "print", "round", "sum"}
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[^\n]*+\n(.*?)(?:^[ \t]*+\1[ \t]*+$|\Z)", re.MULTILINE | re.DOTALL)


class Code:
    """The code of a document, asked for one question after the other."""

    def __init__(
        self, cells: Sequence[Cell], wanted: Sequence[Wanted], notebook: bool, supplied: dict[str, str] | None = None
    ) -> None:
        self._cells = cells
        self._wanted = {one.entry: one for one in wanted if one.entry}
        self._notebook = notebook
        self._supplied = supplied
        self._effort = Effort()
        self._faults: list[Fault] = []
        self._stubs: dict[str, list[Statement]] = {}
        self._stub_trees = {one.entry: [_tree(stub) for stub in one.stubs] for one in self._wanted.values()}
        self._statements: list[Statement] = []
        self._indented: set[int] = set()  # the numbers of cells
        self._prose: dict[int, list[Statement]] = {}
        for cell in cells:
            if cell.kind == "code":
                parsed = parse(cell, self._effort)
                self._faults += parsed.faults
                self._statements += parsed.statements
                if parsed.indented:
                    self._indented.add(cell.number)
        self._program = self._made(self._statements)

    def answer(self, wanted: Wanted) -> Answer:
        """The answer to one question, or why there is none."""
        try:
            return self._found(wanted) or self._in_prose(wanted) or self._nothing(wanted)
        except TooLarge as large:
            return _not_found(
                wanted,
                f"The code that `{wanted.entry}` needs is too large to be graded: {large}. "
                "Take long data, tests and copies out of what it uses.",
            )
        except RecursionError:
            return _not_found(wanted, f"The code that `{wanted.entry}` needs is nested too deeply to be read.")

    def _made(self, statements: list[Statement]) -> Program:
        return Program([one for one in statements if not self._is_no_answer(one)], self._effort, self._supplied)

    def _is_no_answer(self, statement: Statement) -> bool:
        """Whether the statement only seems to define an entry: a template's stub, or a result under the same name."""
        for entry in statement.binds & self._wanted.keys():
            defined = [leaf for leaf in leaves(statement.node) if entry in touched(leaf)[0]]
            if defined and all(_is_stub(leaf, self._stub_trees[entry]) for leaf in defined):
                self._stubs.setdefault(entry, []).append(statement)
                return True
            if defined and all(_is_result(leaf, entry) for leaf in defined):
                return True
        return False

    def _found(self, wanted: Wanted) -> Answer | None:
        binders = self._program.binders.get(wanted.entry, [])
        return self._sliced(wanted, self._program, binders) if binders else None

    def _sliced(self, wanted: Wanted, program: Program, binders: list[Statement]) -> Answer:
        chosen = program.with_earlier(wanted.entry, len(binders) - 1)
        last = binders[-1]
        sliced = program.slice(wanted.entry, chosen)
        where = self._where(last)
        if problem := _compiles(sliced.source):
            return _not_found(wanted, f"Syntax error in {where}: {problem}")
        notes = [
            *self._read_otherwise(last),
            *self._broken_later(wanted, last),
            *_several(binders, sliced),
            *self._about_missing(program, sliced),
        ]
        return Answer(
            question=wanted.question,
            found=True,
            source=sliced.source,
            definition=sliced.definition,
            where=where,
            notes=tuple(notes),
            missing=sliced.missing[:MAX_NAMES],
        )

    def _read_otherwise(self, last: Statement) -> list[str]:
        if last.cell.number not in self._indented:
            return []
        label = self._label(last.cell)
        return [f"{label[0].upper()}{label[1:]} is indented as a whole, and was read without that indent."]

    def _in_prose(self, wanted: Wanted) -> Answer | None:
        """An answer that sits in a Markdown or raw cell, as happens when a cell's type is changed by a slip."""
        written = re.compile(_definition_of(wanted.entry), re.MULTILINE)
        prose = (one for one in reversed(self._cells) if one.kind != "code" and len(one.source) <= MAX_PROSE)
        for cell in islice((one for one in prose if written.search(one.source)), MAX_PROSE_CELLS):
            statements = self._parsed_prose(cell)
            if not any(wanted.entry in one.binds for one in statements):
                continue
            self._effort.spend(len(self._statements) + len(statements))
            program = self._made(sorted([*self._statements, *statements], key=lambda one: one.order))
            binders = [one for one in program.binders.get(wanted.entry, []) if one.cell.number == cell.number]
            if binders:
                answer = self._sliced(wanted, program, binders)
                kind = "Markdown" if cell.kind == "markdown" else "raw"
                note = f"Taken from a {kind} cell (cell {cell.number}): change its type to Code."
                return answer.model_copy(update={"notes": (note, *answer.notes)}) if answer.found else answer
        return None

    def _parsed_prose(self, cell: Cell) -> list[Statement]:
        """The statements of the code in a Markdown or raw cell, numbered through all its blocks."""
        if cell.number not in self._prose:
            found: list[Statement] = []
            for text in _code_in(cell.source):
                first = len(found)
                for one in parse(Cell(cell.number, "raw", text), self._effort).statements:
                    one.order = (cell.number, first + one.order[1], one.order[2])
                    found.append(one)
            self._prose[cell.number] = found
        return self._prose[cell.number]

    def _nothing(self, wanted: Wanted) -> Answer:
        entry = wanted.entry
        if fault := self._fault(entry):
            if fault.magic:
                label = self._label(fault.cell)
                return _not_found(
                    wanted,
                    f"`{entry}` stands in {label}, which begins with `%%{fault.magic}` and so is not run as Python: "
                    "take that line out.",
                )
            if _bare(fault.text) in {_bare(stub) for stub in wanted.stubs}:
                return _not_found(wanted, f"Not answered: the template's own text of `{entry}` is still there.")
            return _not_found(wanted, f"Syntax error in {self._place(fault)}: {fault.message}.")
        if entry in self._program.foreign:
            return _not_found(
                wanted,
                f"`{entry}` is imported from `{self._program.foreign[entry]}`, which is not handed in: "
                "put the definition itself into the file.",
            )
        if stubs := self._stubs.get(entry):
            return _not_found(
                wanted, f"Not answered: the template's own text of `{entry}` is still there ({self._where(stubs[-1])})."
            )
        return _not_found(wanted, self._near(entry) or self._looked_for(entry))

    def _near(self, entry: str) -> str | None:
        """A reason that names what was probably meant."""
        names = {
            name
            for name, binders in self._program.binders.items()
            if name not in self._wanted and any(one.alias is None and name in one.functions for one in binders)
        }
        by_plain_name = {_plain(name): name for name in sorted(names)[:2000]}
        near = difflib.get_close_matches(_plain(entry), by_plain_name, n=1, cutoff=0.8)
        if near:
            found = by_plain_name[near[0]]
            where = self._where(self._program.binders[found][-1])
            return f"No `{entry}` was found, but `{printable(found, 60)}` was ({where}): rename it to `{entry}`."
        for cell in self._cells:
            if cell.kind == "code" and re.search(
                rf"^[ \t]+(?:async[ \t]+)?def[ \t]+{entry}\b", cell.source, re.MULTILINE
            ):
                return f"`{entry}` in {self._label(cell)} is inside another definition: move it to the top level."
            if cell.kind == "code" and re.search(rf"^[ \t]*#[ \t#]*def[ \t]+{entry}\b", cell.source, re.MULTILINE):
                return f"`{entry}` in {self._label(cell)} is commented out."
        return None

    def _looked_for(self, entry: str) -> str:
        count = sum(cell.kind == "code" and bool(cell.source.strip()) for cell in self._cells)
        if not self._notebook:
            broken = [f" The file has a syntax error in {self._place(one)}: {one.message}." for one in self._faults[:1]]
            return "".join([f"Not answered: no function named `{entry}` was found.", *broken])
        cells = "the one code cell" if count == 1 else f"any of the {count} code cells"
        return f"Not answered: no function named `{entry}` was found in {cells}."

    def _fault(self, entry: str, after: int = 0) -> Fault | None:
        written = re.compile(_definition_of(entry), re.MULTILINE)
        later = (fault for fault in reversed(self._faults) if fault.cell.number > after)
        return next((fault for fault in later if written.search(fault.text)), None)

    def _broken_later(self, wanted: Wanted, last: Statement) -> list[str]:
        fault = self._fault(wanted.entry, after=last.cell.number - 1)
        if fault is None or (fault.cell is last.cell and fault.line < last.node.lineno):
            return []
        if fault.magic:
            return [f"Another definition in {self._label(fault.cell)} does not count: {fault.message}."]
        return [f"Another definition in {self._place(fault)} has a syntax error and does not count: {fault.message}."]

    def _about_missing(self, program: Program, sliced: Slice) -> list[str]:
        notes = []
        for name in sliced.missing[:MAX_NAMES]:
            shown = printable(name, 60)
            if name in sliced.foreign:
                module = sliced.foreign[name]
                notes.append(
                    f"`{shown}` comes from `{module}`, which is not there when your code is graded: "
                    "define it in the file itself."
                )
            else:
                notes.append(f"`{shown}` is used but never defined in the file.")
        if len(sliced.missing) > len(sliced.foreign) and program.foreign_stars:
            modules = ", ".join(f"`{one}`" for one in sorted(set(program.foreign_stars))[:5])
            notes.append(f"All that is imported with * from {modules} is not there when your code is graded.")
        return notes

    def _where(self, statement: Statement) -> str:
        return f"cell {statement.cell.number}" if self._notebook else f"line {statement.node.lineno}"

    def _place(self, fault: Fault) -> str:
        cell = f"cell {fault.cell.number}, " if self._notebook else ""
        return f"{cell}line {fault.line}, column {fault.column}"

    def _label(self, cell: Cell) -> str:
        return f"cell {cell.number}" if self._notebook else "the file"


def _not_found(wanted: Wanted, reason: str) -> Answer:
    return Answer(question=wanted.question, found=False, reason=reason)


def _definition_of(entry: str) -> str:
    name = re.escape(entry)
    return rf"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b|^[ \t]*{name}[ \t]*(?::[^=\n]+)?=(?!=)"


def _several(binders: list[Statement], sliced: Slice) -> list[str]:
    """A note where an earlier, different definition of the same name is left out."""
    used = set(sliced.statements)
    last = _comparable(binders[-1])
    elsewhere = [one for one in binders if one.cell.number != binders[-1].cell.number and one not in used]
    cells = sorted({one.cell.number for one in elsewhere if last is None or _comparable(one) != last})
    if not cells:
        return []
    return [f"It is also defined in cell {', '.join(map(str, cells[:10]))}: the last definition counts."]


def _comparable(statement: Statement) -> str | None:
    """A definition without its spacing and comments; none for one that is too long to be worth it."""
    if len(whole(statement)) > MAX_COMPARED:
        return None
    try:
        return ast.dump(statement.node)
    except (RecursionError, ValueError):  # Python does not write out an integer of more than 4,300 digits
        return None


def _code_in(source: str) -> list[str]:
    """The code in a Markdown cell: its fenced blocks, or else all of it."""
    fenced = [match[2] for match in _FENCE.finditer(source)]
    return fenced or [textwrap.dedent(source)]


def _tree(stub: str) -> str:
    """A stub as a comparable text, without comments, spacing and docstring; empty where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(textwrap.dedent(stub)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    definitions = [node for node in body if isinstance(node, Definition)]
    return _dump(definitions[-1]) if definitions else ""


def _dump(node: Definition) -> str:
    dumped = [ast.dump(one) for one in (*node.decorator_list, *_without_docstring(node.body))]
    return "\n".join([*dumped, "" if isinstance(node, ast.ClassDef) else ast.dump(node.args)])


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body[:1]:
        case [ast.Expr(value=ast.Constant(value=str()))]:
            return body[1:]
    return body


def _is_stub(node: ast.stmt, stubs: list[str]) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    if all(_is_gap(one) for one in _without_docstring(node.body)):
        return True
    if sum(1 for _ in islice(ast.walk(node), MAX_COMPARED)) == MAX_COMPARED:
        return False
    try:
        return bool(stubs) and _dump(node) in stubs
    except (RecursionError, ValueError):
        return False


def _is_gap(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def _is_result(node: ast.stmt, entry: str) -> bool:
    """Whether an assignment gives the entry's name to a value that it returned: `gemm_mac = gemm_mac(A, B)`."""
    match node:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=value) if value is not None:
            match value:
                case ast.Call(func=ast.Name(id=function)):
                    return function == entry or function in _RESULTS
                case ast.Lambda() | ast.Name() | ast.Attribute() | ast.Call() | ast.IfExp() | ast.Subscript():
                    return False
            return True
    return isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor)


def _compiles(source: str) -> str | None:
    """What is wrong with a source that parses but does not compile, such as a `return` outside a function."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _to_compile(ast.parse(source)) > MAX_NODES:
                raise TooLarge(f"it has more than {MAX_NODES:,} parts")
            compile(source, "<answer>", "exec", dont_inherit=True)
    except SyntaxError as error:
        lines = source.split("\n")
        line = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""
        return f"{printable(error.msg or 'invalid syntax')}, in the line `{printable(line.strip(), 80)}`."
    except (RecursionError, MemoryError, ValueError, OverflowError):
        return "the code is nested too deeply or too large."
    return None


def _to_compile(tree: ast.Module) -> int:
    """How many nodes there are to compile: a `finally` counts anew for every way out of its `try`."""
    nodes = list(islice(ast.walk(tree), MAX_NODES + 1))
    if len(nodes) > MAX_NODES:
        return len(nodes)
    counts: dict[ast.AST, tuple[int, int]] = {}  # nodes, and statements among them that leave a block

    def total(inner: Iterable[ast.AST]) -> tuple[int, int]:
        pairs = [counts[one] for one in inner]
        return sum(size for size, _ in pairs), sum(ways for _, ways in pairs)

    for node in reversed(nodes):  # those inside come first
        size, ways = total(ast.iter_child_nodes(node))
        if isinstance(node, ast.Try | ast.TryStar):
            again, more = total(node.finalbody)
            copies = 1 + ways - more
            size, ways = size + copies * again, ways + copies * more
        counts[node] = (size + 1, ways + isinstance(node, ast.Return | ast.Break | ast.Continue))
    return counts[tree][0]


def _bare(text: str) -> str:
    """A definition that does not parse, without comments, docstring and blanks, to be compared with another."""
    text = re.sub(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|#.*', "", text)
    return re.sub(r"\s+", "", text)


def _plain(name: str) -> str:
    return name.casefold().replace("_", "")
