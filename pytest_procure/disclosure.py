"""What an offer declares of itself, held against what its backend observes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .backends.precision import SMALL, declared
from .candidates import Candidate
from .errors import ProvisionError

#: Words of an offer's hardware that a run on the CPU cannot be of.
_ACCELERATOR = re.compile(
    r"(?<![A-Za-z0-9])(GPU|CUDA|[ABHL]\d{1,3}S?|V100|T4|RTX\s?\w*|MI\d{3}\w?|TPU|NPU)(?![A-Za-z0-9])"
)
_NAMED = re.compile(r"\s*([A-Za-z][\w.-]*?)[ =-]+v?(\d[\w.]*)\s*")


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that is not as declared; with `invalidates` the run says nothing of the offer."""

    what: str
    declared: str
    observed: str
    invalidates: bool

    @property
    def sentence(self) -> str:
        """The deviation in words."""
        return f"{self.what}: declared `{self.declared}`, observed {self.observed}"


def deviations(candidate: Candidate, told: Mapping[str, Any]) -> list[Deviation]:
    """Compare what a candidate states with what its loaded backend discloses under `observed`.

    What a backend does not observe, and words that are not known here, are not compared. Stages of a pipeline
    have precisions of their own: the offer's is held against all of them together.
    """
    found = [_precision(candidate, told), _device(candidate, told), _runtime(candidate, told)]
    return [each for each in found if each is not None]


def refuse_deviating(candidate: Candidate, told: Mapping[str, Any]) -> None:
    """Raise `ProvisionError` where a candidate that others are compared with is not what it says."""
    wrong = [each.sentence for each in deviations(candidate, told) if each.invalidates]
    if wrong:
        raise ProvisionError(f"candidate `{candidate.name}` is no measure for others: {'; '.join(wrong)}")


def notes_of(candidates: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give for a report what the backends note of themselves, and where an offer is not what it declares."""
    return [
        f"Candidate `{candidate['name']}`: {note}."
        for candidate in candidates
        for note in [*candidate["backend"].get("notes", ()), *candidate["backend"].get("deviations", ())]
    ]


def _precision(candidate: Candidate, told: Mapping[str, Any]) -> Deviation | None:
    asked = declared(candidate.precision)
    shares: dict[str, float] = {}
    for each in _observed(told):
        for word, share in each.get("precision", {}).items():
            shares[word] = max(share, shares.get(word, 0.0))
    large = {word for word, share in shares.items() if share >= SMALL}
    if not asked or not large:
        return None
    listed = ", ".join(f"{word} ({share:.0%})" for word, share in sorted(shares.items(), key=_by_share))
    observed = f"weights or operators in {listed}"
    if not asked & large:
        return Deviation("precision", candidate.precision, observed, invalidates=True)
    if large - asked:
        return Deviation("precision", candidate.precision, observed, invalidates=False)
    return None


def _by_share(each: tuple[str, float]) -> tuple[float, str]:
    return -each[1], each[0]


def _device(candidate: Candidate, told: Mapping[str, Any]) -> Deviation | None:
    devices = [each["device"] for each in _observed(told) if "device" in each]
    if not devices or any(device != "cpu" for device in devices):
        return None
    if not _ACCELERATOR.search(candidate.hardware):
        return None
    return Deviation("device", candidate.hardware, "a run on the CPU", invalidates=True)


def _runtime(candidate: Candidate, told: Mapping[str, Any]) -> Deviation | None:
    stated, runs = _NAMED.fullmatch(candidate.runtime), _NAMED.fullmatch(str(told.get("runtime", "")))
    if stated is None or runs is None:
        return None
    same_name = stated[1].lower() == runs[1].lower()
    if same_name and f"{runs[2]}.".startswith(f"{stated[2]}."):
        return None
    return Deviation("runtime", candidate.runtime, f"`{told['runtime']}`", invalidates=False)


def _observed(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a backend observes, and each stage of a pipeline."""
    parts = [told, *(stage["backend"] for stage in told.get("stages", ()))]
    return [each["observed"] for each in parts if isinstance(each.get("observed"), Mapping)]
