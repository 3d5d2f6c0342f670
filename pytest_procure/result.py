"""What `procure.run()` gives back: the measured values of one execution, by the names that bars use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .calling import declaring
from .errors import DeclarationError, UnknownNameError, unknown
from .measured import Measured, Recorder
from .metrics import Execution, Measurement, Metric, measure, metric, unmeasurable
from .metrics.comparison import Against, against, compare
from .metrics.goodput import Limits, goodput
from .metrics.metric import THROUGHPUT, TOKENS
from .metrics.quality import by_items
from .metrics.stages import stage_names
from .units import Quantity, duration

if TYPE_CHECKING:
    from .evidence.record import SweepRecord
    from .telemetry.gpu import GpuSeen


class Named:
    """Says what there is when it is asked for what there is not."""

    __slots__ = ()
    _called = "result"
    _inner: frozenset[str] = frozenset()  # names that are not for tests

    if not TYPE_CHECKING:  # who checks types is told by them

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            known = {each for each in dir(type(self)) if not each.startswith("_")} - self._inner
            raise UnknownNameError(unknown(f"name of a {self._called}", name, known))


class Family:
    """Metrics with one first name: `result.latency.p95`, `result.quality.exact_match`."""

    __slots__ = ("_family", "_known", "_look_up")

    def __init__(self, family: str, known: tuple[str, ...], look_up: Callable[[str], Measured]) -> None:
        self._family = family
        self._known = known
        self._look_up = look_up

    def __getattr__(self, name: str) -> Measured:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._look_up(f"{self._family}.{name}")
        except DeclarationError:
            raise UnknownNameError(unknown(f"{self._family} metric", name, self._known)) from None

    def __getitem__(self, name: str) -> Measured:
        """Take names that are no Python names: `result.latency["p99.9"]`."""
        return self.__getattr__(str(name))

    def __dir__(self) -> list[str]:
        return sorted(self._known)


class Stages:
    """The stages of a pipeline: `result.stage.rerank.latency.p95`, `result.stage["rerank"].error_rate`."""

    __slots__ = ("_known", "_look_up")

    def __init__(self, known: tuple[str, ...], look_up: Callable[[str], Measured]) -> None:
        self._known = known
        self._look_up = look_up

    def __getattr__(self, name: str) -> StageFamily:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._known:
            raise UnknownNameError(unknown("stage", name, self._known))
        return StageFamily(name, self._look_up)

    def __getitem__(self, name: str) -> StageFamily:
        """Take names that are no Python names."""
        return self.__getattr__(str(name))

    def __dir__(self) -> list[str]:
        return sorted(self._known)


class StageFamily(Named):
    """What is measured of one stage."""

    __slots__ = ("_look_up", "_name")
    _called = "stage's result"

    def __init__(self, name: str, look_up: Callable[[str], Measured]) -> None:
        self._name = name
        self._look_up = look_up

    @property
    def latency(self) -> Family:
        """Percentiles of the time that the stage's call took."""
        return Family(f"stage.{self._name}.latency", ("p50", "p95", "p99"), self._look_up)

    @property
    def error_rate(self) -> Measured:
        """Share of the requests that came to the stage and failed in it."""
        return self._look_up(f"stage.{self._name}.error_rate")

    @property
    def quality(self) -> Measured:
        """Mean score of what the stage gave, by the dataset's labels for it."""
        return self._look_up(f"stage.{self._name}.quality")

    @property
    def cost_per_request(self) -> Measured:
        """What one request costs in this stage."""
        return self._look_up(f"stage.{self._name}.cost_per_request")


