"""Integrity levels: what a pack's digests, signatures and anchors show, and what each does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """A level, whether it holds, and what stays open even then."""

    name: str
    title: str
    holds: bool
    why: str
    proves: str
    leaves_open: str


def levels(
    signers: Sequence[str], keys: Sequence[str], anchor: str, heads: Sequence[str], *, intact: bool
) -> list[Level]:
    """Say which levels hold.

    `signers`: ids of keys whose signatures are valid; `keys`: those that the verifier trusts, the buyer's
    first; `anchor`: a digest that the verifier got elsewhere; `heads`: the pack's root and its ledger's
    entries; `intact`: no mismatch.
    """
    trusted = [key for key in keys if key in signers]
    return [
        Level(
            "L0",
            "digests",
            intact,
            "every digest fits, and what follows from the rows was made again"
            if intact
            else "there are mismatches",
            "nothing was changed by accident, and nothing without making the whole pack anew",
            "that nobody made the whole pack anew: whoever can write files can make one that holds",
        ),
        Level(
            "L1",
            "signed",
            intact and bool(trusted),
            _signed(signers, keys, trusted),
            "nobody without the key has changed the pack since it was signed",
            "when it was signed, what the holder of the key changed before, and which runs were left out",
        ),
        Level(
            "L2",
            "anchored",
            intact and bool(trusted) and bool(anchor) and anchor in heads,
            _anchored(anchor, heads),
            "the pack is the one whose digest was left outside the signer's control at that time",
            "what happened before the anchor was set, and how independent that other place is",
        ),
        Level(
            "L3",
            "counter-signed",
            intact and len(trusted) > 1,
            _counter_signed(keys, trusted),
            "a second party vouches for the very same pack",
            "that either party watched the run: they may have signed what they were shown",
        ),
    ]


def _signed(signers: Sequence[str], keys: Sequence[str], trusted: Sequence[str]) -> str:
    if trusted:
        return f"signed by key {trusted[0][:16]}, which you gave"
    if signers and not keys:
        return f"signed by key {signers[0][:16]}; give its file with --key if you know whose it is"
    return "not signed by a key you gave" if keys else "not signed"


def _counter_signed(keys: Sequence[str], trusted: Sequence[str]) -> str:
    if not keys:
        return "no keys were given; --key takes the buyer's, and once more the counter-signer's"
    return (
        f"{len(trusted)} of the {len(keys)} keys you gave signed it" if len(keys) > 1 else "one key was given"
    )


def _anchored(anchor: str, heads: Sequence[str]) -> str:
    if not anchor:
        return "no anchor was given; --anchor takes the digest that was left elsewhere"
    if anchor not in heads:
        return "the anchor is another pack's"
    return "the anchor is " + ("this pack's root" if anchor == heads[0] else "an entry of its ledger")
