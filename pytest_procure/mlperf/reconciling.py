"""Published rows against their logs: which log field each number comes from, and where the two contradict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .benchmarks import Benchmark, facts
from .logs import accuracy_of
from .records import Finding, Log, Result, Run
from .score import UNITS, figure

#: The log field of the benchmark table -> its label in the summary log.
_LABELS = {
    "result_samples_per_second": "samples per second",
    "result_tokens_per_second": "tokens per second",
    "result_inferred_tokens_per_second": "tokens per second (inferred)",
    "result_completed_samples_per_sec": "completed samples per second",
    "result_completed_tokens_per_second": "completed tokens per second",
    "result_inferred_completed_tokens_per_second": "completed tokens per second (inferred)",
    "result_90.00_percentile_latency_ns": "90.00 percentile latency (ns)",
}
#: What a log itself calls a rate -> the unit of that rate.
_RATES = {
    "samples per second": "samples/s",
    "tokens per second": "tokens/s",
    "tokens per second (inferred)": "tokens/s",
    "completed samples per second": "queries/s",
    "completed tokens per second": "tokens/s",
    "completed tokens per second (inferred)": "tokens/s",
}


@dataclass(frozen=True, slots=True)
class LogNumber:
    """The number of record in a log, in the benchmark's true unit, and how it was found there."""

    number: float
    how: str


def log_number(run: Run, record: Benchmark | None, scenario: str) -> LogNumber | None:
    """Return the number that the published table takes from this run, or None where it cannot be told.

    A run whose log names another scenario is inferred: MultiStream is 8 x the 99th percentile of
    SingleStream, Offline is 1 / mean latency (x 8 samples for MultiStream), both from the rules on inferred
    results.
    """
    log = run.log
    if log is None or record is None or log.fault:
        return None
    source = inferred_from(run, scenario)
    if source:
        return _inferred(log, source, scenario)
    field = record.log_field(scenario)
    if not field:
        return None
    scale = {"Latency (ms)": 1e6, "Latency (s)": 1e9}.get(record.unit(scenario), 1.0)
    if field in run.detail and not isinstance(run.detail[field], str) and run.detail[field]:
        return LogNumber(float(run.detail[field]) / scale, f"{field} of the detail log")
    if field.startswith("early_stopping_latency"):
        default = 99.0 if scenario == "MultiStream" else 90.0
        percentile = float(record.facts["metric"][scenario].get("percentile", default))
        value = log.early.get(percentile)
        how = f"early-stopping estimate of the {percentile:g}th percentile"
    else:
        value = log.values.get(_LABELS.get(field, ""))
        how = _LABELS.get(field, field)
    return None if value is None else LogNumber(value / scale, how)


def inferred_from(run: Run | None, scenario: str) -> str:
    """Return the scenario that a result is inferred from, by its log, or nothing if it was measured."""
    measured = run.log.scenario if run is not None and run.log is not None else ""
    if not measured or measured == scenario or {measured, scenario} == {"Server", "Interactive"}:
        return ""
    return measured


def _inferred(log: Log, source: str, scenario: str) -> LogNumber | None:
    mean = log.values.get("mean latency (ns)")
    p99 = log.early.get(99.0)
    if (source, scenario) == ("SingleStream", "MultiStream") and p99:
        estimate = "the 99th percentile early-stopping estimate of its SingleStream run"
        return LogNumber(8 * p99 / 1e6, f"8 x {figure(p99 / 1e6)} ms, {estimate}")
    if (source, scenario) == ("SingleStream", "Offline") and mean:
        return LogNumber(1e9 / mean, "1 / mean latency of SingleStream")
    if (source, scenario) == ("MultiStream", "Offline") and mean:
        return LogNumber(8e9 / mean, "8 / mean latency of MultiStream")
    return None


def how_inferred(result: Result, among: Iterable[Result] = ()) -> str:
    """Say how an inferred number came about, by its own log or that of the SingleStream row beside it.

    Empty for a measured result, and for one whose origin no log at hand confirms.
    """
    if result.run is not None and inferred_from(result.run, result.scenario):
        found = log_number(result.run, facts().find(result.round, result.benchmark), result.scenario)
        return found.how if found else ""
    if not result.inferred or result.score is None:
        return ""
    for other in among:
        beside = other.system_key == result.system_key and other.scenario == "SingleStream"
        if beside and other.run is not None and other.run.log is not None:
            found = _inferred(other.run.log, "SingleStream", result.scenario)
            if found and abs(found.number - result.score.number) <= 1e-5 * result.score.number:
                return found.how
    return ""


def rates(log: Log) -> dict[str, float]:
    """Return every rate that a log states, by its unit."""
    return {unit: log.values[label] for label, unit in _RATES.items() if label in log.values}


