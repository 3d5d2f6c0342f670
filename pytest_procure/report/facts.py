"""Disclosed facts as rows of a table: conditions, data, backend, environment, whatever keys they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import words

#: Names of what is disclosed, in words, where the key does not say it. Other keys are shown as they are.
_NAMES = {
    "arrivals_sent": "arrivals as sent",
    "at_once": "requests served at once, at most",
    "backlog_growth": "growth of the backlog",
    "base": "requests a second outside the peak",
    "burstiness": "shape of gamma gaps between arrivals (below 1: burstier than Poisson)",
    "bytes": "size in bytes",
    "candidate_threads_share": "share of a processor for the candidate's Python threads",
    "chunks": "parts that carried tokens",
    "clock_step_ns": "step of the clock (ns)",
    "closed_loop": "the next request waits for the answer to the last",
    "concurrency": "users at a time",
    "correlation": "correlation of each gap with the next",
    "counted_input": "of questions, by the buyer's count",
    "counted_output": "of answers, by the buyer's count",
    "cut": "first part of the run, not counted",
    "cut_off": "first part of the run",
    "decode": "how outputs are read",
    "distance": "distance from the declared distribution",
    "drain": "wait for late answers",
    "dtype": "number format",
    "duty": "share of a period that is peak",
    "carried": "what a turn carries of those before it",
    "ended_by": "answers by what ended them, as the endpoint says",
    "foreign_cpu_share": "other programs' share of the processors",
    "freedom": "degrees of freedom of its error",
    "gc_passes": "passes of the garbage collector",
    "gc_pause_max_ns": "longest pass of the garbage collector that is not the candidate's (ns)",
    "gc_pause_ns": "time in the garbage collector (ns)",
    "hand_off": "hand-off to its process",
    "hand_off_p50_us": "hand-off and back, half within (us)",
    "hand_off_p90_us": "hand-off and back, 9 in 10 within (us)",
    "isolation": "process of its own",
    "items": "samples in the slice",
    "load": "asked, over what can be done",
    "load_at_end": "the same, at the end of the run",
    "loadgen": "LoadGen",
    "max_batch": "largest batch",
    "max_wait": "longest wait for a batch",
    "memory_limit_mb": "limit of its memory (MB)",
    "memory_peak_mb": "most memory that its processes held (MB)",
    "model_asked": "model that was asked for",
    "not_measurable": "why tokens have no times",
    "of": "samples in the dataset",
    "other_threads": "share of a processor for other Python threads",
    "other_threads_share": "share of a processor for other Python threads",
    "peak": "requests a second in the peak",
    "period": "from one peak to the next",
    "pinned": "share of the run with all workers busy",
    "pinned_share": "share of the run with all workers busy",
    "process_cpu_share": "this process's share of the processors",
    "processes": "its processes, one a worker",
    "processes_started_anew": "its processes started anew after an end",
    "provider_nodes": "operations by provider",
    "providers": "execution providers",
    "qps": "requests a second",
    "repeat_share": "share of requests meant to ask again what was asked before",
    "repeated": "share of requests that asked again what was asked before",
    "repeats": "samples that repeat another's content, and count as one with it",
    "reported_cached": "from the cache, as reported",
    "reported_input": "of questions, as reported",
    "reported_output": "of answers, as reported",
    "run_delay": "share of time spent waiting for a processor",
    "run_delay_share": "share of time spent waiting for a processor",
    "sample_order": "order of samples",
    "samples_per_query": "samples a query",
    "sampling_cpu_share": "share of a processor for reading counters",
    "seed": "seed of the random order",
    "send_lag_max_ns": "longest delay in sending (ns)",
    "send_lag_ns": "delay in sending (ns)",
    "send_lag_of_bar": "delay in sending, as a share of the tightest latency bar",
    "send_lag_p50_ns": "delay in sending, half within (ns)",
    "send_lag_p99_ns": "delay in sending, 99 in 100 within (ns)",
    "settled_after": "requests until latencies settle (MSER-5)",
    "sha256": "digest (SHA-256)",
    "slower_share": "last third slower than the first by",
    "speed": "times as fast as recorded",
    "spin_margin_ns": "busy wait before an arrival (ns)",
    "spread": "spread of the gaps",
    "stalled_ns": "the harness stood still (ns)",
    "starts": "sessions that begin a second",
    "think_time": "pause after an answer",
    "timeout": "deadline of a request",
    "turns": "requests of a session",
    "unscored": "answers that could not be scored",
    "unsent": "requests never sent",
    "wall_limit": "time limit of a run",
    "warmup": "warm-up calls, not counted",
    "warmup_calls_by_batch": "warm-up calls by batch size",
    "warmup_failures": "warm-up calls that failed",
    "worker_cpu_share": "share of a processor for the workers, with the calls they make",
    "workers": "workers side by side",
}


#: Kinds of times of an endpoint's tokens.
_TIMES = {"ttft": "time to the first token", "itl": "gaps between tokens", "tpot": "time per output token"}

#: Distributions that a result may hang on; the page names these, `environment.json` all.
_DISTRIBUTIONS = frozenset(
    {
        "httptools", "hypothesis", "jinja2", "numpy", "nvidia-ml-py", "onnxruntime", "onnxruntime-directml",
        "onnxruntime-gpu", "onnxruntime-openvino", "opentelemetry-api", "pillow", "pluggy", "pyarrow",
        "pycocotools", "pytest", "pytest-benchmark", "pytest-procure", "pytest-xdist", "sacrebleu",
        "safetensors", "scipy", "tensorrt", "tokenizers", "torch", "torchmetrics", "transformers", "uvloop",
    }
)  # fmt: skip


class Fact(NamedTuple):
    """A name and its value, both as people read them."""

    name: str
    value: str


def facts(described: Mapping[str, Any], *, without: Sequence[str] = ()) -> list[Fact]:
    """List what a mapping of plain JSON data says, in its own order; what it leaves open is not stated."""
    return [
        Fact(" / ".join(_named(part) for part in path), _value(value))
        for path, value in _leaves(described, ())
        if path[0] not in without
    ]


def set_facts(described: Mapping[str, Any], *, without: Sequence[str] = ()) -> list[Fact]:
    """List what a mapping says, leaving out what it leaves open: conditions that were not set."""
    return [fact for fact in facts(described, without=without) if fact.value != words.NOT_STATED]


def surroundings(environment: Mapping[str, Any]) -> list[Fact]:
    """List what is known of the machine and its software; of the many distributions those that matter."""
    installed = _part(environment, "distributions")
    shown = [f"{name} {version}" for name, version in installed.items() if name in _DISTRIBUTIONS]
    more = len(installed) - len(shown)
    told = facts(environment, without=("distributions",))
    if not installed:
        return told
    rest = [f"and {more:,} more, listed in environment.json"] * bool(more)
    return [*told, Fact("distributions", ", ".join([*shown, *rest]))]


def tokens(stream: Mapping[str, Any]) -> list[Fact]:
    """List what is known of an endpoint's tokens: times at a few percentiles, counts, failures."""
    told: list[Fact] = []
    for family, name in _TIMES.items():
        times = _part(stream, f"{family}_ms")
        if times:
            at = ", ".join(f"{each} {words.milliseconds(float(ms))}" for each, ms in times.items())
            told.append(Fact(name, at))
    failed = [f"{number:,} {kind}" for kind, number in _part(stream, "failures").items()]
    told.append(Fact("failures by class", ", ".join(failed) or "none"))
    elsewhere = ("curves", "pauses", "failures", *(f"{family}_ms" for family in _TIMES))
    return [*told, *set_facts(stream, without=elsewhere)]


