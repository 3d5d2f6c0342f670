"""A finding as plain data."""

from __future__ import annotations

from pytest_procure import wording
from pytest_procure.decision import Policy
from pytest_procure.hinting import hint
from pytest_procure.units import Quantity
from pytest_procure.verdict import Finding, policy_of

from .characteristic import characteristic
from .record import Amount, FindingRecord

#: What a number rests on. Only the first is a measurement; the second is exact, because the offer says so.
MEASURED, TERM = "measured on our task", "term of the offer"


def finding_record(finding: Finding, policy: Policy, *, sealed: bool = False) -> FindingRecord:
    """Write a finding as plain data. `sealed`: its run was held to a seal."""
    bar, measured, decision = finding.bar, finding.measurement, finding.decision
    policy = policy_of(bar, policy.after(finding.looks))
    point = measured.estimate
    unit = point.unit if point is not None else ""
    low, high = (None if end is None else Quantity(end, unit) for end in (decision.low, decision.high))
    record: FindingRecord = {
        "metric": bar.metric.name,
        "title": bar.metric.title,
        # A stage's latency has no place on the curve of the whole, nor its score beside the whole's.
        "kind": "own" if bar.metric.stage else bar.metric.kind,
        "sense": bar.sense,
        "bar": _amount(bar.limit, wording.asked_for(bar)),
        "estimate": None if point is None else _amount(point, wording.estimate(finding)),
        "low": None if low is None else _amount(low, wording.low(finding)),
        "high": None if high is None else _amount(high, wording.high(finding)),
        "n": measured.n,
        "n_unit": measured.n_unit,
        "n_effective": round(decision.n_effective, 3),
        "design_effect": round(decision.design_effect, 6),
        "confidence": round(policy.confidence, 6),
        "verdict": finding.verdict.value,
        "sentence": wording.sentence(finding),
        "rule": wording.rule(finding, policy),
        "hint": hint(finding, policy, sealed=sealed),
        "source": bar.source,
        "text": bar.text,
        "where": bar.where,
        "struck": finding.struck,
        "observed_only": finding.observed_only,
        "evidence_class": TERM if measured.n_unit == "price" else MEASURED,
    }
    if finding.looks:
        record["looks"] = finding.looks
    if curve := characteristic(finding, policy):
        record["characteristic"] = curve
    return record


def _amount(value: Quantity, text: str) -> Amount:
    return {"number": float(value.number), "unit": value.unit, "text": text}
