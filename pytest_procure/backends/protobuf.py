"""As much of protobuf's wire format as it takes to look into a model file without trusting it."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

#: Wire types: a number, and bytes led by their length.
NUMBER, BYTES = 0, 2


def fields(data: mmap.mmap, place: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message: number, wire type, and the number itself or first byte and end.

    Raises `ValueError` or `IndexError` for what is no message. Fixed numbers are passed over.
    """
    while place < end:
        tag, place = varint(data, place)
        wire = tag & 7
        if wire == NUMBER:
            value, place = varint(data, place)
            yield tag >> 3, wire, value, place
        elif wire == BYTES:
            size, place = varint(data, place)
            if place + size > end:
                raise ValueError("a field reaches beyond its message")
            yield tag >> 3, wire, place, place + size
            place += size
        elif wire in {1, 5}:
            place += 8 if wire == 1 else 4
        else:
            raise ValueError("no protobuf")


def messages(data: mmap.mmap, place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields that are bytes, which messages are too: number, first byte, end."""
    for number, wire, first, last in fields(data, place, end):
        if wire == BYTES:
            yield number, first, last


def varint(data: mmap.mmap, place: int) -> tuple[int, int]:
    """A number, and the place after it."""
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
        if shift > 63:
            raise ValueError("no protobuf")
