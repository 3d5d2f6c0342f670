"""What an offer declares of itself, held against what its backend observes.

precision   invalidates where none of what runs is of it; a mixture is told, and where nobody could see it
device      invalidates: a run on the CPU instead of an accelerator, or the other way, or on another GPU
digest      invalidates: it is another model
provider    told: one that did not start, or nodes that it left to the CPU
batch       told: the model takes one size of batch, and another was declared
threads     told: another number, or more than there are processors for
runtime     told: another name or version
backend     told: the suite's `backend` fixture gave another than the offer's
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .backends.precision import PACKABLE, PACKS, SMALL, TRACE, bits_of, declared
from .candidates import Candidate
from .deviation import Deviation
from .errors import DataError, ProvisionError, unknown

#: Words of an offer's hardware that a run on the CPU cannot be of.
_ACCELERATOR = re.compile(
    r"(?<![A-Za-z0-9])(GPU|CUDA|G?[ABHL]\d{1,3}[GS]?|V100|T4|RTX\s?\w*|MI\d{3}\w?|TPU|NPU)s?(?![A-Za-z0-9])"
)
#: Words of an offer's hardware that name processors, where no accelerator is named beside them.
_PROCESSOR = re.compile(
    r"(?<![A-Za-z0-9])(v?CPU|Xeon|EPYC|Ryzen|Graviton\d?)s?(?![A-Za-z0-9])", re.IGNORECASE
)
#: The models of NVIDIA's GPUs, as offers and their driver write them.
_MODEL = re.compile(r"(?<![A-Za-z0-9])(G?[ABHL]\d{1,3}[GS]?|V100|T4|(?<=RTX )\w+)(?![A-Za-z0-9])")
_CPU_PROVIDER = "CPUExecutionProvider"
_NAMED = re.compile(r"\s*([A-Za-z][\w.-]*?)[ =-]+v?(\d[\w.]*)\s*")


def deviations(
    candidate: Candidate,
    told: Mapping[str, Any],
    *,
    max_batch: int | None = None,
    processors: int | None = None,
) -> list[Deviation]:
    """Compare what a candidate states with what its loaded backend discloses under `observed`.

    `max_batch`: of the scenario, where the candidate has no batch policy of its own; `processors`: that its
    threads may use. What its backend was
    told (`declared`) is compared with what it found likewise.

    What a backend does not observe, and words that are not known here, are not compared. Stages of a pipeline
    have precisions of their own: the offer's is held against all of them together.
    """
    found = [_precision(candidate, told), _device(candidate, told), _runtime(candidate, told)]
    for part in _parts(told):
        stated, seen = _mapping(part, "declared"), _mapping(part, "observed")
        batch = candidate.max_batch or max_batch
        found += [
            _digest(stated, seen),
            _providers(stated, seen),
            _left_to_the_cpu(stated, seen),
            _batch(batch, seen),
            _threads(stated, seen, processors),
        ]
    return [each for each in found if each is not None]


def put_in_place(candidate: Candidate, told: Mapping[str, Any]) -> Deviation:
    """Tell of a backend that the suite measured in place of the offer's own, as its fixture may."""
    named = next((str(told[key]) for key in ("function", "model", "runtime") if told.get(key)), "another")
    stated = type(candidate.backend).__name__
    return Deviation(
        "backend", stated, f"`{named}`, put in its place by the suite's fixture", invalidates=False
    )


def refuse_deviating(candidate: Candidate, told: Mapping[str, Any]) -> None:
    """Raise `ProvisionError` where a candidate that others are compared with is not what it says."""
    wrong = [each.sentence for each in deviations(candidate, told) if each.invalidates]
    if wrong:
        raise ProvisionError(f"candidate `{candidate.name}` is no measure for others: {'; '.join(wrong)}")


def refuse_unfit(told: Mapping[str, Any], inputs: Any) -> None:
    """Raise `DataError` for samples without what a backend was told to take of them (`keys`: input -> key).

    That is the suite's own mistake; asked, each request would fail and stand against the offer. Of a dataset
    that is read as it is used, the first sample is looked at.
    """
    stage = next(iter(told.get("stages", ())), {"backend": told})
    keys = _mapping(stage["backend"], "keys") if not stage.get("takes") else {}
    for sample in inputs if isinstance(inputs, list | tuple) else inputs[:1]:
        for key in keys.values():
            try:
                sample[key]
            except (LookupError, TypeError, ValueError):
                raise DataError(_lacks(sample, key, keys)) from None


def _lacks(sample: Any, key: str, keys: Mapping[str, str]) -> str:
    names = sample if isinstance(sample, Mapping) else getattr(getattr(sample, "dtype", None), "names", None)
    if names is None:
        wanted = ", ".join(f"`{each}`" for each in keys.values())
        return f"a sample is a {type(sample).__name__}; the model takes a mapping with {wanted}"
    return f"a sample: {unknown('key', key, map(str, names))}"


def files_of(told: Mapping[str, Any]) -> list[Any]:
    """List the files that a backend read, with their digests, and those of each stage of a pipeline."""
    return [each.get("files") for each in _parts(told)]


