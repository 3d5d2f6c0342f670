"""A finding in words: what was found, and the rule that was applied."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import singledispatch

from .bars import Bar
from .decision import Policy
from .metrics.measurement import (
    Anytime,
    Carried,
    Confirmed,
    Contrast,
    Corpus,
    CostOfShare,
    Curtailed,
    Exact,
    Goodput,
    Interval,
    Latencies,
    Means,
    Pairs,
    Ratio,
    Share,
    Unmeasurable,
)
from .metrics.metric import GPU_MEMORY, Metric
from .units import Quantity, exactly, readable
from .verdict import Finding, Verdict


def asked_for(bar: Bar) -> str:
    """Write what a bar asks for, digit by digit: 0.95049 is no 95 %."""
    return exactly(bar.limit, share=_is_share(bar.metric))


def _is_share(metric: Metric) -> bool:
    return metric.dimension in {"number", "difference"} and not metric.of_corpus


def _measured(finding: Finding, value: Quantity, metric: Metric, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a measured value, as finely as it takes to tell it from the bar."""
    return readable(value, share=_is_share(metric), rounding=rounding, beside=finding.bar.limit)


def estimate(finding: Finding) -> str:
    """Write the point value; nothing where nothing was measured, ">= 2 s" where it is censored."""
    measured = finding.measurement
    if measured.estimate is None:
        return ""
    return ("≥ " if measured.censored else "") + _measured(finding, measured.estimate, measured.metric)


def low(finding: Finding) -> str:
    """Write the lower end of the likely range, rounded down; nothing where it has none."""
    return _end(finding, finding.decision.low, ROUND_FLOOR)


def high(finding: Finding) -> str:
    """Write the upper end of the likely range, rounded up; nothing where it has none."""
    return _end(finding, finding.decision.high, ROUND_CEILING)


def _end(finding: Finding, value: Decimal | None, rounding: str) -> str:
    point = finding.measurement.estimate
    if value is None or point is None:
        return ""
    return _measured(finding, Quantity(value, point.unit), finding.bar.metric, rounding)


def sentence(finding: Finding) -> str:
    """Say what was found: value, likely range, what was asked, and why it decides nothing if it does not."""
    bar, measured, decision = finding.bar, finding.measurement, finding.decision
    asked = f"asked: {bar.sense} {asked_for(bar)}"
    if isinstance(measured.basis, Unmeasurable):
        return f"{bar.metric.title}: not measurable, because {measured.basis.reason}; {asked}"
    counted = bar.metric.shares or (bar.metric.kind == "condition" and isinstance(measured.basis, Exact))
    of = f" of {measured.n:,} {measured.n_unit}" if counted else ""
    said = f"{bar.metric.title}: {estimate(finding) or 'not shown'}{of}{_range(finding)}; {asked}"
    if decision.blocked:
        said += f"; {decision.blocked}"
    if finding.struck:
        said += "; decides nothing, because the quality bars are not met"
    if finding.looks:
        runs = "another run" if finding.looks == 1 else f"{finding.looks} other runs"
        share = f"1/{2**finding.looks}"
        said += f"; the test made {runs} that it does not hold to this: judged at {share} of the risk"
    if finding.verdict is Verdict.INVALID:
        # First, because a first screen has room for the beginning only.
        said = f"the measuring machine was late or shared, so this says nothing of the candidate: {said}"
    return said


def _range(finding: Finding) -> str:
    if isinstance(finding.measurement.basis, Exact):
        return f" ({finding.measurement.basis.label})"
    if low(finding) and high(finding):
        return f" (likely range {low(finding)} to {high(finding)})"
    return f" (likely at least {low(finding)})" if low(finding) else ""


