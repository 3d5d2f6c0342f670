"""Check what `make demo` wrote: the verdicts, the numbers behind them, and that the report says the same."""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
record = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
html = (folder / "report.html").read_text(encoding="utf-8")

verdicts = {candidate["name"]: candidate["verdict"] for candidate in record["candidates"]}
assert verdicts["vendor A"] == "accept", verdicts
assert verdicts["vendor B"] == "reject", verdicts
assert record["outcome"]["exit_status"] == 0, record["outcome"]

(ours,) = [q for q in record["requirements"] if "our own" in q["question"]]
(rejected,) = [result for result in ours["results"] if result["candidate"] == "vendor B"]
(accuracy,) = [finding for finding in rejected["findings"] if finding["metric"] == "accuracy"]
assert accuracy["verdict"] == "reject", accuracy
assert accuracy["n"] == 797, accuracy
assert abs(accuracy["estimate"]["number"] - 667 / 797) < 1e-9, accuracy
assert accuracy["high"]["number"] < accuracy["bar"]["number"], accuracy
for said in ("Accepted", "Not accepted", accuracy["estimate"]["text"], accuracy["high"]["text"]):
    assert said in html, f"the report does not say {said!r}"
assert len(html.encode()) <= 150 * 1024, f"the report weighs {len(html.encode()) / 1024:.0f} KiB"
assert (folder / "summary.md").is_file()
assert (folder / "findings.csv").is_file()
logs = [run["log"] for q in record["requirements"] for result in q["results"] for run in result["runs"]]
assert logs, "the demo kept no request logs"
assert all((folder / log).is_file() for log in logs), logs
print(f"demo: {record['outcome']['sentence']} vendor B read {accuracy['estimate']['text']}")
