"""What a run's audit is held to: the thresholds of `thresholds`, as a suite sets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .thresholds import THRESHOLDS


def _default(name: str) -> Any:
    return THRESHOLDS[name].default


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds in ns, bytes, shares and plain numbers; the table tells what each is."""

    send_lag_ns: int = _default("send_lag_ns")
    send_lag_of_bar: float = _default("send_lag_of_bar")
    run_delay: float = _default("run_delay")
    foreign_cpu: float = _default("foreign_cpu")
    other_threads: float = _default("other_threads")
    other_threads_ns: int = _default("other_threads_ns")
    stall_ns: int = _default("stall_ns")
    stalled: float = _default("stalled")
    stalled_ns: int = _default("stalled_ns")
    gc_pause_ns: int = _default("gc_pause_ns")
    clock_step_ns: int = _default("clock_step_ns")
    load_cpu: float = _default("load_cpu")
    arrival_false_alarm: float = _default("arrival_false_alarm")
    arrival_rate: float = _default("arrival_rate")
    arrival_distance: float = _default("arrival_distance")
    arrival_spread: float = _default("arrival_spread")
    arrival_correlation: float = _default("arrival_correlation")
    answered: float = _default("answered")
    sent: float = _default("sent")
    backlog_growth: float = _default("backlog_growth")
    sure_load: float = _default("sure_load")
    load_errors: float = _default("load_errors")
    gross: float = _default("gross")
    side_by_side: int = _default("side_by_side")
    hiccup_ns: int = _default("hiccup_ns")
    backlog_errors: float = _default("backlog_errors")
    pinned: float = _default("pinned")
    connections_pinned: float = _default("connections_pinned")
    unsettled: float = _default("unsettled")
    slower: float = _default("slower")
    slower_errors: float = _default("slower_errors")
    tokens_reported: float = _default("tokens_reported")
    server_log: int = _default("server_log")

    def lag_ns(self, tightest_bar_ns: int | None) -> int:
        """Give how late a query may be sent, for the tightest latency bar that it will be held against."""
        return max(self.send_lag_ns, int(self.send_lag_of_bar * (tightest_bar_ns or 0)))

    def told(self) -> dict[str, str]:
        """Give them by ini key, each as the ini would state it: what a seal fixes."""
        return {each.key: _written(each.kind, getattr(self, name)) for name, each in THRESHOLDS.items()}


def _written(kind: str, value: float) -> str:
    if kind == "time":
        return f"{value / 1e6:.12g} ms"
    return f"{value} B" if kind == "size" else f"{value:.12g}"
