"""Where a comparison stands: in an assert, under a `not`, in one arm of an `or`, or in no assert at all.

A comparison operator sees its caller's frame. The position of the frame's current instruction (PEP 657) names
the comparison in the source, and the source says what surrounds it. That works with and without pytest's
assertion rewriting, in helper modules and in generator expressions, and needs no setting.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_Position = tuple[int | None, int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Role:
    """A comparison inside an assert: the asserted text, and how its truth bears on the assert."""

    text: str
    where: str  # file:line
    negated: bool  # the assert holds when the comparison does not
    optional: bool  # one arm of an `or`: the assert may hold without it
    unclear: bool = (
        False  # part of something else (`(a < b) is False`): its truth bears on it in ways unknown
    )


def role(frame: types.FrameType) -> Role | None:
    """Find the role of the comparison that `frame` is executing; None if it stands in no assert.

    Also None where there is no source to read.
    """
    index = frame.f_lasti // 2
    position = next(itertools.islice(frame.f_code.co_positions(), index, None), None)
    return None if position is None else _roles(frame.f_code.co_filename).get(position)


def after(function: Callable[..., Any], line: int) -> list[tuple[str, str]]:
    """List the asserts of a test function below `line`, as (text, file:line): those that a failure hid."""
    code = inspect.unwrap(function).__code__
    found = []
    for node in ast.walk(_tree(code.co_filename)):
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == code.co_name
            and _first(node) == code.co_firstlineno
        ):
            found = [
                (f"assert {ast.unparse(inner.test)}", f"{Path(code.co_filename).name}:{inner.lineno}")
                for inner in ast.walk(node)
                if isinstance(inner, ast.Assert) and inner.lineno > line
            ]
    return sorted(found, key=lambda each: int(each[1].rpartition(":")[2]))


def raised_by(error: AssertionError) -> str:
    """Give the file:line of the assert that raised `error`; nothing where something else raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    path, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
    found = (
        f"{Path(path).name}:{node.lineno}"
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or line)
    )
    return next(found, "")


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _tree(path: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


@functools.cache
def _roles(path: str) -> dict[_Position, Role]:
    found: dict[_Position, Role] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Assert):
            text, where = f"assert {ast.unparse(node.test)}", f"{Path(path).name}:{node.lineno}"
            for compare, as_it_stands in _compares(
                node.test, Role(text, where, negated=False, optional=False)
            ):
                position = compare.lineno, compare.end_lineno, compare.col_offset, compare.end_col_offset
                found[position] = as_it_stands
    return found


def _compares(node: ast.AST, stands: Role) -> Iterator[tuple[ast.Compare, Role]]:
    """Walk a condition; De Morgan decides which arms are optional."""
    negated, optional, unclear = stands.negated, stands.optional, stands.unclear
    match node:
        case ast.Compare():
            yield node, stands
            unclear = True
        case ast.UnaryOp(op=ast.Not()):
            negated = not negated
        case ast.BoolOp(op=operator):
            optional = optional or isinstance(operator, ast.Or) != negated
        case ast.IfExp():
            optional = True
        case ast.Call(func=ast.Name(id="any")):
            optional = optional or not negated
        case ast.Call(func=ast.Name(id="all")):
            optional = optional or negated
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.comprehension() | ast.NamedExpr():
            pass
        case _:
            unclear = True
    inner = replace(stands, negated=negated, optional=optional, unclear=unclear)
    for child in ast.iter_child_nodes(node):
        yield from _compares(child, inner)
