"""Several packs of one specification side by side: the same items asked of other offers, paired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_procure import wording
from pytest_procure.bars import Bar
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.record import FindingRecord, Record, ResultRecord, RunRecord
from pytest_procure.metrics import Execution, Metric, metric
from pytest_procure.metrics.comparison import Against, against, compare
from pytest_procure.metrics.measurement import Unmeasurable
from pytest_procure.scenarios.arguments import taken
from pytest_procure.units import Quantity
from pytest_procure.verdict import find, policy_of

from .recomputing import Recomputed
from .verification import Verification, differences


@dataclass(frozen=True, slots=True)
class Beside:
    """A candidate of a pack against a requirement: its findings, and what differs from the first's."""

    pack: str
    candidate: str
    verdict: str
    findings: list[FindingRecord]
    paired: list[str]  # sentences: difference to the first offer on the same items


@dataclass(frozen=True, slots=True)
class Question:
    """A requirement with every offer that was held against it."""

    id: str
    question: str
    offers: list[Beside]


def specification(record: Record) -> dict[str, Any]:
    """Give what was asked, without what was found: what two packs must have in common to be compared.

    The sealed specification's id, where there is one; and of each requirement the question, the scenario, the
    run conditions, the slice and the bars.
    """
    sealed: Any = record.get("seal")
    asked = {each["id"]: _asked(each["results"]) for each in record["requirements"]}
    for each in record["requirements"]:
        asked[each["id"]] |= {"question": each["question"], "scenario": each["scenario"]}
    return {
        "spec": sealed.get("spec") if isinstance(sealed, dict) else None,
        "consumer_risk": record["consumer_risk"],
        "requirements": asked,
    }


def _asked(results: Sequence[ResultRecord]) -> dict[str, Any]:
    tested = next((result for result in results if result["runs"]), None)
    if tested is None:
        return {}
    run = next((run for run in tested["runs"] if run["declared"]), tested["runs"][0])
    bars = [
        {
            "metric": each["metric"],
            "sense": each["sense"],
            "bar": each["bar"],
            "confidence": each["confidence"],
        }
        for each in tested["findings"]
        if each["source"] != "asserted"
    ]
    return {"bars": bars, "slice": _slice(run), "conditions": _conditions(run)}


def _slice(run: RunRecord) -> dict[str, Any]:
    return {key: run["slice"].get(key) for key in ("name", "version", "digest", "n", "rule")}


#: What the scenario's arguments come to, beside themselves; whatever else stands among the conditions is the
#: offer's, the endpoint's or the machine's own, and may differ between offers.
_ASKED = frozenset(
    {"scenario", "closed_loop", "sample_order", "carried", "arrivals", "trace", "loadgen", "queries", "items"}
)
#: Arguments that an offer may bring its own of.
_BATCHES = frozenset({"max_batch", "max_wait"})


def _conditions(run: RunRecord) -> dict[str, Any]:
    told = run["conditions"]
    wanted = _ASKED.union(taken(run["conditions"]["scenario"])) - _BATCHES
    return {key: value for key, value in told.items() if key in wanted}


def side_by_side(packs: Sequence[Verification]) -> list[Question]:
    """Put packs side by side. Raises `EvidenceError` where one does not hold, or asks for something else."""
    records: list[Record] = []
    for pack in packs:
        if not pack.holds or pack.record is None or pack.recomputed is None:
            wrong = str(pack.mismatches[0]) if pack.mismatches else "nothing could be recomputed"
            raise EvidenceError(f"{pack.folder} does not hold, so it is not compared: {wrong}")
        records.append(pack.record)
    first = specification(records[0])
    for pack, record in zip(packs[1:], records[1:], strict=True):
        place, said = next(differences(specification(record), first, "$"), ("", ""))
        if place:
            said = said.replace(", and the rows give", f", and {packs[0].folder} has")
            raise EvidenceError(
                f"{pack.folder} is of another specification than {packs[0].folder}: {place}: {said}; "
                "only packs of one sealed specification can be compared"
            )
    return [_question(packs, number) for number in range(len(records[0]["requirements"]))]


def _question(packs: Sequence[Verification], number: int) -> Question:
    offers: list[Beside] = []
    base: tuple[str, Execution] | None = None
    asked = packs[0].recomputed.record["requirements"][number] if packs[0].recomputed else None
    assert asked is not None, "the caller has checked"
    for pack in packs:
        assert pack.recomputed is not None, "the caller has checked"
        requirement = next(q for q in pack.recomputed.record["requirements"] if q["id"] == asked["id"])
        for result in requirement["results"]:
            run = _run(pack.recomputed, result)
            name = f"{result['candidate']} ({pack.folder.name})"
            paired = [] if run is None or base is None else list(_paired(pack.recomputed, result, run, base))
            base = base or (None if run is None else (name, run))
            offers.append(
                Beside(pack.folder.name, result["candidate"], result["verdict"], result["findings"], paired)
            )
    return Question(asked["id"], asked["question"], offers)


def _run(made: Recomputed, result: ResultRecord) -> Execution | None:
    """Find the run that the declared bars were judged on."""
    path = next((path for path, file in made.files.items() if file.asked.test == result["test"]), "")
    case = made.cases.get(path)
    return None if case is None else next((r.execution for r, declared in case.results if declared), None)


def _paired(
    made: Recomputed, result: ResultRecord, run: Execution, base: tuple[str, Execution]
) -> Iterator[str]:
    """Say for each quality metric how far an offer lies from the first, on the items that both answered.

    Speed is not compared: the runs were made at different times, and no block of one lies beside one of the
    other.
    """
    name, theirs = base
    file = next(file for file in made.files.values() if file.asked.test == result["test"])
    other = Against(name, margin=True)
    for scorer in run.scores:
        if scorer not in theirs.scores:
            continue
        what: Metric = metric(scorer)
        measured = compare(what, other, run, theirs)
        named = replace(against(what, other), dimension="difference")
        bar = Bar(named, "at least", Quantity.of(0, "points"), text="side by side")
        finding = find(bar, replace(measured, metric=named), file.policy)
        low, high = wording.low(finding), wording.high(finding)
        spread = f" (likely range {low} to {high})" if low and high else ""
        policy = policy_of(bar, file.policy)
        if isinstance(measured.basis, Unmeasurable):
            yield f"{named.title}: not measurable: {measured.basis.reason}"
            continue
        yield (
            f"{named.title}: {wording.estimate(finding)}{spread}, paired on "
            f"{measured.n:,} items, each end at {policy.confidence:.0%} confidence"
        )
