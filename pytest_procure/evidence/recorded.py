"""Runs as a pack holds them: rows and parts become what the driver left behind, without the candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.backends.pipeline import Pipeline, Stage
from pytest_procure.candidates import Candidate, HourlyPrice, Price, RequestPrice, TokenPrice
from pytest_procure.datasets import Dataset, DatasetSlice
from pytest_procure.driver.log import RequestLog, StageLog, Status, Wire
from pytest_procure.driver.pull import Run
from pytest_procure.errors import EvidenceError, ProcureError
from pytest_procure.metrics import Execution

from .logs import CONTENT, COUNTED, RARE, STAGE, STAGED, Rows
from .parts import LaunchPart, RunPart, StagePart

#: Finds the rows of a run, and of an endpoint what its driver saw, launch by launch; else nothing.
Load = Callable[[RunPart], tuple[Rows, list[Wire]]]
#: A slice with more samples than this is not read back: it would take the memory of whoever checks it.
_MOST_ITEMS = 20_000_000


def execution_of(part: RunPart, load: Load) -> Execution:
    """Make an execution of its rows and its part. Raises `EvidenceError` where they do not fit."""
    rows, wires = load(part)
    if wires and len(wires) != len(part.launches):
        raise EvidenceError(f"{part.log}: what the driver saw is of other launches than the rows")
    if len(rows) != sum(launch.samples for launch in part.launches):
        raise EvidenceError(f"{part.log}: {len(rows):,} rows, and the case file counts others")
    launches, done = [], 0
    for number, launch in enumerate(part.launches):
        own = rows[done : done + launch.samples]
        log = _log(part, launch, own, number)
        log.wire = _wire(part, wires[number], log) if wires else None
        launches.append(
            Run(
                log,
                launch.audit,
                launch.conditions,
                launch.hung,
                warmup_ns=launch.warmup_ns,
                endings=launch.endings,
            )
        )
        done += launch.samples
    scores = {scorer: np.asarray(rows[scorer]) for scorer in part.scorers}
    ending = ".score"
    by_stage = {
        name.removeprefix(STAGE).removesuffix(ending): np.asarray(rows[name])
        for name in rows.dtype.names or ()
        if name.startswith(STAGE) and name.endswith(ending)
    }
    for scorer, column in (scores | by_stage).items():
        if not ((column >= 0) & (column <= 1)).all():
            raise EvidenceError(f"{part.log}: `{scorer}` holds what is no score from 0 to 1")
    candidate = candidate_of(part.candidate, part.price, part.stages)
    return Execution(
        candidate,
        part.scenario,
        _slice(part, rows),
        tuple(launches),
        scores,
        part.energy,
        part.blocks,
        by_stage,
        part.instead,
    )


def _log(part: RunPart, launch: LaunchPart, rows: Rows, number: int) -> RequestLog:
    size = launch.samples_per_query
    if not (size >= 1 and 0 <= launch.queries <= launch.samples == len(rows) <= launch.queries * size):
        raise EvidenceError(f"{part.log}: the case file counts the queries of launch {number} wrongly")
    query = np.arange(len(rows)) // size
    status = np.asarray(rows["status"])
    fits = (
        (np.asarray(rows["launch"]) == number).all()
        and np.array_equal(rows["query"], query)
        and (status <= max(Status)).all()
        and (launch.queries == 0 or int(query[-1]) == launch.queries - 1)
    )
    heads = np.flatnonzero(np.diff(query, prepend=-1))
    columns = ("scheduled_ns", "started_ns", "completed_ns", "status", "batch", "error")
    for name in columns if fits else ():
        column = np.asarray(rows[name])
        fits = fits and np.array_equal(column[heads][query], column)
    if not fits:
        raise EvidenceError(
            f"{part.log}: the rows of launch {number} are not those of {launch.queries} queries"
        )
    error = np.asarray(rows["error"])[heads]
    if (error >= len(part.errors)).any():
        raise EvidenceError(f"{part.log}: a row points at an error that the case file does not hold")
    counted: dict[str, Any] = {
        name: np.asarray(rows[name]) for name in COUNTED if name in (rows.dtype.names or ())
    }
    return RequestLog(
        scheduled=np.asarray(rows["scheduled_ns"])[heads],
        started=np.asarray(rows["started_ns"])[heads],
        completed=np.asarray(rows["completed_ns"])[heads],
        status=status[heads],
        batch=np.asarray(rows["batch"])[heads],
        samples=np.asarray(rows["item"]).astype(np.int64),
        answers=[],
        samples_per_query=launch.samples_per_query,
        errors={int(place): part.errors[error[place]] for place in np.flatnonzero(error >= 0)},
        stopped=launch.stopped,
        stages=_stages(rows),
        window_ns=launch.window_ns,
        **counted,
    )


def _stages(rows: Rows) -> dict[str, StageLog]:
    """Give the columns of each stage, in order."""
    names = [name for name in rows.dtype.names or () if name.startswith(STAGE)]
    found: dict[str, StageLog] = {}
    for stage in dict.fromkeys(name.removeprefix(STAGE).rpartition(".")[0] for name in names):
        columns = {
            what: np.asarray(rows[f"{STAGE}{stage}.{what}"])
            for what in STAGED
            if what != "score" and (what != RARE or f"{STAGE}{stage}.{what}" in names)
        }
        columns.setdefault(RARE, np.full(len(rows), -1, dtype=np.int64))
        found[stage] = StageLog(outputs=[None] * len(rows), **columns)
    return found


def _wire(part: RunPart, wire: Wire, log: RequestLog) -> Wire:
    if len(wire.chunks) != len(log.samples):
        raise EvidenceError(f"{part.log}: what the driver saw is of other requests than the rows")
    return wire


class RecordedSlice(DatasetSlice):
    """A slice as a pack knows it: its groups and its description, and none of its samples."""

    _described: dict[str, Any]
    _recorded: tuple[NDArray[np.int64], ...]

    @cached_property
    def digest(self) -> str:
        """The digest that was recorded."""
        return str(self._described.get("digest", ""))

    @cached_property
    def groupings(self) -> tuple[NDArray[np.int64], ...]:
        """What was recorded of them: the samples are not here, so nobody looks at their content."""
        return self._recorded

    @property
    def most(self) -> int:
        """What was recorded of the dataset's size."""
        told = self._described.get("of", 0)
        return told if isinstance(told, int) else 0

    def describe(self) -> dict[str, Any]:
        """What was recorded."""
        return self._described


