"""RO-Crate 1.1 metadata: what is in the folder, so that a catalogue can cite it as one unit.

Written by hand after https://w3id.org/ro/crate/1.1; the terms are schema.org's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .plain import dumps
from .record import Record

_KINDS = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".html": "text/html",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".pdf": "application/pdf",
}
_SAYS = {
    "verdict.json": "The verdict, with every measurement, bar and rule",
    "report.html": "The report, as a page",
    "summary.md": "The report, as a page of text",
    "findings.csv": "Every finding, a row each",
    "report.pdf": "The report, as a document",
    "session.json": "What the session knew beside its tests",
    "spec.json": "What was sealed before the run",
    "ledger.jsonl": "Every run of what was sealed, a chain of digests",
    "environment.json": "The machine and the software that measured",
}
_IN = {
    "runs": "Rows of a run: a numpy structured array, a row a sample",
    "outputs": "What a candidate answered, as JSON lines",
    "slices": "Digests of the items of a slice of the buyer's data",
    "cases": "What a test asked, measured and compared",
}


def crate(folder: Path, record: Record) -> str:
    """Write the metadata of a pack whose other files are there."""
    files = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] in {*_SAYS, *_IN}
    )
    return dumps(metadata(files, record))


def metadata(files: list[str], record: Record) -> dict[str, Any]:
    """Give the metadata as plain data: a function of the record and of the files' names."""
    parts: list[dict[str, Any]] = [_part(path) for path in files]
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": record["title"] or "Acceptance tests of ML inference",
        "description": record["outcome"]["sentence"],
        "datePublished": record["finished"],
        "license": "Evidence of a procurement: its owner decides who may read it",
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "mentions": [{"@id": "#measuring"}],
    }
    measuring = {
        "@id": "#measuring",
        "@type": "CreateAction",
        "name": record["command"],
        "startTime": record["started"],
        "endTime": record["finished"],
        "instrument": {"@id": "#pytest-procure"},
        "agent": {"@id": "#measured-by"},
        "result": [{"@id": "verdict.json"}, {"@id": "report.html"}],
    }
    tool = {
        "@id": "#pytest-procure",
        "@type": "SoftwareApplication",
        "name": "pytest-procure",
        "version": record["plugin_version"],
    }
    agent = {"@id": "#measured-by", "@type": "Organization", "name": record["measured_by"] or "not stated"}
    descriptor = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [descriptor, root, measuring, tool, agent, *parts],
    }


def _part(path: str) -> dict[str, Any]:
    folder, _, _ = path.partition("/")
    kind = _KINDS.get(f".{path.rpartition('.')[2]}", "application/octet-stream")
    says = _SAYS.get(path) or _IN[folder]
    return {"@id": path, "@type": "File", "name": says, "encodingFormat": kind}
