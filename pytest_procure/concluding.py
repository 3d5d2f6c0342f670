"""The end of a session that is held to a seal: what differs, what was declared, what keeps an offer out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, Literal, TypedDict

from .evidence.record import (
    DeviationRecord,
    DifferenceRecord,
    EarlierSeal,
    LedgerRecord,
    LedgerRun,
    ResultRecord,
    SealRecord,
    WaiverRecord,
)
from .evidence.sealed import LedgerPart, SealedPart
from .evidence.series import aborted, is_same, under_others
from .gate import Gate

_State = Literal["unsealed", "sealed", "deviating", "expired", "screen"]

FURTHER_RUNS = (
    "The first complete run of a requirement on a candidate decides. A further run is declared with its "
    "reason and judged alone: run k at the consumer's risk divided by 2^(k-1), so that all runs of one "
    "requirement on one offer with one model together wrongly accept an offer that is exactly at a bar with "
    "at most twice the consumer's risk; what ran under another name, or with another model, is in the ledger "
    "and counts apart. A run counts from its first request on, also where it was aborted. Runs are never "
    "pooled."
)


class Sealed(TypedDict, total=False):
    """What a record says of seal and ledger."""

    mode: Literal["acceptance", "screen"]
    seal: SealRecord
    ledger: LedgerRecord
    deviations: list[DeviationRecord]
    waivers: list[WaiverRecord]


def hold_back(held: SealedPart, gate: Gate) -> Sealed:
    """Tell the gate what keeps offers from acceptance, and give what the record says of it."""
    gate.screen = held.screen
    differences, deviations = _declared(held, gate.results.values())
    if not held.screen:
        open_ones = [each for each in differences if not each["declared"]]
        subjects = {expected.id for expected in gate.expected.values()}
        for expected in gate.expected.values():
            reasons = held.general + [
                each["sentence"]
                for each in open_ones
                if concerns(each, expected.id, expected.candidate, subjects)
            ]
            if reasons:
                gate.held_back[expected.test] = reasons
    found: Sealed = {
        "mode": "screen" if held.screen else "acceptance",
        "seal": _seal(held, differences),
        "deviations": deviations,
        "waivers": _waivers(held, gate),
    }
    if held.ledger is not None:
        found["ledger"] = _ledger(held.ledger, held.spec, gate.results.values())
    if held.fault:
        gate.faults.append(held.fault)
    return found


def concerns(each: DifferenceRecord, requirement: str, candidate: str, requirements: Container[str]) -> bool:
    """Whether a difference is about a requirement on a candidate; what is about the suite is about all."""
    if each["candidate"] not in {"", candidate}:
        return False
    return each["id"] == requirement or each["id"] not in requirements


def is_declared(each: DifferenceRecord, deviations: Sequence[DeviationRecord]) -> bool:
    """Whether a deviation was declared that lets a difference pass."""
    return each["declarable"] and any(each["id"] == deviation["id"] for deviation in deviations)


def _declared(
    held: SealedPart, results: Iterable[ResultRecord]
) -> tuple[list[DifferenceRecord], list[DeviationRecord]]:
    """Gather all differences, and mark those that a declared deviation lets pass."""
    found: dict[tuple[str, str], DifferenceRecord] = {}
    own = [difference for result in results for difference in result.get("differences", ())]
    for each in [*(difference.copy() for difference in held.differences), *own]:
        each["declared"] = is_declared(each, held.deviations)
        found.setdefault((each["sentence"], each["candidate"]), each)
    deviations = [deviation.copy() for deviation in held.deviations]
    for deviation in deviations:
        deviation["used"] = any(each["id"] == deviation["id"] for each in found.values())
    return list(found.values()), deviations


def _seal(held: SealedPart, differences: list[DifferenceRecord]) -> SealRecord:
    open_ones = [each for each in differences if not each["declared"]]
    state: _State = "sealed"
    anew = anew_sentence(earlier_seals(held.ledger, held.spec))
    said = (
        "Bars, data, candidates and tests are those that were sealed"
        + (" before anything was measured" if held.ledger is not None and not anew else "")
        + "."
    )
    if not held.spec:
        state, said = "unsealed", "Nothing was sealed before this run: bars may have been set after results."
    elif held.screen:
        state, said = "screen", "A screening is not held to the seal, and counts for nothing."
    elif open_ones:
        state = "deviating"
        said = f"The run is not what was sealed: {len(open_ones)} difference(s) that nobody declared."
    elif held.general:
        state, said = "expired", held.general[0]
    elif differences:
        said = f"The run is as sealed, but for {len(differences)} difference(s), which were declared."
    if anew and not held.screen:
        said = f"{said} {anew}"
    return {
        "state": state,
        "required": held.required,
        "file": held.file,
        "spec": held.spec,
        "sealed": held.sealed,
        "expires": held.expires,
        "retest": held.retest,
        "differences": differences,
        "sentence": said,
    }


def earlier_seals(held: LedgerPart | None, spec: str) -> list[EarlierSeal]:
    """List the seals of other specs under which something was asked, the oldest first."""
    others = [] if held is None else under_others(held.runs, spec)
    when = dict(reversed([] if held is None else held.seals))
    found = []
    for digest in dict.fromkeys(run["spec"] for run in others):
        kinds = [run["kind"] == "run" for run in others if run["spec"] == digest]
        sealed = when.get(digest, "")
        found.append(EarlierSeal(spec=digest, sealed=sealed, runs=sum(kinds), looks=len(kinds) - sum(kinds)))
    return found


def anew_sentence(earlier: Sequence[EarlierSeal]) -> str:
    """Say that the suite was sealed again after something was seen; "" where it was not."""
    if not earlier:
        return ""
    begun, looks = (sum(each[key] for each in earlier) for key in ("runs", "looks"))
    told = [f"{begun} run(s)"] * bool(begun) + [f"{looks} screening(s) or pilot(s)"] * bool(looks)
    return (
        f"The suite was sealed anew after {' and '.join(told)} had begun under another spec: bars, data and "
        "tests may have been set after results."
    )


def _waivers(held: SealedPart, gate: Gate) -> list[WaiverRecord]:
    """List all waivers; one is not needed where all that it would let pass is accepted."""
    found: list[WaiverRecord] = []
    for waiver in held.waivers:
        verdicts = {
            gate.results[expected.test]["verdict"] if expected.test in gate.results else "not tested"
            for expected in gate.expected.values()
            if expected.id == waiver["requirement"] and waiver["candidate"] in {"", expected.candidate}
        }
        idle = waiver["state"] == "in force" and verdicts == {"accept"}
        told = waiver.copy()
        if idle:
            told["state"] = "not needed"
        if told not in found:
            found.append(told)
    return found


def _ledger(held: LedgerPart, spec: str, results: Iterable[ResultRecord]) -> LedgerRecord:
    """Tell the ledger as it stands, and see that each result's series is of the length that it has now."""
    series: list[Any] = [result["series"] for result in results if "series" in result]
    here = {each["ledger_id"] for each in series}
    every = [run.copy() for run in held.runs]
    for run in every:
        run["here"] = run["id"] in here
    by_id = {run["id"]: run for run in every}
    for each in series:
        own = by_id.get(each["ledger_id"])
        if own is not None:
            found = _series(every, own)
            each["of"], each["aborted"] = max(each["run"], len(found)), aborted(found)
    return {
        "file": held.file,
        "entries": held.entries,
        "head": held.head,
        "anchored": held.anchored,
        "runs": every,
        "earlier": earlier_seals(held, spec),
        "sentence": _ledger_sentence(held, every),
    }


def _series(every: list[LedgerRun], own: LedgerRun) -> list[LedgerRun]:
    return [run for run in every if run["kind"] == own["kind"] and is_same(run, own)]


def _ledger_sentence(held: LedgerPart, every: list[LedgerRun]) -> str:
    counted = [run for run in every if run["kind"] == "run"]
    screens, pilots = (sum(run["kind"] == kind for run in every) for kind in ("screen", "pilot"))
    told = (
        f"The ledger holds {len(counted)} run(s), {aborted(counted)} of them aborted, {screens} screening(s) "
        f"and {pilots} pilot(s); its head is {held.head[:12]}."
    )
    if held.lost:
        told += " The head that this machine kept is gone, so it cannot see whether the end was cut off."
    if held.anchored:
        return f"{told} A head that was kept elsewhere was given and found in it."
    return (
        f"{told} That later runs were removed together with all trace of them cannot be excluded unless a "
        "head was kept elsewhere, as in a pushed commit."
    )
