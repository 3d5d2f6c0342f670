"""The table at the end of a pytest run: plain text, the verdict's shape before its word."""

from __future__ import annotations

import re
import unicodedata

from pytest_procure.evidence.record import FindingRecord, Record, ResultRecord

from . import sealed, words
from .deciding import counted, finding_of
from .unlike import not_as_declared
from .visible import one_line, shorten

#: A line breaks here even where the terminal is narrower: below, nothing would be left beside the indent.
_NARROWEST = 40
_UNIT = re.compile(r"(%|ns|us|ms|s|[A-Z]{3})(\W|$)")
_PASSES = {"accept", "waived"}
_MARKUP = {
    "accept": {"green": True},
    "reject": {"red": True},
    "inconclusive": {"yellow": True},
    "invalid": {"yellow": True},
}


def lines(record: Record, *, width: int) -> list[str]:
    """Tell a record in lines of at most `width` columns (40 or more): results, decision, exit status.

    Text from outside is made visible and kept on its line. Colour is the caller's; see `markup`.
    """
    width = max(width, _NARROWEST)
    told: list[str] = []
    for number, requirement in enumerate(record["requirements"], start=1):
        head = f"{number}. "
        question = one_line(requirement["question"] or requirement["id"])
        told += wrapped(shorten(question, 2 * width), width, first=head, rest=" " * len(head))
        for result in requirement["results"]:
            told += _row(result, width)
    told.append("")
    for sentence in sealed.brief(record):
        told += wrapped(one_line(sentence), width, first="- ", rest="  ")
    for sentence in not_as_declared(record):
        told += wrapped(one_line(sentence), width, first="- ", rest="  ")
    told += wrapped(one_line(record["outcome"]["sentence"]), width)
    status = f"exit status {record['outcome']['exit_status']}"
    why = "; ".join(one_line(reason) for reason in _reasons(record))
    told += wrapped(f"{status} because {why}" if why else status, width)
    return told


def _reasons(record: Record) -> list[str]:
    """Give the reasons of the exit status; how each offer stands is said just above, and not said again."""
    outcome = record["outcome"]
    if outcome["exit_status"] == 0:
        missed = [each for each in record["candidates"] if each["verdict"] not in _PASSES]
        enough = "one offer that meets everything is enough (`--procure-award any`)"
        return [enough] if outcome["award"] == "any" and missed and outcome["accepted"] else []
    new = [each for each in outcome["reasons"] if each.replace(": ", " is ", 1) not in outcome["sentence"]]
    if len(new) == len(outcome["reasons"]):
        return new
    if record.get("mode") == "screen":
        return ["an offer was turned down", *new]
    passed = [each for each in record["candidates"] if each["verdict"] in _PASSES]
    return ["not every offer is accepted" if passed else "no offer is accepted", *new]


def markup(line: str) -> dict[str, bool]:
    """Give the arguments with which pytest's terminal writer colours a line; none if it tells no verdict."""
    for verdict in words.VERDICTS.values():
        if line.lstrip().startswith(f"{verdict.glyph} {verdict.result}"):
            return _MARKUP.get(verdict.style, {})
    return {}


def _row(result: ResultRecord, width: int) -> list[str]:
    verdict = words.VERDICTS[result["verdict"]]
    head = f"   {verdict.glyph} {verdict.result:<11}  "
    return wrapped(f"{shorten(result['candidate'], 40)}: {_why(result)}", width, first=head, rest=" " * 7)


def _why(result: ResultRecord) -> str:
    """Say what decided: the finding that turned an offer down, the declared bars of one that was accepted."""
    if result["problem"]:
        return one_line(result["problem"])
    if result["verdict"] == "accept":
        shown = [f for f in counted(result) if f["source"] == "declared"] or counted(result)
        return " · ".join(_numbers(finding) for finding in shown) or one_line(result["sentence"])
    finding = finding_of(result)
    if finding is None:
        return one_line(result["sentence"])
    if result["verdict"] == "reject":
        return _numbers(finding)
    # What is open is not told by its numbers: they may look good enough, or bad enough.
    hint = f". {one_line(finding['hint'])}" if finding["hint"] else ""
    return one_line(finding["sentence"]) + hint


def _numbers(finding: FindingRecord) -> str:
    return one_line(f"{finding['title']} {words.numbers(finding)}")


def wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """Break text into lines of at most `width` columns, between words where they are short enough."""
    found: list[str] = []
    line, begun = first, False
    for word in _words(text):
        left = word
        gap = " " if begun else ""
        if begun and _columns(line + gap + left) > width:
            found.append(line.rstrip())
            line, gap = rest, ""
        while _columns(line + gap + left) > width:
            part = _fitting(left, width - _columns(line + gap))
            found.append((line + gap + part).rstrip())
            left, line, gap = left[len(part) :], rest, ""
        line, begun = line + gap + left, True
    return [*found, line.rstrip()] if line.strip() or not found else found


def _words(text: str) -> list[str]:
    """Split text where it may break: not between a number and its unit."""
    found: list[str] = []
    for word in text.split():
        if found and found[-1][-1].isdigit() and _UNIT.match(word):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def _fitting(word: str, columns: int) -> str:
    """The longest start of a word that fits, at least one character."""
    taken = 0
    for position, character in enumerate(word):
        taken += _columns(character)
        if taken > columns and position:
            return word[:position]
    return word


def _columns(text: str) -> int:
    """Columns that a terminal gives text: two for wide characters, none for accents."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
