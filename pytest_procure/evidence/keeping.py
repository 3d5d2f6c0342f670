"""What a session keeps of its tests while it goes on: rows, outputs, item digests and case files.

Each test's files are written when the test is over, by the process that ran it. A session that is killed
leaves all of those that were over.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.candidates import Candidate
from pytest_procure.datasets import DatasetSlice
from pytest_procure.driver.journal import Journal
from pytest_procure.errors import unwritten
from pytest_procure.metrics import Execution
from pytest_procure.scenarios import Scenario

from .gallery import gallery
from .logs import LogFile, save, write_log
from .opinions import write_opinions
from .outputs import Outputs
from .parts import CaseFile
from .plain import dumps, to_plain
from .session_file import SessionFile
from .shown import GalleryRecord
from .whole import new_file
from .wires import write_wires

RUNS, CASES, OUTPUTS, SLICES = "runs", "cases", "outputs", "slices"
PART = ".part"  # a journal: what a run had seen until now


@dataclass(frozen=True, slots=True)
class Kept:
    """A run's rows as they were written: the file, relative to the pack, and what they point at."""

    file: str
    log: LogFile
    wires: dict[str, str] = field(default_factory=dict)  # file -> SHA-256, of an endpoint
    cut: tuple[str, str] | None = None  # file and SHA-256 of what was sent and not measured
    gallery: GalleryRecord | None = None

    def digests(self) -> dict[str, str]:
        """Give the SHA-256 of each file, by its path in the pack."""
        return {self.file: self.log.sha256, **self.wires, **dict([self.cut] if self.cut else [])}


@dataclass(slots=True)
class Keeper:
    """Writes a session's files below `folder`. `texts`: outputs are kept as text too, but for `redact`."""

    folder: Path
    texts: bool = True
    redact: re.Pattern[str] | None = None
    _slices: set[str] = field(default_factory=set)

    def run(self, run: Execution, name: str) -> Kept:
        """Write a run's rows, its outputs, and the digests of the items asked. Raises `EvidenceError`."""
        with _in(self.folder):
            return self._run(run, name)

    def _run(self, run: Execution, name: str) -> Kept:
        stem = _free(self.folder / RUNS, file_name(name), ".npy")
        # A dataset whose samples are withheld shows them by no answer either.
        texts = self.texts and run.slice.dataset.show_samples
        outputs = Outputs(keep=texts, redact=self.redact)
        file = f"{RUNS}/{stem}.npy"
        log = write_log(self.folder / file, run, outputs)
        outputs.write(self.folder / OUTPUTS / f"{stem}.jsonl")
        if texts:
            write_opinions(self.folder / OUTPUTS / f"{stem}-judge.jsonl", run, self.redact)
        self._slice(run.slice)
        wires = write_wires(self.folder / RUNS / stem, run)
        return Kept(
            file,
            log,
            {f"{RUNS}/{wire}": digest for wire, digest in wires.items()},
            self._cut(run, name),
            gallery(run, texts=self.texts, redact=self.redact),
        )

    def _cut(self, run: Execution, name: str) -> tuple[str, str] | None:
        """Write the rows that were sent and not measured, where there are some."""
        cut = tuple(replace(each, log=each.cut) for each in run.launches if each.cut is not None)
        if not cut:
            return None
        file = f"{RUNS}/{_free(self.folder / RUNS, file_name(f'{name}.cut'), '.npy')}.npy"
        log = write_log(self.folder / file, replace(run, launches=cut, scores={}), Outputs(keep=False))
        return file, log.sha256

    def journals(self, test: str) -> Callable[[Candidate, Scenario], Journal]:
        """Give what makes a journal for each run of the driver in a test."""
        numbers = itertools.count(1)

        def journal(candidate: Candidate, scenario: Scenario) -> Journal:
            about: dict[str, Any] = {"test": test, "candidate": candidate.name, "scenario": scenario.label}
            about["samples_per_query"] = scenario.samples_per_query
            about["in_turns"] = scenario.is_dynamic
            return Journal(self.folder / RUNS / f"{file_name(test)}.{next(numbers)}{PART}", about)

        return journal

    def begin(self, session: SessionFile, sealed: Mapping[str, bytes]) -> None:
        """Write what is known before the first test, for who recovers the pack. Raises `EvidenceError`.

        `sealed`: spec and ledger, by the names of their files; nothing where nothing was sealed.
        """
        _write(self.folder / "session.json", session)
        for name, data in sealed.items():
            with new_file(self.folder / name, name) as opened:
                opened.write(data)

    def case(self, file: CaseFile) -> None:
        """Write a case file, which ends the test's journals. Raises `EvidenceError`."""
        stem = file_name(file.asked.test)
        with _in(self.folder):
            _write(self.folder / CASES / f"{_free(self.folder / CASES, stem, '.json')}.json", file)
            if file.tested:
                for part in journals_of(self.folder, stem):
                    part.unlink(missing_ok=True)

    def _slice(self, chosen: DatasetSlice) -> None:
        if chosen.digest in self._slices:
            return
        self._slices.add(chosen.digest)
        rows = np.zeros(len(chosen), ITEMS)
        rows["item"] = np.arange(len(chosen))
        rows["sha256"] = np.frombuffer(chosen.digests.hex().encode(), "S64")
        save(self.folder / slice_file(chosen.digest), rows)


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    """Tell what no single file is to blame for, such as a folder that may not be looked at any more."""
    try:
        yield
    except OSError as error:
        raise unwritten("the evidence", error, folder) from error


def case_file(test: str) -> str:
    """Name the file of what a test judged, relative to the pack."""
    return f"{CASES}/{file_name(test)}.json"


def journals_of(folder: Path, stem: str = "") -> list[Path]:
    """List the journals that lie in a pack: those of one test, or all of them."""
    found = (folder / RUNS).glob(f"*{PART}") if (folder / RUNS).is_dir() else iter(())
    return sorted(path for path in found if path.name.startswith(f"{stem}.") or not stem)


def _free(folder: Path, stem: str, ending: str) -> str:
    """Give the stem, or one with a number: a test that is run again keeps its first files."""
    names = itertools.chain([stem], (f"{stem}-again{number}" for number in itertools.count(2)))
    return next(name for name in names if not (folder / f"{name}{ending}").exists())


def _write(path: Path, data: CaseFile | SessionFile) -> None:
    told = dumps(to_plain(data)).encode("ascii")
    with new_file(path, path.name) as opened:
        opened.write(told)


#: A row of a slice's file: the item's number and the digest of its input and reference.
ITEMS = np.dtype([("item", "<i4"), ("sha256", "S64")])


def slice_file(digest: str) -> str:
    """Name the file of a slice's item digests, relative to the pack."""
    return f"{SLICES}/{digest[:16]}.npy"


def slice_digest_of(items: NDArray[Any]) -> str:
    """Give the digest of a slice of the digests of its items, as hexadecimal text; "" where they are none."""
    told = items["sha256"].tobytes()
    if told.translate(None, b"0123456789abcdef"):
        return ""
    return hashlib.sha256(bytes.fromhex(told.decode("ascii"))).hexdigest()


def file_name(name: str) -> str:
    """Make a file name of a test's id: readable, without separators, never longer than systems allow.

    Eight digits of the id's digest keep `acme int8` and `acme-int8` apart.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    return f"{plain[-120:]}.{hashlib.sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
