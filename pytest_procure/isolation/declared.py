"""How an offer is run: in this process, or in one of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_procure.errors import DeclarationError, unknown
from pytest_procure.units import Quantity

if TYPE_CHECKING:
    from pytest_procure.backends.protocol import Backend
    from pytest_procure.candidates import Candidate

WAYS = ("none", "process")


@dataclass(frozen=True, slots=True)
class Isolation:
    """`way`: "none" or "process"; `memory_limit`: what the processes of a candidate may hold together."""

    way: str = "none"
    memory_limit: Quantity | None = None

    @property
    def own_process(self) -> bool:
        """Whether the candidate gets a process of its own."""
        return self.way == "process"

    def host(self, backend: Backend) -> Backend:
        """Give the backend as it is to be loaded; an endpoint runs elsewhere as it is."""
        if not self.own_process or getattr(backend, "remote", False):
            return backend
        from .hosted import Hosted  # noqa: PLC0415 - only suites that ask for it pay

        limit = None if self.memory_limit is None else int(self.memory_limit.to("B"))
        return Hosted(backend, limit)


HERE = Isolation()


def isolation_of(candidate: Candidate, default: str) -> Isolation:
    """Read how a candidate is run: as it declares itself, else as the suite's ini says (`default`).

    Raises `DeclarationError` for a default that cannot be meant, and for a limit that nobody would keep.
    """
    if default and default not in WAYS:
        raise DeclarationError(f"ini key `procure_isolation`: {unknown('isolation', default, WAYS)}")
    way = candidate.isolation or default or "none"
    if way == "none" and candidate.memory_limit is not None:
        raise DeclarationError(
            f"`memory_limit` of candidate `{candidate.name}` can be held only in a process of its own; "
            "add `isolation='process'`"
        )
    return Isolation(way, candidate.memory_limit)
