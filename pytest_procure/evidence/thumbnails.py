"""Small pictures of samples that are images, as PNG: 32 pixels a side at most, nothing else in them."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 32
#: Smaller than this is a vector in disguise.
_SMALLEST = 4
_CHANNELS = {1, 3, 4}


def thumbnail(sample: Any) -> str:
    """Give a sample as a PNG in base64; "" where it is no image.

    An image is an array of uint8, or of floats from 0 to 1: `(h, w, c)` or `(c, h, w)` with 1, 3 or 4
    channels, or `(h, w)` of uint8. Larger ones are thinned out to 32 pixels a side; a fourth
    channel is left out.
    """
    pixels = _pixels(sample)
    return "" if pixels is None else base64.b64encode(_png(pixels)).decode("ascii")


def _pixels(sample: Any) -> NDArray[np.uint8] | None:
    """`(h, w, 1 or 3)` of a sample, or None."""
    if not isinstance(sample, np.ndarray) or not (sample.dtype == np.uint8 or sample.dtype.kind == "f"):
        return None
    if sample.ndim == 2 and sample.dtype == np.uint8:
        sample = sample[:, :, np.newaxis]
    elif sample.ndim == 3 and sample.shape[2] not in _CHANNELS and sample.shape[0] in _CHANNELS:
        sample = np.moveaxis(sample, 0, 2)
    if sample.ndim != 3 or sample.shape[2] not in _CHANNELS or min(sample.shape[:2]) < _SMALLEST:
        return None
    step = -(-max(sample.shape[:2]) // _LARGEST)
    small = sample[::step, ::step, : 3 if sample.shape[2] >= 3 else 1]
    if sample.dtype == np.uint8:
        return np.ascontiguousarray(small)
    # NaN fails both comparisons, and so is no image.
    if not (small.min() >= 0 and small.max() <= 1):
        return None
    shades: NDArray[np.uint8] = np.rint(small * 255).astype(np.uint8)
    return shades


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode `(h, w, 1 or 3)` (PNG specification, third edition: IHDR, IDAT, IEND; filter 0 on each line)."""
    height, width, channels = pixels.shape
    rows: NDArray[np.uint8] = pixels.reshape(height, -1)
    if channels == 1:  # sixteen greys, two pixels a byte: enough to recognise a sample, and half the size
        greys = np.zeros((height, width + width % 2), dtype=np.uint8)
        greys[:, :width] = (rows.astype(np.uint16) * 15 + 127) // 255
        rows = (greys[:, ::2] * 16 + greys[:, 1::2]).astype(np.uint8)
    lines = np.zeros((height, 1 + rows.shape[1]), dtype=np.uint8)
    lines[:, 1:] = rows
    depth, colour = (4, 0) if channels == 1 else (8, 2)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
