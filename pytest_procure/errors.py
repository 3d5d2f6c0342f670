"""What can go wrong, and who has to mend it.

ProcureError                 one sentence: what was wrong, where, what was expected, what to do
├── DeclarationError         the suite's author: a mark, candidate, price or dataset is declared wrongly
│   └── UnknownNameError     a test asks a result for what it does not have
├── DataError                the buyer's data: an item, label, slice or score that cannot be used
├── ProvisionError           the offer as delivered: its model or runtime cannot be brought up
├── EvidenceError            what was measured cannot be recorded, or a record cannot be read
└── DomainError              a caller of `stats`: an argument outside the method's domain
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ProcureError(Exception):
    """A mistake that the user can mend, told in one sentence and shown without a traceback."""


class DeclarationError(ProcureError):
    """The suite declares something that cannot be meant."""


class UnknownNameError(DeclarationError, AttributeError):
    """A result, or what a test holds, has nothing of that name."""


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
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"; did you mean `{near[0]}`?" if near else "."
    listed = ", ".join(names) if names else "none"
    return f"unknown {kind} `{name}`{hint} Known: {listed}"