def _slice(part: RunPart, rows: Rows) -> RecordedSlice:
    told = part.slice
    item = np.asarray(rows["item"])
    if len(item) and not 0 <= int(item.min()) <= int(item.max()) < told.items:
        raise EvidenceError(f"{part.log}: a row asks an item that the slice does not have")
    if told.items > _MOST_ITEMS:
        raise EvidenceError(f"{part.log}: {told.items:,} items are more than a run can have asked")
    strata = None
    groupings: list[NDArray[np.int64]] = []
    if told.strata:
        codes = _by_item(part, rows, "stratum")
        if len(codes) and not -1 <= int(codes.min()) <= int(codes.max()) < len(told.strata):
            raise EvidenceError(f"{part.log}: a row is of a group that the case file does not hold")
        strata = np.array(told.strata)[_every_group(codes, len(told.strata))]
    for name in ("cluster", CONTENT[0]) if told.clustered else ():
        if name not in (rows.dtype.names or ()):
            continue
        labels = _by_item(part, rows, name).astype(np.int64)
        if len(labels) and int(labels.min()) < -1:
            raise EvidenceError(f"{part.log}: a row is of a {name} below 0")
        groupings.append(np.maximum(labels, 0))  # of an item that was never asked: nothing looks at it
    made = RecordedSlice(
        dataset=Dataset(told.dataset, [], corpus=dict.fromkeys(told.corpus, _not_here)),
        indices=np.arange(told.items, dtype=np.int64),
        rule={},
        inputs=[],
        references=None,
        strata=strata,
        clusters=groupings[0] if groupings else None,
        weights=told.weights,
    )
    object.__setattr__(made, "_described", told.described)
    object.__setattr__(made, "_recorded", tuple(groupings))
    return made


def _every_group(codes: NDArray[np.int32], groups: int) -> NDArray[np.int32]:
    """Put items that were never asked into groups of which none was: each group that is declared is there."""
    unasked, missing = np.flatnonzero(codes < 0), np.setdiff1d(np.arange(groups), codes)
    known = min(len(unasked), len(missing))
    codes[unasked[:known]] = missing[:known]
    return codes


def _by_item(part: RunPart, rows: Rows, name: str) -> NDArray[np.int32]:
    """`(items,)` what the rows say of each item; they must say the same each time."""
    item, values = np.asarray(rows["item"]), np.asarray(rows[name])
    found = np.full(part.slice.items, -1, dtype=np.int32)
    found[item] = values
    if not np.array_equal(found[item], values):
        raise EvidenceError(f"{part.log}: `{name}` of an item differs between rows")
    return found


def candidate_of(name: str, price: dict[str, Any] | None, stages: Sequence[StagePart] = ()) -> Candidate:
    """Make a stand-in for a candidate: its name and what it costs, and nothing that answers."""
    backend: Any = _not_here
    if stages:
        prices = [None if each.price is None else price_of(each.price) for each in stages]
        backend = Pipeline(
            [Stage(each.name, _not_here, price=own) for each, own in zip(stages, prices, strict=True)]
        )
    return Candidate(name, backend=backend, price=None if price is None else price_of(price))


def price_of(told: dict[str, Any]) -> Price:
    """Make a price of its description. Raises `EvidenceError` where that is none of ours."""
    made: Price | None = None
    try:
        currency, stated = told["currency"], {"source": told["source"], "date": told["date"]}
        if told["model"] == "hourly":
            made = HourlyPrice(f"{told['amount']} {currency}", utilisation=told["utilisation"], **stated)
        elif told["model"] == "request":
            made = RequestPrice(f"{told['amount']} {currency}", **stated)
        elif told["model"] == "token":
            amounts = {key: f"{told[key]} {currency}" for key in ("input", "output", "cached_input")}
            made = TokenPrice(**amounts, per=told["per"], **stated)
    except (KeyError, TypeError, ProcureError) as error:
        raise EvidenceError(f"a price cannot be read: {error}") from None
    if made is None or made.describe() != told:
        raise EvidenceError(f"a price cannot be read: {str(told)[:120]}")
    return made


def _not_here(*_: Any) -> Any:
    raise EvidenceError("a pack holds no candidate and no scorer, only what they gave")
