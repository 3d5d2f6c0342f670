"""What of a pack is covered by its digests and signatures alone: it does not follow from the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_procure.evidence.pack import PDF
from pytest_procure.evidence.parts import CaseFile, ResultPart

from .recomputing import Pack, Recomputed

_ALWAYS = (
    "scores of the answers: they are the scorer's, as the rows hold them",
    "what the harness saw of itself, what backends disclosed, and the environment: as recorded",
    "what pytest said of the session: which tests were expected, which failed, and its own status",
)


def carried(pack: Pack, made: Recomputed) -> list[str]:
    """List it in words, a line each, without repeats."""
    told = [*_ALWAYS, *_of_cases(made.files.values())]
    if made.session.sealed.spec:
        told.append(
            "differences from the seal that the session found in sources, items and offers: as recorded"
        )
    if PDF in pack.paths:
        told.append(f"{PDF}: it is not made again")
    return list(dict.fromkeys(told))


def _of_cases(files: Iterable[CaseFile]) -> Iterator[str]:
    for file in files:
        where = file.asked.test
        for result in file.results:
            for each in result.carried:
                yield f"`{each.metric.name}` of {where}: as it was measured; only the judging is made again"
            yield from _of_result(result)
        for each in file.own:
            by = "the test itself" if each.metric.kind == "own" else "a search"
            yield f"`{each.metric.name}` of {where}: as {by} gave it; only the judging is made again"


def _of_result(result: ResultPart) -> Iterator[str]:
    if result.sweep is not None:
        yield "the points of searches and sweeps, beside the rows of their runs: as recorded"
    runs = (result.run, *(run for _, run in result.references), *result.probes)
    if any(run.gallery is not None for run in runs):
        yield "the samples that went wrong, as pages show them: the pack holds no samples"
    if any(run.cut is not None for run in runs):
        yield "rows that were sent and not measured (`cut=`): nothing follows from them"
