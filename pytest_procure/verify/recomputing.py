"""From a pack's rows to its record: the way of a session, without a candidate and without pytest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure.cases import Case
from pytest_procure.driver.log import Wire
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence import manifest, plain, wires
from pytest_procure.evidence.case_files import case_of
from pytest_procure.evidence.keeping import (
    CASES,
    ITEMS,
    OUTPUTS,
    RUNS,
    Kept,
    file_name,
    slice_digest_of,
    slice_file,
)
from pytest_procure.evidence.logs import LogFile, Rows, load
from pytest_procure.evidence.outputs import check_texts
from pytest_procure.evidence.pack import ENVIRONMENT, SESSION
from pytest_procure.evidence.parts import CaseFile, RunPart
from pytest_procure.evidence.record import Record, ResultRecord
from pytest_procure.evidence.session_file import SessionFile, record_of
from pytest_procure.metrics import Execution
from pytest_procure.trials import Trial


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a pack's rows and parts give."""

    record: Record
    session: SessionFile
    cases: dict[str, Case]  # by path of the case file, those that were tested
    files: dict[str, CaseFile]  # by path


class Pack:
    """A folder that is said to be a pack. Reading it raises `EvidenceError` for whatever is wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths, self.foreign = manifest.files_in(folder)
        self._rows: dict[str, Rows] = {}
        self._entries: dict[str, manifest.Entry] = {}

    def data(self, path: str) -> Any:
        """Read JSON in its canonical form."""
        return plain.loads(manifest.read_bytes(self.folder, path), path)

    def entry(self, path: str) -> manifest.Entry:
        """Measure and digest a file, once."""
        if path not in self._entries:
            self._entries[path] = manifest.entry_of(self.folder, path)
        return self._entries[path]

    def session(self) -> SessionFile:
        """Read the session file."""
        return plain.from_plain(SessionFile, self.data(SESSION), f"{SESSION}: $")

    def files(self) -> dict[str, CaseFile]:
        """Read the case files, by path."""
        paths = (path for path in self.paths if path.startswith(f"{CASES}/"))
        return {path: plain.from_plain(CaseFile, self.data(path), f"{path}: $") for path in paths}

    def trials(self) -> dict[str, tuple[Trial, bool]]:
        """Judge every case again: by path, the trial, and whether it is a rerun, which decides nothing."""
        return {
            path: (self._tried(file), path != f"{CASES}/{file_name(file.asked.test)}.json")
            for path, file in self.files().items()
        }

    def disclosed(self) -> dict[str, dict[str, Any]]:
        """Give what each candidate's backend has disclosed first."""
        found: dict[str, dict[str, Any]] = {}
        for file in self.files().values():
            if file.disclosed:
                found.setdefault(file.asked.candidate, file.disclosed)
        return found

    def recompute(self) -> Recomputed:
        """Judge every case again and conclude."""
        session, environment = self.session(), self.data(ENVIRONMENT)
        trials = self.trials()
        results, right = judged(trials)
        record = json.loads(json.dumps(record_of(session, results, environment, right=right)))
        cases = {path: trial.case for path, (trial, _) in trials.items() if trial.case is not None}
        return Recomputed(record, session, cases, self.files())

    def rows(self, run: RunPart) -> Rows:
        """Read a run's rows."""
        if run.log not in self._rows:
            if run.log not in self.paths or not run.log.startswith(f"{RUNS}/"):
                raise EvidenceError(f"{run.log}: the rows of a run are missing")
            manifest.open_file(self.folder, run.log).close()  # refuses links
            self._rows[run.log] = load(self.folder / run.log)
        return self._rows[run.log]

    def seen(self, run: RunPart) -> tuple[Rows, list[Wire]]:
        """Read a run's rows, and what an endpoint's driver saw of it."""
        rows = self.rows(run)
        if not run.wires:
            return rows, []
        stem = run.log.removesuffix(".npy")
        paths = (f"{stem}.wire.npy", f"{stem}.tokens.npy")
        if set(run.wires) != set(paths):
            raise EvidenceError(f"{run.log}: the case file does not name what the driver saw")
        for path in paths:
            if path not in self.paths:
                raise EvidenceError(f"{path}: what the driver saw is missing")
            manifest.open_file(self.folder, path).close()
        try:
            told, times = (
                load(self.folder / paths[0], wires.COLUMNS),
                load(self.folder / paths[1], wires.TIMES),
            )
            return rows, wires.wires(told, times)
        except EvidenceError as error:
            raise EvidenceError(f"{paths[0]}: {error}") from None

    def check_run(self, run: RunPart) -> list[str]:
        """Say what is wrong with a run's outputs and items, which no number follows from."""
        rows = self.rows(run)
        stem = run.log.removeprefix(f"{RUNS}/").removesuffix(".npy")
        known = set(rows["output_sha256"].tolist())
        wrong = [] if _are_digests(known) else [f"{run.log}: a row's output has no digest"]
        texts = f"{OUTPUTS}/{stem}.jsonl"
        if texts in self.paths:
            manifest.open_file(self.folder, texts).close()
            found = check_texts(self.folder / texts, known - {b""})
            wrong += [f"{texts}: {each}" for each in found]
        for path, digest in run.digests().items():
            if path not in self.paths:
                wrong.append(f"{path}: the rows of a run are missing")
            elif self.entry(path).sha256 != digest:
                wrong.append(f"{path}: its SHA-256 is not the one that the case file gives")
        return wrong + self._check_slice(run)

    def _check_slice(self, run: RunPart) -> list[str]:
        digest = str(run.slice.described.get("digest", ""))
        path = slice_file(digest)
        if path not in self.paths:
            return [f"{path}: the item digests of a slice are missing"]
        manifest.open_file(self.folder, path).close()
        items = load(self.folder / path, ITEMS)
        if len(items) != run.slice.items or (items["item"] != np.arange(len(items))).any():
            return [f"{path}: not the item digests of {run.slice.items} items"]
        if slice_digest_of(items) != digest:
            return [f"{path}: the digest of these items is not the slice's"]
        return []

    def _tried(self, file: CaseFile) -> Trial:
        trial = Trial(
            file.asked,
            file.policy,
            problem=file.problem,
            disclosed=file.disclosed,
            held=file.held,
        )
        trial.not_reached = [(text, where) for text, where in file.not_reached]
        if not file.tested:
            trial.blocked(file.problem)
            return trial
        trial.case = case_of(file, self.seen)
        kept = _kept(file, trial.case)
        trial.conclude(lambda run, _: kept[id(run)])
        trial.remarked(file.remark)
        return trial


