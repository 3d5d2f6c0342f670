"""What a server writes: read as fast as it comes, digested whole, and kept up to a limit."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from pytest_procure.errors import ProvisionError
from pytest_procure.redaction import quoted, redacted

_CHUNK = 1 << 18
#: Of the end, in memory, and in the file where the log is longer than that may be.
_TAIL = 16 << 10
_LONGEST = 160  # of a line that is quoted
_FEW = 3  # bytes that say nothing of a secret, and that any line may end with


class ServerLog:
    """The log of one server.

    It is read from a pipe by a thread, so that the server never waits, and holds no more than `limit` bytes
    of disk at `path` (None: none): the beginning, and the end. `secrets` are taken out of all of it.
    """

    def __init__(self, *, path: Path | None, limit: int, secrets: Sequence[str], awaited: str) -> None:
        self.seen = threading.Event()  # the awaited text has stood in a line
        self.bytes = 0
        self._limit = max(0, limit - _TAIL)
        self._digest = hashlib.sha256()
        self._secrets: list[bytes] = []
        self.hide(secrets)
        self._held = b""  # what may be the beginning of a secret, or of the awaited text
        self._awaited = awaited.encode()
        self._tail = b""
        self._kept = 0
        self._file = None if path is None else _opened(path)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def hide(self, secrets: Sequence[str]) -> None:
        """Take these out as well of what comes from now on."""
        told = [form for secret in secrets for form in (secret, json.dumps(secret)[1:-1])]
        self._secrets += [form.encode() for form in dict.fromkeys(told) if form.encode() not in self._secrets]

    def read_from(self, descriptor: int) -> None:
        """Begin to read a pipe, to its end."""
        self._thread = threading.Thread(target=self._read, args=(descriptor,), daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait for the pipe's end."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        """Write the end of what was too long, and let go of the file."""
        with self._lock:
            file, self._file = self._file, None
        if file is None:
            return
        with file:
            if missing := self.bytes - self._kept:
                tail = self._tail[-min(missing, _TAIL) :]
                left_out = missing - len(tail)
                file.write(f"\n[{left_out:,} bytes left out]\n".encode() if left_out else b"")
                file.write(tail)

    def last_lines(self, count: int) -> list[str]:
        """Quote the last lines that say something, each printable and short, without secrets."""
        with self._lock:
            text = self._tail + self._held[: len(self._held) - self._begun()]
            secrets = [secret.decode() for secret in self._secrets]
        lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
        told = [quoted(line, 4 * _LONGEST, also=secrets, shown="(secret)") for line in lines[-count:]]
        return [redacted(line)[:_LONGEST] for line in told]

    def record(self) -> dict[str, Any]:
        """Disclose how much was written so far, and the digest of it, as plain JSON data."""
        with self._lock:
            return {"bytes": self.bytes, "sha256": self._digest.hexdigest()}

    def _begun(self) -> int:
        """How much of what is held is the beginning of a secret whose rest has not come."""
        sizes = range(max(map(len, self._secrets), default=1) - 1, _FEW, -1)
        return next((size for size in sizes if self._begins_one(self._held[-size:])), 0)

    def _begins_one(self, end: bytes) -> bool:
        return any(secret.startswith(end) for secret in self._secrets)

    def _read(self, descriptor: int) -> None:
        try:
            while data := os.read(descriptor, _CHUNK):
                self._take(data, last=False)
        except OSError:  # the pipe was closed on this side
            pass
        self._take(b"", last=True)

    def _take(self, data: bytes, *, last: bool) -> None:
        data = self._held + data
        for secret in self._secrets:
            data = data.replace(secret, b"(secret)")
        if self._awaited and self._awaited in data:
            self.seen.set()
        hold = 0 if last else max((len(each) - 1 for each in (*self._secrets, self._awaited)), default=0)
        hold = max(0, min(hold, len(data)))
        told = data[: len(data) - hold]
        with self._lock:
            self._held = data[len(told) :]
            self._digest.update(told)
            self.bytes += len(told)
            self._tail = (self._tail + told)[-_TAIL:]
            if self._file is not None and self._kept < self._limit:
                part = told[: self._limit - self._kept]
                self._file.write(part)
                self._file.flush()
                self._kept += len(part)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise ProvisionError(f"the server's log `{path.name}` cannot be written: {error.strerror}") from None