class Result(Named):
    """One execution, measured. Each metric is measured once, when first asked for."""

    _inner = frozenset({"comparison", "holds", "joint", "measurement", "take", "taken"})

    def __init__(
        self, execution: Execution, recorder: Recorder, references: Mapping[str, Execution] | None = None
    ) -> None:
        self.execution = execution
        self.references = references or {}  # by candidate: those whose blocks were interleaved with these
        self.sweep: SweepRecord | None = None  # of the search, or the sweep, that this run ended
        self.probes: Sequence[Execution] = ()  # its short runs
        self._recorder = recorder
        self._measurements: dict[object, Measurement] = {}

    def measurement(self, what: Metric) -> Measurement:
        """Measure a metric; the same object each time."""
        if what.name not in self._measurements:
            self._measurements[what.name] = measure(what, self.execution)
        return self._measurements[what.name]

    def joint(self, limits: Limits) -> Measurement:
        """Measure goodput under some limits; the same object each time."""
        if limits not in self._measurements:
            measured = goodput(self.execution, limits)
            measured = replace(measured, seconds=self.execution.seconds)
            self._measurements[limits] = by_items(measured, self.execution) if limits.correct else measured
        return self._measurements[limits]

    def comparison(self, what: Metric, other: Against) -> Measurement:
        """Measure a metric against another candidate's; the same object each time."""
        key = (what.name, other)
        if key not in self._measurements:
            theirs = self.references.get(other.name)
            self._measurements[key] = (
                unmeasurable(against(what, other), f"`{other.name}` was not measured beside it")
                if theirs is None
                else compare(what, other, self.execution, theirs)
            )
        return self._measurements[key]

    def holds(self, measured: Measurement) -> tuple[bool, Limits | None]:
        """Tell whether a measurement is of this run, and under which limits if it is goodput."""
        key = next((key for key, each in self._measurements.items() if each is measured), None)
        return key is not None, key if isinstance(key, Limits) else None

    def take(self, measured: Measurement) -> None:
        """Take a measurement as it was made, where what it was made of is no longer there."""
        self._measurements[measured.metric.name] = measured

    def taken(self) -> list[Measurement]:
        """List what has been measured of the run itself, in order."""
        return [each for key, each in self._measurements.items() if isinstance(key, str)]

    @declaring
    def goodput(self, *, latency: Quantity | str | None = None, correct: bool | str = False) -> Measured:
        """Share of requests that meet a time limit, a score (`correct="quality.exact"`), or both."""
        within = None if latency is None else duration(latency, what="latency")
        scorer = correct if isinstance(correct, str) else "accuracy" * correct
        if within is None and not scorer:
            raise DeclarationError("`goodput` needs `latency='80 ms'`, `correct=True`, or both")
        return Measured(self.joint(Limits(within, scorer)), self._recorder)

    @property
    def accuracy(self) -> Measured:
        """Share of samples answered right."""
        return self._measured("accuracy")

    @property
    def error_rate(self) -> Measured:
        """Share of requests that failed: errors, time-outs, lost and empty answers."""
        return self._measured("error_rate")

    @property
    def throughput(self) -> Measured:
        """Good samples a second; not where the rate is declared."""
        return self._measured(THROUGHPUT.name)

    @property
    def cost_per_request(self) -> Measured:
        """Cost of a request in the currency of the candidate's price."""
        return self._measured("cost_per_request")

    @property
    def cost_per_correct(self) -> Measured:
        """Cost of an answer that is right, the wrong ones paid for."""
        return self._measured("cost_per_correct")

    @property
    def cost_per_accepted(self) -> Measured:
        """Cost of an answer that scores in `quality.accepted`, the others paid for and asked again."""
        return self._measured("cost_per_accepted")

    @property
    def energy_per_request(self) -> Measured:
        """Joules of a request, by the device's own counter."""
        return self._measured("energy_per_request")

    @property
    def latency(self) -> Family:
        """Percentiles from the scheduled time to completion: `.p50`, `.p95`, `["p99.9"]`."""
        return Family("latency", ("p50", "p90", "p95", "p99", "p99.9"), self._measured)

    @property
    def gpu_memory_peak(self) -> Measured:
        """The most memory in use on the candidate's GPUs, as their driver counts it."""
        return self._measured("gpu_memory_peak")

    @property
    def gpus(self) -> tuple[tuple[GpuSeen, ...], ...]:
        """What was seen of each GPU of the candidate's device, launch by launch; decides nothing."""
        return tuple(launch.audit.gpus for launch in self.execution.launches)

    @property
    def ttft(self) -> Family:
        """Percentiles of the time to the first token, from the scheduled time; of streams alone."""
        return Family("ttft", ("p50", "p90", "p95", "p99"), self._measured)

    @property
    def itl(self) -> Family:
        """Percentiles of the time from one arrival of tokens to the next; of streams alone."""
        return Family("itl", ("p50", "p90", "p95", "p99"), self._measured)

    @property
    def tpot(self) -> Family:
        """Percentiles of the time per output token after the first; of streams alone."""
        return Family("tpot", ("p50", "p90", "p95", "p99"), self._measured)

    @property
    def tokens_per_second(self) -> Measured:
        """Output tokens of good answers a second; not where the rate is declared."""
        return self._measured(TOKENS.name)

    @property
    def quality(self) -> Family:
        """Means of the dataset's own scorers."""
        named = tuple(sorted(name.removeprefix("quality.") for name in self.execution.scores))
        return Family("quality", named, self._measured)

    @property
    def corpus(self) -> Family:
        """The dataset's metrics of all answers at once: `result.corpus.macro_f1`."""
        return Family("corpus", tuple(sorted(self.execution.slice.dataset.corpus)), self._measured)

    @property
    def stage(self) -> Stages:
        """The stages of a pipeline, by name."""
        return Stages(tuple(stage_names(self.execution)), self._measured)

    @property
    def answers(self) -> list[Any]:
        """The outputs in send order, None where a request failed."""
        return [answer for log in self.execution.logs for answer in log.answers]

    def _measured(self, name: str) -> Measured:
        if name.startswith("corpus.") and name[7:] not in self.execution.slice.dataset.corpus:
            raise DeclarationError(unknown("corpus metric", name[7:], self.execution.slice.dataset.corpus))
        if name.startswith("quality.") and name not in self.execution.scores:
            raise DeclarationError(unknown("scorer", name, self.execution.scores))
        return Measured(self.measurement(metric(name)), self._recorder)
