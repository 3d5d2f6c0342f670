"""A provisioned candidate: loaded, kept on its device, loaded anew for each launch, and closed once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import threads
from .backends import Backend, LoadedBackend
from .backends.protocol import Admitting, Reachable
from .errors import DeclarationError, ProcureError, ProvisionError
from .isolation.declared import HERE, Isolation
from .redaction import redacted
from .telemetry.driver import holders, names_of
from .telemetry.instruments import Instruments
from .telemetry.visible import ordinals

#: Who held a GPU before a declared backend was first loaded. It is not asked again: who came since may be of
#: its doing, and may have stayed when it was closed. The backend is kept, so that no other takes its id.
_held_before: dict[int, tuple[Backend, frozenset[int]]] = {}


class Provisioned:
    """A loaded backend that can be loaded again. It is itself a loaded backend and passes everything on.

    Raises `DeclarationError` for one that is to have a process of its own and is loaded in this one already.
    """

    def __init__(self, backend: Backend | LoadedBackend, base: Path, isolation: Isolation = HERE) -> None:
        self._given = backend
        self._declared = isolation.host(backend) if isinstance(backend, Backend) else None
        if self._declared is None and isolation.own_process:
            raise DeclarationError(
                f"the `backend` fixture gave a loaded {type(backend).__name__}, which cannot be moved into a "
                "process of its own; give it declared, as OnnxRuntime(...), or declare `isolation='none'`"
            )
        self.base = base
        self.isolation = isolation
        self.troubles: list[str] = []  # what went wrong in closing, which changes nothing that was measured
        self.stages = stages_of(backend)
        self.before = _before(backend) if isinstance(backend, Backend) else frozenset[int]()
        self.hung = False  # a call never returned; nothing more can be asked of it
        self.loaded: LoadedBackend = self._load() if isinstance(backend, Backend) else backend

    def is_of(self, backend: Backend) -> bool:
        """Whether this is what an offer declares, and not what a suite put in its place."""
        return self._given is backend

    @property
    def device(self) -> str:
        """Where it runs."""
        return self.loaded.device

    @property
    def _variables(self) -> Mapping[str, str]:
        """The environment of the process that computes: this one's, unless the backend tells of another."""
        told = getattr(self.loaded, "variables", None)
        return told if isinstance(told, Mapping) else os.environ

    def instruments(self) -> Instruments:
        """Find what there is to read of its device while it is measured."""
        return Instruments.of(self.device, self._variables, self.before)

    @property
    def releases_gil(self) -> bool:
        """Whether several threads can be served side by side."""
        return self.loaded.releases_gil

    def reach(self, samples: Sequence[Any] = ()) -> None:
        """See that it is there, and may be asked, where that can be seen. Raises `ProvisionError`."""
        if isinstance(self.loaded, Reachable):
            self.loaded.reach()
        if samples and isinstance(self.loaded, Admitting):
            self.loaded.admit(samples)

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Answer a batch."""
        return self.loaded.predict(inputs)

    def describe(self) -> Mapping[str, Any]:
        """Disclose what runs. Raises `ProvisionError` for what no record can hold: no plain JSON data."""
        told = dict(self.loaded.describe())
        if names := names_of(self.device, self._variables):
            told["gpus"] = names
        try:
            json.dumps(told, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ProvisionError(
                f"`describe()` of the backend gave what is no plain JSON data: {error}"
            ) from error
        return told

    def reload(self) -> None:
        """Close and load anew, so that the next launch shares nothing with the last but the file."""
        if self._declared is None:
            raise DeclarationError(
                "`launches=` needs a backend that can be loaded anew; this one was given loaded"
            )
        self.close()
        self.loaded = self._load()

    def close(self) -> None:
        """Release what was loaded here, unless a call still runs in it. Raises nothing: `troubles` tells."""
        if self._declared is None or self.hung:
            return
        try:
            self.loaded.close()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what was measured stands all the same
            self.troubles.append(redacted(f"{type(error).__name__}: {error}"))

    def _load(self) -> LoadedBackend:
        assert self._declared is not None, "only a declared backend is loaded"
        try:
            with threads.of_candidate():
                return self._declared.load(self.base)
        except ProcureError:
            raise
        except (Exception, SystemExit) as error:
            name = type(self._declared).__name__
            raise ProvisionError(
                f"backend {name} could not be loaded: {type(error).__name__}: {error}"
            ) from error


def _before(backend: Backend) -> frozenset[int]:
    """Number who held a GPU before a backend was first loaded; nobody of one that says it uses none."""
    if not ordinals(str(getattr(backend, "device", "cuda"))):
        return frozenset()
    if id(backend) not in _held_before:
        _held_before[id(backend)] = (backend, holders())
    return _held_before[id(backend)][1]


def stages_of(backend: Backend | LoadedBackend) -> tuple[str, ...]:
    """Name the stages of a pipeline; nothing for any other backend, whatever it says of stages itself."""
    from .backends.pipeline import LoadedPipeline, Pipeline  # noqa: PLC0415 - it knows prices

    return backend.names if isinstance(backend, (Pipeline, LoadedPipeline)) else ()


def provisioned(backend: Any, base: Path, isolation: Isolation = HERE) -> Provisioned:
    """Take what a `backend` fixture may give: declared, loaded, or any callable that answers a batch."""
    if isinstance(backend, Provisioned):
        return backend
    if isinstance(backend, (Backend, LoadedBackend)):
        return Provisioned(backend, base, isolation)
    if callable(backend):
        from .backends import Function  # noqa: PLC0415 - only suites that bring a bare callable need it

        return Provisioned(Function(backend), base, isolation)
    raise DeclarationError(
        f"the `backend` fixture gave {type(backend).__name__}; expected a backend such as OnnxRuntime(...)"
    )
