"""Numbers of the decision rule and of the plan, as the suite's settings say."""

from __future__ import annotations

import math

import pytest

from .decision import Policy


def policy_alone(config: pytest.Config) -> Policy:
    """Give the decision rule's risks for one candidate alone. Raises `UsageError`."""
    risk = _number(config, "consumer_risk", Policy().consumer_risk, 1e-6, 0.49)
    clusters = _number(config, "min_clusters", Policy().min_clusters, 2, 1e9)
    return Policy(consumer_risk=risk, min_clusters=int(clusters))


def producer_risk(config: pytest.Config) -> float:
    """Give the plan's chance to turn down an offer at its design value. Raises `UsageError`."""
    return _number(config, "producer_risk", 0.1, 1e-6, 0.99)


def _number(config: pytest.Config, key: str, default: float, least: float, most: float) -> float:
    """Read a number from the ini. Raises `UsageError` for one that cannot be meant."""
    written = config.getini(f"procure_{key}")
    if not written:
        return default
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise pytest.UsageError(
            f"procure: ini key `procure_{key} = {written}`; expected a number from {least:g} to {most:g}"
        )
    return value
