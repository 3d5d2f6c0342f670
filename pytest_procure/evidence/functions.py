"""Digests of functions that score: of all that their answer hangs on, as far as the suite's source tells.

A scorer's own lines do not tell how it scores: a tolerance may stand beside it, in a file that it imports, or
in what it was made with. All of these are digested; a comment, or what it never reaches, is not.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_procure.errors import EvidenceError

from .canonical import canonical
from .sources import UNKNOWN, file_digest, imported_by, suite_files

#: How deep values that a function was made with are followed.
_DEEPEST = 6
#: What lets code reach a name without writing it.
_OPEN = ("globals(", "vars(", "exec(", "eval(", "import *", "setattr(", "__dict__", "getattr(")
#: By id, what a function was when this process first looked at it; it is kept, so that no other takes its id.
#: What it counts or remembers while it scores makes no other scorer of it.
_KNOWN: dict[tuple[int, Path | None], tuple[Any, dict[str, str]]] = {}


def function_source(function: Any, root: Path | None = None) -> dict[str, str]:
    """Identify a function: its dotted name, and the digest of all that it was seen to hang on.

    `root`: the suite's folder. Of a function below it what it reaches of its module is digested, with the
    suite's files that this imports; of any other its own source, or its class's.
    """
    key = (id(function), root)
    if key not in _KNOWN:
        _KNOWN[key] = (function, _identified(function, root))
    return dict(_KNOWN[key][1])


def _identified(function: Any, root: Path | None) -> dict[str, str]:
    made = list(_made_with(function, 0))
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    named = function if hasattr(function, "__qualname__") else type(function)
    source = _source(named, root)
    if made:
        source = hashlib.sha256(canonical([source, made])).hexdigest()
    return {"id": f"{named.__module__}.{named.__qualname__}", "source": source}


def _source(named: Any, root: Path | None) -> str:
    try:
        path = Path(inspect.getsourcefile(named) or "").resolve()
        text = inspect.getsource(named)
    except (OSError, TypeError):
        return UNKNOWN
    if root is None or not _below(path, root.resolve()):
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    reached, imports = _reached(path, named, root.resolve())
    files = {each for start in imports for each in (start, *suite_files(start, root.resolve()))}
    told = [reached, *(f"{_placed(each, root)} {file_digest(each)}" for each in sorted(files - {path}))]
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()


def _below(path: Path, root: Path) -> bool:
    return root in path.parents and "site-packages" not in path.parts


def _placed(path: Path, root: Path) -> str:
    return path.relative_to(root.resolve()).as_posix()


def _reached(path: Path, named: Any, root: Path) -> tuple[str, set[Path]]:
    """Give what a function reaches of its module, without comments, and the files that this imports."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError) as error:
        raise EvidenceError(f"the source {path.name} cannot be read: {error}") from error
    statements = _statements(tree.body, _line(named))
    if any(sign in text for sign in _OPEN) or not statements:
        statements = set(tree.body)
    names = _names(statements)
    while more := {each for each in tree.body if each not in statements and _gives(each) & names}:
        statements |= more
        names |= _names(more)
    kept = [each for each in tree.body if each in statements]
    imports = {file for each in kept for file in imported_by(each, path, root)}
    return "\n".join(ast.unparse(each) for each in kept), imports


def _line(named: Any) -> int:
    code = getattr(named, "__code__", None)
    if isinstance(code, types.CodeType):
        return code.co_firstlineno
    try:
        return int(inspect.getsourcelines(named)[1])
    except (OSError, TypeError):
        return 0


def _statements(body: list[ast.stmt], line: int) -> set[ast.stmt]:
    """Give the statement of a module that a line stands in."""
    return {each for each in body if _first(each) <= line <= (each.end_lineno or each.lineno)}


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _names(statements: set[ast.stmt]) -> set[str]:
    return {node.id for each in statements for node in ast.walk(each) if isinstance(node, ast.Name)}


def _gives(node: ast.stmt) -> set[str]:
    """Give the names that a statement may give a meaning to; what only mentions one may change it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    names = _names({node})
    for each in ast.walk(node):
        if isinstance(each, ast.alias):
            names.add((each.asname or each.name).partition(".")[0])
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(each.name)
    return names


def _made_with(function: Any, depth: int) -> Iterator[list[Any]]:
    """Give the values that a function was made with: arguments, defaults, closure, numbers it names."""
    if isinstance(function, functools.partial):
        yield ["arguments", _value([*function.args], depth), _value(function.keywords, depth)]
        yield from _made_with(function.func, depth)
        return
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, (type, types.ModuleType)):
        yield ["self", _value(vars(owner) if hasattr(owner, "__dict__") else {}, depth)]
    code = getattr(function, "__code__", None)
    if isinstance(code, types.CodeType):
        cells = zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False)
        found = {name: _cell(cell) for name, cell in cells}
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
        told = {name: function.__globals__.get(name) for name in _mentioned(code)}
        numbers = {name: each for name, each in told.items() if isinstance(each, (int, float))}
        made = [found, defaults, numbers]
        if any(made):
            yield ["made with", *(_value(each, depth) for each in made)]
    elif owner is None and not isinstance(function, type) and hasattr(function, "__dict__"):
        yield ["fields", _value(vars(function), depth)]


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _mentioned(code: types.CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return set(code.co_names).union(*(_mentioned(each) for each in inner))


def _value(value: Any, depth: int) -> Any:  # noqa: PLR0911 - a kind of value each
    """Write a value that a function was made with; of what is no plain data, its kind.

    A path of this machine is left out: it is another one elsewhere.
    """
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, str):
        return "a path" if os.path.isabs(value) else value  # noqa: PTH117 - it may be any text
    if value is None or isinstance(value, (bool, int, float, bytes)):
        return repr(value)
    if isinstance(value, Mapping):
        return [[str(key), _value(value[key], depth + 1)] for key in sorted(value, key=str)]
    if isinstance(value, (list, tuple)):
        return [_value(each, depth + 1) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_value(each, depth + 1)) for each in value)
    kind = value if hasattr(value, "__qualname__") else type(value)
    told: list[Any] = [f"{kind.__module__}.{kind.__qualname__}"]
    if isinstance(value, (types.FunctionType, functools.partial)):
        told += _made_with(value, depth + 1)
    return told