def judged(trials: Mapping[str, tuple[Trial, bool]]) -> tuple[list[ResultRecord], dict[str, dict[str, Any]]]:
    """Give the results that decide, and by test which items were answered right."""
    deciding = [trial for trial, again in trials.values() if trial.record and not again]
    right = {trial.requirement.test: trial.right for trial in deciding if trial.right is not None}
    return [trial.record for trial in deciding if trial.record], right


def _kept(file: CaseFile, case: Case) -> dict[int, Kept]:
    """Find for each execution which file its rows were read from."""
    found: dict[int, Kept] = {}
    for part, (result, _) in zip(file.results, case.results, strict=True):
        pairs: list[tuple[Execution, RunPart]] = [(result.execution, part.run)]
        pairs += [(result.references[name], run) for name, run in part.references]
        pairs += list(zip(result.probes, part.probes, strict=True))
        for execution, run in pairs:
            log = LogFile(run.sha256, run.errors, run.slice.strata)
            found[id(execution)] = Kept(run.log, log, run.wires, run.cut, run.gallery)
    return found


def _are_digests(found: set[bytes]) -> bool:
    """Whether all are 64 lower-case hexadecimal digits, or nothing."""
    return not b"".join(found).translate(None, b"0123456789abcdef") and {*map(len, found)} <= {0, 64}
