"""Any Python callable as a backend: a rule, a remote client of the buyer's own, a baseline to beat."""

from __future__ import annotations

import hashlib
import inspect
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, cast

from pytest_procure.calling import declared
from pytest_procure.errors import DeclarationError


@declared
@dataclass(frozen=True, slots=True)
class Function:
    """Declares a callable that answers a batch: it takes b inputs and gives b outputs in the same order.

    `device` is where it computes (`cpu`, `cuda:0`, `remote`); set `releases_gil` if it spends its time
    outside Python's lock, so that several threads may serve side by side.
    """

    callable: Callable[[Any], Any]
    _: KW_ONLY
    name: str = ""
    device: str = "cpu"
    releases_gil: bool = False

    def __post_init__(self) -> None:
        if not callable(self.callable):
            raise DeclarationError(f"`Function({self.callable!r})` cannot be called; expected a function")

    def load(self, base: Path) -> LoadedFunction:
        """Give the callable as a loaded backend; there is nothing to bring up."""
        del base
        return LoadedFunction(self)


class LoadedFunction:
    """A callable that answers."""

    def __init__(self, declared: Function) -> None:
        self._declared = declared
        self._call = declared.callable

    @property
    def device(self) -> str:
        """Where it runs, as declared."""
        return self._declared.device

    @property
    def releases_gil(self) -> bool:
        """Whether it runs outside Python's lock, as declared."""
        return self._declared.releases_gil

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Answer a batch. Raises `TypeError` if the callable answers with one thing instead of a sequence."""
        outputs = self._call(inputs)
        if isinstance(outputs, str | bytes | Mapping):
            # A text has a length too: its letters would be taken for the answers.
            raise TypeError(f"answered with one {type(outputs).__name__}; expected one output for each input")
        if hasattr(outputs, "__len__"):
            return cast("Sequence[Any]", outputs)
        return list(outputs)

    def describe(self) -> dict[str, Any]:
        """Disclose the callable's name and the digest of its source, None where there is no source."""
        return {
            "runtime": f"Python {platform.python_version()}",
            "function": self._declared.name or qualified_name(self._call),
            "source_sha256": _source_digest(self._call),
            "device": self.device,
        }

    def close(self) -> None:
        """Nothing to release."""


def qualified_name(function: Callable[..., Any]) -> str:
    """The dotted name of a callable; of its class for an instance."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _source_digest(function: Callable[..., Any]) -> str | None:
    try:
        source = inspect.getsource(function if hasattr(function, "__qualname__") else type(function))
    except (OSError, TypeError):
        return None
    return hashlib.sha256(source.encode()).hexdigest()