def head_room(result: Result) -> dict[str, float]:
    """Return, by `latency`, `ttft` and `tpot`, the share of the limit that the log's percentile leaves free.

    0.34 means that the percentile lies 34 % below the limit; empty without a log or without a limit.
    """
    record = facts().find(result.round, result.benchmark)
    log = result.run.log if result.run else None
    if record is None or log is None or log.fault:
        return {}
    percentile = f"{record.percentile(result.scenario) or 99:.2f}"
    labels = {
        "latency": f"{percentile} percentile latency (ns)",
        "ttft": f"{percentile} percentile first token latency (ns)",
        "tpot": f"{percentile} percentile time to output token (ns)",
    }
    return {
        name: 1 - log.values[labels[name]] / (limit * 1e6)
        for name, limit in record.limits(result.scenario).items()
        if labels[name] in log.values
    }


def reconcile(result: Result) -> Iterator[Finding]:
    """Yield what contradicts between a published row and its run; a run without a log yields a note."""
    run, record = result.run, facts().find(result.round, result.benchmark)
    if run is None or run.log is None:
        yield _at(result, "no-log", "Location", "no log of this row was supplied", fault=False)
        return
    log = run.log
    if log.fault:
        yield _at(result, "invalid-log", log.file, log.fault)
        return
    yield from _number(result, run, record)
    source = inferred_from(run, result.scenario)
    if source:
        yield _at(result, "inferred", log.file, f"inferred from a {source} run", fault=False)
    elif result.inferred:
        yield _at(
            result, "inferred-flag", "inferred", "the flag says inferred, the log shows a run of its own"
        )
    yield from _limits(result, log, record)
    yield from _accuracy(result, run, record)
    declared = run.measurements.get("weight_data_types")
    if declared is not None and facts().precisions(declared) != facts().precisions(result.precision.declared):
        yield _at(
            result, "precision", "weight_data_types", f"the measurement file declares {declared[:60]!r}"
        )


def _number(result: Result, run: Run, record: Benchmark | None) -> Iterator[Finding]:
    found = log_number(run, record, result.scenario)
    if result.score is None:
        yield _at(result, "no-score", "Performance_Result", "the row has no usable number to reconcile")
        return
    if found is None:
        yield _at(
            result, "unmatched", "Performance_Result", "the log holds no number that the row could come from"
        )
        return
    published = result.score.number
    if abs(published - found.number) > max(2e-5 * published, 0.006 if "completed" in found.how else 0):
        yield _at(
            result,
            "log-differs",
            "Performance_Result",
            f"published {figure(published)}, the log's {found.how} is {figure(found.number)}",
        )
    elif result.label_fault and run.log is not None:
        stated = {unit: value for unit, value in rates(run.log).items() if unit != result.score.unit}
        others = ", ".join(f"{figure(value)} {unit}" for unit, value in stated.items())
        yield _at(
            result,
            "unit-proved",
            "Performance_Units",
            f"the log proves the number to be {result.score.unit} ({found.how}), not {result.label}"
            + (f"; it also states {others}" if others else ""),
        )


def _limits(result: Result, log: Log, record: Benchmark | None) -> Iterator[Finding]:
    if record is None or result.division != "closed":
        return
    names = {"latency": "target_latency (ns)", "ttft": "ttft_latency (ns)", "tpot": "tpot_latency (ns)"}
    for name, limit in record.limits(result.scenario).items():
        used = log.parameters.get(names[name])
        if used is not None and used > limit * 1e6:
            yield _at(
                result,
                "limit",
                names[name],
                f"the run used {figure(used / 1e6)} ms, the limit is {limit:g} ms",
            )
    for name, left in head_room(result).items():
        if left < 0:
            yield _at(
                result, "over-limit", names[name], f"the log's percentile lies {-left:.1%} above the limit"
            )


def _accuracy(result: Result, run: Run, record: Benchmark | None) -> Iterator[Finding]:
    for target in record.targets(result.scenario) if record else ():
        stated, logged = result.accuracy.get(target.metric), accuracy_of(run.accuracy, target.metric)
        if stated is not None and logged is not None and abs(stated - logged) > max(0.06, 1e-3 * abs(stated)):
            yield _at(
                result, "accuracy", target.metric, f"published {stated:g}, accuracy.txt says {logged:g}"
            )


def misses(result: Result) -> tuple[str, ...]:
    """Return the reference quality bars a result misses, in words; a value of unclear scale is not judged."""
    record = facts().find(result.round, result.benchmark)
    found = []
    for target in record.targets(result.scenario) if record else ():
        value = result.accuracy.get(target.metric)
        near = target.low if target.low is not None else target.high
        if value is None or near is None or not 0.1 < value / near < 10:
            continue
        if target.low is not None and value < target.low:
            found.append(f"{target.metric} {value:g} is below {target.low:g}")
        if target.high is not None and value > target.high:
            found.append(f"{target.metric} {value:g} is above {target.high:g}")
    return tuple(found)


def _at(result: Result, code: str, key: str, message: str, *, fault: bool = True) -> Finding:
    return Finding(code, result.file, f"{result.where} ({result.name})", key, message, fault)


def unit_of(record: Benchmark | None, scenario: str) -> str:
    """Return the short true unit of a benchmark's scenario, or nothing."""
    label = record.unit(scenario) if record else ""
    return UNITS.get(label, "")
