"""Server-sent events (WHATWG HTML, section 9.2), as the body of an answer that has arrived in parts.

A line ends with CRLF, LF or CR; a blank line ends an event; what no blank line has ended is no event. Lines
that begin with a colon are comments. Of the fields only `data` counts here, its lines joined by LF.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def events(body: bytes) -> tuple[list[bytes], list[int]]:
    """Give the payload of each event, and how many bytes of the body had to be there for it."""
    if b"\r" in body or body.startswith(_BYTE_ORDER_MARK):
        return _by_line(body)
    payloads: list[bytes] = []
    ends: list[int] = []
    end = 0
    blocks = body.split(b"\n\n")
    blocks.pop()  # what follows the last blank line
    for block in blocks:
        end += len(block) + 2
        if block.startswith(b"data: ") and b"\n" not in block:
            payloads.append(block[6:])
            ends.append(end)
            continue
        data = [value for text in block.split(b"\n") if (value := _data(text)) is not None]
        if data:
            payloads.append(b"\n".join(data))
            ends.append(end)
    return payloads, ends


def arrivals(ends: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Tell which of the parts, of these sizes, completed each event: indices, `(events,)`."""
    if len(sizes) == 1:
        return [0] * len(ends)
    there = list(accumulate(sizes))
    return [bisect_left(there, end) for end in ends]


def _by_line(body: bytes) -> tuple[list[bytes], list[int]]:
    """Do the same line by line, with every kind of line end. A CR ends its line before an LF has come."""
    payloads: list[bytes] = []
    ends: list[int] = []
    data: list[bytes] = []
    first = len(_BYTE_ORDER_MARK) if body.startswith(_BYTE_ORDER_MARK) else 0
    for match in _LINE_END.finditer(body, first):
        text = body[first : match.start()]
        first = match.end()
        if text:
            value = _data(text)
            if value is not None:
                data.append(value)
        elif data:
            payloads.append(b"\n".join(data))
            ends.append(match.start() + 1)
            data = []
    return payloads, ends


def _data(text: bytes) -> bytes | None:
    """Read a line: the value of a `data` field, None for anything else."""
    name, _, value = text.partition(b":")
    if name != b"data":
        return None
    return value.removeprefix(b" ")