def rule(finding: Finding, policy: Policy) -> str:
    """Say by which rule the finding was decided, with the buyer's risk as a sentence."""
    basis, asked = finding.measurement.basis, asked_for(finding.bar)
    if isinstance(basis, Unmeasurable):
        return "Decision rule: what cannot be measured is not accepted."
    if isinstance(basis, Exact):
        return f"Decision rule: the value, {basis.label}, against {asked}; not sampled, so without a range."
    risk = Fraction(policy.consumer_risk).limit_denominator(10_000)
    wrongly = (
        f"at most {risk.numerator} time in {risk.denominator}"
        if risk.numerator == 1
        else f"in at most {_risk(policy.consumer_risk)} of such tests"
    )
    return (
        f"Decision rule: {_how(basis, finding)} against {asked}. If this offer were exactly at the bar, this "
        f"rule would wrongly accept it {wrongly}{_proviso(finding)}."
    )


def _proviso(finding: Finding) -> str:
    """Say what the risk holds for, where a run may hold nothing of what matters."""
    if finding.bar.metric.kind != "errors":
        return ""
    return ", as far as failures do not come in rows so rare that a run of this length may hold none"


def _end_that_decides(finding: Finding) -> str:
    return "lower" if finding.bar.sense == "at least" else "upper"


@singledispatch
def _how(basis: object, finding: Finding) -> str:
    """Name the bound that is held against the bar, a sentence's worth for each basis."""
    raise NotImplementedError(type(basis))


@_how.register
def _(basis: Share, finding: Finding) -> str:
    effect = f", design effect {basis.design_effect:.2f} (Korn-Graubard)" if basis.design_effect > 1 else ""
    parts = ", strata weighted by their shares of production" if basis.weighted else ""
    return f"one-sided Clopper-Pearson {_end_that_decides(finding)} bound{parts}{effect}"


@_how.register
def _(basis: Curtailed, finding: Finding) -> str:
    effect = f", design effect {basis.design_effect:.2f} (Korn-Graubard)" if basis.design_effect > 1 else ""
    asked = (
        "all of which were asked"
        if basis.n == basis.planned
        else f"of which {basis.n:,} were asked before no continuation could change the decision"
    )
    return (
        f"one-sided Clopper-Pearson {_end_that_decides(finding)} bound{effect} for the {basis.planned:,} "
        f"planned samples, {asked},"
    )


@_how.register
def _(basis: Anytime, finding: Finding) -> str:
    return (
        f"{_end_that_decides(finding)} end of a confidence sequence (uniform beta-binomial mixture), which "
        f"holds at every look at once, after {basis.n:,} samples,"
    )


@_how.register
def _(basis: Corpus, finding: Finding) -> str:
    missed = ", with one wrong item more that the run may have missed" if basis.missed else ""
    return (
        f"one-sided Student t {_end_that_decides(finding)} bound by the delete-a-group jackknife over "
        f"{len(basis.without)} groups{missed},"
    )


@_how.register
def _(basis: Latencies, finding: Finding) -> str:
    within = "within" if finding.bar.sense == "at most" else "below"
    metric = finding.bar.metric
    what = "latency" if metric.family == "latency" else "time to the first token"
    since = f", {what} from the scheduled time" if metric.family in {"latency", "ttft"} else ""
    return (
        f"share of {finding.measurement.n_unit} {within} the limit, asked "
        f"{readable(Quantity(basis.q), share=True)} (percentile by nearest rank{since}): one-sided "
        "Clopper-Pearson bound at the effective sample size, design effect "
        f"{finding.decision.design_effect:.2f} from batch means{_repeated(basis.alike.groups)} "
        "(Korn-Graubard),"
    )


def _repeated(groups: int | None) -> str:
    return "" if groups is None else f" or from the {groups:,} groups of what was asked, the worse of the two"


@_how.register
def _(_basis: Goodput, finding: Finding) -> str:
    return (
        f"share of {finding.bar.metric.title}: one-sided Clopper-Pearson "
        f"{_end_that_decides(finding)} bound at the effective sample size, design effect "
        f"{finding.decision.design_effect:.2f} (Korn-Graubard),"
    )


@_how.register
def _(basis: Means, finding: Finding) -> str:
    skewed = "" if basis.of == "launches" else ", corrected for skewness (Johnson),"
    return (
        f"one-sided Student t {_end_that_decides(finding)} bound over {len(basis.values)} {basis.of}{skewed}"
    )


