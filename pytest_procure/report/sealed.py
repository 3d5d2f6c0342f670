"""Seal, deviations, waivers and ledger in sentences, for the report and the terminal alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_procure.evidence.record import (
    DeviationRecord,
    DifferenceRecord,
    EarlierSeal,
    LedgerRun,
    Record,
    WaiverRecord,
)
from pytest_procure.evidence.series import is_same
from pytest_procure.evidence.waivers import words as waived

from . import words

_KINDS = {"run": "run", "screen": "screening", "pilot": "pilot"}
_WAIVED = {
    "in force": "Waived",
    "not needed": "A waiver was sealed and not needed",
    "expired": "A waiver has expired and counts for nothing",
    "not sealed": "A waiver was not sealed and counts for nothing",
}


def is_screening(record: Record) -> bool:
    """Whether a record is of a screening, which accepts nothing."""
    return record.get("mode") == "screen"


def sentences(record: Record) -> list[str]:
    """Tell everything that a reader has to know of seal and ledger; nothing for a record that has neither."""
    told = list(_sealed(record))
    told += [_waiver(waiver) for waiver in record.get("waivers", [])]
    told += list(_series(record))
    ledger = record.get("ledger")
    if ledger is not None:
        told += [ledger["sentence"], *(_run(run) for run in ledger["runs"] if not run["here"])]
    return told


def brief(record: Record) -> list[str]:
    """Tell the same without the runs of other sessions; nothing where no seal was expected."""
    seal = record.get("seal")
    if seal is None or (seal["state"] == "unsealed" and not seal["required"]):
        return [_waiver(waiver) for waiver in record.get("waivers", [])]
    told = [*_sealed(record), *map(_waiver, record.get("waivers", [])), *_series(record)]
    ledger = record.get("ledger")
    if ledger is not None:
        told.append(f"Ledger: {words.count(ledger['entries'], 'entries')}, head {ledger['head']}.")
    return told


def _sealed(record: Record) -> Iterator[str]:
    if is_screening(record):
        yield "A screening: short runs, which accept nothing and count for nothing."
    seal = record.get("seal")
    if seal is None:
        return
    yield seal["sentence"]
    if seal["spec"]:
        until = f", holds until {seal['expires']}" if seal["expires"] else ", states no expiry"
        yield f"Sealed spec {seal['spec'][:12]}, of {seal['sealed'][:10]}{until}."
        yield from (_earlier(each) for each in _seals_before(record))
        if functions := [c["name"] for c in record["candidates"] if _has_function(c["backend"])]:
            yield (
                f"{', '.join(functions)}: answered by the suite's own Python; what that reads, as a file of "
                "weights, is not sealed."
            )
        if seal["retest"]:
            yield f"A new run is asked for by a change of: {'; '.join(seal['retest'])}."
    deviations = record.get("deviations", [])
    yield from (_difference(each, deviations) for each in seal["differences"])
    yield from (
        f"A deviation was declared of {each['id']}, where the run is as sealed ({each['reason']}; approved "
        f"by {each['approver']})."
        for each in deviations
        if not each["used"]
    )


def _has_function(disclosed: Any) -> bool:
    """Whether what answers, or a stage of it, is a plain function."""
    if isinstance(disclosed, Mapping):
        return "source_sha256" in disclosed or any(map(_has_function, disclosed.values()))
    return isinstance(disclosed, list) and any(map(_has_function, disclosed))


def _seals_before(record: Record) -> list[EarlierSeal]:
    ledger = record.get("ledger")
    return [] if ledger is None else ledger["earlier"]


def anew(record: Record) -> str:
    """Say for the first screen that the suite was sealed again after something was seen; "" otherwise."""
    if is_screening(record):
        return ""
    begun = sum(each["runs"] + each["looks"] for each in _seals_before(record))
    return f"sealed anew, after {words.count(begun, 'runs')}" if begun else ""


def _earlier(each: EarlierSeal) -> str:
    looks = f" and {words.count(each['looks'], 'screenings or pilots')}" if each["looks"] else ""
    return (
        f"Sealed before: spec {each['spec'][:12]}, of {each['sealed'][:10]}, under which "
        f"{words.count(each['runs'], 'runs')}{looks} began."
    )


def _difference(each: DifferenceRecord, deviations: list[DeviationRecord]) -> str:
    said = f"{words.upper_first(each['kind'])}: {each['sentence']}"
    why = [f"{d['reason']}; approved by {d['approver']}" for d in deviations if d["id"] == each["id"]]
    if each["declared"]:
        return f"{said} (declared: {', '.join(why)})"
    return f"{said} (a declaration does not let this pass)" if why else said


def _waiver(waiver: WaiverRecord) -> str:
    whom = f", for {waiver['candidate']}" if waiver["candidate"] else ""
    return f"{_WAIVED[waiver['state']]}: {waived(waiver)}{whom}."


def _series(record: Record) -> Iterator[str]:
    """Tell which run each is; those that are the only one so far are told together."""
    only = 0
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            series = result.get("series")
            if series is None:
                continue
            if series["of"] == 1 and not series["aborted"]:
                only += 1
                continue
            what = requirement["question"] or requirement["id"]
            risk = f"{100 * series['consumer_risk']:.3g} %"  # exact: it halves from run to run
            reason = f", run again because: {series['reason']}" if series["reason"] else ""
            count = f", {series['aborted']} of them aborted" if series["aborted"] else ""
            yield (
                f"{result['candidate']}, {what} Run {series['run']} of {series['of']}{count}, judged at a "
                f"consumer's risk of {risk}{reason}."
            )
    if only:
        others = _others(record)
        told = f"Run 1 of 1 for {words.count(only, 'requirements')} on a candidate: none was begun before"
        if others:
            begun = words.count(others, "runs")
            told += f" of the same name and model; of another name or model {begun} began"
        yield f"{told}."


def _others(record: Record) -> int:
    """Count the runs that the ledger holds and no result's series does."""
    ledger = record.get("ledger")
    runs = [] if ledger is None else [run for run in ledger["runs"] if run["kind"] == "run"]
    here = [run for run in runs if run["here"]]
    return sum(not any(is_same(run, own) for own in here) for run in runs)


def _run(run: LedgerRun) -> str:
    kind = _KINDS[run["kind"]]
    ended = run["verdict"] or ("killed before its verdict" if run["state"] == "complete" else "aborted")
    ended += "" if run["as_sealed"] else ", not as sealed"
    reason = f"; run again because: {run['reason']}" if run["reason"] else ""
    day = run["begun"].replace("T", " ").removesuffix("Z")
    return f"Other {kind} of {run['requirement']} on {run['candidate']}, {day} UTC: {ended}{reason}."
