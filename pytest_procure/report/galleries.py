"""The failure gallery, worded: which samples went wrong, with what was asked, expected and answered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_procure.evidence.record import RequirementRecord
from pytest_procure.evidence.shown import FailureRecord, GalleryRecord

from . import words
from .deciding import declared_run
from .visible import shorten

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_ANSWER, _TEXT = 90, 200


class Answer(NamedTuple):
    """What a candidate made of a sample."""

    candidate: str
    said: str  # "" where the dataset withholds its samples
    picked: str


@dataclass(slots=True)
class Failure:
    """A sample that went wrong, with the candidates that are shown for it."""

    number: int
    stratum: str
    image: str  # PNG in base64, or ""
    text: str  # of the sample, where it is text
    expected: str
    answers: list[Answer] = field(default_factory=list)

    @property
    def alike(self) -> dict[tuple[str, str], list[str]]:
        """Candidates by (what was said, how it was picked): what several said is told once."""
        found: dict[tuple[str, str], list[str]] = {}
        for answer in self.answers:
            found.setdefault((answer.said, answer.picked), []).append(answer.candidate)
        return found


@dataclass(slots=True)
class Gallery:
    """The failures of a requirement that are shown, over all candidates."""

    counted: list[tuple[str, str]]  # candidate -> how many of its samples failed
    withheld: bool
    failures: list[Failure]


def gallery(requirement: RequirementRecord) -> Gallery | None:
    """Lay out what the marked runs got wrong, sample by sample; None where nothing did."""
    told: list[tuple[str, str, GalleryRecord]] = []
    for result in requirement["results"]:
        run = declared_run(result["runs"])
        if run is not None and "gallery" in run:
            told.append((result["candidate"], str(run["slice"].get("digest", "")), run["gallery"]))
    if not told:
        return None
    found: dict[tuple[str, int], Failure] = {}
    for candidate, data, shown in told:
        for failure in shown["shown"]:
            sample = found.setdefault((data, failure["item"]), _failure(failure))
            sample.answers.append(Answer(candidate, _said(failure), failure["picked"]))
    counted = [(name, _counted(shown)) for name, _, shown in told]
    ordered = sorted(found.values(), key=lambda f: (f.stratum, f.number))
    return Gallery(counted, any(shown["withheld"] for _, _, shown in told), ordered)


def _counted(shown: GalleryRecord) -> str:
    scorer = shown["scorer"].removeprefix("quality.").replace("_", " ")
    return f"{shown['failures']:,} of {words.count(shown['of'], 'samples')} failed by {scorer}"


def _failure(failure: FailureRecord) -> Failure:
    image = failure.get("image", "")
    return Failure(
        failure["item"],
        failure["stratum"],
        image if _BASE64.fullmatch(image) else "",
        shorten(failure.get("text", ""), _TEXT),
        shorten(failure.get("expected", ""), _ANSWER),
    )


def _said(failure: FailureRecord) -> str:
    said = shorten(failure["answered"], _ANSWER) or "nothing" if "answered" in failure else ""
    return f"{said} (scored {words.plain(failure['score'])})" if failure["score"] > 0 else said
