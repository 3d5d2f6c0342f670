"""Each run of a pack, held against its own entries in the ledger: which run it was, at what risk, whose rows.

Without this the pack of a third run could be told as that of a first, and rows of one run put in place of
another's, wherever the ledger's head is known to be the one that was kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_procure.decision import Policy
from pytest_procure.evidence.differences import SUITE
from pytest_procure.evidence.ledger import Chain
from pytest_procure.evidence.parts import CaseFile, RunPart
from pytest_procure.evidence.record import SeriesRecord
from pytest_procure.evidence.sealed import SealedPart
from pytest_procure.evidence.series import number, runs, series

#: What is wrong: file, field, and the sentence.
Wrong = tuple[str, str, str]


def ledgered(
    spec: Mapping[str, Any], sealed: SealedPart, chain: Chain, files: Mapping[str, CaseFile]
) -> Iterator[Wrong]:
    """Say which runs are not those that the ledger tells of. A screening is a run of no series."""
    if sealed.screen:
        return
    logs = {each["run"]: each.get("logs") for each in chain.entries if each["event"] == "end"}
    ruled_otherwise = any(each["id"] == SUITE for each in sealed.differences)
    for path, file in files.items():
        told = None if file.held is None else file.held.series
        if told is None:
            if file.results:
                yield path, "$.held.series", "is missing, and a run was made: no entry of the ledger is its"
            continue
        yield from ((path, *wrong) for wrong in _place(file, told, chain))
        if not ruled_otherwise and file.policy != _policy(spec["rule"], file.policy.candidates, told["run"]):
            yield path, "$.policy", f"is not the sealed rule's for run {told['run']}"
        if not ruled_otherwise and any(audited != spec["rule"].get("audit") for audited in _audited(file)):
            yield path, "$.results", "were audited by other thresholds than the sealed ones"
        if file.tested and told["ledger_id"] in logs and logs[told["ledger_id"]] != _logs(file):
            yield path, "$.results", "are not the rows whose digests the ledger holds for this run"


def _place(file: CaseFile, told: SeriesRecord, chain: Chain) -> Iterator[tuple[str, str]]:
    """Hold what a case says of its series against the ledger."""
    own = next((run for run in runs(chain) if run["id"] == told["ledger_id"]), None)
    asked = (file.asked.id, file.asked.candidate, told["candidate"])
    if own is None:
        yield "$.held.series.ledger_id", "names no run of the ledger that lies in the pack"
        return
    if (own["requirement"], own["candidate"], own["candidate_digest"]) != asked:
        yield "$.held.series.ledger_id", "names a run of another requirement or candidate"
        return
    every = series(chain, own["requirement"], own["candidate_digest"])
    k = next((place for place, run in enumerate(every) if run["id"] == own["id"]), len(every))
    if told["run"] != number(every[:k]):
        yield "$.held.series.run", f"is {told['run']}, and by the ledger it is run {number(every[:k])}"
    if told["consumer_risk"] != file.policy.consumer_risk:
        yield "$.held.series.consumer_risk", "is not the risk that the run was judged at"


def _policy(rule: Mapping[str, Any], candidates: int, k: int) -> Policy:
    """Give the decision rule that was sealed, as it is for run k of candidates that share the risk."""
    shared = candidates if rule.get("award") == "any" else 1
    return Policy(
        consumer_risk=rule["consumer_risk"] / shared,
        rejection_risk=rule["rejection_risk"],
        min_clusters=rule["min_clusters"],
        candidates=shared,
    ).of_run(k)


def _audited(file: CaseFile) -> Iterator[dict[str, str]]:
    """Give the thresholds that the audit of each launch was held to."""
    for run in _runs(file):
        yield from (launch.audit.limits.told() for launch in run.launches)


def _logs(file: CaseFile) -> dict[str, str]:
    """Give the digests of the rows that a case was judged on, by file."""
    found: dict[str, str] = {}
    for run in _runs(file):
        found |= run.digests()
    return found


def _runs(file: CaseFile) -> Iterator[RunPart]:
    for result in file.results:
        yield from (result.run, *(run for _, run in result.references), *result.probes)
