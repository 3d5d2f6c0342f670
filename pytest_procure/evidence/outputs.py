"""What a candidate answered: a digest for each output, and its text where the buyer lets it be kept.

The digest of an output is SHA-256 over its canonical bytes, as `datasets.digests` has them: `text`, NUL and
the UTF-8 of a text; `json`, NUL and compact JSON with sorted keys of other plain data. Each different output
stands once, in the order in which it was first given.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.datasets.digests import canonical
from pytest_procure.redaction import without_keys

from .whole import new_file

_TEXT, _JSON = b"text\0", b"json\0"
#: Outputs longer than this are known by their digest alone.
LONGEST_TEXT = 1 << 20
_REDACTED = "[redacted]"


@dataclass(slots=True)
class Outputs:
    """The outputs of a run. `keep`: with their texts; `redact`: what of a text must not be kept."""

    keep: bool = True
    redact: re.Pattern[str] | None = None
    _texts: dict[str, bytes] = field(default_factory=dict)  # text -> digest
    _known: dict[object, bytes] = field(default_factory=dict)  # other plain values -> digest
    _others: dict[bytes, str] = field(default_factory=dict)  # digest -> their JSON

    def digests(self, answers: Sequence[Any]) -> NDArray[np.bytes_]:
        """`(n,)` SHA-256 of each output as 64 hexadecimal digits; empty where there is no output."""
        kinds = set(map(type, answers))
        if kinds <= {str} or (len(kinds) == 1 and kinds <= _HASHED):  # the case of millions
            known = {answer: self._of(answer) for answer in dict.fromkeys(answers)}
            return np.array([known[answer] for answer in answers], dtype="S64")
        return np.array([self._of(answer) for answer in answers], dtype="S64")

    def _of(self, answer: Any) -> bytes:
        if type(answer) is not str:
            return b"" if answer is None else self._of_other(answer)
        digest = self._texts.get(answer)
        if digest is None:
            data = _TEXT + answer.encode("utf-8", "surrogatepass")
            digest = self._texts[answer] = hashlib.sha256(data).hexdigest().encode()
        return digest

    def write(self, path: Path) -> bool:
        """Write the texts, a line of JSON each; False where there are none. Raises `EvidenceError`."""
        if not self.keep or not (self._texts or self._others):
            return False
        told = itertools.chain(self._texts.items(), ((text, digest) for digest, text in self._others.items()))
        with new_file(path, f"the outputs {path.name}") as file:
            file.writelines(
                self._line(text, digest).encode("ascii") for text, digest in told if len(text) <= LONGEST_TEXT
            )
        return True

    def _line(self, text: str, digest: bytes) -> str:
        kept = without_keys(text)
        if self.redact is not None:
            kept = self.redact.sub(_REDACTED, kept)
        return _line(digest.decode(), kept, whole=kept == text)

    def _of_other(self, answer: Any) -> bytes:
        # 1, 1.0 and True are one key, and no one output; so the type is part of it. Only plain values are
        # looked up by their own equality.
        key = (type(answer), answer) if type(answer) in _HASHED else None
        if key is not None and key in self._known:
            return self._known[key]
        try:
            data = canonical(answer)
        except Exception:  # noqa: BLE001 - an object of the candidate's own may do anything when it is read
            data = b"other\0" + type(answer).__name__.encode("utf-8", "replace")
        digest = hashlib.sha256(data).hexdigest().encode()
        if data.startswith(_JSON):
            self._others[digest] = data[len(_JSON) :].decode("ascii")
        if key is not None:
            self._known[key] = digest
        return digest


#: Values that say themselves what they equal, and mean nothing else by it.
_HASHED = frozenset({int, bool, bytes, np.int64, np.int32, np.uint8, np.bool_})


def _line(digest: str, text: str, *, whole: bool) -> str:
    """Write an output as `json.dumps` with sorted keys would, four times as fast: there are millions."""
    return f'{{"sha256": "{digest}", "text": {_quoted(text)}, "whole": {"true" if whole else "false"}}}\n'


_quoted: Callable[[str], str] = json.encoder.encode_basestring_ascii


def check_texts(path: Path, digests: set[bytes]) -> list[str]:
    """Say what is wrong with a file of outputs whose rows have these digests: nothing, if all is well."""
    wrong: list[str] = []
    left = set(digests)
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(8 * LONGEST_TEXT), b""), start=1):
            try:
                digest, text, whole = _read(line)
            except (ValueError, IndexError, UnicodeDecodeError):
                wrong.append(f"line {number}: no output as we write it")
                continue
            key = digest.encode()
            if key not in left:
                why = "stands twice" if key in digests else "is of no row of the log"
                wrong.append(f"line {number}: the output {why}")
            elif whole and not _is_of(digest, text.encode("utf-8", "surrogatepass")):
                wrong.append(f"line {number}: the text is not the one that was digested")
            left.discard(key)
    return wrong


_DECODER = json.JSONDecoder()
_HEAD, _MIDDLE = '{"sha256": "', '", "text": "'


def _read(line: bytes) -> tuple[str, str, bool]:
    """Read a line: digest, text, and whether it is the whole text. Raises `ValueError` for any other form."""
    told = line.decode("ascii")
    digest = told[len(_HEAD) : len(_HEAD) + 64]
    text, end = _DECODER.raw_decode(told, len(_HEAD) + 64 + len(_MIDDLE) - 1)
    if not isinstance(text, str):
        raise ValueError(told[:40])  # noqa: TRY004 - the line is wrong, not the call
    whole = told[end:] == ', "whole": true}\n'
    if _line(digest, text, whole=whole) != told:
        raise ValueError(told[:40])
    return digest, text, whole


def _is_of(digest: str, data: bytes) -> bool:
    return any(hashlib.sha256(kind + data).hexdigest() == digest for kind in (_TEXT, _JSON))
