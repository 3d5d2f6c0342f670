"""What the page shows, made from a record: the templates only lay it out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from pytest_procure.evidence.record import (
    CandidateRecord,
    FindingRecord,
    Record,
    RequirementRecord,
    ResultRecord,
    RunRecord,
    dumps,
)

from . import words
from .against import Pair, pairs
from .audits import audits
from .breakeven import undercuts
from .charts import Dots, charts
from .costs import Cost, costs
from .deciding import Deciding, bar_key, cards, declared_run
from .distribution import Curves
from .events import Events, events
from .facts import Fact, set_facts
from .galleries import Gallery, gallery
from .hints import Hint, hints
from .operating import curves
from .plots import Plot, Table
from .stages import stages
from .sweeps import sweeps
from .timelines import arrivals, over_time
from .tornado import tornado
from .tradeoff import tradeoff
from .unlike import unlike
from .visible import shorten

T = TypeVar("T")

#: Bars of a requirement, and findings of one result, that are shown: those that are not met come first.
_BARS, _FINDINGS = 10, 6
#: Pictures of the whole page, in characters: it has to stay small enough for mail.
_PICTURES = 32_000
#: Reasons on the first screen, and the length of one: they have to leave room for the cards.
_REASONS, _REASON = 2, 110
#: Length of what is told of a requirement that was not tested.
_WHY = 300
_SEALED = {
    "unsealed": "no",
    "sealed": "yes, and kept",
    "deviating": "yes, with deviations",
    "expired": "yes, but expired",
    "screen": "no: screening",
}


class Row(NamedTuple):
    """A candidate against a bar."""

    candidate: str
    finding: FindingRecord


class Bar(NamedTuple):
    """A bar of a requirement, with every candidate that was held against it."""

    title: str
    asked: str
    rows: list[Row]


class Tail(NamedTuple):
    """How a candidate's answer times are spread."""

    candidate: str
    series: int
    times: dict[str, str]
    requests: str
    failed: str


class Conditions(NamedTuple):
    """A scenario, and the conditions of the candidates that were run under it."""

    label: str
    shared: list[Fact]
    own: list[Fact]  # what differed, with the candidate behind each value
    candidates: list[str]
    seconds: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """A committee question, laid out."""

    number: int
    record: RequirementRecord
    question: str
    bars: list[Bar]
    more_bars: str  # what is left out of the table, in words; "" where nothing is
    remarks: list[ResultRecord]  # results that no table of findings explains
    hints: list[Hint]
    charts: list[Curves | Dots]
    tails: list[Tail]
    groups: list[tuple[str, dict[str, str]]]  # (group, candidate -> share right)
    conditions: list[Conditions]
    plots: list[Plot]  # over time, under more load, stage by stage
    arrivals: Plot | None
    arrivals_as: int  # number of an earlier requirement where they are drawn already; 0: nowhere
    tradeoff: Plot | None
    gallery: Gallery | None
    audits: list[Table]
    rules: list[str]  # by which its findings were decided, each once
    findings: dict[
        str, tuple[list[FindingRecord], str]
    ]  # candidate -> those told in full, and what is left out


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    record: Record
    id: str
    title: str
    date: str
    valid_until: str  # "" where the suite does not say
    sealed: str  # whether what is judged was fixed before the run; "" where the record does not tell
    reasons: list[tuple[str, str]]  # of each offer that is not accepted: its name, and why
    cards: list[tuple[CandidateRecord, Deciding | None]]
    requirements: list[Requirement]
    costs: dict[str, list[Cost]]
    tornados: list[Plot]
    undercuts: list[str]
    pairs: list[tuple[str, list[Pair]]]
    operating: list[Plot]
    untested: list[str]
    scenarios: list[str]  # that were run, as sentences
    caveats: dict[str, list[str]]  # what the data do not show, as their owner says -> datasets
    events: list[Events]
    unlike: dict[str, list[str]]  # candidate -> where it is not what it declares
    logs: int  # files of request logs

    def result(self, requirement: Requirement, candidate: str) -> ResultRecord | None:
        """Find what a requirement found about a candidate."""
        results = requirement.record["results"]
        return next((r for r in results if r["candidate"] == candidate), None)


def report_id(record: Record) -> str:
    """Identify a report: the first 12 hex digits of the SHA-256 of its record's canonical bytes."""
    return hashlib.sha256(dumps(record).encode("ascii")).hexdigest()[:12]


