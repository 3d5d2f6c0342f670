"""`procure countersign`: add the signature of a second party to a pack that holds and is signed."""

from __future__ import annotations

from collections.abc import Sequence

from .sign import main as sign


def main(arguments: Sequence[str]) -> int:
    """Verify the pack, and add a signature to those that are there."""
    return sign(arguments, first=False)
