"""`procure mlperf shortlist | compare | show | movement | check PATH...`.

Exit status 0: the question was answered and nothing stands against it. 1: a comparison was refused, or
`check` found faults. 2: the question cannot be asked like this.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_procure.cli import Parser

from .checks import WAYS
from .display import Page
from .pages import check_page, compare_page, movement_page, shortlist_page
from .records import ForeignResult, Result
from .results import Results, load_results
from .shortlist import Filters
from .showing import overview_page, result_page, spread_page

_FOREIGN = {"own": "own run", "vendor": "vendor claim", "endpoints": "endpoints"}


def main(arguments: Sequence[str]) -> int:
    """Answer one question about published results and return the exit status."""
    options = _parser().parse_args(arguments)
    results = load_results(*options.paths)
    if options.question == "shortlist":
        page, status = shortlist_page(results, _filters(options), retrieved=options.retrieved), 0
    elif options.question == "compare":
        page, status = compare_page(
            results,
            _one(results, options.a),
            _one(results, options.b),
            named=options.named,
            retrieved=options.retrieved,
        )
    elif options.question == "show":
        page, status = _show(results, options), 0
    elif options.question == "movement":
        page = movement_page(
            results,
            submitter=options.submitter,
            platform=options.platform,
            benchmark=options.benchmark,
            retrieved=options.retrieved,
        )
        status = 0
    else:
        page, status = check_page(results)
    if options.json:
        sys.stdout.write(page.json())
    elif options.csv:
        sys.stdout.write(page.csv())
    else:
        sys.stdout.write(page.text())
    return status


def _show(results: Results, options: argparse.Namespace) -> Page:
    if options.result:
        return result_page(results, options.result, options.task, retrieved=options.retrieved)
    if options.system:
        return spread_page(results, options.system, options.benchmark, round_=options.round)
    return overview_page(results)


def _one(results: Results, selector: str) -> Result | ForeignResult:
    kind, colon, name = selector.partition(":")
    if colon and kind in _FOREIGN:
        return ForeignResult(name or "it", _FOREIGN[kind])  # type: ignore[arg-type]  # a value of the table above
    return results.select(selector)


def _filters(options: argparse.Namespace) -> Filters:
    return Filters(
        benchmark=options.benchmark,
        scenario=options.scenario,
        round=options.round,
        suite=options.suite,
        division=options.division,
        availability="" if options.availability == "any" else options.availability,
        accelerator=options.accelerator,
        submitter=options.submitter,
        precision=options.precision,
        nodes=options.nodes,
        accelerators=options.accelerators,
    )


def _parser() -> Parser:
    parser = Parser(
        prog="procure mlperf", description="Read published MLPerf results: for direction, never as verdict."
    )
    questions = parser.add_subparsers(dest="question", metavar="QUESTION", required=True, parser_class=Parser)
    common = Parser(add_help=False)
    common.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="published summary or results checkout"
    )
    form = common.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--csv", action="store_true", help="print the data as CSV")
    common.add_argument(
        "--retrieved", default="", metavar="DATE", help="when the tables were fetched, for citations"
    )
    shortlist = questions.add_parser(
        "shortlist", parents=[common], help="which offers lead, in bands instead of ranks"
    )
    shortlist.add_argument("--benchmark", required=True)
    shortlist.add_argument("--scenario", required=True)
    shortlist.add_argument("--round", default="", metavar="v5.1")
    shortlist.add_argument("--suite", default="", choices=["", "datacenter", "edge"])
    shortlist.add_argument("--division", default="closed", choices=["closed", "open", "network"])
    shortlist.add_argument(
        "--availability", default="available", choices=["available", "preview", "rdi", "any"]
    )
    shortlist.add_argument("--accelerator", default="", metavar="TEXT", help="part of the accelerator's name")
    shortlist.add_argument("--submitter", default="", metavar="TEXT", help="part of the submitter's name")
    shortlist.add_argument(
        "--precision", default="", metavar="KIND", help="a declared weight data type, such as fp8"
    )
    shortlist.add_argument("--nodes", type=int, metavar="N")
    shortlist.add_argument("--accelerators", type=int, metavar="N", help="how many the system has in all")
    compare = questions.add_parser(
        "compare", parents=[common], help="whether two results may stand side by side"
    )
    compare.add_argument(
        "--a", required=True, metavar="SELECTOR", help="SYSTEM/BENCHMARK/SCENARIO, or own:NAME"
    )
    compare.add_argument(
        "--b", required=True, metavar="SELECTOR", help="the same, or vendor:NAME, endpoints:NAME"
    )
    compare.add_argument(
        "--named",
        action="append",
        default=[],
        choices=WAYS,
        help="a way in which the Open or Network result would not qualify as Closed",
    )
    show = questions.add_parser(
        "show", parents=[common], help="what one result says, and how its system spreads"
    )
    show.add_argument(
        "--result", action="append", default=[], metavar="SELECTOR", help="SYSTEM/BENCHMARK/SCENARIO"
    )
    show.add_argument(
        "--system",
        action="append",
        default=[],
        metavar="NAME",
        help="scenario by scenario; give several to measure the first against the others",
    )
    show.add_argument("--benchmark", action="append", default=[], help="the benchmarks for --system")
    show.add_argument("--round", default="", metavar="v5.1")
    show.add_argument(
        "--task", type=Path, metavar="FILE", help="your task as TOML: how far it is from each --result"
    )
    movement = questions.add_parser(
        "movement", parents=[common], help="how a submission moved between rounds"
    )
    movement.add_argument("--submitter", default="", metavar="NAME")
    movement.add_argument("--platform", default="", metavar="NAME")
    movement.add_argument("--benchmark", default="")
    questions.add_parser("check", parents=[common], help="reconcile published rows with their logs")
    return parser
