"""A finding in words: what was found, the rule that was applied, and what would decide it."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

from pytest_procure import stats
from pytest_procure.decision import Policy
from pytest_procure.errors import DomainError
from pytest_procure.metrics.measurement import Exact, Interval, Latencies, Means, Share, Unmeasurable
from pytest_procure.metrics.metric import Metric
from pytest_procure.units import Quantity, readable
from pytest_procure.verdict import Finding, Verdict

from .record import Amount, FindingRecord

#: Chance that the run which the hint names decides, if the offer is as good as it looked.
_POWER = 0.9
_MOST_REQUESTS = 100_000_000


def finding_record(finding: Finding, policy: Policy) -> FindingRecord:
    """Write a finding as plain data."""
    bar, measured, decision = finding.bar, finding.measurement, finding.decision
    return {
        "metric": bar.metric.name,
        "title": bar.metric.title,
        "kind": bar.metric.kind,
        "sense": bar.sense,
        "bar": amount(bar.limit, bar.metric),
        "estimate": _estimate(finding),
        "low": _end(decision.low, finding, ROUND_FLOOR),
        "high": _end(decision.high, finding, ROUND_CEILING),
        "n": measured.n,
        "n_unit": measured.n_unit,
        "n_effective": round(decision.n_effective, 3),
        "design_effect": round(decision.design_effect, 6),
        "confidence": round(policy.confidence, 6),
        "verdict": finding.verdict.value,
        "sentence": sentence(finding),
        "rule": rule(finding, policy),
        "hint": hint(finding, policy),
        "source": bar.source,
        "text": bar.text,
        "where": bar.where,
        "struck": finding.struck,
        "observed_only": finding.observed_only,
    }


def amount(value: Quantity, metric: Metric, *, rounding: str | None = None, prefix: str = "") -> Amount:
    """Write a quantity of a metric as number, unit and words."""
    text = (
        readable(value, share=metric.dimension == "number")
        if rounding is None
        else readable(value, share=metric.dimension == "number", rounding=rounding)
    )
    return {"number": float(value.number), "unit": value.unit, "text": prefix + text}


def _estimate(finding: Finding) -> Amount | None:
    measured = finding.measurement
    if measured.estimate is None:
        return None
    return amount(measured.estimate, measured.metric, prefix="≥ " if measured.censored else "")


def _end(value: Decimal | None, finding: Finding, rounding: str) -> Amount | None:
    estimate = finding.measurement.estimate
    if value is None or estimate is None:
        return None
    return amount(Quantity(value, estimate.unit), finding.bar.metric, rounding=rounding)


def sentence(finding: Finding) -> str:
    """Say what was found: value, likely range, what was asked, and why it decides nothing if it does not."""
    bar, measured, decision = finding.bar, finding.measurement, finding.decision
    asked = f"asked: {bar.sense} {amount(bar.limit, bar.metric)['text']}"
    if isinstance(measured.basis, Unmeasurable):
        return f"{bar.metric.title}: not measurable, because {measured.basis.reason}; {asked}"
    found = _estimate(finding)
    assert found is not None, "what is measurable has an estimate"
    of = (
        f" of {measured.n:,} {measured.n_unit}" if bar.metric.shares or bar.metric.kind == "condition" else ""
    )
    said = f"{bar.metric.title}: {found['text']}{of}{_range(finding)}; {asked}"
    if decision.blocked:
        said += f"; {decision.blocked}"
    if finding.struck:
        said += "; decides nothing, because the quality bars are not met"
    if finding.verdict is Verdict.INVALID:
        said += "; the measuring machine was late, so this says nothing of the candidate"
    return said


def _range(finding: Finding) -> str:
    low, high = (
        _end(finding.decision.low, finding, ROUND_FLOOR),
        _end(finding.decision.high, finding, ROUND_CEILING),
    )
    if isinstance(finding.measurement.basis, Exact):
        return f" ({finding.measurement.basis.label})"
    if low and high:
        return f" (likely range {low['text']} to {high['text']})"
    if low:
        return f" (likely at least {low['text']})"
    return ""


def rule(finding: Finding, policy: Policy) -> str:
    """Say by which rule the finding was decided, with the buyer's risk as a sentence."""
    bar, basis = finding.bar, finding.measurement.basis
    limit = amount(bar.limit, bar.metric)["text"]
    risk = Fraction(policy.consumer_risk).limit_denominator(10_000)
    wrongly = (
        f"If this offer were exactly at the bar, this rule would wrongly accept it at most "
        f"{risk.numerator} time in {risk.denominator}."
        if risk.numerator == 1
        else f"If this offer were exactly at the bar, this rule would wrongly accept it in at most "
        f"{policy.consumer_risk:.2%} of such tests."
    )
    end = "lower" if bar.sense == "at least" else "upper"
    match basis:
        case Share(design_effect=effect):
            spread = "" if effect <= 1 else f", design effect {effect:.2f} (Korn-Graubard)"
            how = f"one-sided Clopper-Pearson {end} bound{spread} against {limit}"
        case Latencies(q=q):
            within = "within" if bar.sense == "at most" else "below"
            how = (
                f"share of requests {within} {limit} against {readable(Quantity(q), share=True)}: one-sided "
                f"Clopper-Pearson bound at the effective sample size, design effect "
                f"{finding.decision.design_effect:.2f} from batch means (Korn-Graubard); "
                "percentile by nearest rank, latency from the scheduled time"
            )
        case Means(of=of):
            how = f"one-sided Student t {end} bound over {len(basis.values)} {of} against {limit}"
        case Interval():
            how = f"{end} end of the interval that the test gave against {limit}"
        case Exact(label=label):
            return f"Decision rule: the value, {label}, against {limit}; not sampled, so without a range."
        case Unmeasurable():
            return "Decision rule: what cannot be measured is not accepted."
    return f"Decision rule: {how}. {wrongly}"


