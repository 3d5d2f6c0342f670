"""`procure verify`: whether an evidence pack is what it says, checked offline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_procure.cli import Parser, printable
from pytest_procure.evidence.plain import dumps, to_plain
from pytest_procure.verify import Verification, verify
from pytest_procure.verify.freshness import Stale, Trigger, stale, triggers

_LISTED = 200


def main(arguments: Sequence[str]) -> int:
    """Verify a pack; exit status 0 when all of it follows from its rows and nothing is stale, else 1."""
    parser = Parser(prog="procure verify", description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="the evidence pack, such as procure-report")
    parser.add_argument(
        "--key", metavar="PUB", type=Path, action="append", default=[],
        help="a public key that must have signed; the buyer's first, then those of counter-signers",
    )  # fmt: skip
    parser.add_argument(
        "--anchor", metavar="DIGEST", default="",
        help="the pack's root as it was left outside the signer's control (a pushed commit, a time stamp)",
    )  # fmt: skip
    parser.add_argument(
        "--against",
        metavar="DIR",
        type=Path,
        help="a later pack: is this one superseded, or has the offer drifted?",
    )
    parser.add_argument("--on", metavar="DATE", default="", help="the day to judge expiry by (today)")
    parser.add_argument("--gate", action="store_true", help="exit 1 also where the offers are not accepted")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    asked = parser.parse_args(arguments)
    found = verify(asked.folder, keys=asked.key, anchor=asked.anchor.strip().lower())
    old = stale(found, against=asked.against, on=asked.on)
    accepted = found.record is not None and bool(found.record["outcome"]["accepted"])
    status = 0 if found.holds and not old and (accepted or not asked.gate) else 1
    asking = triggers(found, old, against=asked.against)
    told = _json(found, old, asking, status) if asked.json else _text(found, old, asking)
    sys.stdout.write(told)
    return status


def _text(found: Verification, old: Sequence[Stale], asking: Sequence[Trigger]) -> str:
    lines = []
    if found.holds:
        lines.append(
            f"{found.folder}: holds; every digest fits; measurements, verdicts and pages follow from the rows"
        )
        assert found.record is not None, "a pack that holds was recomputed"
        lines.append(f"  {found.record['outcome']['sentence']}")
    else:
        lines.append(f"{found.folder}: DOES NOT HOLD: {len(found.mismatches)} mismatch(es)")
        lines += [f"  {each}" for each in found.mismatches[:_LISTED]]
        if len(found.mismatches) > _LISTED:
            lines.append(f"  and {len(found.mismatches) - _LISTED:,} more")
    if found.carried:
        lines.append("  covered by digests alone, and not made again:")
        lines += [f"    {each}" for each in found.carried[:_LISTED]]
    lines += [f"  {each.state.upper()}: {each.said}" for each in old]
    lines += [f"  a new run is asked for by {each.text}: {_TRIGGERS[each.state]}" for each in asking]
    lines.append(f"root {found.root}")
    for level in found.levels:
        lines.append(
            f"{level.name} {level.title}: {'holds' if level.holds else 'does not hold'} ({level.why})"
        )
        if level.holds:
            lines.append(f"   shows: {level.proves}")
            lines.append(f"   does not show: {level.leaves_open}")
    return "".join(f"{printable(line)}\n" for line in lines)


#: What is told of a trigger.
_TRIGGERS = {
    "fires": "FIRES",
    "does not fire": "nothing of it was found",
    "not looked at": "not looked at; `--against LATER_PACK` does",
    "for people to tell": "no program can tell",
}


def _json(found: Verification, old: Sequence[Stale], asking: Sequence[Trigger], status: int) -> str:
    record = found.record
    told = {
        "folder": str(found.folder),
        "holds": found.holds,
        "exit_status": status,
        "root": found.root,
        "accepted": None if record is None else record["outcome"]["accepted"],
        "sentence": None if record is None else record["outcome"]["sentence"],
        "mismatches": [to_plain(each) for each in found.mismatches],
        "stale": [to_plain(each) for each in old],
        "triggers": [to_plain(each) for each in asking],
        "not_recomputed": found.carried,
        "signers": found.signers,
        "levels": [to_plain(each) for each in found.levels],
    }
    return dumps(told)
