"""A scenario as its author declares it: checked, labelled, and fit to be cut to another size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pytest_procure.errors import DeclarationError
from pytest_procure.units import Quantity, seconds

from .arguments import canonical, read_all, read_one
from .arrivals import arrivals
from .labels import conditions, label
from .lengths import check_length, queries, span
from .traffic import Traffic

#: What a run may take beyond its traffic when no `wall_limit` is declared: loading inputs and warming up.
_SLACK = seconds(60)


@dataclass(frozen=True, slots=True)
class Scenario(Traffic):
    """Traffic and run conditions of one test. `declare` checks them; the constructor does not."""

    @classmethod
    def declare(cls, name: str, folder: Path = Path(), /, **arguments: object) -> Scenario:
        """Read what an author writes, as in `declare("server", qps=40, duration="60 s", max_batch=8)`.

        `folder`: where the relative path of a trace starts. Raises `DeclarationError` in one sentence for
        anything that cannot be meant.
        """
        name = canonical(name)
        read = read_all(name, arguments, folder)
        if name == "multi_stream":
            read.setdefault("samples_per_query", 8)
        # A longer deadline would mean nothing if the run ended before it.
        if "timeout" in read and "drain" not in read:
            read["drain"] = max(read["timeout"], seconds(10))
        scenario = cls(name, **read)
        check_length(scenario)
        if "wall_limit" not in read:
            return _within_wall_limit(scenario)
        if scenario.wall_limit.base < (lasts := _lasts(scenario)):
            raise DeclarationError(
                f"scenario `{name}`: `wall_limit='{scenario.wall_limit}'` ends the run before "
                f"its traffic of {lasts.normalize():f} s is over; expected more, or no `wall_limit`"
            )
        return scenario

    @property
    def label(self) -> str:
        """The scenario as a sentence for the report."""
        return label(self)

    def conditions(self) -> dict[str, Any]:
        """Give every condition that belongs to the scenario as plain JSON data, for disclosure."""
        return conditions(self)

    def replace_batch(self, max_batch: int | None, max_wait: Quantity | None = None) -> Scenario:
        """Put a candidate's own batch policy in place of the declared one.

        With one query in flight no batches form, so such a scenario stays as it is.
        """
        if self.is_in_turn:
            return self
        policy = {} if max_batch is None else {"max_batch": read_one(self.name, "max_batch", max_batch)}
        if max_wait is not None and self.name != "offline":
            policy["max_wait"] = read_one(self.name, "max_wait", max_wait)
        return replace(self, **policy)

    def shortened(self, count: int) -> Scenario:
        """Give traffic of the same kind with about `count` queries, and nothing cut; at least one."""
        plain = replace(self, cut=0, stopping="fixed", launches=1)
        if self.trace is not None:
            n = min(count, queries(self, 1))
            return replace(plain, count=n, duration=None)
        if self.starts is not None:
            return replace(plain, count=-(-count // self.turns), duration=None)
        if self.start is not None and self.end is not None and self.duration is not None:
            needed = Quantity.of(round(2 * count / (self.start + self.end), 9), "s")
            return _within_wall_limit(replace(plain, duration=needed))
        return _within_wall_limit(replace(plain, count=count, duration=None))


def _within_wall_limit(scenario: Scenario) -> Scenario:
    """Stretch the wall limit over long traffic."""
    seconds_needed = (_lasts(scenario) + scenario.drain.base + _SLACK.base).to_integral_value()
    return replace(scenario, wall_limit=max(scenario.wall_limit, Quantity.of(seconds_needed, "s")))


def _lasts(scenario: Scenario) -> Decimal:
    """Give the seconds until the last arrival: of a counted burst it may wait for the next peak."""
    if scenario.period is None or scenario.count is None:
        return span(scenario)
    return max(span(scenario), Decimal(int(arrivals(scenario, scenario.count)[-1])) / 10**9)
