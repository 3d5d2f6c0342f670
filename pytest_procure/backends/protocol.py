"""What a backend is: the adapter that makes a candidate answer queries.

A *backend* is declared in a conftest and costs nothing: a frozen description. Provisioning calls its
`load()`, which does everything expensive and gives a *loaded backend*: the driver asks it, then it is closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Answer:
    """An output together with the tokens it took, for offers that are priced by the token.

    Backends that count no tokens return plain outputs.
    """

    output: Any
    input_tokens: int
    output_tokens: int


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
        b outputs (or `Answer`s) in the same order, which later calls leave alone. Returns when the answers
        are there: on an accelerator, after synchronising. Exceptions are recorded as failed requests.
        """
        ...

    def describe(self) -> Mapping[str, Any]:
        """Disclose runtime, versions, provider, precision and model digest as plain JSON data."""
        ...

    def close(self) -> None:
        """Release memory and processes. Called once."""
        ...


@runtime_checkable
class Backend(Protocol):
    """The declaration of a backend."""

    def load(self, base: Path) -> LoadedBackend:
        """Bring the candidate up; relative paths resolve against `base`, the conftest's folder.

        Raises `ProvisionError` when the offer cannot be brought up as declared.
        """
        ...
