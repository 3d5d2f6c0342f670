"""What a backend is: the adapter that makes a candidate answer queries.

A *backend* is declared in a conftest and costs nothing: a frozen description. Provisioning calls its
`load()`, which does everything expensive and gives a *loaded backend*: the driver asks it, then it is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .endpoints.target import Target


class Passing(IntEnum):
    """How a sample passed a stage of a pipeline."""

    UNKNOWN = 0  # the request was never answered, so nobody knows
    OK = 1
    FAILED = 2  # the stage raised, or gave nothing
    NOT_REACHED = 3  # an earlier stage had failed


@dataclass(frozen=True, slots=True)
class StagePass:
    """One sample's way through one stage: how long its call took, and what it gave.

    `ns` is the time of the call, which a batch shares; -1 where it was not reached.
    """

    name: str
    passing: Passing
    ns: int = -1
    output: Any = None
    input_tokens: int = -1
    output_tokens: int = -1
    cached_tokens: int = -1


@dataclass(frozen=True, slots=True)
class Answer:
    """An output together with what else is known of it; backends without either return plain outputs.

    `input_tokens`, `output_tokens`: for offers that are priced by the token; -1 where nobody counted.
    `cached_tokens`: those of the input that came from a cache, and are cheaper.
    `stages`: of a pipeline, one entry a stage. `error`: why there is no output, one line.
    """

    output: Any
    input_tokens: int = -1
    output_tokens: int = -1
    stages: tuple[StagePass, ...] = ()
    error: str = ""
    cached_tokens: int = -1


@runtime_checkable
class LoadedBackend(Protocol):
    """A candidate that is ready to answer."""

    @property
    def device(self) -> str:
        """Where it runs: `cpu`, `cuda:0`."""
        ...

    @property
    def releases_gil(self) -> bool:
        """Whether `predict` runs outside Python's lock, so that several worker threads serve side by side."""
        ...

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Answer a batch.

        `inputs` has shape `(b, ...)` for array datasets and is a list of b items otherwise; the result holds
        b outputs (or `Answer`s) in the same order: numbers, text, bytes, arrays, and lists or dicts of them.
        They are copied when it returns, so a buffer may be used again. Returns when the answers are there: on
        an accelerator, after synchronising. Exceptions are recorded as failed requests.
        """
        ...

    def describe(self) -> Mapping[str, Any]:
        """Disclose runtime, versions, provider, precision and model digest as plain JSON data."""
        ...

    def close(self) -> None:
        """Release memory and processes. Called once."""
        ...


@dataclass(frozen=True, slots=True)
class Sending:
    """How requests to an endpoint are sent; all of it is disclosed.

    `connections`: most of them at once. `retries`: further attempts after a refusal or a broken connection;
    latency runs on. `load_processes`: that send and stamp. `count_tokens`: the buyer's own count of an
    output's tokens, beside what the endpoint reports.
    """

    connections: int = 256
    retries: int = 0
    load_processes: int = 1
    count_tokens: Callable[[str], int] | None = None


@runtime_checkable
class LoadedEndpoint(LoadedBackend, Protocol):
    """A candidate behind a URL: the driver sends the requests itself, from processes of its own."""

    @property
    def target(self) -> Target:
        """Where it is, and how its answers are read."""
        ...

    @property
    def sending(self) -> Sending:
        """How requests are sent."""
        ...

    @property
    def around(self) -> tuple[bytes, bytes] | None:
        """What of every body stands before and behind the messages of a chat; None where it is no chat."""
        ...

    def body(self, item: Any) -> bytes:
        """Write the request's body for one sample. Raises `DataError` for one that cannot be asked."""
        ...

    def output(self, data: bytes) -> Any:
        """Make an output of what the target's reader has kept of an answer; None: there is none."""
        ...


@runtime_checkable
class Reachable(Protocol):
    """A loaded backend of which it can be seen, before it is asked anything, whether it is there."""

    def reach(self) -> None:
        """Raise `ProvisionError` where nobody is there to be asked: a server that is down, another's port."""
        ...


@runtime_checkable
class Admitting(Protocol):
    """A loaded backend of which it can be seen, before it is measured, whether it may be asked."""

    def admit(self, samples: Iterable[Any]) -> None:
        """Ask samples until one is let in. Raises `ProvisionError` where each is turned away: a wrong key."""
        ...


@runtime_checkable
class Backend(Protocol):
    """The declaration of a backend."""

    def load(self, base: Path) -> LoadedBackend:
        """Bring the candidate up; relative paths resolve against `base`, the conftest's folder.

        Raises `ProvisionError` when the offer cannot be brought up as declared.
        """
        ...
