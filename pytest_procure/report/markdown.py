"""A summary in Markdown, for the page that a CI service shows beside a run."""

from __future__ import annotations

import html
import re

from pytest_procure.evidence.record import CandidateRecord, Record

from . import sealed, words
from .deciding import Deciding, cards
from .page import report_id
from .unlike import not_as_declared
from .visible import one_line, shorten

_SPECIAL = re.compile(r"([\\`*_\[\]|~#])")


def summary(record: Record) -> str:
    """Summarise a record: the decision, a row a candidate, the exit status. Text from outside stays text."""
    noted = [*sealed.brief(record), *not_as_declared(record)]
    lines = [
        f"## {_text(record['title'] or 'Acceptance report')}",
        "",
        _text(record["outcome"]["sentence"]),
        "",
        *(f"- {_text(told)}" for told in noted),
        *([""] if noted else []),
        "| Verdict | Candidate | What decided |",
        "| --- | --- | --- |",
    ]
    for candidate, decided in cards(record):
        verdict = words.VERDICTS[candidate["verdict"]]
        name = _text(shorten(candidate["name"], 80))
        lines.append(f"| {verdict.glyph} {verdict.candidate} | {name} | {_text(_why(candidate, decided))} |")
    why = "; ".join(record["outcome"]["reasons"])
    status = f"Exit status {record['outcome']['exit_status']}"
    lines += ["", f"{status}: {_text(why)}" if why else status, "", f"Report {report_id(record)}"]
    return "\n".join(lines) + "\n"


def _why(candidate: CandidateRecord, decided: Deciding | None) -> str:
    if decided is None or decided.result["problem"]:
        return decided.result["problem"] if decided else candidate["sentence"]
    if decided.finding is None:
        return decided.result["sentence"]
    return f"{decided.finding['title']} {words.numbers(decided.finding)}"


def _text(text: str) -> str:
    """Escape what Markdown or HTML would read as more than text."""
    return _SPECIAL.sub(r"\\\1", html.escape(one_line(text), quote=False))
