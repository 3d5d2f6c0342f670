"""As much of protobuf's wire format as it takes to look into a model file without trusting it."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

#: Wire types: a number, and bytes led by their length.
NUMBER, BYTES = 0, 2
#: Numbers of a fixed length, which is 8 and 4 bytes.
FIXED = {1: 8, 5: 4}
_GROUP, _GROUP_END = 3, 4
#: What protobuf takes for the number of a field. It drops the bits of a longer one, and would see another.
_NUMBERS = range(1, 1 << 29)


def fields(  # noqa: C901 - a table of wire types
    data: mmap.mmap, place: int, end: int
) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message: number, wire type, and the number itself or first byte, and end.

    Groups are passed over, as by protobuf where a message has none. Raises `ValueError` or `IndexError` for
    what protobuf would not read to its end either.
    """
    groups: list[int] = []
    while place < end:
        tag, first = varint(data, place)
        number, wire = tag >> 3, tag & 7
        if number not in _NUMBERS:
            raise ValueError("a field has no valid number")
        value = place = first
        if wire == NUMBER:
            value, place = varint(data, first)
        elif wire == BYTES:
            size, value = varint(data, first)
            place = value + size
        elif wire in FIXED:
            place += FIXED[wire]
        elif wire == _GROUP:
            groups.append(number)
        elif wire != _GROUP_END or not groups or groups[-1] != number:
            raise ValueError("a field is of no known type")
        if place > end:
            raise ValueError("a field reaches beyond its message")
        if not groups:
            yield number, wire, value, place
        elif wire == _GROUP_END:
            groups.pop()
    if groups:
        raise ValueError("a group has no end")


def messages(data: mmap.mmap, place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields that are bytes, which messages are too: number, first byte, end."""
    for number, wire, first, last in fields(data, place, end):
        if wire == BYTES:
            yield number, first, last


def varint(data: mmap.mmap, place: int) -> tuple[int, int]:
    """A number of at most 64 bits, of which protobuf drops the rest, and the place after it."""
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value & (1 << 64) - 1, place
        if shift > 63:
            raise ValueError("a number has no end")
