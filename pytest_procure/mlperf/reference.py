"""A published score that a suite names as context, and what the report shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_procure.calling import declared
from pytest_procure.evidence.record import PublishedRecord

from .context import mlperf_context
from .distance import Task
from .results import load_results
from .score import Undecided


@declared
@dataclass(frozen=True, slots=True)
class PublishedScore(Undecided):
    """Where a score was published: the round, benchmark, scenario and system, and the file it stands in.

    `results` is a summary file or a results checkout; a relative path starts at the conftest's folder, or
    that of the test that carries the mark. `retrieved` is the date on which it was fetched. It is context:
    no bar and no assert can use it.
    """

    round: str
    benchmark: str
    scenario: str
    system: str
    results: str
    retrieved: str = ""

    def described(self) -> str:
        """Name the result."""
        return f"{self.system}/{self.benchmark}/{self.scenario}"

    def record(self, base: Path, task: Task, about: str) -> PublishedRecord:
        """Find the score and say how far its task is from ours. Raises `MlperfError`."""
        context = mlperf_context(
            load_results(base / self.results),
            round=self.round,
            benchmark=self.benchmark,
            scenario=self.scenario,
            system=self.system,
            task=task,
            retrieved=self.retrieved,
        )
        return {
            "about": about,
            "score": str(context.score),
            "citation": context.citation.sentence,
            "footnote": context.citation.footnote,
            "evidence_class": context.evidence_class,
            "rows": [
                {"aspect": row.aspect, "published": row.published, "ours": row.ours, "verdict": row.verdict}
                for row in context.distance.rows
            ],
            "transfers": context.distance.sentence,
            "can": list(context.can),
            "cannot": list(context.cannot),
        }
