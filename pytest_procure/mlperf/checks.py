"""What the rules say of two results: one function a question, each yielding the rules it finds at work."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from .benchmarks import facts, family, release
from .reconciling import head_room, inferred_from, misses
from .records import ForeignResult, Result
from .rules import Applied, apply

_REDUCED = {
    "a reduced power limit": re.compile(r"max-?q|power (?:cap|limit)|reduced power", re.IGNORECASE),
    "partial use of the accelerators": re.compile(r"gpus? used", re.IGNORECASE),
    "a virtual machine": re.compile(r"\bvms?\b|vmware|esxi|virtuali[sz]ed|vcpu", re.IGNORECASE),
}
DIVISIONS = ("closed", "open", "network")
#: The ways in which a result may fail to qualify as Closed, by the names a reader gives them.
WAYS = ("model", "accuracy", "latency", "network")
_LIMIT = re.compile(r"\b(?:TGP|TDP|TBP)\s*:?\s*(\d{2,5})\s*W\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results set side by side, and what the reader names or knows about them.

    `named` holds the ways in which an Open or Network result would not qualify as Closed, as the reader names
    them; `among` the other results at hand, to recognise a run that was filed twice.
    """

    a: Result
    b: Result
    named: Collection[str] = ()
    among: Collection[Result] = ()

    def each(self) -> tuple[Result, Result]:
        """Return both."""
        return self.a, self.b


def cell(result: Result) -> tuple[str, str]:
    """Return benchmark and scenario under their present names.

    The low-latency llama2 variant of v5.0 was a model with scenario Server; from v5.1 it is scenario
    Interactive.
    """
    if "-interactive" in result.benchmark:
        scenario = "Interactive" if result.scenario == "Server" else result.scenario
        return result.benchmark.replace("-interactive", ""), scenario
    return result.benchmark, result.scenario


def foreign(one: ForeignResult) -> Iterator[Applied]:
    """A number not made under the rules stands beside a published result, never in a ranking with it."""
    if one.kind == "endpoints":
        yield apply(
            "endpoints",
            f"{one.name} is a point on an MLPerf Endpoints curve (closed loop, p90): another benchmark",
        )
        return
    what = {
        "own run": "your own run, made on your task",
        "vendor claim": "a vendor's claim, reviewed by nobody",
    }
    yield apply(
        "foreign_result",
        f"{one.name} is {what[one.kind]}: show it beside the published result, never in one ranking",
    )


def standing(results: Iterable[Result]) -> Iterator[Applied]:
    """What must not be used as a result at all: logs without a row, INVALID logs, rows without a number."""
    for one in results:
        if one.origin == "log":
            yield apply(
                "not_in_published_table",
                f"{one.name} is a log that no row of the loaded summaries of "
                f"{one.round or 'its round'} stands for",
            )
        log = one.run.log if one.run else None
        if log is not None and log.fault:
            yield apply("invalid_log", f"the log of {one.name}: {log.fault}")
        if one.score is None and one.origin != "log":
            yield apply("not_in_published_table", f"the published row of {one.name} carries no usable number")


def task(pair: Pair) -> Iterator[Applied]:
    """The same benchmark, at the same quality, in the same scenario."""
    (model_a, scenario_a), (model_b, scenario_b) = cell(pair.a), cell(pair.b)
    if scenario_a != scenario_b:
        yield apply(
            "scenario", f"{scenario_a} and {scenario_b} measure different things under different traffic"
        )
    if family(model_a) != family(model_b):
        yield apply("benchmark", f"{model_a} and {model_b} are different benchmarks")
    elif model_a != model_b:
        yield apply(
            "quality_target",
            f"{model_a} and {model_b} are held to different quality targets" + _filed_twice(pair),
        )


def _filed_twice(pair: Pair) -> str:
    """Say when a result of the pair was filed under both variants, which many are."""
    for one, variant in ((pair.a, cell(pair.b)[0]), (pair.b, cell(pair.a)[0])):
        for other in pair.among:
            if other.benchmark == variant and is_twin(one, other):
                return f"; {one.id or one.platform} filed one run under both, so compare its {variant} row"
    return ""