def page_of(record: Record) -> Page:
    """Lay a record out."""
    names = [candidate["name"] for candidate in record["candidates"]]
    series = {name: i for i, name in enumerate(names, start=1)}
    return Page(
        record=record,
        id=report_id(record),
        title=record["title"] or _offered(record),
        date=_date(record),
        valid_until=words.day(record.get("valid_until", "")),
        sealed=_SEALED[record["seal"]["state"]] if "seal" in record else "",
        reasons=_reasons(record),
        cards=cards(record),
        requirements=_requirements(record, series),
        costs=costs(record),
        tornados=_tornados(record),
        undercuts=undercuts(record["candidates"]),
        pairs=pairs(record),
        operating=curves(record),
        untested=[_untested(q, r) for q, r in _results(record) if r["verdict"] == "not tested"],
        scenarios=list(
            dict.fromkeys(run["label"] for _, r in _results(record) for run in r["runs"] if run["declared"])
        ),
        caveats=_caveats(record),
        events=events(record),
        unlike={each["name"]: unlike(record, each) for each in record["candidates"]},
        logs=sum(bool(run.get("log")) for _, result in _results(record) for run in result["runs"]),
    )


def _offered(record: Record) -> str:
    """Name what is offered, where the suite gives no title."""
    makers = list(dict.fromkeys(c["vendor"] or c["name"] for c in record["candidates"]))
    offers = words.count(len(record["candidates"]), "offers")
    return f"{words.upper_first(offers)}: {words.listing(makers)}" if makers else "No offer"


def _reasons(record: Record) -> list[tuple[str, str]]:
    """Say in half a sentence why offers are not accepted, at most two: more stand on the cards below."""
    found = []
    for candidate, decided in cards(record):
        if candidate["verdict"] in {"accept", "waived"} or decided is None:
            continue
        finding = decided.finding
        if candidate["verdict"] in {"reject", "inconclusive"} and finding is not None:
            why = (
                f"{finding['title']} {words.measured(finding)}{_doubt(finding)}, asked {words.asked(finding)}"
            )
        else:
            why = decided.result["problem"] or decided.result["sentence"]
        found.append((candidate["name"], shorten(why, _REASON)))
    return found[:_REASONS]


def _doubt(finding: FindingRecord) -> str:
    """Give the likely range of what is not decided: its value alone may read as if it were good enough."""
    if finding["verdict"] != "inconclusive" or finding["low"] is None or finding["high"] is None:
        return ""
    return f", likely {words.likely_range(finding['low'], finding['high'])}"


def _date(record: Record) -> str:
    first, last = words.day(record["started"]), words.day(record["finished"])
    return first if first == last else f"{first} to {last}"


def _requirements(record: Record, series: dict[str, int]) -> list[Requirement]:
    laid = [_requirement(i, q, series) for i, q in enumerate(record["requirements"], start=1)]
    for place, one in enumerate(laid):
        alike = (each.number for each in laid[:place] if _same(each.arrivals, one.arrivals))
        if number := next(alike, 0):
            laid[place] = replace(one, arrivals=None, arrivals_as=number)
    left = _PICTURES
    for failure in (each for one in laid if one.gallery for each in one.gallery.failures):
        left -= len(failure.image)
        if left < 0:
            failure.image = ""
    return laid


def _same(one: Plot | None, other: Plot | None) -> bool:
    """Whether two drawings show the same, whatever they are drawn for."""
    return one is not None and other is not None and one.table == other.table


def _requirement(number: int, requirement: RequirementRecord, series: dict[str, int]) -> Requirement:
    results = requirement["results"]
    bars, more = _kept(
        _bars(results), _BARS, lambda bar: any(row.finding["verdict"] != "accept" for row in bar.rows), "bars"
    )
    drawn = charts(requirement, series)
    findings = {
        r["candidate"]: _kept(
            r["findings"], _FINDINGS, lambda finding: finding["verdict"] != "accept", "findings"
        )
        for r in results
    }
    return Requirement(
        number=number,
        record=requirement,
        question=requirement["question"] or requirement["id"],
        bars=bars,
        more_bars=more,
        remarks=[r for r in results if r["problem"] or _unexplained(r)],
        hints=hints(results),
        charts=drawn,
        tails=_tails(results, series)
        if any(isinstance(chart, Curves) and chart.family.key == "latency" for chart in drawn)
        else [],
        groups=_groups(results),
        conditions=_conditions(results),
        plots=[
            plot
            for plot in (over_time(requirement, series), sweeps(requirement, series), stages(requirement))
            if plot is not None
        ],
        arrivals=arrivals(requirement),
        arrivals_as=0,
        tradeoff=tradeoff(requirement),
        gallery=gallery(requirement),
        audits=audits(requirement),
        rules=list(dict.fromkeys(f["rule"] for told, _ in findings.values() for f in told)),
        findings=findings,
    )


