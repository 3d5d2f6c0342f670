"""What would decide: for each bar that was left undecided, the run that would settle it."""

from __future__ import annotations

from typing import NamedTuple

from pytest_procure.evidence.record import ResultRecord

from . import words

#: Sentences of a requirement, and bars that one of them names: a page has to stay light on the worst day.
_MOST, _NAMED = 4, 2


class Hint(NamedTuple):
    """A sentence on what would decide, with the bars and the candidates that it is about."""

    candidates: list[str]
    bars: str  # "answers right, at least 95 %"
    sentence: str


def hints(results: list[ResultRecord]) -> list[Hint]:
    """List what would decide, each sentence once for the same candidates.

    Nothing would where a bar was only observed, or where answers that are not good enough set it aside.
    """
    concerned: dict[tuple[str, str], dict[str, None]] = {}
    for result in results:
        for finding in result["findings"]:
            aside = finding["struck"] and result["verdict"] == "reject"
            if finding["hint"] and not (finding["observed_only"] or aside):
                bar = f"{finding['title']}, {words.asked(finding)}"
                concerned.setdefault((bar, finding["hint"]), {})[result["candidate"]] = None
    told: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for (bar, sentence), names in concerned.items():
        told.setdefault((tuple(names), sentence), []).append(bar)
    return [Hint(list(names), _few(bars), sentence) for (names, sentence), bars in told.items()][:_MOST]


def _few(bars: list[str]) -> str:
    left_out = len(bars) - _NAMED
    return "; ".join(bars if left_out <= 0 else [*bars[:_NAMED], f"{left_out} more"])