def hint(finding: Finding, policy: Policy) -> str:
    """Say what would decide an undecided bar; nothing for a decided one."""
    if finding.verdict is not Verdict.INCONCLUSIVE:
        return ""
    basis = finding.measurement.basis
    match basis:
        case Share(total=total, n=n):
            needed = _requests(total / n, finding.bar.limit.base, finding.bar.sense == "at least", policy)
            unit = finding.measurement.n_unit
        case Latencies(values=values, q=q):
            within = float((values <= finding.bar.limit.ns).mean())
            needed = _requests(within, q, finding.bar.sense == "at most", policy)
            unit = "requests"
        case Means(minimum=minimum, of=of) if len(basis.values) < minimum:
            return f"A newly sealed run of {minimum} {of} could decide."
        case _:
            return ""
    if needed is None:
        return "The estimate lies on the bar: no number of requests is sure to decide."
    total_needed = round(needed * finding.decision.design_effect)
    if isinstance(basis, Latencies):
        floor = max(policy.min_under_load, round(policy.min_effective * finding.decision.design_effect))
        total_needed = max(total_needed, floor)
    return (
        f"If the offer is as good as it looked, a newly sealed run of {total_needed:,} {unit} in all "
        "would decide 9 times in 10."
    )


def _requests(share: float, bar: Decimal, at_least: bool, policy: Policy) -> int | None:  # noqa: FBT001 - the bar's sense
    """Requests that decide at the estimated share; None where the estimate is too close to the bar."""
    limit = float(bar)
    if not at_least:
        share, limit = 1.0 - share, 1.0 - limit
    if share == limit:
        return None
    try:
        if share > limit:
            plan = stats.plan_share(
                limit, share, consumer_risk=policy.consumer_risk, producer_risk=1 - _POWER
            )
        else:  # to show that it is below is to show that the failures are above
            plan = stats.plan_share(
                1 - limit, 1 - share, consumer_risk=policy.rejection_risk, producer_risk=1 - _POWER
            )
    except DomainError:
        return None
    return plan.n if plan.n <= _MOST_REQUESTS else None
