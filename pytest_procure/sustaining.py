"""Whether a candidate carries a declared rate: by how much it answered, and by what it was asked meanwhile.

answered < 99.9 %       rejected, whatever the load
the backlog grew        all was answered, much of it when the rate was over: not accepted, and where not
                        two thirds were answered by then, one over its load decides, by its standard error
requests waited for     not accepted: the endpoint was never asked for more
a connection
it never settled        not accepted: a longer run would have shown more
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from .bars import Bar
from .decision import Policy
from .driver.audit import Audit
from .metrics import Execution, Measurement
from .metrics.measurement import Carried
from .metrics.metric import SUSTAINED
from .units import Quantity
from .verdict import Finding, find

_CARRIED = replace(SUSTAINED, title="what it can do of the declared rate")
_LOOKS = 2  # at the load of each launch: of all of it, and of its end
_GREW = "the backlog grew all the while"


def sustained(run: Execution, answered: Measurement, policy: Policy) -> Finding:
    """Hold a run at a declared rate against that rate. `answered`: the share of its requests that were."""
    audits = [launch.audit for launch in run.launches]
    asked = audits[0].limits.answered
    bar = Bar(
        SUSTAINED, "at least", Quantity(Decimal(str(asked))), source="condition", text=run.scenario.label
    )
    finding = find(bar, answered, policy)
    # With all the time that other programs took from it given back, would it have kept up?
    taken = max((audit.taken for audit in audits), default=0.0)
    if any(audit.is_broken for audit in audits):
        taken = 1.0  # of what a lost part of the harness would have asked, nobody knows
    if not finding.decision.accept:
        share = answered.estimate
        hopeless = share is not None and float(share.number) < asked * (1.0 - taken)
        return replace(finding, certain=hopeless)
    if any(audit.is_capped for audit in audits):
        return _not_accepted(finding, "requests waited for a connection; raise `connections=`")
    if any(audit.backlog_grew for audit in audits):
        return _outgrown(finding, audits, policy, taken)
    if any(audit.never_settled for audit in audits):
        return _not_accepted(finding, "the run never settled: it took longer and longer")
    return finding


def _outgrown(finding: Finding, audits: Sequence[Audit], policy: Policy, taken: float) -> Finding:
    """Hold the surest overload of all launches against the candidate; none but a gross one rejects."""
    grown = [
        audit.candidate.overload(audit.limits)
        for audit in audits
        if audit.backlog_grew and audit.candidate.is_gross(audit.limits)
    ]
    load = max((load for load in grown if load is not None), key=lambda load: load.excess, default=None)
    if load is None:
        return _not_accepted(finding, _GREW)
    can = Quantity.of(round(1.0 / load.share, 6))
    basis = Carried(load.share, load.error, load.freedom, _LOOKS * len(audits))
    measured = replace(finding.measurement, metric=_CARRIED, estimate=can, basis=basis)
    found = find(replace(finding.bar, metric=_CARRIED), measured, policy)
    why = f"{_GREW}: it was asked {load.share:.0%} of what it did while requests waited"
    certain = load.given_back(taken).is_surely_too_much(audits[0].limits)
    return replace(found, decision=replace(found.decision, accept=False, blocked=why), certain=certain)


def _not_accepted(finding: Finding, why: str) -> Finding:
    """Answered in the end, but slower than asked: a longer run would have shown it."""
    return replace(finding, decision=replace(finding.decision, accept=False, reject_p=1.0, blocked=why))
