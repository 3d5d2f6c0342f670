"""Quoting a published result in the form that MLCommons asks for, with what has to stand beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .benchmarks import facts
from .checks import standing
from .errors import MlperfError
from .records import Finding, Result
from .rules import Applied, apply
from .score import text_of

TRADEMARK = (
    "The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association in the "
    "United States and other countries. All rights reserved. Unauthorized use strictly prohibited. See "
    "www.mlcommons.org for more information."
)
_MISUSES = {
    "the name needs the registered sign: MLPerf®": re.compile(r"MLPerf(?!®| name and logo)\b"),
    "the name has no possessive": re.compile(r"MLPerf®?['\u2019]s"),
    "the name has no plural": re.compile(r"MLPerf®?s\b"),
    "the name is no verb": re.compile(r"MLPerf®?(?:ed|ing)\b"),
    "the name stands before the full name of a benchmark": re.compile(
        r"MLPerf®(?! (?:Inference|Open|v\d|Training|name))"
    ),
}


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote in two parts: the sentence for the text and the footnote that belongs to it."""

    sentence: str
    footnote: str
    obligations: tuple[Applied, ...]


def cite(result: Result, *, retrieved: str = "", source: str = "") -> Citation:
    """Quote a result. `retrieved` is the date the table was fetched, `source` the page or repository.

    What the caller does not know is said to be missing; the row's own file is named as the source by default.
    Raises `MlperfError` for a result whose log is no valid run.
    """
    unfit = next((one for one in standing((result,)) if one.rule == "invalid_log"), None)
    if unfit is not None:
        raise MlperfError(f"{result.name} is not to be quoted: {unfit.reason} [{unfit.rule}]")
    verified = result.origin == "summary"
    division = "Open" if result.division == "open" else result.division.title() or "division not stated"
    open_ = " Open" if result.division == "open" else ""
    suite = "/".join(result.suites) or "suite not stated"
    score = text_of(result.score) or "no usable score"
    model = f" running {result.model}" if result.swapped_model else ""
    state = "a" if verified else "an unverified"
    unit = f" (unit as the metric defines it; {result.label_fault})" if result.label_fault else ""
    sentence = (
        f"{result.submitter} published {state} result of {score}{unit} on the MLPerf®{open_} Inference "
        f"{result.round} {result.benchmark} {result.scenario} benchmark using "
        f"{result.system or result.platform} ({result.chips}){model}."
    )
    beside = tuple(obligations((result,), retrieved=retrieved))
    said = "".join(f" {_capital(one.reason)}." for one in beside if one.rule in {"verified", "snapshot_date"})
    footnote = (
        f"{'' if verified else 'Unverified '}MLPerf® Inference {result.round} {division} {suite} "
        f"{result.benchmark} {result.scenario}. Retrieved from {source or result.file} "
        f"{retrieved or 'on a date not recorded'}, entry {result.id or result.name}. "
        f"{'' if verified else 'Result not verified by MLCommons Association. '}"
        f"{f'Unit: {result.label_fault}. ' if result.label_fault else ''}{TRADEMARK}{said}"
    )
    return Citation(sentence, footnote, beside)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_UNVERIFIED = {
    "copy": "republished by a third party",
    "unofficial": "a row of an unofficial round, which MLCommons did not review",
    "log": "a log without a published row",
}


def obligations(results: tuple[Result, ...], *, retrieved: str = "") -> Iterator[Applied]:
    """Yield what has to stand beside any quote of these results."""
    for one in results:
        if one.origin == "summary":
            yield apply(
                "verified",
                f"{one.name} is a row of the table as supplied ({one.file}); this copy was not checked "
                "against mlcommons.org",
            )
        else:
            what = _UNVERIFIED[one.origin]
            yield apply("verified", f"{one.name} is {what}: write `unverified` beside it")
        if one.label_fault:
            yield apply("unit", f"{one.name}: {one.label_fault}", action="disclose")
    names = ", ".join(one.id or one.name for one in results)
    yield apply(
        "citation",
        "name submitter, benchmark with version, system; footnote with suite, division, scenario, date, "
        f"source, entry {names} and trademark",
    )
    opened = [one.name for one in results if one.division == "open"]
    yield apply(
        "naming",
        "write MLPerf® with the full name of the benchmark"
        + (f"; call {', '.join(opened)} MLPerf® Open" if opened else ""),
    )
    if retrieved:
        yield apply(
            "snapshot_date", f"tables are corrected after publication; this one was retrieved {retrieved}"
        )
    else:
        rounds = ", ".join(dict.fromkeys(f"{one.round} of {published(one.round)}" for one in results))
        yield apply(
            "snapshot_date",
            f"tables are corrected after publication and no date of retrieval was given ({rounds})",
        )


def published(round_: str) -> str:
    """Return a round's date of publication, or say that it is not established."""
    return str(facts().data["rounds"].get(round_, {}).get("published") or "a date not established")


def check_wording(text: str) -> tuple[Finding, ...]:
    """Return what is wrong with the use of the benchmark's name in a text that is to be published."""
    return tuple(
        Finding("naming", "", f"character {found.start()}", found[0], message)
        for message, pattern in _MISUSES.items()
        for found in pattern.finditer(text)
    )
