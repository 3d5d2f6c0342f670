"""The ledger: every run of a sealed suite, in a file that is only ever added to.

One entry a line, in canonical JSON. Each holds the digest of the one before it, so that none can be changed,
removed or put elsewhere without the rest showing it; that the last ones were cut off shows only to somebody
who keeps the digest of the last one, the head, elsewhere.

    seal      a spec was sealed
    begin     a run is about to send its first request
    measured  all its requests are answered; from here on it is a complete run, whatever becomes of it
    end       its verdict, and the digests of its rows where a pack holds them

An entry is on the disk (fsync) before what it announces happens.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pytest_procure.errors import EvidenceError, unwritten

from .canonical import canonical
from .private import Private

NAME = "procure-ledger.jsonl"

Entry = dict[str, Any]
_ORIGIN = "0" * 64  # what the first entry follows
#: A clock that is set back by less is kept right, or another machine's; entries stay in order.
_SET_RIGHT = timedelta(hours=1)
_RESTORE = "restore it from version control, or from where a copy is kept"


@dataclass(frozen=True, slots=True)
class Chain:
    """The entries of a ledger, and the digest of each."""

    entries: tuple[Entry, ...] = ()
    digests: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The digest of the last entry."""
        return self.digests[-1] if self.digests else _ORIGIN


class Ledger:
    """The ledger beside a spec. Reading and adding are safe between processes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._private = Private(folder)

    def read(self) -> Chain:
        """Read and check all entries. Raises `EvidenceError` in one sentence when anything is amiss."""
        try:
            with self._opened(os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
                chain = _chain(_all(descriptor))
        except FileNotFoundError:
            raise EvidenceError(f"{NAME} is missing beside the spec; {_RESTORE}") from None
        self._check_head(chain)
        return chain

    def append(self, event: str, make: Callable[[Chain], Entry], *, new: bool = False) -> Chain:
        """Add the entry that `make` gives for the entries before it, and see it to the disk.

        Nobody else adds one in between. `new`: the ledger may begin here. Raises `EvidenceError` when the
        ledger is amiss or cannot be written; no half entry is left behind.
        """
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if new else 0)
        try:
            with self._opened(flags, fcntl.LOCK_EX) as descriptor:
                data = _all(descriptor)
                chain = _chain(data) if data or not new else Chain()
                self._check_head(chain)
                entry = {
                    "entry": len(chain.entries) + 1,
                    "previous": chain.head,
                    "event": event,
                    "time": _after(chain),
                    **make(chain),
                }
                line = canonical(entry)
                _write(descriptor, line + b"\n", len(data))
                if not data:
                    self._settle_folder()
                head = hashlib.sha256(line).hexdigest()
                self._private.keep_head(head)
        except FileNotFoundError:
            raise EvidenceError(f"{NAME} is missing beside the spec; {_RESTORE}") from None
        except OSError as error:
            raise unwritten(NAME, error, self.path.parent) from error
        return Chain((*chain.entries, entry), (*chain.digests, head))

    def _settle_folder(self) -> None:
        """See to the disk that the folder knows the new file."""
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _check_head(self, chain: Chain) -> None:
        """Hold the ledger against the last head that this machine wrote: a cut tail shows nowhere else."""
        known = self._private.head()
        if known is not None and known not in chain.digests:
            raise EvidenceError(
                f"{NAME} lacks an entry that was written here ({known[:12]}): its end was cut off, or an "
                f"older copy stands in its place; {_RESTORE}"
            )

    @contextmanager
    def _opened(self, flags: int, lock: int) -> Iterator[int]:
        try:
            descriptor = os.open(self.path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise EvidenceError(f"{NAME} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, lock)
            yield descriptor
        finally:
            os.close(descriptor)


def dumps(chain: Chain) -> bytes:
    """Write the entries of a chain as a ledger holds them."""
    return b"".join(canonical(entry) + b"\n" for entry in chain.entries)


def parse(data: bytes) -> Chain:
    """Read and check the entries of a ledger's bytes. Raises `EvidenceError`, which names the line."""
    return _chain(data)


def _chain(data: bytes) -> Chain:
    if not data:
        raise EvidenceError(f"{NAME} is empty; {_RESTORE}")
    if not data.endswith(b"\n"):
        raise EvidenceError(f"{NAME} ends in the middle of an entry; {_RESTORE}")
    entries: list[Entry] = []
    digests: list[str] = []
    for number, line in enumerate(data[:-1].split(b"\n"), start=1):
        entry = _entry(line, number)
        if entry.get("entry") != number or entry.get("previous") != (digests[-1] if digests else _ORIGIN):
            raise EvidenceError(
                f"{NAME}, line {number}: it does not follow from the line before; an entry was changed, "
                f"removed or moved; {_RESTORE}"
            )
        if entries and str(entry.get("time", "")) < str(entries[-1].get("time", "")):
            raise EvidenceError(
                f"{NAME}, line {number}: it was written before the line above it, by its time; {_RESTORE}"
            )
        entries.append(entry)
        digests.append(hashlib.sha256(line).hexdigest())
    if entries[0].get("event") != "seal":
        raise EvidenceError(f"{NAME}, line 1: expected the entry of a seal; {_RESTORE}")
    return Chain(tuple(entries), tuple(digests))


def _entry(line: bytes, number: int) -> Entry:
    try:
        entry = json.loads(line)
        sound = isinstance(entry, dict) and (_compact(entry) == line or canonical(entry) == line)
    except (ValueError, RecursionError, EvidenceError):
        sound = False
    if not sound:
        raise EvidenceError(f"{NAME}, line {number}: it is no entry as it was written; {_RESTORE}")
    return entry  # type: ignore[no-any-return] # a mapping, as just checked


def _compact(entry: Entry) -> bytes:
    """Write an entry ten times as fast as `canonical` does, and the same where it holds texts and counts."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _all(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    parts, read = [], 0
    while read < size:
        part = os.pread(descriptor, size - read, read)
        if not part:
            break
        parts.append(part)
        read += len(part)
    return b"".join(parts)


def _write(descriptor: int, line: bytes, before: int) -> None:
    """Write a line whole and see it to the disk, or leave the file as it was."""
    try:
        done = 0
        while done < len(line):
            done += os.write(descriptor, line[done:])
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise


def _after(chain: Chain) -> str:
    """Give the time of an entry: never before the last one's. Raises `EvidenceError` for a clock set back."""
    now = _written(datetime.now(UTC))
    last = str(chain.entries[-1]["time"]) if chain.entries else ""
    if now >= last:
        return now
    if _written(datetime.now(UTC) + _SET_RIGHT) >= last:
        return last
    raise EvidenceError(
        f"the clock says {now}, and the last entry of {NAME} is of {last}: the clock was set back, or was "
        "wrong then; set it right"
    )


def _written(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
