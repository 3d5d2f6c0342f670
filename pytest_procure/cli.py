"""The console command `procure`: a name, one sentence and a module for each subcommand.

A subcommand is a module with `main(arguments) -> int`, imported only when it is called. Users' mistakes end
in one line on stderr and exit status 2; what a subcommand returns is the exit status otherwise.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

from .errors import ProcureError, unknown


class UsageError(ProcureError):
    """The command line cannot be meant as it was typed."""


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand: the module whose `main` runs it, and what it is for."""

    module: str
    purpose: str


#: Every subcommand, a line each.
COMMANDS: dict[str, Command] = {
    "report": Command(
        "pytest_procure.report.cli", "make a report anew from its verdict.json, running nothing"
    ),
    "verify": Command(
        "pytest_procure.commands.verify", "check an evidence pack offline: digests, numbers, verdict, page"
    ),
    "compare": Command(
        "pytest_procure.commands.compare", "put packs of one specification side by side, paired"
    ),
    "recover": Command(
        "pytest_procure.commands.recover", "make a marked partial pack of what a killed session left"
    ),
    "keygen": Command("pytest_procure.commands.keygen", "make a key pair to sign evidence packs with"),
    "sign": Command("pytest_procure.commands.sign", "sign an evidence pack that holds"),
    "countersign": Command("pytest_procure.commands.countersign", "add a second party's signature"),
    "mlperf": Command(
        "pytest_procure.mlperf.cli", "read published MLPerf results: for direction, never as verdict"
    ),
}


class Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake as one sentence instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`; `--help` is where the usage stands."""
        raise UsageError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the subcommand that the command line names and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows `?` instead of a traceback
    try:
        try:
            status = _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            sys.stdout.flush()
    except ProcureError as error:
        sys.stderr.write(printable(f"procure: {error}") + "\n")
        return 2
    except BrokenPipeError:
        _discard_output()  # nobody reads on: leave without a word
        return 0
    except OSError as error:
        _discard_output()  # what cannot be written now is not tried again at the end
        about = f"{error.filename}: " if error.filename else "the output cannot be written: "
        with suppress(OSError):
            sys.stderr.write(printable(f"procure: {about}{error.strerror or error}") + "\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def _discard_output() -> None:
    """Lead what is still to be written to standard output nowhere."""
    with suppress(OSError, ValueError):  # one that is no file needs it not
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="procure",
        description="Acceptance tests for the purchase of ML inference: what is done outside pytest.",
        epilog="commands:\n" + "\n".join(f"  {name:<13}{one.purpose}" for name, one in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"procure {_version()}")
    parser.add_argument("command", metavar="COMMAND", help="what to do; `procure COMMAND --help` says more")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.command not in COMMANDS:
        raise UsageError(unknown("command", parsed.command, COMMANDS))
    module = importlib.import_module(COMMANDS[parsed.command].module)
    return int(module.main(parsed.arguments))


def _version() -> str:
    try:
        return version("pytest-procure")
    except PackageNotFoundError:
        return "(not installed)"


def printable(text: str) -> str:
    """Return text on one line that cannot move a cursor, recolour a terminal or reorder what is read.

    Control and formatting characters, among them escape sequences and bidirectional overrides, each become
    U+FFFD.
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