def notes_of(candidates: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give for a report what backends note, where offers are not as declared, and what nobody saw."""
    return [
        f"Candidate `{candidate['name']}`: {note}."
        for candidate in candidates
        for note in [
            *candidate["backend"].get("notes", ()),
            *candidate["backend"].get("deviations", ()),
            *_unobserved(candidate),
        ]
    ]


def _unobserved(candidate: Mapping[str, Any]) -> list[str]:
    """What an offer that was loaded declares, and nobody could hold against anything."""
    stated, told = candidate.get("precision", ""), candidate["backend"]
    if not stated or not told or _shares_of(told):
        return []
    return [f"precision: declared `{stated}`, and not observed, because nothing that runs shows it"]


def _shares_of(told: Mapping[str, Any], of: str = "precision") -> dict[str, float]:
    """Give the largest share of each precision that any part of what runs has, of its weights or layers."""
    shares: dict[str, float] = {}
    for each in _observed(told):
        for word, share in _mapping(each, of).items():
            shares[word] = max(share, shares.get(word, 0.0))
    return shares


def _precision(candidate: Candidate, told: Mapping[str, Any]) -> Deviation | None:
    asked, shares = declared(candidate.precision), _shares_of(told)
    layers = _shares_of(told, "layers")
    counted = [*shares.items(), *layers.items()]
    large = {word for word, share in counted if share >= SMALL}
    if not asked or not large:
        return None
    observed = f"weights or operators in {_listed(shares)}"
    if {word for word, share in layers.items() if share >= TRACE} - {
        word for word, share in shares.items() if share >= SMALL
    }:
        observed += f", and layers in {_listed(layers)}"
    narrowest = min(map(bits_of, asked))
    large |= {word for word, share in counted if share >= TRACE and bits_of(word) < narrowest}
    if not asked & large:
        packed = bool(large & PACKS and asked & PACKABLE)  # as what, nobody can say
        return Deviation("precision", candidate.precision, observed, invalidates=not packed)
    if large - asked:
        return Deviation("precision", candidate.precision, observed, invalidates=False)
    return None


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(
        f"{word} ({f'{share:.0%}' if share >= TRACE else 'below 1%'})"
        for word, share in sorted(shares.items(), key=_by_share)
    )


def _by_share(each: tuple[str, float]) -> tuple[float, str]:
    return -each[1], each[0]


def _device(candidate: Candidate, told: Mapping[str, Any]) -> Deviation | None:
    devices = [each["device"] for each in _observed(told) if "device" in each]
    others = [device for device in devices if device != "cpu"]
    accelerated = _ACCELERATOR.search(candidate.hardware) is not None
    seen = ""
    if devices and not others and accelerated:
        seen = "a run on the CPU"
    elif others and not accelerated and _PROCESSOR.search(candidate.hardware):
        seen = f"a run on {' and '.join(others)}"
    elif stated := set(_MODEL.findall(candidate.hardware)):
        gpus = [str(name) for name in told.get("gpus", ())]
        if gpus and not any(stated & set(_MODEL.findall(name)) for name in gpus):
            seen = f"a run on {' and '.join(gpus)}"
    return Deviation("device", candidate.hardware, seen, invalidates=True) if seen else None


def _digest(stated: Mapping[str, Any], seen: Mapping[str, Any]) -> Deviation | None:
    asked, found = stated.get("sha256"), seen.get("sha256")
    if not asked or not found or str(asked).lower() == str(found).lower():
        return None
    return Deviation("model digest", str(asked)[:16], f"`{str(found)[:16]}`", invalidates=True)


def _providers(stated: Mapping[str, Any], seen: Mapping[str, Any]) -> Deviation | None:
    asked, found = list(stated.get("providers") or ()), list(seen.get("providers") or ())
    if not found or not set(asked) - set(found):
        return None
    return Deviation("provider", ", ".join(asked), ", ".join(found), invalidates=False)


def _left_to_the_cpu(stated: Mapping[str, Any], seen: Mapping[str, Any]) -> Deviation | None:
    asked, nodes = list(stated.get("providers") or ()), _mapping(seen, "nodes")
    left, of_all = nodes.get(_CPU_PROVIDER, 0), sum(nodes.values())
    if not asked or asked[0] == _CPU_PROVIDER or left <= SMALL * of_all:
        return None
    return Deviation("provider", asked[0], f"{left} of {of_all} nodes on {_CPU_PROVIDER}", invalidates=False)


def _batch(asked: int | None, seen: Mapping[str, Any]) -> Deviation | None:
    size = seen.get("batch")
    if asked is None or size is None or size == asked:
        return None
    return Deviation(
        "batch", str(asked), f"a model that takes {size} at a time and no other", invalidates=False
    )


def _threads(stated: Mapping[str, Any], seen: Mapping[str, Any], room: int | None) -> Deviation | None:
    asked, found = stated.get("threads"), seen.get("threads")
    if asked is None or found is None:
        return None
    if asked != found:
        return Deviation("threads", str(asked), str(found), invalidates=False)
    if room is not None and asked > room:
        return Deviation("threads", str(asked), f"processors for {room} of them", invalidates=False)
    return None


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
    return [each["observed"] for each in _parts(told) if isinstance(each.get("observed"), Mapping)]


def _parts(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [told, *(stage["backend"] for stage in told.get("stages", ()))]


def _mapping(told: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = told.get(key)
    return found if isinstance(found, Mapping) else {}
