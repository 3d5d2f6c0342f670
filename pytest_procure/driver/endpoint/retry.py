"""When another attempt is made, and why there was no connection for one."""

from __future__ import annotations

import errno
import ssl
from email.utils import parsedate_to_datetime
from time import time

from pytest_procure.backends.endpoints.failure import Failure, line

_FIRST_PAUSE_NS, _LONGEST_PAUSE_NS = 500_000_000, 8_000_000_000
#: What this machine may have no more of when a connection is to be opened: open files, ports, memory.
OWN_LIMITS = {errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM}
_TOO_SOON = {408, 409, 429}


def is_retried(status: int) -> bool:
    """Whether a declared retry follows this HTTP status: what the vendors' own clients retry."""
    return status in _TOO_SOON or status >= 500


def pause_ns(tried: int, after: str | None) -> int:
    """How long to wait before another attempt: what Retry-After asks for, else 0.5 s, doubled each time."""
    if after is not None:
        try:
            return max(0, int(float(after) * 1e9))
        except (ValueError, OverflowError):
            pass
        try:
            return max(0, int((parsedate_to_datetime(after).timestamp() - time()) * 1e9))
        except (ValueError, TypeError, OverflowError):
            pass
    return min(_FIRST_PAUSE_NS << min(tried, 8), _LONGEST_PAUSE_NS)


def told(error: OSError) -> tuple[Failure, str]:
    """Say why no connection came about."""
    if isinstance(error, ssl.SSLError):
        return Failure.TLS, line(f"no TLS connection: {error.reason or error}")
    if isinstance(error, TimeoutError):
        return Failure.CONNECT, "no connection before the time-out"
    reason = error.strerror or type(error).__name__
    return Failure.CONNECT, line(f"no connection: {reason}")
