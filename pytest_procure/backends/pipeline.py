"""Several stages as one offer: retrieve, rerank, generate, guard, each a backend or a function of its own.

inputs ──► takes ──► stage ──► outputs ──► takes ──► stage ──► ... ──► the pipeline's outputs
                      └─ time, failure, tokens and output of each sample stand in the log
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.calling import declared
from pytest_procure.candidates import Price
from pytest_procure.errors import DeclarationError, ProcureError, ProvisionError, unknown

from .files import one_line
from .function import Function, qualified_name
from .protocol import Answer, Backend, LoadedBackend, Passing, Reachable, StagePass
from .spans import no_span, spans

_NAME = re.compile(r"[A-Za-z][\w-]{0,39}")
#: It is what a report calls the time outside of all stages.
_TAKEN = frozenset({"waiting"})

#: (the pipeline's input, what each stage before has given, by name) -> the stage's input.
Takes = Callable[[Any, Mapping[str, Any]], Any]


@declared
@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its name, and the backend or function that answers a batch.

    It is given what the stage before has answered, the first one the sample; `takes(sample, so_far)` makes
    its input of the sample and of what the stages so far have answered, by name. `price`: what this stage
    costs.
    """

    name: str
    backend: Any
    _: KW_ONLY
    takes: Takes | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or self.name in _TAKEN:
            raise DeclarationError(
                f"{self.name!r} cannot name a stage; expected a letter, then letters, digits, - and _, as in "
                "'rerank'"
            )
        if isinstance(self.backend, type) or not (
            isinstance(self.backend, Backend) or callable(self.backend)
        ):
            raise DeclarationError(
                f"stage `{self.name}` is {self.backend!r}; expected a backend, or a function of a batch"
            )
        if self.takes is not None and not callable(self.takes):
            raise DeclarationError(
                f"`takes` of stage `{self.name}` is {self.takes!r}; expected a function of the sample and of "
                "what the stages so far have answered"
            )
        if self.price is not None and not isinstance(self.price, Price):
            raise DeclarationError(
                f"`price` of stage `{self.name}` is {self.price!r}; expected for example a RequestPrice"
            )

    @property
    def declared(self) -> Backend:
        """What answers, as a backend."""
        return self.backend if isinstance(self.backend, Backend) else Function(self.backend)


@declared
@dataclass(frozen=True, slots=True)
class Pipeline:
    """Declares stages that answer one after the other; each is a `Stage`, or a pair of name and backend.

    Bars are on the whole by default; `bar("stage.rerank.latency.p95", ...)` is on one stage.
    """

    stages: Sequence[Stage | tuple[str, Any]]
    _made: tuple[Stage, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.stages, str) or not isinstance(self.stages, Sequence) or not self.stages:
            raise DeclarationError(
                f"`Pipeline({self.stages!r})`; expected a list of stages, as in [Stage('retrieve', ...)]"
            )
        made = tuple(map(_stage, self.stages))
        names = [stage.name for stage in made]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise DeclarationError(f"two stages are named `{repeated}`; rename one")
        object.__setattr__(self, "_made", made)
        _ = self.currency  # refuses a mixture

    @property
    def names(self) -> tuple[str, ...]:
        """The stages' names, in order."""
        return tuple(stage.name for stage in self._made)

    @property
    def currency(self) -> str:
        """The currency of a pipeline that is priced stage by stage; empty where a stage has no price.

        Raises `DeclarationError` where the stages are priced in several.
        """
        prices = [stage.price for stage in self._made]
        currencies = list(dict.fromkeys(price.currency for price in prices if price is not None))
        if len(currencies) > 1:
            raise DeclarationError(
                f"the stages are priced in {' and '.join(currencies)}; expected one currency"
            )
        return currencies[0] if None not in prices else ""

    def stage(self, name: str) -> Stage:
        """Find a stage. Raises `DeclarationError` with the nearest name if there is none."""
        for stage in self._made:
            if stage.name == name:
                return stage
        raise DeclarationError(unknown("stage", name, self.names))

    def load(self, base: Path) -> LoadedPipeline:
        """Bring the stages up, in order. Raises `ProvisionError` that names the stage; none stays loaded."""
        loaded: list[tuple[Stage, LoadedBackend]] = []
        try:
            for stage in self._made:
                loaded.append((stage, _loaded(stage, base)))  # noqa: PERF401 - those before are to be closed
        except BaseException:
            _close(loaded)
            raise
        return LoadedPipeline(loaded)


