"""Series: the runs of one requirement on one offer with one model, as the ledger tells them.

A model is what its backend discloses as one: its digest, its source. What can be declared away (hardware,
runtime, driver, precision as stated) starts no series: whoever may relabel may not begin again at full risk.

The first complete run decides. Run k is declared with a reason and judged alone, at the consumer's risk
divided by 2^(k-1), so that all runs together accept an offer that is exactly at its bar with at most twice
the consumer's risk: 1 + 1/2 + 1/4 + ... < 2. Nothing is ever pooled.

k counts the runs that began, those that were aborted among them: whoever can end a run that goes badly (the
candidate itself, in the session's process) would otherwise try until one goes well, at the full risk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .canonical import digest
from .ledger import Chain, Entry
from .record import LedgerRun

#: Kinds of runs that decide nothing and count for nothing; what is of no known kind counts.
_KINDS = ("screen", "pilot")
#: What of an offer a measurement depends on: another price or another note does not make another candidate.
_MEASURED = ("name", "precision", "hardware", "runtime", "max_batch", "max_wait")
#: Names of what a backend discloses under which its model stands.
MODEL = ("sha256", "digest", "fingerprint", "source_sha256", "model", "module", "files", "function")


def measured_part(stated: dict[str, Any], disclosed: dict[str, Any]) -> dict[str, Any]:
    """Give what the digest of a candidate is made of: of what it states and of what its backend discloses."""
    return {"stated": {key: stated.get(key) for key in _MEASURED}, "disclosed": disclosed}


def model_digest(disclosed: Mapping[str, Any]) -> str:
    """Digest what of a backend's disclosure is about its model, all else left out."""
    return digest([[path, value] for path, value in _leaves(disclosed) if {*path.split(" / ")} & {*MODEL}])


def _leaves(told: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(told, Mapping):
        for key in sorted(told):
            yield from _leaves(told[key], f"{path} / {key}" if path else str(key))
    else:
        yield path, told


def begun_entry(  # noqa: PLR0913 - what an entry says
    run: str,
    *,
    kind: str,
    requirement: str,
    candidate: str,
    candidate_digest: str,
    model: str,
    spec: str,
    reason: str,
) -> Entry:
    """Give what the entry says that stands before a run's first request."""
    return {
        "run": run,
        "kind": kind,
        "requirement": requirement,
        "candidate": candidate,
        "candidate_digest": candidate_digest,
        "model": model,
        "spec": spec,
        "reason": reason,
    }


def runs(chain: Chain, *, here: Sequence[str] = ()) -> list[LedgerRun]:
    """List all runs that a ledger tells of, as they began. `here`: those of this session."""
    found: dict[str, LedgerRun] = {}
    for entry in chain.entries:
        event, run = entry["event"], str(entry.get("run", ""))
        if event == "begin":
            found[run] = {
                "id": run,
                "kind": kind if (kind := entry.get("kind")) in _KINDS else "run",
                "requirement": str(entry.get("requirement", "")),
                "candidate": str(entry.get("candidate", "")),
                "candidate_digest": str(entry.get("candidate_digest", "")),
                "model": str(entry.get("model", "")),
                "spec": str(entry.get("spec", "")),
                "begun": str(entry["time"]),
                "state": "aborted",
                "verdict": "",
                "as_sealed": True,
                "reason": str(entry.get("reason", "")),
                "here": run in here,
            }
        elif event == "measured" and run in found:
            found[run]["state"] = "complete"
        elif event == "end" and run in found:
            found[run]["verdict"] = str(entry.get("verdict", ""))
            found[run]["as_sealed"] = entry.get("as_sealed") is not False
    return list(found.values())


def series(chain: Chain, own: Mapping[str, Any]) -> list[LedgerRun]:
    """List the runs that count for what `own` begins, as its entry says; screenings and pilots do not."""
    return [run for run in runs(chain) if run["kind"] == "run" and is_same(run, own)]


def is_same(run: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether two runs are of one series. An entry that names no model is of every model of its offer."""
    if run["requirement"] != own["requirement"]:
        return False
    models = {run.get("model", ""), own.get("model", "")}
    one_model = len(models) == 1 or "" in models
    return run["candidate_digest"] == own["candidate_digest"] or (
        run["candidate"] == own["candidate"] and one_model
    )


def number(earlier: Sequence[LedgerRun]) -> int:
    """Give k for a run after these: each that began counts, whatever became of it."""
    return 1 + len(earlier)


def aborted(found: Sequence[LedgerRun]) -> int:
    """Count the runs that never had all their requests answered."""
    return sum(run["state"] == "aborted" for run in found)


def refusal(earlier: Sequence[LedgerRun], reason: str) -> str:
    """Say why a run after these may not begin; "" if it may: it is the first, or declared with a reason."""
    if reason or not earlier:
        return ""
    complete = [run for run in earlier if run["state"] == "complete"]
    further = 'declare a further run with `--procure-rerun "REASON"`'
    if not complete:
        return (
            f"a run of it began on {_day(earlier[-1])} and did not come to its end; {further}, which as run "
            f"{number(earlier)} is judged at a smaller risk, or wait where it still runs"
        )
    first = complete[0]
    verdict = first["verdict"] or "killed before its verdict"
    return (
        f"this would be run {number(earlier)} of it on this candidate, and the first complete run decides "
        f"({_day(first)}: {verdict}); {further}, which is judged at a smaller risk, screen with "
        "`--procure-screen`, or gate on `procure verify` of the earlier report"
    )


def under_others(found: Sequence[LedgerRun], spec: str) -> list[LedgerRun]:
    """List the runs, screenings and pilots that began under another spec than the one in force."""
    return [run for run in found if run["spec"] != spec]


def sealed_specs(chain: Chain) -> list[tuple[str, str]]:
    """List the specs that were sealed: (digest, when), the oldest first."""
    return [
        (str(entry.get("spec", "")), str(entry["time"]))
        for entry in chain.entries
        if entry["event"] == "seal"
    ]


def _day(run: LedgerRun) -> str:
    return run["begun"].partition("T")[0]
