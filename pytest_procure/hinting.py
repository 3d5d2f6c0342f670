"""What would decide a bar that is left undecided: no hint is better than one that does not hold.

Nothing is said where a bar was only observed, where no number of requests has to do with it (a condition of
the run, a price, a bound that its author gave), and where the number would be no more than was asked.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import NamedTuple

from . import stats
from .decision import Policy
from .errors import DomainError
from .metrics.measurement import Carried, Confirmed, Goodput, Interval, Latencies, Means, Share
from .metrics.metric import GPU_MEMORY
from .stats import Alike
from .units import Quantity, readable
from .verdict import Finding, Verdict

#: Chance that the run which the hint names decides, if the offer is as good as it looked.
_POWER = 0.9
_MOST_REQUESTS = 100_000_000
#: Each hint speaks of one new run (or search), the first time that it says so.
_NEW, _NEWLY_SEALED = " new ", " newly sealed "


class _Size(NamedTuple):
    """Requests of a run in all; whether the estimate gives them, or acceptance takes so many of any offer.

    `decides`: whether the chance that so many decide is known. It is not where the run itself measures how
    far requests come in rows: of independent ones, four to eight runs in ten of that size decide.
    """

    requests: int
    estimated: bool
    decides: bool


def hint(finding: Finding, policy: Policy, *, sealed: bool = False) -> str:
    """Say what would decide an undecided bar; nothing for a decided one, and where nothing is known to.

    `sealed`: the run was held to a seal, so that another one takes another seal.
    """
    if finding.verdict is not Verdict.INCONCLUSIVE or finding.observed_only:
        return ""
    told = _told(finding, policy)
    return told.replace(_NEW, _NEWLY_SEALED, 1) if sealed else told


def _told(finding: Finding, policy: Policy) -> str:
    basis = finding.measurement.basis
    match basis:
        case Share(clusters=int(clusters)) | Goodput(share=Share(clusters=int(clusters))) if (
            clusters < policy.min_clusters
        ):
            return _over_clusters(finding, clusters, policy)
        case Latencies(alike=Alike(groups=int(groups))) if groups < policy.min_clusters:
            return _over_clusters(finding, groups, policy)
        case Share(total=total, n=n) | Goodput(share=Share(total=total, n=n)):
            at_least = finding.bar.sense == "at least"
            return _sized(finding, _requests(total / n, finding.bar.limit.base, at_least, policy), policy)
        case Latencies(values=values, q=q):
            within = float((values <= finding.bar.limit.ns).mean())
            return _sized(finding, _requests(within, q, finding.bar.sense == "at most", policy), policy)
        case Carried(load=load) if load > 1:
            return (
                "A new run that lasts longer could decide: how much more it was asked than it can "
                "do is then known more closely."
            )
        case _:
            return _of_repeats(finding)


def _of_repeats(finding: Finding) -> str:
    """Say what would decide where it takes another kind of run, or more repeats of one."""
    match finding.measurement.basis:
        case Means(values=values, minimum=minimum, of=of) if len(values) < minimum:
            return f"A new run of {minimum} {of} could decide."
        case Interval() if finding.measurement.metric == GPU_MEMORY:
            return (
                "What is in use may be another's in part; a new run on a GPU of its own, in no "
                "container and without another candidate beside it, could decide."
            )
        case Confirmed(launches=launches, minimum=minimum, unshown="") if launches < minimum:
            return f"A new search with `launches={minimum}` could decide."
        case _:
            return ""


def _over_clusters(finding: Finding, clusters: int, policy: Policy) -> str:
    """Ask for as many different clusters as a verdict takes; items that are asked again are none."""
    measured = finding.measurement
    alone = measured.items == clusters  # then each item stands for itself, and some were asked again
    what = "different samples" if alone else "clusters"
    more = _beyond(policy.min_clusters, measured.most) if alone else ""
    return f"A new run over {policy.min_clusters} {what} or more could decide{more}."


def _sized(finding: Finding, needed: int | None, policy: Policy) -> str:
    """Say how many requests in all decide, and over how many different samples where that matters."""
    if needed is None:
        return "The estimate lies on the bar: no number of requests is sure to decide."
    size, measured = _size(finding, needed, policy), finding.measurement
    if size.requests <= measured.n:
        return ""
    scored = measured.items if finding.bar.metric.kind == "quality" else 0  # times may not hang on samples
    items = math.ceil(size.requests * scored / measured.n)
    over = f", over {items:,} different samples" if scored and items < size.requests else ""
    asked = f"a new run of {size.requests:,} {measured.n_unit} in all{over}"
    taking, beyond = _taking(size.requests, finding), _beyond(items, measured.most)
    if not size.estimated:
        return f"{asked[:1].upper()}{asked[1:]}{taking} could decide{beyond}."
    decides = "would decide 9 times in 10" if size.decides else "could decide"
    return f"If the offer is as good as it looked, {asked}{taking} {decides}{beyond}."


def _size(finding: Finding, needed: int, policy: Policy) -> _Size:
    """Make of so many independent requests how many it takes of those that were seen."""
    told, measured = finding.decision, finding.measurement
    apart = measured.n / told.n_effective if told.n_effective else 1.0  # that tell as much as one
    requests = math.ceil(needed * max(told.design_effect, apart))
    if not isinstance(measured.basis, Latencies | Goodput):
        return _Size(requests, estimated=True, decides=measured.metric.kind != "errors")
    floor = max(policy.min_under_load, math.ceil(policy.min_effective * told.design_effect))
    return _Size(max(requests, floor), estimated=requests > floor, decides=False)


def _beyond(items: int, most: int) -> str:
    """Say that a dataset does not hold so many samples."""
    return f"; the dataset has {most:,} samples, so it takes more labelled ones" if 0 < most < items else ""


def _taking(needed: int, finding: Finding) -> str:
    """Say how long a run of that size takes at the pace of this one."""
    measured = finding.measurement
    if not measured.seconds or not measured.n:
        return ""
    seconds = Quantity.of(round(measured.seconds / measured.n * needed, 3), "s")
    return f", about {readable(seconds)} at this pace,"


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
