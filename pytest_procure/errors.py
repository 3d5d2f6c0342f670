"""What can go wrong, and who has to mend it.

ProcureError                 one sentence: what was wrong, where, what was expected, what to do
├── DeclarationError         the suite's author: a mark, candidate, price or dataset is declared wrongly
│   ├── UnknownNameError     a test asks a result for what it does not have
│   └── ComparisonError      a test compares a measured value with what it cannot be held against
├── DataError                the buyer's data: an item, label, slice or score that cannot be used
├── ProvisionError           the offer as delivered: its model or runtime cannot be brought up
├── EvidenceError            what was measured cannot be recorded, or a record cannot be read
└── DomainError              a caller of `stats`: an argument outside the method's domain
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable
from pathlib import Path


class ProcureError(Exception):
    """A mistake that the user can mend, told in one sentence and shown without a traceback."""


class DeclarationError(ProcureError):
    """The suite declares something that cannot be meant."""


class UnknownNameError(DeclarationError, AttributeError):
    """A result, or what a test holds, has nothing of that name."""


class ComparisonError(DeclarationError, TypeError):
    """A measured value is compared with what is no bar for it, as a time with a bare number."""


class DataError(ProcureError):
    """The buyer's data cannot be used as declared."""


class ProvisionError(ProcureError):
    """A candidate cannot be brought up as it was offered."""


class EvidenceError(ProcureError):
    """Evidence cannot be written, or cannot be read."""


class DomainError(ProcureError, ValueError):
    """An argument lies outside the domain of a statistical method."""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that `name` is no known `kind`, with the nearest valid name first.

    >>> unknown("metric", "latency.p9", ["accuracy", "latency.p99"])
    'unknown metric `latency.p9`; did you mean `latency.p99`? Known: accuracy, latency.p99'
    """
    names = sorted(known)
    near = nearest(name, names)
    hint = f"; did you mean `{near}`?" if near else "."
    listed = ", ".join(names) if names else "none"
    return f"unknown {kind} `{name}`{hint} Known: {listed}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Give the one that was probably meant: spelt alike, or a longer name that has it as a part.

    >>> nearest("tickts", ["tickets", "forms"]), nearest("peak", ["gpu_memory_peak"]), nearest("x", ["y"])
    ('tickets', 'gpu_memory_peak', '')
    """
    folded = {each.casefold(): each for each in names}
    asked = name.casefold()
    near = difflib.get_close_matches(asked, folded, n=1, cutoff=0.6)
    parts = (each for each in folded if asked and asked in re.split(r"[._-]", each))
    found = near[0] if near else min(parts, key=len, default="")
    return folded.get(found, "")


_SPACE = "free some space there, or name another folder"
_RIGHT = "let this user write there, or name another folder"
_GONE = "something else removed or replaced the folder meanwhile; leave it alone, and run again"
_REMEDIES = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: "raise the limit on the size of a file (`ulimit -f`), or ask for fewer requests",
    errno.EACCES: _RIGHT,
    errno.EPERM: _RIGHT,
    errno.EROFS: _RIGHT,
    errno.ENOENT: _GONE,
    errno.ENOTDIR: _GONE,
    errno.EEXIST: _GONE,
}


def unwritten(what: str, error: OSError, where: Path) -> EvidenceError:
    """Say that `what` cannot be written to the folder `where`, why, and what to do.

    >>> str(unwritten("the key", OSError(errno.EFBIG, "File too large"), Path("out"))).partition(";")[0]
    'the key cannot be written: File too large, in out'
    """
    why = error.strerror or str(error) or type(error).__name__
    remedy = _REMEDIES.get(error.errno or 0, "see that the folder can be written, and run again")
    return EvidenceError(f"{what} cannot be written: {why}, in {where}; {remedy}")
