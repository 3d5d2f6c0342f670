"""What the marks on a test say, checked strictly: a mistyped mark must not become a missing requirement."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from .bars import Bar, declare_bar
from .candidates import Candidate
from .errors import DeclarationError, ProcureError, unknown
from .scenarios import Scenario

if TYPE_CHECKING:
    from .mlperf.distance import Task
    from .mlperf.reference import PublishedScore

_OURS = ("scenario", "bar", "dataset_slice", "mlperf_context")
_SLICE_ARGUMENTS = ("n", "seed", "stratify", "where", "weights")
_PUBLISHED = ("round", "benchmark", "scenario", "system", "results", "retrieved")


@dataclass(frozen=True, slots=True)
class Declared:
    """The marks of one test."""

    scenario: Scenario
    bars: tuple[Bar, ...]


def check_names(item: pytest.Item) -> None:
    """Refuse a mark that nobody has registered: on a requirement it is a bar or a scenario that was mistyped.

    pytest itself only warns of it.
    """
    registered = {
        str(line).partition(":")[0].partition("(")[0].strip() for line in item.config.getini("markers")
    }
    for mark in item.iter_markers():
        if mark.name in registered:
            continue
        near = difflib.get_close_matches(mark.name.lower(), _OURS, n=1)
        meant = f"did you mean `{near[0]}`?" if near else f"expected one of {', '.join(_OURS)};"
        raise _wrong(
            item,
            mark.name,
            f"there is no such mark; {meant} a mark of your own has to be registered under `markers`",
        )


def declared(item: pytest.Item) -> Declared:
    """Read the `scenario` and `bar` marks of a test. Raises `DeclarationError` naming mark and test."""
    scenario = scenario_of(item)
    bars = bars_of(item)
    for bar in bars:
        _fits(bar, scenario, item)
    return Declared(scenario, bars)


def scenario_of(item: pytest.Item) -> Scenario:
    """Read the nearest `scenario` mark; without one the run is single_stream."""
    mark = item.get_closest_marker("scenario")
    if mark is None:
        return Scenario.declare("single_stream")
    if len(mark.args) != 1 or "name" in mark.kwargs:
        raise _wrong(
            item, "scenario", "expected one name, as in `scenario('server', qps=40, duration='60 s')`"
        )
    try:
        return Scenario.declare(mark.args[0], item.path.parent, **mark.kwargs)
    except DeclarationError as error:
        raise _wrong(item, "scenario", str(error)) from None


def bars_of(item: pytest.Item) -> tuple[Bar, ...]:
    """Read the `bar` marks in source order; a nearer one replaces a farther one of its metric and sense."""
    found: dict[tuple[str, str], tuple[object, Bar]] = {}
    marks = list(item.iter_markers_with_node("bar"))
    for node, mark in marks:  # nearest first
        bar = _bar(item, mark)
        key = (bar.metric.name, bar.sense)
        if key not in found:
            found[key] = (node, bar)
        elif found[key][0] is node:
            raise _wrong(item, "bar", f"two bars on `{bar.metric.name}` ({bar.sense}); keep one")
    # Decorators are applied from the bottom up; people read them from the top down.
    return tuple(bar for _, bar in reversed(found.values()))


def check_unchanged(item: pytest.Item, scenario: Scenario, bars: Sequence[Bar]) -> None:
    """Check that no mark came after they were read: it would be ignored. Raises `DeclarationError`."""
    added = "it was added by a hook after the marks were read; write it on the test, its class or its module"
    if bars_of(item) != tuple(bars):
        raise _wrong(item, "bar", added)
    if scenario_of(item) != scenario:
        raise _wrong(item, "scenario", added)


def references_of(definition: Any) -> set[str]:
    """Name the candidates that bars of a test compare others with."""
    named = [mark.kwargs.get(key) for mark in definition.iter_markers("bar") for key in ("of", "below")]
    return {name for name in named if isinstance(name, str)}


def slice_rule(definition: Any) -> tuple[str | None, dict[str, Any]]:
    """Read the nearest `dataset_slice` mark: (dataset name or None, arguments of `Dataset.slice`)."""
    mark = definition.get_closest_marker("dataset_slice")
    if mark is None:
        return None, {}
    rule = dict(mark.kwargs)
    if len(mark.args) > 1 or (mark.args and not isinstance(mark.args[0], str)):
        raise _wrong(
            definition, "dataset_slice", "expected the dataset's name, as in `dataset_slice('tickets')`"
        )
    for argument in rule:
        if argument not in _SLICE_ARGUMENTS:
            raise _wrong(definition, "dataset_slice", unknown("argument", argument, _SLICE_ARGUMENTS))
    for argument in ("n", "seed"):
        value = rule.get(argument, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < (argument == "n"):
            expected = "a whole number above 0" if argument == "n" else "a whole number, 0 or more"
            raise _wrong(definition, "dataset_slice", f"`{argument}={value!r}`; expected {expected}")
    return (mark.args[0] if mark.args else None), rule


def published_of(item: pytest.Item) -> list[PublishedScore]:
    """Read the `mlperf_context` marks: published scores that stand beside the requirement as context."""
    marks = list(item.iter_markers("mlperf_context"))
    if not marks:
        return []
    from .mlperf.reference import PublishedScore  # noqa: PLC0415 - only suites that name scores read them

    found = []
    for mark in marks:
        for argument in mark.kwargs:
            if argument not in _PUBLISHED:
                raise _wrong(item, "mlperf_context", unknown("argument", argument, _PUBLISHED))
        named = {"results": _published_file(item), **mark.kwargs}
        missing = [name for name in _PUBLISHED if not named.get(name) and name != "retrieved"]
        if mark.args or missing:
            raise _wrong(item, "mlperf_context", f"expected {', '.join(f'{name}=' for name in _PUBLISHED)}")
        found.append(PublishedScore(**named))
    return found


def _published_file(item: pytest.Item) -> str:
    """Give the published results that the suite's settings name, from the root folder; nothing if none."""
    named = str(item.config.getini("procure_mlperf_results"))
    return str(item.config.rootpath / named) if named else ""


