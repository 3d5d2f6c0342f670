"""`procure sign`: sign an evidence pack that holds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_procure.cli import Parser
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.attestations import private_key, sign
from pytest_procure.verify import verify


def main(arguments: Sequence[str], *, first: bool = True) -> int:
    """Verify the pack, and sign it; one that does not hold is not signed (exit status 2)."""
    name = "sign" if first else "countersign"
    parser = Parser(prog=f"procure {name}", description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="the evidence pack, such as procure-report")
    parser.add_argument("--key", metavar="FILE", type=Path, required=True, help="your secret key")
    asked = parser.parse_args(arguments)
    key = private_key(asked.key)
    found = verify(asked.folder)
    if not found.holds:
        raise EvidenceError(f"{asked.folder} does not hold, so it is not signed: {found.mismatches[0]}")
    made = sign(asked.folder, key, first=first)
    sys.stdout.write(
        f"{asked.folder}: signed by key {made}\n"
        f"root {found.root}\n"
        "leave the root where you cannot change it (a pushed commit, a time stamp, the other party's mail): "
        f"`procure verify {asked.folder} --key PUB --anchor ROOT` then shows level L2\n"
    )
    return 0
