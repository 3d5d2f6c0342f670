"""Case files: what a test judged, written beside its rows; and the case that can be judged again from both.

The way there and the way back stand side by side, because what one leaves out the other cannot find. What
the rows of a run become is `recorded`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_procure.backends.pipeline import Pipeline
from pytest_procure.candidates import Candidate
from pytest_procure.cases import Case, Compared, Confirmation
from pytest_procure.driver.pull import Run
from pytest_procure.errors import EvidenceError
from pytest_procure.metrics import Execution, Measurement
from pytest_procure.metrics.measurement import Confirmed, Corpus, Exact, Interval, Unmeasurable
from pytest_procure.result import Result

from .keeping import Kept
from .parts import (
    CaseFile,
    ComparedPart,
    ConfirmedPart,
    LaunchPart,
    MeasuredPart,
    ResultPart,
    RunPart,
    SlicePart,
    StagePart,
)
from .recorded import Load, candidate_of, execution_of

# -- the way there ------------------------------------------------------------------------------------


#: The parts of a test that never ran.
NOTHING: dict[str, Any] = {"results": (), "own": (), "compared": ()}


def case_parts(case: Case, kept: Callable[[Execution], Kept]) -> dict[str, Any]:
    """Give the parts of a case file that come of a case: results, own values, comparisons."""
    compared = [each.measurement for each in case.compared if isinstance(each, Compared)]
    own = {id(measured): measured for measured in compared if not _is_of_a_run(measured, case)}
    own |= {id(measured): measured for measured in case.own.values()}  # last: these are current
    values = list(own.values())
    current = {id(measured) for measured in case.own.values()}
    values.sort(key=lambda measured: id(measured) in current)
    return {
        "results": tuple(_result_part(result, declared, kept) for result, declared in case.results),
        "own": tuple(_measured_part(measured) for measured in values),
        "compared": tuple(_compared_part(each, case, values) for each in case.compared),
    }


def _result_part(result: Result, declared: bool, kept: Callable[[Execution], Kept]) -> ResultPart:  # noqa: FBT001 - a pair, as a case keeps it
    return ResultPart(
        declared,
        _run_part(result.execution, kept),
        tuple((name, _run_part(execution, kept)) for name, execution in result.references.items()),
        tuple(_run_part(execution, kept) for execution in result.probes),
        result.sweep,
        tuple(_measured_part(measured) for measured in result.taken() if measured.metric.of_corpus),
    )


def _is_of_a_run(measured: Measurement, case: Case) -> bool:
    return any(result.holds(measured)[0] for result, _ in case.results)


def _run_part(run: Execution, kept: Callable[[Execution], Kept]) -> RunPart:
    written = kept(run)
    price = run.candidate.price
    chosen = run.slice
    return RunPart(
        log=written.file,
        sha256=written.log.sha256,
        wires=written.wires,
        cut=written.cut,
        candidate=run.candidate.name,
        instead=None if run.instead is None else dict(run.instead),
        price=None if price is None else price.describe(),
        stages=_stage_parts(run.candidate),
        scenario=run.scenario,
        slice=SlicePart(
            described=chosen.describe(),
            dataset=chosen.dataset.name,
            items=len(chosen),
            clustered=bool(chosen.groupings),
            strata=written.log.strata,
            corpus=tuple(chosen.dataset.corpus),
            weights=None if chosen.weights is None else dict(chosen.weights),
        ),
        scorers=tuple(run.scores),
        launches=tuple(_launch_part(launch) for launch in run.launches),
        errors=written.log.errors,
        energy=run.energy,
        blocks=run.blocks,
        gallery=written.gallery,
    )


def _stage_parts(candidate: Candidate) -> tuple[StagePart, ...]:
    backend = candidate.backend
    if not isinstance(backend, Pipeline):
        return ()
    prices = {name: backend.stage(name).price for name in backend.names}
    return tuple(
        StagePart(name, None if price is None else price.describe()) for name, price in prices.items()
    )


def _launch_part(launch: Run) -> LaunchPart:
    log = launch.log
    return LaunchPart(
        queries=len(log),
        samples=len(log.samples),
        samples_per_query=log.samples_per_query,
        window_ns=log.window_ns,
        warmup_ns=launch.warmup_ns,
        stopped=log.stopped,
        hung=launch.hung,
        endings=launch.endings,
        audit=launch.audit,
        conditions=launch.conditions,
    )


def _measured_part(measured: Measurement) -> MeasuredPart:
    basis = measured.basis
    if not isinstance(basis, (Exact, Interval, Corpus, Confirmed, Unmeasurable)):
        raise EvidenceError(f"`{measured.metric.name}` cannot be recorded: no run of this test measured it")
    return MeasuredPart(
        measured.metric, measured.estimate, measured.n, measured.n_unit, basis, measured.seconds
    )


def _compared_part(
    compared: Compared | Confirmation, case: Case, own: Sequence[Measurement]
) -> ComparedPart | ConfirmedPart:
    if isinstance(compared, Confirmation):
        results = [result for result, _ in case.results]
        return ConfirmedPart(results.index(compared.result), compared.bars)
    measured = compared.measurement
    place = next((i for i, each in enumerate(own) if each is measured), None)
    found = [(i, *result.holds(measured)) for i, (result, _) in enumerate(case.results)]
    result, limits = next(((i, limits) for i, holds, limits in found if holds), (None, None))
    if place is None and result is None:
        raise EvidenceError(f"`{measured.metric.name}` cannot be recorded: no run of this test measured it")
    return ComparedPart(compared.bar, compared.strict, compared.observed_only, result, place, limits)


# -- the way back -------------------------------------------------------------------------------------


def case_of(file: CaseFile, load: Load) -> Case:
    """Make the case again. Raises `EvidenceError` where rows and parts do not fit each other."""
    stand_in = candidate_of(file.asked.candidate, None)
    case = Case(stand_in, file.asked.bars, file.policy, sealed=file.held is not None)
    for part in file.results:
        references = {name: execution_of(run, load) for name, run in part.references}
        result = case.add(execution_of(part.run, load), declared=part.declared, references=references)
        result.probes = tuple(execution_of(run, load) for run in part.probes)
        result.sweep = part.sweep
        for each in part.carried:
            if not each.metric.of_corpus:
                raise EvidenceError(f"`{each.metric.name}` follows from the rows, and is not taken otherwise")
            result.take(_carried(each))
    own = [_carried(each) for each in file.own]
    case.own.update({each.metric.name: each for each in own if each.metric.kind == "own"})
    for compared in file.compared:
        if isinstance(compared, ConfirmedPart):
            case.confirm(_result(case, compared.confirmed), compared.bars)
            continue
        measured = _measured(compared, case, own)
        case.keep(Compared(compared.bar, measured, compared.strict, compared.observed_only))
    return case


def _carried(part: MeasuredPart) -> Measurement:
    return Measurement(part.metric, part.estimate, part.n, part.n_unit, part.basis, seconds=part.seconds)


def _result(case: Case, place: int) -> Result:
    if not 0 <= place < len(case.results):
        raise EvidenceError(f"a search is confirmed by run {place}, which the case file does not hold")
    return case.results[place][0]


def _measured(part: ComparedPart, case: Case, own: Sequence[Measurement]) -> Measurement:
    try:
        if part.own is not None:
            return own[part.own]
        result, _ = case.results[-1 if part.result is None else part.result]
    except IndexError:
        raise EvidenceError(f"`{part.bar.text}` compares a value that the case file does not hold") from None
    return result.measurement(part.bar.metric) if part.limits is None else result.joint(part.limits)
