"""`procure keygen`: a key pair to sign evidence packs with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_procure.cli import Parser
from pytest_procure.evidence.attestations import generate


def main(arguments: Sequence[str]) -> int:
    """Make FILE, the secret key, readable by its owner alone, and FILE.pub."""
    parser = Parser(prog="procure keygen", description=__doc__)
    parser.add_argument("file", metavar="FILE", type=Path, help="where to write the secret key")
    asked = parser.parse_args(arguments)
    made = generate(asked.file)
    sys.stdout.write(
        f"key {made}\n"
        f"secret: {asked.file} (keep it out of the repository and of every evidence folder)\n"
        f"public: {asked.file}.pub (give it to whoever is to verify, by another way than the pack)\n"
    )
    return 0
