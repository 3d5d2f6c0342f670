"""The verdict: bars and measurements become findings, findings become a verdict.

accept        every bar is shown to be met
reject        the opposite of a bar is shown, allowing for all bars looked at (Holm)
inconclusive  neither
invalid       the measuring machine failed; nothing is said of the candidate
not tested    there is no evidence
waived        the buyer lets it pass, and says who and why
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from . import stats
from .bars import Bar
from .decision import Decision, Policy, decide
from .metrics.measurement import Measurement, Unmeasurable

#: What is shown but decides nothing while the quality bars are not met.
_AFTER_QUALITY = frozenset({"latency", "goodput", "throughput", "cost", "energy", "memory"})


class Verdict(StrEnum):
    """The words of a verdict."""

    ACCEPT = "accept"
    REJECT = "reject"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTED = "not tested"
    WAIVED = "waived"
    INVALID = "invalid"

    @property
    def passes(self) -> bool:
        """Whether an offer may be bought on it."""
        return self in {Verdict.ACCEPT, Verdict.WAIVED}


@dataclass(frozen=True, slots=True)
class Finding:
    """Bar + measurement + verdict. `observed_only` findings are shown and decide nothing."""

    bar: Bar
    measurement: Measurement
    decision: Decision
    verdict: Verdict = Verdict.INCONCLUSIVE
    struck: bool = False
    observed_only: bool = False
    certain: bool = False  # no lateness of the harness can explain it
    looks: int = 0  # runs of the same test that were not held to this bar: it is judged as a further run's


def find(bar: Bar, measurement: Measurement, policy: Policy, *, observed_only: bool = False) -> Finding:
    """Hold one measurement against one bar. Its verdict is open until `judge` has seen all bars."""
    decision = decide(measurement, bar.sense, bar.limit, policy_of(bar, policy))
    return Finding(bar, measurement, decision, observed_only=observed_only)


def policy_of(bar: Bar, policy: Policy) -> Policy:
    """Give the risks that a bar is decided at: its own consumer's risk, where it states one."""
    if bar.consumer_risk is None:
        return policy
    return replace(policy, consumer_risk=bar.consumer_risk / policy.candidates / 2.0 ** (policy.run - 1))


def judge(
    findings: Iterable[Finding],
    policy: Policy,
    *,
    late: bool = False,
    late_failures: bool = False,
    may_flatter: bool = False,
) -> tuple[Verdict, tuple[Finding, ...]]:
    """Decide a requirement from all its findings.

    `late`: the harness kept the candidate waiting. That can only lengthen a latency, so what is accepted
    stays accepted, and a timed finding that is not becomes invalid. `late_failures`: requests timed out or
    were lost as well, so every finding that is not accepted may be the harness's doing. `may_flatter`: a
    machine that slept, or traffic other than declared, may have measured too little, so no timed finding
    stands.

    All bars must be met to accept (intersection-union test: no correction). Rejection takes Holm over all
    bars that decide, because each is one more chance to reject a good offer.
    """
    found = _once(findings)
    quality = [f for f in found if f.bar.metric.kind == "quality" and not f.observed_only]
    gate_met = all(f.decision.accept for f in quality)
    found = [replace(f, struck=not gate_met and f.bar.metric.kind in _AFTER_QUALITY) for f in found]
    deciding = [i for i, f in enumerate(found) if not (f.struck or f.observed_only)]
    rejected = _rejected([found[i].decision for i in deciding], policy)
    worse = {i for i, yes in zip(deciding, rejected, strict=True) if yes}
    judged = []
    for i, finding in enumerate(found):
        verdict = _one(finding.decision, rejected=i in worse)
        timed = finding.bar.metric.timed
        basis = finding.measurement.basis
        seen = not (isinstance(basis, Unmeasurable) and finding.decision.blocked == basis.reason)
        explained = late and seen and (timed or late_failures) and not finding.certain
        doubtful = verdict is not Verdict.ACCEPT and explained
        if doubtful or (may_flatter and timed):
            verdict = Verdict.INVALID
        judged.append(replace(finding, verdict=verdict))
    return _whole([judged[i].verdict for i in deciding]), tuple(judged)


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Let a bar that is both declared and asserted count once; source order is kept."""
    kept: dict[object, Finding] = {}
    for finding in findings:
        key = (finding.bar.key, id(finding.measurement.basis), finding.observed_only)
        kept.setdefault(key, finding)
    return list(kept.values())


def _rejected(decisions: Sequence[Decision], policy: Policy) -> list[bool]:
    """Reject by Holm over the bars that carry a sampling risk; what is exact carries none."""
    sampled = [i for i, d in enumerate(decisions) if d.reject_p is not None and not d.exact]
    adjusted = (
        [float(p) for p in stats.holm([decisions[i].reject_p or 0.0 for i in sampled])] if sampled else []
    )
    rejected = [d.exact and d.reject_p == 0.0 for d in decisions]
    for i, p in zip(sampled, adjusted, strict=True):
        rejected[i] = p <= policy.rejection_risk
    return rejected


def _one(decision: Decision, *, rejected: bool) -> Verdict:
    if decision.accept:
        return Verdict.ACCEPT
    return Verdict.REJECT if rejected else Verdict.INCONCLUSIVE


def _whole(verdicts: Sequence[Verdict]) -> Verdict:
    """Join the findings: what is rejected stays so, whatever else could not be told."""
    if not verdicts:
        return Verdict.NOT_TESTED
    for worst in (Verdict.REJECT, Verdict.INVALID, Verdict.INCONCLUSIVE):
        if worst in verdicts:
            return worst
    return Verdict.ACCEPT