def task_of(marks: Declared, dataset: str, candidates: Sequence[Candidate]) -> Task:
    """Put our task in the words in which a published result's is held against it."""
    from .mlperf.distance import Task  # noqa: PLC0415 - the same

    bars = {bar.metric.kind: f"{bar.metric.name} {bar.sense} {bar.limit}" for bar in reversed(marks.bars)}
    scenario = marks.scenario
    return Task(
        dataset=dataset,
        quality=bars.get("quality", ""),
        scenario=scenario.name,
        traffic=scenario.label,
        precision=", ".join(dict.fromkeys(c.precision for c in candidates if c.precision)),
        stack=", ".join(dict.fromkeys(type(c.backend).__name__ for c in candidates)),
        batch=f"at most {scenario.max_batch} a batch",
        pipeline=", ".join(dict.fromkeys(map(_pipeline, candidates))),
        latency=bars.get("latency", ""),
    )


def _by_stage(bar: Bar, candidate: Candidate) -> str:
    """The currency of an offer without a price whose stages all have one; nothing otherwise."""
    from .backends import Pipeline  # noqa: PLC0415 - only suites with a bar on cost read it

    whole = bar.metric.name == "cost_per_request" and bar.against is None
    return candidate.backend.currency if whole and isinstance(candidate.backend, Pipeline) else ""


def _pipeline(candidate: Candidate) -> str:
    from .backends import Pipeline  # noqa: PLC0415 - the same

    stages = candidate.backend.names if isinstance(candidate.backend, Pipeline) else ()
    return " > ".join(stages) or "single model"


