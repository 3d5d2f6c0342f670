"""Recovering: what a killed session left becomes a pack, which says that it is partial."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pytest_procure.errors import EvidenceError
from pytest_procure.evidence import ledger as ledgers
from pytest_procure.evidence import manifest, pack, plain
from pytest_procure.evidence.partial import KILLED, settle
from pytest_procure.evidence.sealed import SealedPart
from pytest_procure.evidence.series import runs, sealed_specs
from pytest_procure.evidence.session_file import record_of
from pytest_procure.telemetry.environment import environment

from .recomputing import Pack, judged

MARK = (
    "The session was killed, or could not write its report; this pack was recovered from what it left, and "
    "is partial."
)


def recover(folder: Path, *, ledger: Path | None = None) -> list[str]:
    """Finish a killed session's folder as a pack; give what there is to say about it, a line each.

    Tests that were over are judged as they were. The one that was under way leaves its rows as a partial run,
    which decides nothing; it and all that never began are not tested. Of a sealed suite the pack gets the
    ledger as it stands now: `ledger`, or the nearest above the folder. Raises `EvidenceError` for a folder
    that is finished, or that no session of ours has left, and for a ledger that is not the session's.
    """
    if not (folder / pack.SESSION).is_file():
        raise EvidenceError(
            f"{folder} holds no {pack.SESSION}: no session with `--procure-report` began there"
        )
    if (folder / manifest.MANIFEST).exists():
        raise EvidenceError(f"{folder} is a finished pack; `procure verify {folder}` checks it")
    pack.check(folder)
    sealed, files = _sealed(Pack(folder), ledger)
    told = [MARK, *(each.said for each in settle(folder))]
    found = Pack(folder)
    session = found.session()
    newest = max((folder / path).stat().st_mtime for path in found.paths)
    finished = datetime.fromtimestamp(newest, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    # A session that was not killed, but could not write its report, did not come to its end either.
    session = replace(session, status=KILLED, finished=finished, notes=(*session.notes, *told), sealed=sealed)
    there = found.data(pack.ENVIRONMENT) if pack.ENVIRONMENT in found.paths else environment()
    results, right = judged(found.trials())
    failed = {result["test"] for result in results if result["verdict"] not in {"accept", "waived"}}
    received = {result["test"] for result in results}
    session = replace(
        session, gate=replace(session.gate, failed=failed, received=received, disclosed=found.disclosed())
    )
    record = json.loads(plain.dumps(record_of(session, results, there, right=right)))
    from pytest_procure.report.outputs import outputs  # noqa: PLC0415 - only what is recovered is rendered

    files |= {name: text.encode("utf-8") for name, text in outputs(record).items()}
    pack.write(folder, session, record, files)
    return [*told, record["outcome"]["sentence"], f"report: {folder / pack.REPORT}"]


def _sealed(found: Pack, named: Path | None) -> tuple[SealedPart, dict[str, bytes]]:
    """Give what the session was held to, with the ledger of now, and both as the pack is to hold them."""
    sealed = found.session().sealed
    if not sealed.spec:
        return sealed, {}
    files = {pack.SPEC: manifest.read_bytes(found.folder, pack.SPEC)}
    if sealed.ledger is None:
        return sealed, files
    path = named or next(
        (
            above / ledgers.NAME
            for above in found.folder.resolve().parents
            if (above / ledgers.NAME).is_file()
        ),
        None,
    )
    if path is None:
        raise EvidenceError(
            f"the suite was sealed, and no {ledgers.NAME} lies above {found.folder}; name it with "
            "`--ledger FILE`"
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"the ledger {path} cannot be read: {error.strerror}") from error
    chain = ledgers.parse(data)
    if sealed.ledger.head not in chain.digests:
        raise EvidenceError(
            f"{path} is not the ledger that the session began with: it lacks entry "
            f"{sealed.ledger.head[:12]}; name the right one with `--ledger FILE`"
        )
    now = replace(
        sealed.ledger,
        entries=len(chain.entries),
        head=chain.head,
        runs=runs(chain),
        seals=sealed_specs(chain),
    )
    return replace(sealed, ledger=now), files | {pack.LEDGER: data}
