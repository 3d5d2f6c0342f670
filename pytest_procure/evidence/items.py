"""Items of a slice as the spec seals them: salted, so that who reads the spec cannot try out guesses.

leaf   SHA-256 of a nonce and the item's own digest; the nonce is HMAC-SHA256 of the item's digest by the
       salt, so one item can be shown to be in the spec without giving the salt away
root   of the leaves in their order: the Merkle tree hash of RFC 6962
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def leaf(salt: bytes, item: bytes) -> str:
    """Salt one item's digest; hexadecimal."""
    return salted(salt, item).hex()


def salted(salt: bytes, item: bytes) -> bytes:
    """Salt one item's digest; 32 bytes."""
    nonce = hmac.digest(salt, item, "sha256")
    return hashlib.sha256(nonce + item).digest()


def root(leaves: Sequence[str]) -> str:
    """Give the Merkle root of leaves in this order; hexadecimal."""
    level = [hashlib.sha256(b"\0" + bytes.fromhex(each)).digest() for each in leaves]
    if not level:
        return hashlib.sha256().hexdigest()
    # Pairs from the left, an odd one moved up as it is: the same tree as RFC 6962 splits from the top.
    while len(level) > 1:
        paired = [
            hashlib.sha256(b"\1" + left + right).digest()
            for left, right in zip(level[::2], level[1::2], strict=False)
        ]
        level = paired + level[len(paired) * 2 :]
    return level[0].hex()


def groups(salt: bytes, strata: NDArray[np.str_] | None, clusters: NDArray[np.int64] | None) -> str:
    """Digest which items belong to which stratum and which cluster; "" where there are neither."""
    if strata is None and clusters is None:
        return ""
    mac = hmac.new(salt, digestmod="sha256")
    for stratum in [] if strata is None else strata.tolist():
        name = str(stratum).encode("utf-8", "surrogatepass")
        mac.update(len(name).to_bytes(8, "little") + name)
    mac.update(b"\0clusters\0")
    numbers: dict[int, int] = {}
    for cluster in [] if clusters is None else clusters.tolist():
        # Numbered by first appearance: what a cluster is called tells nothing.
        mac.update(numbers.setdefault(cluster, len(numbers)).to_bytes(8, "little"))
    return mac.hexdigest()