def _kept(found: list[T], most: int, is_missed: Callable[[T], bool], what: str) -> tuple[list[T], str]:
    """Keep the first few, of those that missed before the others; and say how many are left out."""
    chosen = sorted(range(len(found)), key=lambda place: not is_missed(found[place]))[:most]
    left = [each for place, each in enumerate(found) if place not in chosen]
    if not left:
        return found, ""
    missed = sum(map(is_missed, left))
    of = f"{missed:,} of them not met or not decided" if missed else "all of them met"
    return [
        found[place] for place in sorted(chosen)
    ], f"And {len(left):,} more {what}, {of}: see findings.csv."


def _tornados(record: Record) -> list[Plot]:
    offers = {candidate["name"]: candidate for candidate in record["candidates"]}
    drawn = []
    for question, told in costs(record).items():
        own = [
            (offers[c.candidate], c.finding)
            for c in told
            if c.candidate in offers and not c.finding["struck"]
        ]
        drawn.append(tornado(own, question))
    return [plot for plot in drawn if plot is not None]


def _bars(results: list[ResultRecord]) -> list[Bar]:
    """Lay the bars out in source order; what the suite did not write itself comes last."""
    bars: dict[tuple[str, str, str, str], Bar] = {}
    for result in results:
        for finding in result["findings"]:
            if not finding["observed_only"]:
                bar = bars.setdefault(bar_key(finding), Bar(finding["title"], words.asked(finding), []))
                bar.rows.append(Row(result["candidate"], finding))
    return sorted(bars.values(), key=lambda bar: bar.rows[0].finding["source"] == "condition")


def _unexplained(result: ResultRecord) -> bool:
    """Whether a result is other than its findings say: waived, invalid, or never run."""
    return result["verdict"] not in {f["verdict"] for f in result["findings"]}


def _tails(results: list[ResultRecord], series: dict[str, int]) -> list[Tail]:
    tails = []
    for result in results:
        run = declared_run(result["runs"])
        if run is not None and run["latency_ms"]:
            rising = sorted(run["latency_ms"].items(), key=lambda each: (each[1], each[0] == "max"))
            times = {key: words.milliseconds(ms) for key, ms in rising}
            failed = sum(run["failures"].values())
            tails.append(
                Tail(
                    result["candidate"],
                    series.get(result["candidate"], 1),
                    times,
                    f"{run['requests']:,}",
                    f"{failed:,}",
                )
            )
    return tails


def _groups(results: list[ResultRecord]) -> list[tuple[str, dict[str, str]]]:
    shares: dict[str, dict[str, str]] = {}
    for result in results:
        run = declared_run(result["runs"])
        for group in run["strata"] if run is not None else []:
            told = f"{words.percent(float(group['share']))} of {int(group['n']):,}"
            shares.setdefault(str(group["stratum"]), {})[result["candidate"]] = told
    return list(shares.items())


def _conditions(results: list[ResultRecord]) -> list[Conditions]:
    """Gather candidates by scenario; what differs between them, as a batch policy of their own, shows."""
    same: dict[str, list[tuple[str, RunRecord]]] = {}
    for result in results:
        run = declared_run(result["runs"])
        if run is not None:
            same.setdefault(run["label"], []).append((result["candidate"], run))
    found = []
    for label, runs in same.items():
        told = {
            name: set_facts(run["conditions"], without=("label", "scenario", "ended_by"))
            for name, run in runs
        }
        first = next(iter(told.values()))
        shared = [fact for fact in first if all(fact in facts for facts in told.values())]
        own = [
            Fact(fact.name, f"{fact.value} ({shorten(name, 40)})")
            for name, facts in told.items()
            for fact in facts
            if fact not in shared
        ]
        took = dict.fromkeys(words.seconds(run["seconds"]) for _, run in runs)
        found.append(Conditions(label, shared, own, list(told), words.listing(list(took))))
    return found


def _untested(requirement: RequirementRecord, result: ResultRecord) -> str:
    why = shorten(result["problem"] or result["sentence"], _WHY)
    return f"{result['candidate']}: {requirement['question'] or requirement['id']} {why}".rstrip()


def _results(record: Record) -> Iterator[tuple[RequirementRecord, ResultRecord]]:
    for requirement in record["requirements"]:
        for result in requirement["results"]:
            yield requirement, result


def _caveats(record: Record) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for described in record["datasets"]:
        for caveat in described.get("caveats") or []:
            found.setdefault(str(caveat), []).append(str(described.get("name", "")))
    return found
