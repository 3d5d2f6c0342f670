"""Why a request to an endpoint has no good answer.

Failure
├── before an answer   CONNECT, TLS, TIMEOUT, UNSENT
├── the answer broke   RESET (closed before its end), PROTOCOL (no HTTP), TOO_LARGE
├── the answer says no HTTP (status), REDIRECT, STREAM_ERROR (an error event in a stream that began well)
└── it is no answer    BODY (not what was asked for), ENCODED (compressed), NO_FINISH, EMPTY
"""

from __future__ import annotations

import sys
from enum import IntEnum

#: What is told of one failure.
LONGEST = 200


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


def line(text: object) -> str:
    """Give what a server said as one printable line of at most 200 characters."""
    if isinstance(text, str) and len(text) <= LONGEST and text.isprintable():
        return text
    shown = str(text)[: 4 * LONGEST]
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in shown).split())
    return sys.intern(shown[:LONGEST])
