"""The decision rule's risks and floors, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Policy:
    """The risks and floors of the decision rule."""

    consumer_risk: float = 0.05  # to accept an offer that is exactly at the bar
    rejection_risk: float = 0.05  # to reject an offer that meets every bar, over all bars together
    min_clusters: int = 20
    min_effective: int = 100  # latency: requests' worth of independent information
    min_under_load: int = 200  # latency: requests, where arrivals do not wait for answers
    far: float = 20.0  # latency: requests this many times below the limit are not within sight of it
    candidates: int = 1  # that share a consumer's risk, because any of them may be awarded
    run: int = 1  # k, of a requirement that is run again: run k has 1 / 2^(k-1) of the consumer's risk

    @property
    def confidence(self) -> float:
        """Of each end of a range, one-sided."""
        return 1.0 - self.consumer_risk

    def of_run(self, k: int) -> Policy:
        """Give the policy of run k of a series; all its runs together risk less than twice the first's."""
        return replace(self, consumer_risk=self.consumer_risk * 2.0 ** (self.run - k), run=k)

    def after(self, looks: int) -> Policy:
        """Give the policy of what was picked after so many looks at other runs of the same test."""
        return self.of_run(self.run + looks)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the bar is shown to be met, and with what probability its opposite would show by chance.

    `low` and `high`: the likely range, in the unit of the measurement's estimate; None where it has no end.

    `reject_p`: the probability of evidence this bad from an offer that meets the bar; None if the evidence
    cannot reject. `exact`: no sampling, so no risk. `blocked`: why the evidence decides nothing.
    """

    accept: bool
    reject_p: float | None
    low: Decimal | None = None
    high: Decimal | None = None
    n_effective: float = 0.0
    design_effect: float = 1.0
    exact: bool = False
    blocked: str = ""


def too_few(groups: int | None, policy: Policy) -> str:
    """Say that so few groups of observations decide nothing; "" for enough, and where each stands alone."""
    if groups is None or groups >= policy.min_clusters:
        return ""
    are = "cluster is" if groups == 1 else "clusters are"
    return f"{groups} {are} too few for a verdict; it takes {policy.min_clusters}"


def undecided(why: str, *, n_effective: float = 0.0) -> Decision:
    """Decide nothing, for this reason."""
    return Decision(accept=False, reject_p=None, n_effective=n_effective, blocked=why)
