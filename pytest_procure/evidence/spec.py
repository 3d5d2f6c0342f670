"""The sealed spec: what is fixed before anything is measured, as plain data (`procure-spec.json`).

    Spec
    ├── task, rule         what is bought, and the risks of the decision rule
    ├── expires, retest    until when a result on it holds, and what asks for a new one
    ├── candidates         what each offer states, and what its backend discloses once loaded
    ├── datasets           each slice: rule, scorers, and the salted digest of every item
    ├── requirements       one committee question each: bars, asserts, traffic, who answers for it, waivers
    └── files              digests of the suite's own files that the tests draw on

The file is indented and sorted, so that a change of one thing is a diff of one line. The spec's digest is the
SHA-256 of its canonical JSON (RFC 8785). It holds no date of its own: the same suite gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict, cast

from pytest_procure.errors import EvidenceError, unwritten

from .canonical import digest
from .whole import replace

NAME = "procure-spec.json"
FORMAT = "pytest-procure/spec"
VERSION = 1  # 1: first format
_SEAL_AGAIN = "restore it from version control, or seal again with `pytest --procure-seal`"


class SealedBar(TypedDict):
    """A declared bar. Values are exact: a decimal number as text, and its unit."""

    metric: str
    sense: str
    value: str
    unit: str
    design: str
    consumer_risk: float | None  # None: the suite's
    latency: str  # of goodput; ""
    correct: str  # of goodput; ""
    against: str  # the candidate that it compares with; ""
    text: str


class SealedWaiver(TypedDict):
    """Who lets a requirement pass that is not met."""

    candidate: str  # "" for every candidate
    owner: str
    reason: str
    expires: str


class SealedOffer(TypedDict):
    """A requirement on one candidate."""

    test: str  # node id
    slice: str  # key in `datasets`; "" where nothing was looked at yet


class SealedRequirement(TypedDict):
    """One committee question."""

    question: str
    owner: str
    risk: str  # what goes wrong where it is not met
    scenario: dict[str, Any]
    bars: list[SealedBar]
    asserts: list[str]
    source: str
    offers: dict[str, SealedOffer]  # by candidate
    waivers: list[SealedWaiver]


class SealedSlice(TypedDict):
    """The samples of a test."""

    about: dict[str, Any]  # name, version, licence, rule, n, of, strata
    scorers: dict[str, dict[str, str]]  # metric -> id, source
    root: str  # Merkle root (RFC 6962) of the items
    items: list[str]  # salted digests, in the order of the slice
    groups: str  # salted digest of which items belong together


class SealedCandidate(TypedDict):
    """One offer."""

    stated: dict[str, Any]
    disclosed: dict[str, Any]
    digest: str


class Spec(TypedDict):
    """The whole of `procure-spec.json`."""

    format: str
    version: int
    plugin: str  # major and minor version
    task: dict[str, str]
    rule: dict[str, Any]
    expires: str
    retest: list[str]
    salt: str  # what tells the salt from another
    candidates: dict[str, SealedCandidate]
    datasets: dict[str, SealedSlice]
    requirements: dict[str, SealedRequirement]
    files: dict[str, str]


#: What the parts of a spec have to be, so that a file edited by hand is refused and not misread.
_SHAPES: dict[str, type] = {
    "plugin": str, "task": dict, "rule": dict, "expires": str, "retest": list, "salt": str,
    "candidates": dict, "datasets": dict, "requirements": dict, "files": dict,
}  # fmt: skip
_PARTS = {
    "candidates": SealedCandidate,
    "datasets": SealedSlice,
    "requirements": SealedRequirement,
}


def spec_digest(spec: Spec) -> str:
    """Give the SHA-256 of a spec's canonical JSON."""
    return digest(spec)


def dumps(spec: Spec) -> str:
    """Write a spec as it is committed: indented, sorted, one trailing newline."""
    return json.dumps(spec, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read(folder: Path) -> Spec | None:
    """Read the spec of a folder; None if there is none. Raises `EvidenceError` for one that is damaged."""
    try:
        told = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise EvidenceError(f"{NAME} cannot be read: {error}; {_SEAL_AGAIN}") from error
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise EvidenceError(f"{NAME} is no sealed spec; {_SEAL_AGAIN}")
    if told.get("version") != VERSION:
        raise EvidenceError(
            f"{NAME} has format version {told.get('version')!r}; this plugin reads {VERSION}; seal again"
        )
    wrong = next(_misshapen(told), "")
    if wrong:
        raise EvidenceError(f"{NAME}: `{wrong}` is missing or is not what a seal writes; {_SEAL_AGAIN}")
    return cast("Spec", told)


def write(folder: Path, spec: Spec) -> Path:
    """Write a spec, whole or not at all. Raises `EvidenceError`."""
    path = folder / NAME
    try:
        replace(path, dumps(spec).encode(), 0o644)  # it is made to be read by others
    except OSError as error:
        raise unwritten(NAME, error, folder) from error
    return path


def _misshapen(told: dict[str, Any]) -> Iterator[str]:
    """Name what a spec lacks, part by part; the first that is named is the only one that need be right."""
    yield from (key for key, kind in _SHAPES.items() if not isinstance(told.get(key), kind))
    for part, shape in _PARTS.items():
        yield from (f"{part}.{name}" for name, held in told[part].items() if not _fits(held, shape))
    for name, requirement in told["requirements"].items():
        within = {
            "offers": (SealedOffer, requirement["offers"].values()),
            "bars": (SealedBar, requirement["bars"]),
            "waivers": (SealedWaiver, requirement["waivers"]),
        }
        for key, (shape, held) in within.items():
            yield from (f"requirements.{name}.{key}" for each in held if not _fits(each, shape))


def _fits(held: Any, shape: Any) -> bool:
    return isinstance(held, dict) and set(held) == set(shape.__annotations__)
