"""The operating characteristic of a decision on a share: how often an offer of some quality is accepted."""

from __future__ import annotations

import math

import numpy as np

from pytest_procure import stats
from pytest_procure.decision import Policy
from pytest_procure.metrics.measurement import Goodput, Latencies, Share
from pytest_procure.verdict import Finding

_POINTS = 21
#: The curve is told this many standard deviations of the sample's share below the bar, and above it.
_BELOW, _ABOVE = 2.0, 6.0


def characteristic(finding: Finding, policy: Policy) -> list[list[float]]:
    """Give [true share, chance to accept] for a bar on a share; [] where it decides on something else.

    The chance is that of as many independent requests as the run was worth (ISO 2859's operating
    characteristic). The true share of a latency bar is that of the requests within its limit; of an "at most"
    bar on a share, the share itself, so that the curve falls.
    """
    basis, limit = finding.measurement.basis, finding.bar.limit
    falls = False
    if isinstance(basis, Latencies) and finding.bar.sense == "at most":
        bar = float(basis.q)
    elif isinstance(basis, (Share, Goodput)):
        falls = finding.bar.sense == "at most"
        bar = 1.0 - float(limit.base) if falls else float(limit.base)
    else:
        return []
    n = math.floor(finding.decision.n_effective)
    if n < 1 or not 0.0 < bar < 1.0 or finding.decision.blocked:
        return []
    allowed = _allowed_failures(n, bar, policy.consumer_risk)
    deviation = math.sqrt(bar * (1.0 - bar) / n)
    shares = np.linspace(max(0.0, bar - _BELOW * deviation), min(1.0, bar + _ABOVE * deviation), _POINTS)
    if allowed is None:
        chances = np.zeros(_POINTS)
    else:
        chances = stats.operating_characteristic(stats.SharePlan(n, allowed), shares)
    told = [
        [round(1.0 - share if falls else share, 6), round(chance, 6)]
        for share, chance in zip(shares.tolist(), chances.tolist(), strict=True)
    ]
    return told[::-1] if falls else told


def _allowed_failures(n: int, bar: float, risk: float) -> int | None:
    """Most failures of n with which the lower bound reaches the bar; None where even none is too many."""
    too_few, enough = -1, n + 1  # successes
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if stats.share_p_value(middle, n, bar, alternative="greater") <= risk:
            enough = middle
        else:
            too_few = middle
    return None if enough > n else n - enough
