"""Series: the runs of one requirement on one candidate digest, as the ledger tells them.

The first complete run decides. Run k is declared with a reason and judged alone, at the consumer's risk
divided by 2^(k-1), so that all runs together accept an offer that is exactly at its bar with at most twice
the consumer's risk: 1 + 1/2 + 1/4 + ... < 2. Nothing is ever pooled.

k counts the runs that began, those that were aborted among them: whoever can end a run that goes badly (the
candidate itself, in the session's process) would otherwise try until one goes well, at the full risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .ledger import Chain, Entry
from .record import LedgerRun

#: Kinds of runs that decide nothing and count for nothing; what is of no known kind counts.
_KINDS = ("screen", "pilot")
#: What of an offer a measurement depends on: another price or another note does not make another candidate.
_MEASURED = ("name", "precision", "hardware", "runtime", "max_batch", "max_wait")


def measured_part(stated: dict[str, Any], disclosed: dict[str, Any]) -> dict[str, Any]:
    """Give what the digest of a candidate is made of: of what it states and of what its backend discloses."""
    return {"stated": {key: stated.get(key) for key in _MEASURED}, "disclosed": disclosed}


def begun_entry(  # noqa: PLR0913 - what an entry says
    run: str, *, kind: str, requirement: str, candidate: str, candidate_digest: str, spec: str, reason: str
) -> Entry:
    """Give what the entry says that stands before a run's first request."""
    return {
        "run": run,
        "kind": kind,
        "requirement": requirement,
        "candidate": candidate,
        "candidate_digest": candidate_digest,
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


def series(chain: Chain, requirement: str, candidate_digest: str) -> list[LedgerRun]:
    """List the runs that count for one requirement on one candidate digest; screenings and pilots do not."""
    return [
        run
        for run in runs(chain)
        if run["kind"] == "run"
        and run["requirement"] == requirement
        and run["candidate_digest"] == candidate_digest
    ]


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


def sealed_specs(chain: Chain) -> list[tuple[str, str]]:
    """List the specs that were sealed: (digest, when), the oldest first."""
    return [
        (str(entry.get("spec", "")), str(entry["time"]))
        for entry in chain.entries
        if entry["event"] == "seal"
    ]


def _day(run: LedgerRun) -> str:
    return run["begun"].partition("T")[0]