class LoadedPipeline:
    """Stages that answer."""

    def __init__(self, stages: list[tuple[Stage, LoadedBackend]]) -> None:
        self._stages = stages
        opened = spans()
        self._traced = opened is not None
        self._span = opened or no_span

    @property
    def names(self) -> tuple[str, ...]:
        """The stages' names, in order."""
        return tuple(stage.name for stage, _ in self._stages)

    @property
    def device(self) -> str:
        """The accelerator that one of the stages runs on, else where the last one runs."""
        devices = [loaded.device for _, loaded in self._stages]
        return next((device for device in devices if device != "cpu"), devices[-1])

    @property
    def releases_gil(self) -> bool:
        """Whether every stage does."""
        return all(loaded.releases_gil for _, loaded in self._stages)

    def reach(self) -> None:
        """See that each stage is there. Raises `ProvisionError` that names the stage."""
        for stage, loaded in self._stages:
            if isinstance(loaded, Reachable):
                try:
                    loaded.reach()
                except ProvisionError as error:
                    raise ProvisionError(f"stage `{stage.name}`: {error}") from None

    def predict(self, inputs: Any) -> list[Answer]:
        """Answer a batch, stage after stage. What fails in a stage goes no further and tells why."""
        travels = [_Travel(sample) for sample in inputs]
        with self._span("pipeline", {"procure.batch": len(travels)}):
            for place, (stage, loaded) in enumerate(self._stages):
                going = [travel for travel in travels if not travel.error]
                for travel in travels:
                    if travel.error:
                        travel.passes.append(StagePass(stage.name, Passing.NOT_REACHED))
                if going:
                    with self._span(f"stage {stage.name}", {"procure.batch": len(going)}):
                        _pass(stage, loaded, going, inputs if place == 0 else None)
        return [travel.answer() for travel in travels]

    def describe(self) -> dict[str, Any]:
        """Disclose each stage: what its backend says of itself, and what it is given."""
        return {
            "runtime": " > ".join(str(loaded.describe().get("runtime", "")) for _, loaded in self._stages),
            "device": self.device,
            "spans": "OpenTelemetry" if self._traced else "",
            "notes": [
                f"stage {stage.name}: {note}"
                for stage, loaded in self._stages
                for note in loaded.describe().get("notes", ())
            ],
            "stages": [
                {
                    "name": stage.name,
                    "backend": dict(loaded.describe()),
                    "takes": None if stage.takes is None else qualified_name(stage.takes),
                    "price": None if stage.price is None else stage.price.describe(),
                }
                for stage, loaded in self._stages
            ],
        }

    def close(self) -> None:
        """Close the stages, the last one first; all of them, whatever one of them raises."""
        _close(self._stages)


class _Travel:
    """One sample on its way."""

    __slots__ = ("error", "output", "passes", "sample", "so_far")

    def __init__(self, sample: Any) -> None:
        self.sample = sample
        self.so_far: dict[str, Any] = {}
        self.passes: list[StagePass] = []
        self.output = sample
        self.error = ""

    def answer(self) -> Answer:
        """What the last stage gave, with the tokens of all stages where each that counts any has counted."""
        output = None if self.error else self.output
        sent, received = (
            sum(count for each in self.passes if (count := getattr(each, column)) >= 0) or -1
            for column in ("input_tokens", "output_tokens")
        )
        counted = any(each.input_tokens >= 0 or each.output_tokens >= 0 for each in self.passes)
        if not counted:
            sent = received = -1
        return Answer(output, sent, received, tuple(self.passes), self.error)


def _pass(stage: Stage, loaded: LoadedBackend, going: list[_Travel], first: Any) -> None:
    """Let a stage answer a batch of samples, and put down how each has passed it."""
    begun = time.perf_counter_ns()
    try:
        if stage.takes is not None:
            batch: Any = [stage.takes(travel.sample, travel.so_far) for travel in going]
        else:
            batch = first if first is not None else [travel.output for travel in going]
        begun = time.perf_counter_ns()
        given = _outputs(loaded.predict(batch), len(going))
        took = time.perf_counter_ns() - begun
    except Exception as error:  # noqa: BLE001 - whatever a stage raises, its samples go no further
        took = time.perf_counter_ns() - begun
        said = f"stage {stage.name}: {type(error).__name__}: {one_line(error)}"
        for travel in going:
            travel.error = said
            travel.passes.append(StagePass(stage.name, Passing.FAILED, took))
        return
    for travel, each in zip(going, given, strict=True):
        answer = each if isinstance(each, Answer) else Answer(each)
        fault = answer.error or _fault(answer.output)
        passing = Passing.FAILED if fault else Passing.OK
        travel.error = f"stage {stage.name}: {fault}" if fault else ""
        travel.output = travel.so_far[stage.name] = answer.output
        travel.passes.append(
            StagePass(stage.name, passing, took, answer.output, answer.input_tokens, answer.output_tokens)
        )


def _outputs(given: Any, count: int) -> list[Any]:
    if given is None or isinstance(given, str | bytes | Mapping):
        raise TypeError(f"answered with one {type(given).__name__}; expected one output for each input")
    outputs = list(given)
    if len(outputs) != count:
        raise ValueError(f"answered {count} inputs with {len(outputs)} outputs")
    return outputs


def _fault(output: Any) -> str:
    if output is None:
        return "answered with nothing"
    if isinstance(output, float) and not math.isfinite(output):
        return f"answered with {output}"
    if isinstance(output, np.ndarray) and output.dtype.kind in "fc" and not np.isfinite(output).all():
        return "answered with an array that holds NaN or infinity"
    return ""


def _stage(given: Any) -> Stage:
    if isinstance(given, Stage):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        return Stage(*given)
    raise DeclarationError(f"{given!r} is no stage; expected Stage('rerank', backend), or a pair of these")


def _loaded(stage: Stage, base: Path) -> LoadedBackend:
    try:
        return stage.declared.load(base)
    except ProcureError as error:
        raise type(error)(f"stage `{stage.name}`: {error}") from error
    except (Exception, SystemExit) as error:
        raise ProvisionError(
            f"stage `{stage.name}` could not be loaded: {type(error).__name__}: {one_line(error)}"
        ) from error


def _close(stages: list[tuple[Stage, LoadedBackend]]) -> None:
    failed: list[str] = []
    for stage, loaded in reversed(stages):
        try:
            loaded.close()
        except Exception as error:  # noqa: BLE001 - the others are closed all the same
            failed.append(f"stage `{stage.name}`: {type(error).__name__}: {one_line(error)}")
    if failed:
        raise RuntimeError("; ".join(failed))
