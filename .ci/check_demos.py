"""Check what `make demo-all` wrote: each verdict is the one that the suite's README tells of, and why.

python .ci/check_demos.py procure-reports [NAME ...]
"""

import json
import sys
from pathlib import Path
from typing import Any

TOLD = {
    "form_digits": {"vendor A": "accept", "vendor B": "reject", "vendor B recalibrated": "accept"},
    "ticket_desk": {"as shipped": "accept", "Q8_0": "accept", "Q4_0": "reject"},
    "faq_pipeline": {"pipeline A": "accept", "pipeline B": "reject"},
}
#: The metric that an offer is rejected by, which the others meet.
FAILS = {
    "form_digits": ("accuracy", "vendor B"),
    "ticket_desk": ("quality.exact", "Q4_0"),
    "faq_pipeline": ("quality.right_article", "pipeline B"),
}


def found(record: dict[str, Any], candidate: str, metric: str) -> list[dict[str, Any]]:
    """Give the findings of an offer about a metric, over all requirements."""
    return [
        finding
        for requirement in record["requirements"]
        for result in requirement["results"]
        if result["candidate"] == candidate
        for finding in result["findings"]
        if finding["metric"] == metric
    ]


def check_pipeline(record: dict[str, Any]) -> None:
    """Pipeline B wins every stage by its own figure, and the whole is what rejects it.

    Not its times: the offers run one after the other, so on a busy machine the quicker one may look slower.
    """
    for stage, close in (
        ("retrieve", 0.0),
        ("rerank", 0.0),
        ("answer", 0.02),
    ):  # a processor rounds an answer or two
        metric = f"stage.{stage}.quality"
        (ours,), (theirs,) = (found(record, f"pipeline {name}", metric) for name in "AB")
        assert theirs["estimate"]["number"] >= ours["estimate"]["number"] - close, (metric, ours, theirs)
        assert ours["verdict"] == theirs["verdict"] == "accept", (metric, ours, theirs)
    (ours,), (theirs,) = (found(record, f"pipeline {name}", "quality.right_article") for name in "AB")
    assert theirs["estimate"]["number"] < ours["estimate"]["number"] / 2, (ours, theirs)


def check(name: str, folder: Path) -> None:
    """Hold one suite's record against its story."""
    record = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    verdicts = {candidate["name"]: candidate["verdict"] for candidate in record["candidates"]}
    assert verdicts == TOLD[name], (name, verdicts)
    assert record["outcome"]["exit_status"] == 0, record["outcome"]
    metric, failing = FAILS[name]
    assert "reject" in {finding["verdict"] for finding in found(record, failing, metric)}, (name, metric)
    for candidate in TOLD[name].keys() - {failing}:
        assert {finding["verdict"] for finding in found(record, candidate, metric)} == {"accept"}, candidate
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Not accepted" in html, f"the report of {name} does not say what is not accepted"
    if name == "faq_pipeline":
        check_pipeline(record)
    print(f"{name}: {record['outcome']['sentence']}")


for each in sys.argv[2:] or TOLD:
    check(each, Path(sys.argv[1]) / each)
