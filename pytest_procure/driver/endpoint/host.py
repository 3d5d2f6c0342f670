"""The server that was started for the run, where there is one; nothing of it for an endpoint elsewhere."""

from __future__ import annotations

from typing import Any

from pytest_procure.backends.protocol import LoadedEndpoint
from pytest_procure.backends.served import LoadedServed
from pytest_procure.isolation.endings import Ending


class Host:
    """The server of one backend, during one run. Raises `ProvisionError` where it cannot be brought up."""

    def __init__(self, backend: LoadedEndpoint) -> None:
        self._served = backend if isinstance(backend, LoadedServed) else None
        if self._served is not None:
            self._served.begin()
        self._log_before = 0 if self._served is None else self._served.log_bytes[0]

    def ended(self) -> str:
        """Tell how it has ended, as far as is known by now: what is still due is not asked of nobody."""
        ending = None if self._served is None else self._served.ending()
        return "" if ending is None else ending.sentence

    def endings(self) -> tuple[Ending, ...]:
        """Tell how it has ended, when the run is over."""
        ending = None if self._served is None else self._served.ending(patient=True)
        return () if ending is None else (ending,)

    def log_bytes(self) -> tuple[int, int]:
        """Count what it has written into its log in this run, and how much of its log is kept at most."""
        if self._served is None:
            return 0, 0
        written, most = self._served.log_bytes
        return written - self._log_before, most

    def conditions(self) -> dict[str, Any]:
        """Disclose what it did so far, as plain JSON data."""
        return {} if self._served is None else self._served.conditions()
