"""`procure recover`: make a marked partial pack of what a killed session left."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_procure.cli import Parser, printable
from pytest_procure.verify.recovering import recover


def main(arguments: Sequence[str]) -> int:
    """Recover a folder; exit status 0 when there is a pack now, whatever it says of the offers."""
    parser = Parser(prog="procure recover", description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder that the session wrote to")
    parser.add_argument(
        "--ledger", metavar="FILE", type=Path, help="of a sealed suite: its ledger (the nearest above DIR)"
    )
    asked = parser.parse_args(arguments)
    told = recover(asked.folder, ledger=asked.ledger)
    sys.stdout.write("".join(f"{printable(line)}\n" for line in told))
    return 0
