"""Digests of source: of a test, and of the suite's files that it draws on.

A bar may stand in a plain assert. It is pre-registered by the digest of the source that it stands in.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from pytest_procure.errors import EvidenceError
from pytest_procure.redaction import redacted

#: Stands for the source of what has none to read.
UNKNOWN = "unknown"
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def source_of_test(function: Callable[..., Any], path: Path) -> str:
    """Digest a test with the module that it stands in, without the module's other tests and empty lines.

    An edit of a neighbouring test leaves the digest as it is; one of a constant or a helper beside the test
    does not. Raises `EvidenceError` when the file cannot be read.
    """
    text = _read(path)
    lines = text.splitlines()
    for first, last in _others(ast.parse(text).body, inspect.unwrap(function).__qualname__.split(".")):
        lines[first - 1 : last] = [""] * (last - first + 1)
    kept = "\n".join(line.rstrip() for line in lines if line.strip())
    return hashlib.sha256(kept.encode("utf-8", "surrogatepass")).hexdigest()


def asserts_of_test(function: Callable[..., Any], path: Path) -> list[str]:
    """List the asserts of a test in their order, as they are written, on one line each.

    Raises `EvidenceError` when the file cannot be read.
    """
    text = _read(path)
    body: list[ast.stmt] = ast.parse(text).body
    for name in inspect.unwrap(function).__qualname__.split("."):
        found = [node for node in body if isinstance(node, _NAMED) and node.name == name]
        body = list(found[-1].body) if found else []
    asserts = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Assert)]
    asserts.sort(key=lambda node: (node.lineno, node.col_offset))
    written = (" ".join((ast.get_source_segment(text, node.test) or "").split()) for node in asserts)
    return [f"assert {redacted(each)}" for each in written]


def suite_files(path: Path, root: Path, known: Collection[Path] = ()) -> set[Path]:
    """Find the suite's own files that a file imports, and those that they import: all below `root`.

    `known`: files that were followed before; they are in the answer, and not followed again.

    Found by name on the disk, not by what happens to be loaded, so that the answer is the same in every
    session. Raises `EvidenceError` when a file cannot be read.
    """
    found = set(known)
    left = [path]
    while left:
        for imported in _imported(left.pop(), root):
            if imported not in found and imported != path:
                found.add(imported)
                left.append(imported)
    return found


def file_digest(path: Path) -> str:
    """Digest a text file, whatever its line ends. Raises `EvidenceError`."""
    return hashlib.sha256("\n".join(_read(path).splitlines()).encode("utf-8", "surrogatepass")).hexdigest()


def _others(body: list[ast.stmt], names: list[str]) -> Iterator[tuple[int, int]]:
    """Give the lines of tests that are not the one whose qualified name is `names`."""
    for node in body:
        if not isinstance(node, _NAMED):
            continue
        if node.name == names[0]:
            if isinstance(node, ast.ClassDef) and len(names) > 1:
                yield from _others(node.body, names[1:])
        elif node.name.startswith("Test" if isinstance(node, ast.ClassDef) else "test"):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield first, node.end_lineno or node.lineno


def _imported(path: Path, root: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(_read(path))
    except SyntaxError:
        return  # whoever imports it is told
    yield from imported_by(tree, path, root)


def imported_by(tree: ast.AST, path: Path, root: Path) -> Iterator[Path]:
    """Give the suite's own files, below `root`, that a piece of the source at `path` imports."""
    here = [folder for folder in path.parents if folder == root or root in folder.parents]
    bases = [*here, *(Path(entry) for entry in sys.path if entry and _below(Path(entry), root))]
    for node in ast.walk(tree):
        names: list[str] = []
        within = bases
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            within = [path.parents[node.level - 1]] if 0 < node.level <= len(path.parents) else bases
            module = node.module or ""
            names = [module, *(f"{module}.{alias.name}".lstrip(".") for alias in node.names)]
        for name in names:
            yield from _found(name, within, root)


def _found(name: str, bases: list[Path], root: Path) -> Iterator[Path]:
    """Give the files of a module by its dotted name, and of the packages above it, in the first base."""
    parts = name.split(".")
    for base in bases:
        found = [
            file
            for depth in range(1, len(parts) + 1)
            for file in (
                base.joinpath(*parts[:depth]).with_suffix(".py"),
                base.joinpath(*parts[:depth], "__init__.py"),
            )
            if name and file.is_file() and _below(file, root)
        ]
        if found:
            yield from found
            return


def _below(path: Path, root: Path) -> bool:
    return (path == root or root in path.parents) and "site-packages" not in path.parts


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise EvidenceError(f"the source {path.name} cannot be read: {error}") from error
