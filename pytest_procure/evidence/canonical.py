"""One way to write plain data as bytes, so that a digest is of what is said and not of how it is spelt."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pytest_procure.errors import EvidenceError

#: RFC 8785 writes numbers as JavaScript does, which holds no whole number beyond this.
_LARGEST = 2**53 - 1


def canonical(value: Any) -> bytes:
    """Write plain JSON data by RFC 8785. Raises `EvidenceError` for what is no plain data."""
    import rfc8785  # noqa: PLC0415 - a session that digests nothing need not load it

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise EvidenceError(f"what is to be digested is no plain data: {error}") from error


def digest(value: Any) -> str:
    """Give the SHA-256 of plain data's canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def plain(value: Any) -> Any:
    """Make what a suite may disclose plain: mappings and lists of text, numbers, True, False and None.

    A whole number that RFC 8785 cannot write, and whatever else is no plain data, becomes text.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
