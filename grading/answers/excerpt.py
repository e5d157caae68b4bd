"""Statements as text, cut out of their cell exactly as the student wrote them."""

import ast
import re
from collections.abc import Iterator

from grading.answers.decoding import printable
from grading.answers.effort import TooLarge
from grading.answers.statements import COMPOUND, Definition, Statement, blocks, keeps, probes

MAX_CHARACTERS = 100_000  # in one answer's code

_BLANK = re.compile(rb"[ \t]*+")
_BLANK_OR_COMMENT = re.compile(rb"[ \t]*+(#.*)?")
_COMMENT_INSIDE = re.compile(rb"[ \t]++#")


def joined(lines: list[str], statements: list[tuple[Statement, set[str]]]) -> str:
    """One source: lines of our own, then statements, each with the names that are needed of it."""
    found = [line + "\n" for line in lines]
    length = 0
    before = False
    for statement, needed in statements:
        wide = statement.compound or isinstance(statement.node, Definition)
        part = ("\n\n" if found and (wide or before) else "") + text(statement, needed) + "\n"
        found.append(part)
        length += len(part)
        if length > MAX_CHARACTERS:
            raise TooLarge(f"it has more than {MAX_CHARACTERS:,} characters")
        before = wide
    return "".join(found)


def text(statement: Statement, needed: set[str]) -> str:
    """The statement's own text. In a compound one, what is not needed is replaced by `pass`."""
    if statement.alias is not None:
        return _import(statement, statement.alias)
    lines, node = statement.lines, statement.node
    if statement.compound:
        return _pruned(lines, node, needed)
    first, last = first_line(node), node.end_lineno or node.lineno
    shared = first == node.lineno and not _BLANK.fullmatch(lines[node.lineno - 1], 0, node.col_offset)
    if shared or not _BLANK_OR_COMMENT.fullmatch(lines[last - 1], node.end_col_offset or 0):
        return _span(lines, first, node.col_offset, last, node.end_col_offset or 0)
    if isinstance(node, Definition):
        if first > 2 and not lines[first - 2].strip() and lines[first - 3].startswith(b"#"):
            first -= 1  # one blank line between a comment and its definition is a matter of style
        while first > 1 and lines[first - 2].startswith(b"#"):
            first -= 1
        last = _with_comments_below(lines, last)
    return b"\n".join(lines[first - 1 : last]).decode()


def whole(statement: Statement) -> str:
    """The text of a statement with nothing left out and nothing around it."""
    node = statement.node
    last = node.end_lineno or node.lineno
    return _span(statement.lines, first_line(node), node.col_offset, last, node.end_col_offset)


def module_name(statement: Statement) -> str:
    """The module of an import as the student spelled it, fit to be shown."""
    dots = "." * statement.node.level if isinstance(statement.node, ast.ImportFrom) else ""
    module = statement.node.module or "" if isinstance(statement.node, ast.ImportFrom) else statement.module
    return printable(dots + module, 60)


def first_line(node: ast.stmt) -> int:
    """Where the statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _import(statement: Statement, alias: ast.alias) -> str:
    node = statement.node
    name = _span(statement.lines, alias.lineno, alias.col_offset, alias.end_lineno or 0, alias.end_col_offset or 0)
    if isinstance(node, ast.ImportFrom):
        return f"from {node.module} import {name}"
    return f"import {name}"


def _pruned(lines: list[bytes], node: ast.stmt, needed: set[str]) -> str:
    found = []
    line, column = node.lineno, node.col_offset
    for first, last in sorted(_dropped(node, needed), key=lambda run: (run[0].lineno, run[0].col_offset)):
        found += [_span(lines, line, column, first_line(first), first.col_offset), "pass"]
        line, column = last.end_lineno or last.lineno, last.end_col_offset or 0
    last_line = node.end_lineno or node.lineno
    return "".join([*found, _span(lines, line, column, last_line, None)])


def _dropped(node: ast.stmt, needed: set[str]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """The first and the last of neighbours in a block that are not needed, for every such run."""
    deciding = probes(node)
    stack = [node]
    while stack:
        for block in blocks(stack.pop()):
            run: list[ast.stmt] = []
            for inner in block:
                compound = isinstance(inner, COMPOUND)
                if compound:
                    stack.append(inner)
                if not compound and inner not in deciding and not keeps(inner, needed):
                    run.append(inner)
                elif run:
                    yield run[0], run[-1]
                    run = []
            if run:
                yield run[0], run[-1]


def _with_comments_below(lines: list[bytes], last: int) -> int:
    """Indented comments after the last statement of a body belong to it."""
    at = last
    while at < len(lines) and (not lines[at].strip() or _COMMENT_INSIDE.match(lines[at])):
        at += 1
        if lines[at - 1].strip():
            last = at
    return last


def _span(lines: list[bytes], line: int, column: int, end_line: int, end_column: int | None) -> str:
    """The text between two places, by byte offsets, as the parser counts."""
    if line == end_line:
        return lines[line - 1][column:end_column].decode(errors="replace")
    middle = lines[line : end_line - 1]
    return b"\n".join([lines[line - 1][column:], *middle, lines[end_line - 1][:end_column]]).decode(errors="replace")
