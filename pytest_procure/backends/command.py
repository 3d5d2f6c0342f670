"""A vendor's executable, asked over its standard input and output, one JSON object a line.

> {"id": 7, "input": "..."}
< {"id": 7, "output": "..."}                     or {"id": 7, "error": "..."}
< {"id": 7, "output": "...", "input_tokens": 12, "output_tokens": 3}
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.calling import declared
from pytest_procure.errors import DeclarationError, ProvisionError
from pytest_procure.redaction import without_secret_options
from pytest_procure.units import Quantity, duration

from .files import file_record
from .process import Process
from .protocol import Answer

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: A secret on a command line is seen by every user of the machine, and would stand in the report.
#: `--max-tokens` and `tokenizer.json` are none.
_SECRET = re.compile(r"(?i)(api[-_]?key|token(?!s|iz)|secret|passw|credential)")


@declared
@dataclass(frozen=True, slots=True)
class Command:
    """Declares an executable that answers lines of JSON, kept running from load to close.

    `arguments`: the program and what it is given; a program with a slash in it is relative to the conftest,
    any other is found by PATH. `environment` names the variables it gets beside PATH, HOME, LANG, TMPDIR and
    the like: keys go this way, never on the command line. `timeout`: for one batch; the program is ended when
    it passes. `start_timeout`: for its first answer. `answer_bytes`: of one line, at most. `device` is where
    it says it computes.
    """

    arguments: Sequence[str]
    _: KW_ONLY
    environment: Sequence[str] = ()
    timeout: Quantity | str = "60 s"
    start_timeout: Quantity | str = "60 s"
    answer_bytes: int = 16 << 20
    device: str = "cpu"
    name: str = ""

    def __post_init__(self) -> None:
        checked_arguments(self.arguments, what="Command")
        checked_names(self.environment, what="Command")
        for what in ("timeout", "start_timeout"):
            if duration(getattr(self, what), what=what).number <= 0:
                raise DeclarationError(f"`{what}={getattr(self, what)}` of Command; expected longer than 0")
        if not isinstance(self.answer_bytes, int) or self.answer_bytes < 1024:
            raise DeclarationError(f"`answer_bytes={self.answer_bytes!r}` of Command; expected 1024 or more")

    def load(self, base: Path) -> LoadedCommand:
        """Start the program. Raises `ProvisionError` where it is not there, or ends at once."""
        program = program_file(base, self.arguments[0])
        process = Process(
            [str(program), *self.arguments[1:]],
            folder=base,
            variables=self.environment,
            longest=self.answer_bytes,
        )
        return LoadedCommand(self, process, program)


class LoadedCommand:
    """A program that answers."""

    #: One program, one call at a time.
    releases_gil = False

    def __init__(self, declared: Command, process: Process, program: Path) -> None:
        self._declared = declared
        self._process = process
        self._timeout = duration(declared.timeout, what="timeout").base
        self._first = duration(declared.start_timeout, what="start_timeout").base
        self._file = file_record(program)
        self._asked = 0

    @property
    def device(self) -> str:
        """Where it says it computes."""
        return self._declared.device

    def predict(self, inputs: Any) -> list[Any]:
        """Ask a batch. Raises `RuntimeError` with what the program did instead of answering.

        A program that hung, ended, or said what is no answer is ended, and answers nothing any more.
        """
        numbers = range(self._asked, self._asked + len(inputs))
        lines = [_line(number, sample) for number, sample in zip(numbers, inputs, strict=True)]
        limit = self._timeout if self._asked else max(self._timeout, self._first)
        self._asked += len(lines)
        with self._process.call(float(limit)) as call:
            call.send(b"".join(lines))
            found: dict[int, Any] = {}
            while len(found) < len(lines):
                number, answer = _answer(call.line(), self._process.without_secrets)
                if number not in numbers or number in found:
                    raise call.broken(f"it answered number {number}, which was not asked, or answered before")
                found[number] = answer
            call.nothing_more()
        return [found[number] for number in numbers]

    def describe(self) -> dict[str, Any]:
        """Disclose the program's file and arguments; of variables their names."""
        declared = self._declared
        return {
            "runtime": declared.name or Path(declared.arguments[0]).name,
            "device": self.device,
            "arguments": [
                Path(declared.arguments[0]).name,
                *without_secret_options(declared.arguments[1:]),
            ],
            "files": [self._file],
            "environment": list(declared.environment),
            "timeout": str(declared.timeout),
        }

    def close(self) -> None:
        """End the program and everything it started."""
        self._process.close()


def checked_arguments(listed: Sequence[str], *, what: str) -> None:
    """Refuse what is no program with its arguments, and secrets among them. Raises `DeclarationError`."""
    if (
        not isinstance(listed, (list, tuple))
        or not listed
        or not all(isinstance(each, str) for each in listed)
    ):
        raise DeclarationError(f"`{what}({listed!r})`; expected a list, as in ['./vendor', '--serve']")
    for each in listed:
        if _SECRET.search(each):
            shown = each.partition("=")[0]
            raise DeclarationError(
                f"argument `{shown}` of {what} looks like a secret, which everybody on the machine can "
                "read; pass it by `environment=['NAME_OF_THE_VARIABLE']`"
            )


def checked_names(names: Sequence[str], *, what: str) -> None:
    """Refuse what are no names of variables. Raises `DeclarationError`."""
    if isinstance(names, str) or not all(
        isinstance(each, str) and _VARIABLE.fullmatch(each) for each in names
    ):
        raise DeclarationError(f"`environment={names!r}` of {what}; expected names of variables, not values")


def program_file(base: Path, name: str) -> Path:
    """Find a program: by its path from `base`, or on the PATH. Raises `ProvisionError`."""
    if "/" in name:
        found = base / name
        if not found.is_file():
            raise ProvisionError(f"there is no program `{name}`; paths start at the conftest's folder")
        return found.absolute()  # not what a link points at: an interpreter's own environment lies beside it
    there = shutil.which(name)
    if there is None:
        raise ProvisionError(
            f"there is no program `{name}` on the PATH; expected one, or a path such as './{name}'"
        )
    return Path(there)


def _line(number: int, sample: Any) -> bytes:
    try:
        text = json.dumps({"id": number, "input": _plain(sample)}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"an input of type {type(sample).__name__} is no JSON: {error}") from None
    return text.encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _answer(data: bytes, without_secrets: Callable[[str], str]) -> tuple[int, Any]:
    """Read a line: the number of the question, and its answer. Raises `ValueError` for what is none."""
    try:
        said = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ValueError("it wrote a line that is no JSON") from None
    if not isinstance(said, dict) or type(said.get("id")) is not int:
        raise ValueError("it wrote a line that is no object with an `id`")
    if "error" in said:
        return said["id"], Answer(
            None, error=f"the program says: {without_secrets(str(said['error']))[:160]}"
        )
    if "output" not in said:
        raise ValueError("it wrote a line without `output`")
    counts = [said.get(key, -1) for key in ("input_tokens", "output_tokens")]
    if any(type(count) is not int or count < -1 for count in counts):
        raise ValueError("it wrote a number of tokens that is none")
    if counts == [-1, -1]:
        return said["id"], said["output"]
    return said["id"], Answer(said["output"], *counts)
