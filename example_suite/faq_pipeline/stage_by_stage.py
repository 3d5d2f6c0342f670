"""Print what each stage of each pipeline showed in a run, and the whole: which offer each figure prefers.

    python example_suite/faq_pipeline/stage_by_stage.py procure-reports/faq_pipeline

It reads the `verdict.json` that `pytest --procure-report` has written there.
"""

import json
import sys
from pathlib import Path


def figures(record):
    """Give (figure, {offer: value as text}, offers that it prefers) for each figure of the run."""
    (requirement,) = record["requirements"]
    runs = {each["candidate"]: each["runs"][0] for each in requirement["results"]}
    stages = {offer: {stage["name"]: stage for stage in run["stages"]} for offer, run in runs.items()}
    for name in [name for name in next(iter(stages.values())) if name != "waiting"]:
        own = {offer: each[name] for offer, each in stages.items()}
        yield figure(f"{name}: score", {o: s["score"] for o, s in own.items()}, max, "{:.1%}")
        yield figure(f"{name}: mean time", {o: s["mean_ms"] for o, s in own.items()}, min, "{:.1f} ms")
        yield figure(
            f"{name}: price", {o: float(s["cost"].split()[0]) for o, s in own.items()}, min, "{:.5f} USD"
        )
    whole = {
        each["candidate"]: finding["estimate"]["number"]
        for each in requirement["results"]
        for finding in each["findings"]
        if finding["metric"] == "quality.right_article"
    }
    yield figure("the right article", whole, max, "{:.1%}")


def figure(name, values, better, form):
    """Lay out one figure; offers that are equal in it are preferred both."""
    best = better(values.values())
    told = {offer: form.format(value) for offer, value in values.items()}
    return name, told, [offer for offer, value in values.items() if value == best]


def main(folder):
    record = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    for name, told, best in figures(record):
        row = "".join(f"{offer} {value:<13}" for offer, value in told.items())
        print(f"{name:<20}{row}{' and '.join(best) if len(best) == 1 else 'even'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