def chosen(described: Mapping[str, Any]) -> str:
    """Say which samples of a dataset were asked, and by which rule."""
    n, of = described.get("n"), described.get("of")
    rule = described.get("rule")
    if not isinstance(n, int) or not isinstance(rule, Mapping):
        return _value(rule or n)
    said = f"all {words.count(n, 'samples')}" if n == of else words.count(n, "samples")
    if isinstance(of, int) and n != of:
        said += f" of {of:,}"
    if rule.get("order") == "random":
        said += f", chosen at random (seed {_value(rule.get('seed'))})"
    if rule.get("stratify"):
        said += ", in proportion to the groups"
    if rule.get("where"):
        said += f", only where {_value(rule['where'])}"
    return said


class Judged(NamedTuple):
    """The judge of a metric, and how far people agree with it, in words."""

    metric: str
    told: str


def judges(described: Mapping[str, Any]) -> list[Judged]:
    """Say of each language model that judges who it is, and what its agreement with people shows."""
    found = _part(described, "judged")
    try:
        return [
            Judged(metric, _judge(told, _part(found, metric)))
            for metric, told in sorted(_part(described, "judges").items())
        ]
    except (KeyError, TypeError, ValueError, IndexError):
        return []  # no description of ours


def _judge(told: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    named = f"{told['judge']}, asked: {told['prompt']!r}."
    if not found:
        return f"{named} It was never asked."
    unread = f" {found['unread']} of its {found['opinions']} opinions could not be read, and count as wrong."
    said = unread if found["unread"] else ""
    if not told["labels"]:
        return f"{named} It was held against no labels of people: nothing rests on it.{said}"
    from pytest_procure.metrics.judged import KINDS, agreement  # noqa: PLC0415 - without a judge, no numpy

    each = [
        f"{found[kind][0]} of {found[kind][1]} that they call {kind} "
        f"(at least {words.percent(agreement(*found[kind]))})"
        for kind in KINDS
    ]
    needed = f"It decides from {words.percent(told['agreement'])} on, for both."
    return f"{named} It agreed with people on {each[0]} and {each[1]}. {needed}{said}"


def groups(described: Mapping[str, Any]) -> str:
    """Say which groups a slice holds, with the number of samples of each."""
    strata = described.get("strata")
    if not isinstance(strata, Mapping) or not strata:
        return "none declared"
    return ", ".join(f"{name}: {number}" for name, number in strata.items())


def machine(environment: Mapping[str, Any]) -> str:
    """Say in a line on which machine was measured, as far as it is known."""
    cpu, system, gpus = _part(environment, "cpu"), _part(environment, "os"), environment.get("gpus")
    said = [str(cpu["model"])] if cpu.get("model") else []
    if isinstance(cpu.get("count"), int):
        said.append(words.count(cpu["count"], "processors"))
    if isinstance(gpus, list):
        said += [str(gpu.get("name") or "a GPU") for gpu in gpus if isinstance(gpu, Mapping)] or ["no GPU"]
    return ", ".join(said + [str(system[key]) for key in ("name", "kernel") if system.get(key)])


def _part(described: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = described.get(key)
    return part if isinstance(part, Mapping) else {}


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, Mapping) and not path:
        return
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        for position, inner in enumerate(value, start=1):
            yield from _leaves(inner, (*path, str(position)))
    else:
        yield path, value


def _named(key: str) -> str:
    return _NAMES.get(key, key.replace("_", " "))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, list):
        return ", ".join(_value(item) for item in value) or "none"
    if isinstance(value, Mapping):  # an empty one: others are taken apart
        return "none"
    return words.NOT_STATED if value is None or value == "" else str(value)