def question_of(item: pytest.Item) -> str:
    """Give the committee's question: the first paragraph of the test's docstring, or its name in words."""
    written = inspect.getdoc(getattr(item, "obj", None)) or ""
    paragraph = " ".join(written.split("\n\n")[0].split())
    named = getattr(item, "originalname", item.name).removeprefix("test_").replace("_", " ")
    return paragraph or f"{named[:1].upper()}{named[1:]}?"


def requirement_id(item: pytest.Item, candidate: str) -> str:
    """Give the node id without the candidate: what all candidates of one requirement share."""
    named = getattr(item, "originalname", item.name)
    stem = item.nodeid.removesuffix(item.name) + named
    parameters = item.name.removeprefix(named).removeprefix("[").removesuffix("]")
    rest = f"-{parameters}-"
    for written in (candidate, candidate.encode("unicode_escape").decode("ascii")):  # pytest escapes ids
        if f"-{written}-" in rest:
            rest = rest.replace(f"-{written}-", "-", 1)
            break
    rest = rest.strip("-")
    return f"{stem}[{rest}]" if rest else stem


def priced(bars: Iterable[Bar], candidates: Sequence[Candidate], item: pytest.Item) -> None:
    """Check that every candidate can be held to the cost bars: it has a price, in the bar's currency."""
    for bar in bars:
        if bar.metric.kind != "cost" or bar.metric.stage:
            continue  # a stage has a price of its own
        for candidate in candidates:
            price = candidate.price
            currency = price.currency if price is not None else _by_stage(bar, candidate)
            if not currency:
                raise _wrong(
                    item,
                    "bar",
                    f"`{bar.metric.name}` is asked, and candidate `{candidate.name}` has no price",
                )
            if bar.against is None and currency != bar.limit.unit:
                raise _wrong(
                    item,
                    "bar",
                    f"`{bar.metric.name}` is in {bar.limit.unit}, and candidate `{candidate.name}` is priced "
                    f"in {currency}; state both in one currency",
                )


def _bar(item: pytest.Item, mark: pytest.Mark) -> Bar:
    if len(mark.args) == 2 and isinstance(mark.args[0], str):
        value = mark.args[1]
        said = f"`{value!r}` stands without a direction; write `at_least={value!r}` or `at_most={value!r}`"
        raise _wrong(item, "bar", said)
    if len(mark.args) != 1:
        raise _wrong(item, "bar", "expected one metric, as in `bar('latency.p95', at_most='80 ms')`")
    try:
        return replace(declare_bar(mark.args[0], **mark.kwargs), where=_where(item))
    except ProcureError as error:
        raise _wrong(item, "bar", str(error)) from None


def _fits(bar: Bar, scenario: Scenario, item: pytest.Item) -> None:
    if bar.metric.kind == "latency" and not scenario.allows_latency:
        raise _wrong(
            item,
            "bar",
            f"`{bar.metric.name}` under {scenario.name}, where all samples are due at once; ask it under "
            "server, single_stream, closed_loop or any other",
        )
    if bar.metric.kind == "throughput" and not scenario.allows_throughput:
        raise _wrong(
            item,
            "bar",
            f"`{bar.metric.name}` at a declared rate, which is a condition, not a result; ask it under "
            "offline",
        )
    if bar.against is not None and not scenario.allows_blocks:
        traffic = "LoadGen's order" if scenario.loadgen else scenario.name
        raise _wrong(
            item,
            "bar",
            f"`{bar.metric.name}` against `{bar.against.name}` is measured in ten interleaved blocks, and "
            f"{traffic} cannot be cut into such; ask it under server, closed_loop, single_stream or offline",
        )


def _where(item: pytest.Item) -> str:
    path, line, _ = item.location
    return f"{path.rpartition('/')[2]}:{(line or 0) + 1}"


def _wrong(item: Any, mark: str, what: str) -> DeclarationError:
    test = item.nodeid.partition("[")[0]  # a mistake in a mark is the same for all candidates
    return DeclarationError(f"mark `{mark}` on {test}: {what}")