@_how.register
def _(_basis: CostOfShare, _finding: Finding) -> str:
    return "the exact cost over the one-sided Clopper-Pearson lower bound of the share of good answers"


@_how.register
def _(basis: Ratio, finding: Finding) -> str:
    each = basis.of.removesuffix("s")
    return (
        f"one-sided Fieller {_end_that_decides(finding)} bound of cost over good answers, {each} by {each}, "
        "adjusted where few of them differ,"
    )


@_how.register
def _(basis: Contrast, finding: Finding) -> str:
    method = "contrast with that share, Student t" if basis.as_ratio else "Student t"
    if basis.counts and not basis.as_ratio:
        method = "the widest of Newcombe's method 10, Tango's score interval and Student t"
    return f"one-sided {_end_that_decides(finding)} bound, paired on the same items ({method}),"


@_how.register
def _(basis: Pairs, finding: Finding) -> str:
    return (
        f"one-sided Student t {_end_that_decides(finding)} bound of the log ratio over {len(basis.logs)} "
        "pairs of blocks, interleaved in seeded random order,"
    )


@_how.register
def _(basis: Confirmed, _finding: Finding) -> str:
    return (
        f"the rate at which a fresh run, over {basis.launches} launch(es), met each bar of the search by its "
        "own decision rule, and kept up,"
    )


@_how.register
def _(_basis: Carried, finding: Finding) -> str:
    return (
        f"one-sided Student t {_end_that_decides(finding)} bound of what the candidate can do over what was "
        "asked, by the times that its work took,"
    )


@_how.register
def _(_basis: Interval, finding: Finding) -> str:
    if finding.measurement.metric == GPU_MEMORY:
        return "all that was in use, of which the candidate's own part is not known,"
    return f"{_end_that_decides(finding)} end of the interval that the test gave"


def _risk(chance: float) -> str:
    return readable(Quantity.of(chance), share=True)


def decision_rule(policy: Policy, largest: float | None = None) -> list[str]:
    """Write the decision rule as a committee reads it, a sentence or two each.

    largest: the largest consumer's risk of any bar, where one has a risk of its own.
    """
    three_ways = (
        "Accept: the evidence shows that every bar is met. Reject: it shows that one is not. "
        "Otherwise the result is not decided, and what is not decided is not accepted."
    )
    at_most = _risk(policy.consumer_risk)
    if largest is not None and largest > policy.consumer_risk:
        own = f"the largest risk that a bar here states for itself; elsewhere at most {at_most}"
        at_most = f"{_risk(largest)}, {own}"
    consumer = (
        "Consumer's risk: an offer that is exactly at a bar is wrongly accepted with probability at most "
        f"{at_most}. All bars have to be met, so this holds without correction."
    )
    rejection = (
        f"Rejection risk: an offer that meets every bar is wrongly rejected with probability at most "
        f"{_risk(policy.rejection_risk)} over all bars of a requirement together (Holm)."
    )
    shares = (
        "Shares, of right answers as of failures and of requests within a limit, are decided by one-sided "
        "Clopper-Pearson bounds at the effective sample size (Korn-Graubard); an item asked more than once "
        "counts as one cluster, so do items of equal content, and fewer than "
        f"{policy.min_clusters} clusters give no verdict."
    )
    latency = (
        "A latency percentile is decided as the share of requests within the limit, counted from the "
        "scheduled time. Latencies come in rows: the design effect is the larger of the bar's own and "
        f"that of the slowest tenth, or of what is slower than a {policy.far:g}th of the limit where that is "
        f"less, from batch means; acceptance takes {policy.min_effective} requests' worth of "
        f"independent information and, under load, {policy.min_under_load} requests."
    )
    quality = "Quality comes first: speed and cost of answers that are not good enough decide nothing."
    failures = "Failed, late and lost requests stay in the count, as failures."
    return [three_ways, consumer, rejection, shares, latency, quality, failures]
