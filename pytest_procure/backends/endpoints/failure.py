"""Why a request to an endpoint has no good answer.

Failure
├── before an answer   CONNECT, TLS, TIMEOUT, UNSENT
├── the answer broke   RESET (closed before its end), PROTOCOL (no HTTP), TOO_LARGE
├── the answer says no HTTP (status), REDIRECT, STREAM_ERROR (an error event in a stream that began well)
└── it is no answer    BODY (not what was asked for), ENCODED (compressed), NO_FINISH, EMPTY
"""

from __future__ import annotations

import functools
import sys
from enum import IntEnum

from pytest_procure.redaction import quoted, secrets_kept

#: What is told of one failure.
LONGEST = 200
#: What stands where a server repeats a key.
HIDDEN = "[key]"


class Failure(IntEnum):
    """The error class of a request; `NONE` is a good answer."""

    NONE = 0
    CONNECT = 1
    TLS = 2
    TIMEOUT = 3
    UNSENT = 4
    RESET = 5
    PROTOCOL = 6
    TOO_LARGE = 7
    HTTP = 8
    REDIRECT = 9
    STREAM_ERROR = 10
    BODY = 11
    ENCODED = 12
    NO_FINISH = 13
    EMPTY = 14


#: How a request ends of which `completed` is when it was given up.
UNANSWERED = (Failure.TIMEOUT, Failure.UNSENT, Failure.CONNECT, Failure.TLS)


def line(text: object, most: int = LONGEST) -> str:
    """Give what a server said as one printable line of at most 200 characters, without keys."""
    said = text if isinstance(text, str) else str(text)
    if len(said) > most:
        return sys.intern(quoted(said, most, shown=HIDDEN))
    return _short_line(said, most, secrets_kept())


@functools.lru_cache(maxsize=256)  # a server says the same of itself in each of its answers
def _short_line(text: str, most: int, secrets: int) -> str:
    del secrets
    return sys.intern(quoted(text, most, shown=HIDDEN))