def is_twin(one: Result, other: Result) -> bool:
    """Whether two rows of one system carry one run under two quality variants."""
    same = (one.round, one.id, one.platform, one.submitter, one.scenario) == (
        other.round,
        other.id,
        other.platform,
        other.submitter,
        other.scenario,
    )
    return (
        same
        and one.score is not None
        and one.score == other.score
        and family(one.benchmark) == family(other.benchmark)
    )


def place(pair: Pair) -> Iterator[Applied]:
    """The same suite and division, and models that are the benchmark's own."""
    a, b = pair.each()
    shared = set(a.suites) & set(b.suites)
    if not shared:
        yield apply("suite", f"{_suites(a)} and {_suites(b)} have different requirements")
    divisions = {a.division, b.division}
    strange = [one for one in pair.each() if one.division not in DIVISIONS]
    for one in strange:
        yield apply("division", f"the division of {one.name} is not known: {one.division[:40] or 'empty'}")
    if len(divisions) > 1 and not strange:
        rule = "network_division" if "network" in divisions else "division"
        odd = a if a.division != "closed" else b
        known = [way for way in WAYS if way in pair.named]
        unnamed = [way for way in ways_open(odd) if way not in known]
        if unnamed or not known:
            how = f"how {odd.name} would not qualify as Closed: {', '.join(unnamed) or 'in some way'}"
            yield apply(rule, f"{a.division} beside {b.division} without naming {how}")
        else:
            named = ", ".join(known)
            reason = f"{odd.name} is {odd.division.title()} and would not qualify as Closed: {named}"
            yield apply(rule, reason, action="disclose")
    if a.model != b.model and (a.swapped_model or b.swapped_model) and a.benchmark == b.benchmark:
        odd = b if b.swapped_model else a
        yield apply(
            "open_model",
            f"{odd.name} ran {odd.model} instead of {odd.benchmark}: another model has another speed",
        )


def ways_open(result: Result) -> list[str]:
    """Return which of `WAYS` a result visibly goes, each of them a reason that it is not Closed."""
    ways = {
        "model": result.swapped_model,
        "accuracy": bool(misses(result)),
        "latency": any(left < 0 for left in head_room(result).values()),
        "network": result.division == "network",
    }
    return [way for way, holds in ways.items() if holds]


def _suites(result: Result) -> str:
    return "/".join(result.suites) or "no suite"


def unmoved(a: Result, b: Result) -> list[str]:
    """Return in what two results differ that must be one for a movement: submitter, chip, count."""
    ways = {
        "submitter": a.submitter != b.submitter,
        "chip": a.accelerator != b.accelerator,
        "count": a.count.best != b.count.best,
    }
    return [way for way, differs in ways.items() if differs]


def rounds(pair: Pair) -> Iterator[Applied]:
    """Rounds that MLCommons itself treats as comparable for this benchmark and suite."""
    a, b = pair.each()
    unknown = [one.name for one in pair.each() if not one.round]
    if unknown:
        yield apply("round", f"the round of {' and '.join(unknown)} is not known")
        return
    if a.round == b.round:
        return
    model, scenario = cell(a)
    if scenario == "MultiStream" and (release(a.round) < (2, 0)) != (release(b.round) < (2, 0)):
        yield apply(
            "multistream_era",
            f"{a.round} and {b.round}: MultiStream counted streams before v2.0 and is a latency since",
        )
    suites = sorted(set(a.suites) & set(b.suites))
    if model != cell(b)[0]:
        return
    common = "/".join(suites) or "no common suite"
    if any(facts().same_group(suite, model, a.round, b.round) for suite in suites):
        reason = f"{a.round} and {b.round}, in one compatibility group for {model} ({common})"
        yield apply("round", reason, action="disclose")
        if unmoved(a, b):
            different = ", ".join(unmoved(a, b))
            yield apply("round", f"no movement, because of another {different}", action="disclose")
    else:
        reason = f"no compatibility group holds {a.round} and {b.round} for {model} ({common})"
        yield apply("round", reason)


