"""GGUF files (version 3, little-endian): read, written, and their tensors in other precisions.

A tensor of a quantised type is rows of blocks of 32 values. Q8_0: a scale and 32 numbers of 8 bits. Q4_0: a
scale and 32 numbers of 4 bits, 8 standing for 0. Q4_1: a scale, a minimum, and 32 numbers of 4 bits. Value i
of a 4-bit block is the low half of byte i, value i + 16 its high half. The roundings are those of llama.cpp's
reference code, so the bytes are those that its own tools write for these types.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

F32, F16, Q4_0, Q4_1, Q8_0 = 0, 1, 2, 3, 8
BLOCK = 32
#: Bytes of a block of 32 values, by type.
_BLOCK_BYTES = {F32: 128, F16: 64, Q4_0: 18, Q4_1: 20, Q8_0: 34}
_MAGIC, _VERSION = b"GGUF", 3
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of a value, by its type
_UINT32, _STRING, _ARRAY = 4, 8, 9
_ALIGNMENT = 32


@dataclass
class Tensor:
    """One tensor: `shape` as in the file (the length of a row first), `data` its raw bytes."""

    name: str
    shape: tuple[int, ...]
    kind: int
    data: bytes


@dataclass
class Gguf:
    """A file: what it says of the model, as raw values by key, and its tensors."""

    fields: dict[str, bytes]
    tensors: list[Tensor]

    @classmethod
    def read(cls, path):
        """Read a file. Raises `ValueError` for one that is of another format or version."""
        data = Path(path).read_bytes()
        if data[:4] != _MAGIC or struct.unpack_from("<I", data, 4)[0] != _VERSION:
            raise ValueError(f"{Path(path).name} is no GGUF file of version {_VERSION}")
        tensors, fields = struct.unpack_from("<QQ", data, 8)
        place, known = 24, {}
        for _ in range(fields):
            key, place = _text(data, place)
            end = _end_of_value(data, place)
            known[key], place = data[place:end], end
        heads = []
        for _ in range(tensors):
            name, place = _text(data, place)
            (rank,) = struct.unpack_from("<I", data, place)
            shape = struct.unpack_from(f"<{rank}Q", data, place + 4)
            kind, offset = struct.unpack_from("<IQ", data, place + 4 + 8 * rank)
            place += 16 + 8 * rank
            heads.append((name, shape, kind, offset))
        first = _aligned(place)
        return cls(
            known,
            [Tensor(n, s, k, data[first + o : first + o + _size(s, k)]) for n, s, k, o in heads],
        )

    def write(self, path):
        """Write a file."""
        head = [_MAGIC, struct.pack("<IQQ", _VERSION, len(self.tensors), len(self.fields))]
        head += [part for key, raw in self.fields.items() for part in (_packed(key), raw)]
        offset = 0
        for each in self.tensors:
            head += [_packed(each.name), struct.pack(f"<I{len(each.shape)}Q", len(each.shape), *each.shape)]
            head += [struct.pack("<IQ", each.kind, offset)]
            offset += _aligned(len(each.data))
        begin = b"".join(head)
        with Path(path).open("wb") as file:
            file.write(begin.ljust(_aligned(len(begin)), b"\0"))
            for each in self.tensors:
                file.write(each.data.ljust(_aligned(len(each.data)), b"\0"))


def uint32(value):
    """Give a field's raw value for a whole number."""
    return struct.pack("<II", _UINT32, value)


def as_float32(tensor):
    """Give the values of a Q4_1 tensor, `(rows, length)` float32."""
    if tensor.kind != Q4_1:
        raise ValueError(f"{tensor.name} is of type {tensor.kind}; expected Q4_1 ({Q4_1})")
    blocks = np.frombuffer(tensor.data, dtype=np.uint8).reshape(-1, 20)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    least = blocks[:, 2:4].copy().view("<f2").astype(np.float32)
    halves = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1).astype(np.float32)
    return (scale * halves + least).reshape(-1, tensor.shape[0])


def to_q8_0(values):
    """Give the bytes of values as Q8_0."""
    blocks = values.reshape(-1, BLOCK)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    scaled = blocks * _inverse(scale)
    whole = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int8)  # a half rounds outward
    return np.concatenate([_half(scale), whole.view(np.uint8)], axis=1).tobytes()


def to_q4_0(values):
    """Give the bytes of values as Q4_0."""
    blocks = values.reshape(-1, BLOCK)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1, keepdims=True), axis=1)
    scale = largest / np.float32(-8)
    whole = np.trunc(blocks * _inverse(scale) + np.float32(8.5)).clip(0, 15).astype(np.uint8)
    packed = whole[:, :16] | whole[:, 16:] << 4
    return np.concatenate([_half(scale), packed], axis=1).tobytes()


def _inverse(scale):
    return np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)


def _half(scale):
    return scale.astype("<f2").view(np.uint8)


def _size(shape, kind):
    return int(np.prod(shape, dtype=np.int64)) * _BLOCK_BYTES[kind] // BLOCK


def _text(data, place):
    (length,) = struct.unpack_from("<Q", data, place)
    place += 8
    return data[place : place + length].decode(), place + length


def _packed(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _end_of_value(data, place):
    (kind,) = struct.unpack_from("<I", data, place)
    place += 4
    if kind == _STRING:
        return _text_end(data, place)
    if kind != _ARRAY:
        return place + _SIZES[kind]
    kind, count = struct.unpack_from("<IQ", data, place)
    place += 12
    if kind != _STRING:
        return place + count * _SIZES[kind]
    for _ in range(count):
        place = _text_end(data, place)
    return place


def _text_end(data, place):
    return place + 8 + struct.unpack_from("<Q", data, place)[0]


def _aligned(size):
    return -(-size // _ALIGNMENT) * _ALIGNMENT
