"""How much traffic asks of an endpoint. Nobody knows the workers behind a URL, so its answers tell.

    load = requests a second x seconds from one answer to the next, while many are under way

Time in which many are under way is time in which services were slow by chance. So an interval is chosen by
how many were under way as it *began*, which knows nothing of the services that end it. Answers that come
together, as those of a batch do, are one: an interval begins with a gap of half the mean or more of such
gaps, and ends with the next. `benchmarks/backlog.py` simulates it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pytest_procure.driver.limits import Limits
from pytest_procure.driver.load import Load, offered
from pytest_procure.driver.log import Int64, RequestLog
from pytest_procure.driver.seen import Seen
from pytest_procure.scenarios import Scenario, is_steady

#: Of fewer intervals there is no standard error worth the name.
_FEWEST = 5
#: Means of so many stretches of a run give the standard error, because intervals may come in rows.
_STRETCHES = 20
#: Many are under way where it is more than a quarter of the most that there were, which only a queue of some
#: length is, also of an endpoint that serves a hundred side by side.
_OF_THE_MOST = 0.25
_AT_A_TIME = 1 << 16


def seen_of_endpoint(seen: Seen, log: RequestLog, scenario: Scenario, rate: float, limits: Limits) -> Seen:
    """Put what is seen from outside in place of what workers show; `rate`: requests due a second.

    Who waits is counted by Little's law: a second's requests times the seconds that one takes. Of a run that
    has just begun few are under way, however long a queue will be, and then more and more, however short;
    how long one takes is the same from the first on. The load is known where requests of the last third take
    longer than those of the first, by as many under way as may stand side by side or by chance, and twice as
    long: where they do not, there is no queue, and answers come as fast as they are asked for.
    """
    due = seen.offered
    third = due // 3
    at_once = max(limits.side_by_side, round(rate * limits.hiccup_ns * 1e-9))
    last_due = int(log.scheduled[-1]) if len(log) else 0
    backlog = int(np.count_nonzero(~log.answered | (log.completed > last_due)))
    seen = replace(
        seen,
        completed=int(np.count_nonzero(log.answered)),
        backlog=backlog if scenario.rate_is_declared else 0,
        waiting_first_third=None,
        waiting_last_third=None,
        at_once=at_once,
        load=None,
        load_at_end=None,
    )
    if not third:
        return seen
    (first, before), (last, after) = (
        _under_way_by_little(log, rate, begin, begin + third) for begin in (0, due - third)
    )
    if is_steady(scenario):
        seen = replace(seen, waiting_first_third=first, waiting_last_third=last)
    apart = max(at_once, math.ceil(limits.backlog_errors * math.hypot(before, after)))
    if scenario.rate_is_declared and is_steady(scenario) and last - first <= max(apart, first):
        return _by_count(seen, log, third, limits)
    seen = replace(seen, at_once=apart)
    if not scenario.rate_is_declared or last - first <= max(apart, first):
        return seen
    return replace(
        seen,
        load=_load(log, scenario, due, at_once, 0),
        load_at_end=_load(log, scenario, due, at_once, int(log.scheduled[due - third])),
    )


def _by_count(seen: Seen, log: RequestLog, third: int, limits: Limits) -> Seen:
    """Count who is under way where requests of all thirds take as long.

    So it is where nobody waits for another, and where those who wait are not served in the order in which
    they came: side by side, or the last first. If more and more are under way from the middle to the end, by
    more than chance, an overload is hidden so, or the run is too short to show that there is none: most
    answers take longer than half of it.
    """
    ended = log.completed[log.completed >= 0]
    ended.sort()
    scheduled = log.scheduled[: seen.offered]
    half = seen.offered // 2
    before, after = _under_way(scheduled, ended, scheduled[[half, -1]])
    growth = int(after) - int(before)
    if growth <= seen.at_once + limits.load_errors * math.sqrt(half):
        return seen
    first, last = (
        float(_under_way(scheduled, ended, times).mean()) for times in (scheduled[:third], scheduled[-third:])
    )
    return replace(seen, waiting_first_third=first, waiting_last_third=last)


def _under_way_by_little(log: RequestLog, rate: float, begin: int, end: int) -> tuple[float, float]:
    """Give how many were under way on average, by how long requests took, with its standard error.

    Those without an end have taken until the end of the window.
    """
    ended = log.completed[begin:end].copy()
    ended[ended < 0] = log.window_ns
    ended -= log.scheduled[begin:end]
    np.maximum(ended, 0, out=ended)
    rate *= 1e-9
    return rate * float(ended.mean()), rate * float(ended.std()) / math.sqrt(end - begin)


def _load(log: RequestLog, scenario: Scenario, due: int, at_once: int, since: int) -> Load | None:
    """Measure the load by intervals that began `since` then, in ns."""
    ended = log.completed[log.completed >= 0]
    ended.sort()  # of ten million requests each column counts
    answers = ended
    if not log.answered.all():
        answers = log.completed[log.answered]
        answers.sort()
    scheduled = log.scheduled[:due]
    least = max(at_once, _OF_THE_MOST * _under_way(scheduled, ended, scheduled).max())
    answers = answers[np.searchsorted(answers, since) :]
    many = _under_way(scheduled, ended, answers[:-1]) > least
    gaps = np.diff(answers)
    mean = float(gaps.mean(where=many)) if many.any() else 0.0
    if not mean:
        return None
    places = np.flatnonzero(gaps >= mean / 2)
    del gaps
    many = many[places]
    if np.count_nonzero(many) < _FEWEST:
        return None
    ends = np.append(places[1:], len(answers) - 1)
    took = (answers[ends] - answers[places])[many]
    return _of_intervals(took, (ends - places)[many], offered(log, scenario, due))


def _of_intervals(took: Int64, answered: Int64, asked: tuple[float, float]) -> Load:
    """Divide what was asked by what was answered: the ratio estimator, its error by stretches of the run."""
    count = int(answered.sum())
    mean = float(took.sum()) / count
    stretches = min(_STRETCHES, len(took))
    apart = np.add.reduceat(took - mean * answered, np.arange(stretches) * len(took) // stretches)
    error = math.sqrt(stretches / (stretches - 1) * float((apart**2).sum())) / count
    share = asked[0] * mean * 1e-9
    return Load(share, share * math.hypot(error / mean, asked[1]), stretches - 1)


def _under_way(scheduled: Int64, ended: Int64, at: Int64) -> NDArray[np.int32]:
    """Count the requests that were under way right after each time; all ascend."""
    found = np.empty(len(at), dtype=np.int32)
    for begin in range(0, len(at), _AT_A_TIME):
        times = at[begin : begin + _AT_A_TIME]
        due = np.searchsorted(scheduled, times, side="right")
        found[begin : begin + len(times)] = due - np.searchsorted(ended, times, side="right")
    return found
