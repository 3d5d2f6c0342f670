"""A screening: the declared run, cut short. It shows what is broken or hopeless, and accepts nothing."""

from __future__ import annotations

from dataclasses import replace

from .datasets import DatasetSlice
from .scenarios import Scenario, queries

#: Requests of a screening: enough to see a candidate that is far from its bars.
_REQUESTS = 100
_SHORTENED = frozenset({"offline", "single_stream", "multi_stream", "server"})


def shortened(scenario: Scenario, chosen: DatasetSlice) -> Scenario:
    """Cut a scenario down to about 100 requests and one launch.

    Traffic whose shape is the point, as a burst or a replay, is run as it is declared.
    """
    if scenario.name not in _SHORTENED:
        return scenario
    most = max(1, _REQUESTS // scenario.samples_per_query)
    count = min(queries(scenario, len(chosen)), most)
    return replace(scenario, count=count, duration=None, launches=1, stopping="fixed")
