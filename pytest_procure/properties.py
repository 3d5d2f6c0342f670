"""A requirement's result as properties of its test case: what `--junitxml` and its like carry."""

from __future__ import annotations

from .evidence.record import Amount, ResultRecord


def properties(result: ResultRecord) -> list[tuple[str, str]]:
    """List names and texts: the verdict, and of each finding what was asked, measured and found.

    As in ("procure.accuracy.measured", "98.2 %"). Of two findings on one metric the later has a number.
    """
    told = [
        ("procure.candidate", result["candidate"]),
        ("procure.verdict", result["verdict"]),
        ("procure.sentence", result["problem"] or result["sentence"]),
    ]
    seen: dict[str, int] = {}
    for finding in result["findings"]:
        seen[finding["metric"]] = number = seen.get(finding["metric"], 0) + 1
        name = f"procure.{finding['metric']}" + (f".{number}" if number > 1 else "")
        decides = not (finding["struck"] or finding["observed_only"])
        told += [
            (f"{name}.bar", f"{finding['sense']} {finding['bar']['text']}"),
            (f"{name}.measured", _text(finding["estimate"], "not measurable")),
            (f"{name}.low", _text(finding["low"], "none")),
            (f"{name}.high", _text(finding["high"], "none")),
            (f"{name}.n", f"{finding['n']} {finding['n_unit']}"),
            (f"{name}.verdict", finding["verdict"] if decides else f"{finding['verdict']}, decides nothing"),
        ]
    return told


def _text(amount: Amount | None, missing: str) -> str:
    return missing if amount is None else amount["text"]
