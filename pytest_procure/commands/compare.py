"""`procure compare`: packs of one specification side by side, paired on the items that all were asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_procure.cli import Parser, printable
from pytest_procure.evidence.plain import dumps, to_plain
from pytest_procure.verify import verify
from pytest_procure.verify.comparing import Question, side_by_side


def main(arguments: Sequence[str]) -> int:
    """Compare packs. Packs that do not hold, or of different specifications, are refused (exit status 2)."""
    parser = Parser(prog="procure compare", description=__doc__)
    parser.add_argument("folders", metavar="DIR", type=Path, nargs="+", help="evidence packs, two or more")
    parser.add_argument(
        "--key", metavar="PUB", type=Path, action="append", default=[], help="who must have signed"
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    asked = parser.parse_args(arguments)
    if len(asked.folders) < 2:
        parser.error("one pack is compared with nothing; name two or more")
    questions = side_by_side([verify(folder, keys=asked.key) for folder in asked.folders])
    sys.stdout.write(dumps([to_plain(each) for each in questions]) if asked.json else _text(questions))
    return 0


def _text(questions: Sequence[Question]) -> str:
    lines = []
    for question in questions:
        lines.append(question.question)
        for offer in question.offers:
            lines.append(f"  {offer.verdict:<13} {offer.candidate} ({offer.pack})")
            lines += [f"      {each['sentence']}" for each in offer.findings if not each["observed_only"]]
            lines += [f"      against the first: {each}" for each in offer.paired]
        lines.append("")
    lines.append("Speeds stand side by side and are not compared: the runs were made at different times.")
    return "".join(f"{printable(line)}\n" for line in lines)
