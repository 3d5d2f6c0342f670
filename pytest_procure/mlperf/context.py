"""A published score beside the buyer's own test: cited, measured against the task, barred from deciding."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_procure.errors import unknown

from .benchmarks import facts
from .checks import standing
from .citing import Citation, cite
from .distance import Distance, Task, distance
from .errors import MlperfError
from .records import Result
from .results import Results
from .score import Score, Undecided

EVIDENCE_CLASS = "public reference"
CAN = (
    "that this hardware-plus-software pair ran MLPerf's reference task under MLPerf's rules",
    "which offers of the same round, benchmark, scenario, suite and division are worth a test of their own",
    "which stack and declared precision the submitter needed for it",
)
CANNOT = (
    "your latency, throughput, quality or cost: the data, the load and the stack are MLPerf's",
    "that one offer beats another that is within the spread between submitters",
    "anything about a system, precision or software that was not the one submitted",
    "a pass or a fail of any requirement here",
)


@dataclass(frozen=True, slots=True)
class Context(Undecided):
    """All that a report's context box needs. `score` refuses to be compared or calculated with."""

    result: Result
    score: Score
    citation: Citation
    distance: Distance
    evidence_class: str = EVIDENCE_CLASS
    can: tuple[str, ...] = CAN
    cannot: tuple[str, ...] = CANNOT

    def described(self) -> str:
        """Name the result."""
        return self.result.name


def mlperf_context(  # noqa: PLR0913 -- the mark's four names, and what only the caller knows
    results: Results,
    *,
    round: str,  # noqa: A002 -- the word of the mark, as the test's author writes it
    benchmark: str,
    scenario: str,
    system: str,
    task: Task | None = None,
    retrieved: str = "",
    source: str = "",
) -> Context:
    """Find the published result that a test or a candidate names and make its context.

    `system` is an ID, a platform or `SUBMITTER:PLATFORM`. Raises `MlperfError` with the nearest valid name
    where nothing or no single result is meant, and for a log or a row without a usable number.
    """
    rounds = sorted({one.round for one in results.rows})
    if round not in rounds:
        raise MlperfError(unknown("round", round, rounds))
    model = facts().canonical(benchmark)
    result = results.select(f"{round}@{system}/{model}/{scenario}")
    unfit = next(standing((result,)), None)
    if unfit is not None or result.score is None:
        raise MlperfError(f"{result.name} can be no context: {unfit.reason if unfit else 'it has no number'}")
    return Context(
        result,
        result.score,
        cite(result, retrieved=retrieved, source=source),
        distance(result, task or Task()),
    )