def metric(pair: Pair) -> Iterator[Applied]:
    """The same true unit, a label that the metric bears out, and the same kind of submission."""
    a, b = pair.each()
    if a.score is not None and b.score is not None and a.score.unit != b.score.unit:
        yield apply("unit", f"{a.score.unit} and {b.score.unit} are different units")
    for one in pair.each():
        if one.label_fault:
            yield apply("unit", f"{one.name}: {one.label_fault}")
    if a.power_submission != b.power_submission:
        yield apply(
            "power_vs_performance",
            "a power submission and a performance-only submission are not comparable on performance",
        )


def systems(pair: Pair) -> Iterator[Applied]:
    """What differs between the two systems as filed."""
    a, b = pair.each()
    if (a.submitter, a.accelerator) != (b.submitter, b.accelerator):
        yield apply("citation", f"{a.submitter}, {a.chips}, and {b.submitter}, {b.chips}: name both")
    if a.availability != b.availability or a.availability != "available":
        stated = " and ".join(one.availability or "not stated" for one in pair.each())
        yield apply("availability", f"{stated}; what is not Available cannot be bought today")
    if (a.count.best, a.nodes) != (b.count.best, b.nodes):
        yield apply("count", f"{a.chips} ({_nodes(a)}) and {b.chips} ({_nodes(b)})")
    for one in pair.each():
        yield from counted(one)
        yield from reduced(one)
    limits = [found[1] if (found := _LIMIT.search(one.notes)) else "" for one in pair.each()]
    if a.accelerator == b.accelerator and all(limits) and limits[0] != limits[1]:
        yield apply("power_cap", f"the same accelerator at {limits[0]} W and {limits[1]} W")


def _nodes(result: Result) -> str:
    return f"{result.nodes or '?'} node{'s' if result.nodes != 1 else ''}"


def counted(one: Result) -> Iterator[Applied]:
    """How sure the number of accelerators is."""
    if one.count.conflict:
        yield apply("count_source", f"{one.name}: {one.count.conflict}")
    elif "," in one.accelerator:
        yield apply("count_source", f"{one.name} has several types of accelerator: {one.accelerator}")


def reduced(one: Result) -> Iterator[Applied]:
    """Whether the system is less than its name says."""
    where = f"{one.system} {one.platform} {one.accelerator} {one.notes}"
    found = [what for what, pattern in _REDUCED.items() if pattern.search(where)]
    if not one.accelerator:
        found.append("a system without accelerator")
    if found:
        yield apply("power_cap", f"{one.name}: the filing speaks of {' and '.join(found)}")


def stack(pair: Pair) -> Iterator[Applied]:
    """Precision and software, as the submitters declared them."""
    a, b = pair.each()
    if a.precision.kinds != b.precision.kinds or not a.precision.kinds:
        yield apply(
            "precision",
            f"declared {a.precision} and {b.precision}; declared by the submitter, checked by nobody",
        )
    for one in pair.each():
        if one.precision.doubt:
            yield apply(
                "precision",
                f"{one.name} declares {one.precision}, which is not reliable: {one.precision.doubt}",
            )
    if a.software != b.software:
        yield apply("software", f"{a.software or 'not stated'} and {b.software or 'not stated'}")


def making(pair: Pair) -> Iterator[Applied]:
    """How the numbers were made: measured or inferred, with which decoder."""
    for one in pair.each():
        yield from inference(one)
        if cell(one)[1] == "Interactive" and facts().speculative(one.round, one.benchmark):
            yield apply(
                "speculative_decoding", f"{one.name} may use speculative decoding, which Server may not"
            )


def inference(one: Result) -> Iterator[Applied]:
    """Whether a number was measured in its scenario or inferred from another; the log outranks the flag."""
    source = inferred_from(one.run, one.scenario)
    if source:
        yield apply("inferred", f"{one.name} is inferred from a {source} run, as its log shows")
    elif one.inferred and (one.run is None or one.run.log is None):
        trust = (
            ""
            if release(one.round) < (6, 0)
            else "; since v6.0 this flag stands on measured rows too, only the log tells"
        )
        yield apply("inferred", f"{one.name} is flagged as inferred from another scenario{trust}")


#: Every question about a pair, in the order the answers are printed.
QUESTIONS: tuple[Callable[[Pair], Iterator[Applied]], ...] = (
    task,
    place,
    rounds,
    metric,
    systems,
    stack,
    making,
)
