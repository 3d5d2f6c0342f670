"""What a judge said of each answer of a run: a line of JSON an answer, in the order of the rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from pytest_procure.driver.log import Status
from pytest_procure.metrics import Execution
from pytest_procure.redaction import redacted

from .whole import new_file

_REDACTED = "[redacted]"


def write_opinions(path: Path, run: Execution, redact: re.Pattern[str] | None) -> None:
    """Write the opinions of the dataset's judges, where it has any. Raises `EvidenceError`.

    `redact`: what of a text must not be kept.
    """
    judges, references = run.slice.dataset.judges, run.slice.references
    if not judges or references is None:
        return
    lines = []
    row = 0
    for log in run.logs:
        good = np.repeat(log.status == Status.OK, log.samples_per_query)[: len(log.samples)]
        for place in np.flatnonzero(good):
            item = int(log.samples[place])
            for metric, judge in judges.items():
                opinion = judge.opinion(log.answers[place], references[item])
                said = redacted(opinion.said)
                lines.append(
                    {
                        "row": row + int(place),
                        "item": item,
                        "metric": metric,
                        "right": opinion.right,
                        "said": said if redact is None else redact.sub(_REDACTED, said),
                    }
                )
        row += len(log.samples)
    with new_file(path, f"the opinions {path.name}") as file:
        file.writelines(f"{json.dumps(line, sort_keys=True)}\n".encode("ascii") for line in lines)
