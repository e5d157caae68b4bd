"""Statements as text, cut out of their cell exactly as the student wrote them."""

import ast
import re

from grading.answers.decoding import printable
from grading.answers.statements import Definition, Statement, keeps, leaves, probes

_COMMENT_INSIDE = re.compile(r"[ \t]+#")


def joined(lines: list[str], statements: list[tuple[Statement, set[str]]]) -> str:
    """One source: lines of our own, then statements, each with the names that are needed of it."""
    found = "".join(line + "\n" for line in lines)
    before = False
    for statement, needed in statements:
        wide = statement.compound or isinstance(statement.node, Definition)
        found += ("\n\n" if found and (wide or before) else "") + text(statement, needed) + "\n"
        before = wide
    return found


def text(statement: Statement, needed: set[str]) -> str:
    """The statement's own text. In a compound one, what is not needed is replaced by `pass`."""
    if statement.alias is not None:
        return _import(statement, statement.alias)
    lines, node = statement.lines, statement.node
    if statement.compound:
        return _pruned(lines, node, needed)
    first, last = first_line(node), node.end_lineno or node.lineno
    before = _cut(lines[node.lineno - 1], 0, node.col_offset) if first == node.lineno else ""
    after = _cut(lines[last - 1], node.end_col_offset or 0, None)
    if before.strip() or not re.fullmatch(r"[ \t]*(#.*)?", after):  # shares its line with another statement
        return _span(lines, first, node.col_offset, last, node.end_col_offset or 0)
    if isinstance(node, Definition):
        while first > 1 and lines[first - 2].startswith("#"):
            first -= 1
        last = _with_comments_below(lines, last)
    return "\n".join(lines[first - 1 : last])


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


def _pruned(lines: list[str], node: ast.stmt, needed: set[str]) -> str:
    found = ""
    line, column = node.lineno, node.col_offset
    deciding = probes(node)
    for leaf in leaves(node):
        if leaf not in deciding and not keeps(leaf, needed):
            found += _span(lines, line, column, first_line(leaf), leaf.col_offset) + "pass"
            line, column = leaf.end_lineno or leaf.lineno, leaf.end_col_offset or 0
    last = node.end_lineno or node.lineno
    return found + _span(lines, line, column, last, None)


def _with_comments_below(lines: list[str], last: int) -> int:
    """Indented comments after the last statement of a body belong to it."""
    at = last
    while at < len(lines) and (not lines[at].strip() or _COMMENT_INSIDE.match(lines[at])):
        at += 1
        if lines[at - 1].strip():
            last = at
    return last


def _span(lines: list[str], line: int, column: int, end_line: int, end_column: int | None) -> str:
    if line == end_line:
        return _cut(lines[line - 1], column, end_column)
    middle = lines[line : end_line - 1]
    return "\n".join([_cut(lines[line - 1], column, None), *middle, _cut(lines[end_line - 1], 0, end_column)])


def _cut(line: str, start: int, end: int | None) -> str:
    """A part of a line by byte offsets, as the parser counts."""
    return line[start:end] if line.isascii() else line.encode()[start:end].decode(errors="replace")
