"""Where the time of a request goes: the stages of a pipeline as stacked bars."""

from __future__ import annotations

from pytest_procure.evidence.record import RequirementRecord
from pytest_procure.evidence.shown import StageRecord

from . import words
from .axes import Axis
from .deciding import declared_run
from .plots import LEFT, RIGHT, Key, Plot, Table, series_style
from .visible import shorten

_TOP, _ROW, _HEIGHT = 16, 54, 22
#: A stage narrower than this has no room for its number.
_ROOM = 46


def stages(requirement: RequirementRecord) -> Plot | None:
    """Draw a bar a candidate; None where no pipeline ran, or its stages took no time."""
    found: list[tuple[str, list[StageRecord]]] = []
    for result in requirement["results"]:
        run = declared_run(result["runs"])
        if run is not None and "stages" in run:
            found.append((result["candidate"], run["stages"]))
    most = max((sum(stage["mean_ms"] for stage in taken) for _, taken in found), default=0.0)
    if most <= 0:
        return None
    numbers = {
        name: i for i, name in enumerate(dict.fromkeys(s["name"] for _, taken in found for s in taken), 1)
    }
    along = Axis(0.0, most * 1.02, LEFT - 42, RIGHT)
    bottom = _TOP + _ROW * len(found)
    plot = Plot(
        title=f"Where the time goes: {shorten(requirement['question'] or requirement['id'], 100)}",
        desc=" ".join(f"{name}: {_sentence(taken)}." for name, taken in found),
        caption="Mean time of a good answer, stage by stage. Stages are in the order in which they run.",
        height=bottom + 34,
        table=Table(
            "Each stage: mean time, slowest 5 in 100 from (p95), score and cost where it has them",
            ["Candidate", *(words.upper_first(shorten(name, 40)) for name in numbers)],
            [[shorten(name, 60), *_cells(taken, list(numbers))] for name, taken in found],
        ),
        keys=[Key(number, name) for name, number in numbers.items()],
    )
    plot.across(
        [(along.at(tick), words.milliseconds(tick) if tick else "0") for tick in along.ticks()], _TOP, bottom
    )
    for row, (name, taken) in enumerate(found):
        top = _TOP + _ROW * row + 22
        plot.label("offer", LEFT - 42, top - 7, shorten(name, 48))
        begun = 0.0
        for stage in taken:
            left, right = along.at(begun), along.at(begun + stage["mean_ms"])
            plot.area(f"{series_style(numbers[stage['name']])} stage", left, top, right, top + _HEIGHT)
            if right - left >= _ROOM:
                text = words.milliseconds(stage["mean_ms"])
                plot.label("on-stage", (left + right) / 2, top + 15, text, anchor="middle")
            begun += stage["mean_ms"]
    return plot


def _sentence(taken: list[StageRecord]) -> str:
    return words.listing([f"{stage['name']} {words.milliseconds(stage['mean_ms'])}" for stage in taken])


def _cells(taken: list[StageRecord], names: list[str]) -> list[str]:
    own = {stage["name"]: stage for stage in taken}
    return [_cell(own[name]) if name in own else "none" for name in names]


def _cell(stage: StageRecord) -> str:
    told = [words.milliseconds(stage["mean_ms"]), f"p95 {words.milliseconds(stage['p95_ms'])}"]
    told += [f"score {words.percent(stage['score'])}"] if "score" in stage else []
    told += [stage["cost"]] if "cost" in stage else []
    return "; ".join(told)
