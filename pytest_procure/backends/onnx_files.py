"""The files that an ONNX model consists of, found without running or trusting it.

Large models keep their weights in files beside the model, each named inside it, and so are parts kept that
a provider has compiled before (EPContext). They belong to the digest of what was measured, and a name that
leads out of the model's folder would read a file of the buyer's.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_procure.errors import ProvisionError

from .protobuf import BYTES, NUMBER, fields, messages

#: Where tensors hide in a model: field number -> what it holds (onnx.proto, IR version 13).
_Fields = dict[int, Any]
_TENSOR: _Fields = {13: "entry"}
_SPARSE: _Fields = {1: _TENSOR, 2: _TENSOR}
_GRAPH: _Fields = {5: _TENSOR, 15: _SPARSE}
_ATTRIBUTE: _Fields = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE}
_NODE: _Fields = {5: _ATTRIBUTE}
_GRAPH[1] = _NODE
_MODEL: _Fields = {7: _GRAPH, 25: {7: _NODE, 11: _ATTRIBUTE}}
#: A part that is compiled: it stands in the model, or with `embed_mode` 0 in a file that it names.
_COMPILED, _NAME, _EMBEDDED = b"EPContext", b"ep_cache_context", b"embed_mode"
_WEIGHTS, _PART = "its weights", "a part that is compiled"


def external_files(model: Path, *, shown: str) -> dict[str, Path]:
    """Find the files beside `model` that hold its weights or compiled parts: name in the model -> file.

    Raises `ProvisionError` when one is missing or lies outside the model's folder, links followed, and for a
    model that cannot be read to its end: a runtime may read on, and what it loads then is known to nobody.
    """
    folder = model.parent.resolve()  # that of a link, not of what it leads to: runtimes start there
    found = {}
    for written, what in sorted(set(_locations(model, shown))):
        name = written.decode("utf-8", "backslashreplace")
        said = name if name.isprintable() else ascii(name)[1:-1]
        if name.encode() != written or "\0" in name:
            raise ProvisionError(
                f"`{shown}` reads {what} from `{said}`, which is no name of a file; that is refused"
            )
        file = (folder / name).resolve()
        if not file.is_relative_to(folder):
            raise ProvisionError(
                f"`{shown}` reads {what} from `{said}`, outside its own folder; that is refused"
            )
        if not file.is_file():
            raise ProvisionError(
                f"`{shown}` keeps {what.removeprefix('its ')} in `{said}`, which is not there; expected it "
                "beside the model"
            )
        found[name] = file
    return found


@contextmanager
def mapped(model: Path, shown: str) -> Iterator[mmap.mmap]:
    """Give a model's bytes to a reader, which raises `ValueError` or `IndexError` for what it cannot read.

    They become a `ProvisionError`.
    """
    try:
        if not model.stat().st_size:  # which cannot be mapped
            raise ValueError("it is empty")  # noqa: TRY301 - told like any other
        with (
            model.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield data
    except (ValueError, IndexError) as error:
        why = "it ends too early" if isinstance(error, IndexError) else str(error)
        raise ProvisionError(
            f"`{shown}` cannot be read to its end as an ONNX model ({why}), so nobody can say which files "
            "and weights it has; that is refused"
        ) from None


def has_other_format(model: Path) -> bool:
    """Whether onnxruntime reads it as its own format, which keeps all in one file and is not read here."""
    return model.suffix.lower() == ".ort"


def _locations(model: Path, shown: str) -> list[tuple[bytes, str]]:
    if has_other_format(model):
        return []
    with mapped(model, shown) as data:
        return list(_walk(data))


def _walk(data: mmap.mmap) -> Iterator[tuple[bytes, str]]:
    todo: list[tuple[int, int, _Fields]] = [(0, len(data), _MODEL)]
    while todo:
        start, end, wanted = todo.pop()
        if wanted is _NODE and (name := _compiled(data, start, end)):
            yield name, _PART
        for number, first, last in messages(data, start, end):
            inside = wanted.get(number)
            if inside == "entry":
                entry = {key: data[a:b] for key, a, b in messages(data, first, last)}
                if entry.get(1) == b"location":
                    yield entry.get(2, b""), _WEIGHTS
            elif inside is not None:
                todo.append((first, last, inside))


def _compiled(data: mmap.mmap, start: int, end: int) -> bytes:
    """Give the file that a node of a compiled part names; nothing for others, and where it holds the part."""
    operator, names, embedded = b"", b"", 1
    for number, first, last in messages(data, start, end):
        if number == 4:
            operator = data[first:last]
        elif number == 5:
            held = list(fields(data, first, last))
            name = next((data[a:b] for key, wire, a, b in held[::-1] if (key, wire) == (1, BYTES)), b"")
            if name == _NAME:
                names = next((data[a:b] for key, wire, a, b in held[::-1] if (key, wire) == (4, BYTES)), b"")
            elif name == _EMBEDDED:
                embedded = next((a for key, wire, a, _ in held[::-1] if (key, wire) == (3, NUMBER)), 0)
    return names if operator == _COMPILED and embedded != 1 else b""
