"""What a pack says of its seal and ledger, held against the spec and the ledger that lie in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pytest_procure.errors import EvidenceError
from pytest_procure.evidence import ledger, manifest
from pytest_procure.evidence.canonical import digest, plain
from pytest_procure.evidence.pack import LEDGER, SESSION, SPEC
from pytest_procure.evidence.parts import CaseFile
from pytest_procure.evidence.sealed import SealedPart
from pytest_procure.evidence.sealing import sealed_bar
from pytest_procure.evidence.series import runs, sealed_specs
from pytest_procure.evidence.session_file import SessionFile
from pytest_procure.evidence.waivers import is_over

from .ledgered import Wrong, ledgered
from .recomputing import Pack


def sealing(pack: Pack, session: SessionFile, files: Mapping[str, CaseFile]) -> Iterator[Wrong]:
    """Say what of seal and ledger does not fit; nothing where nothing was sealed."""
    told = session.sealed
    if not told.spec:
        for path in (SPEC, LEDGER):
            if path in pack.paths:
                yield path, "", "lies in the pack of a session that was held to no seal"
        return
    try:
        spec = json.loads(manifest.read_bytes(pack.folder, SPEC))
    except EvidenceError as error:
        yield SPEC, "", str(error).removeprefix(f"{SPEC}: ")
        return
    except (ValueError, RecursionError) as error:
        yield SPEC, "", f"is no spec: {type(error).__name__}"
        return
    if not isinstance(spec, dict) or digest(spec) != told.spec:
        yield SPEC, "", "is not the spec that the session was held to: its digest is another"
        return
    yield from _ledger(told, pack)
    yield from _expiry(spec, session, pack, files)
    if told.ledger is not None and (chain := chain_of(pack.folder)) is not None:
        yield from ledgered(spec, told, chain, files)
    yield from _requirements(spec, session, files)


def chain_of(folder: Path) -> ledger.Chain | None:
    """Read a pack's ledger; None where there is none, or it does not hold."""
    try:
        return ledger.parse(manifest.read_bytes(folder, LEDGER))
    except EvidenceError:
        return None


def _ledger(told: SealedPart, pack: Pack) -> Iterator[Wrong]:
    known = told.ledger
    if known is None:  # the session could not read it, and its outcome says why
        if LEDGER in pack.paths:
            yield LEDGER, "", "lies in the pack, and the session could not read it"
        return
    try:
        chain = ledger.parse(manifest.read_bytes(pack.folder, LEDGER))
    except EvidenceError as error:
        yield LEDGER, "", str(error).removeprefix(f"{LEDGER}: ")
        return
    if (told.spec, told.sealed) != sealed_specs(chain)[-1]:
        yield LEDGER, "", "the spec is not the one that was sealed last"
    if (known.head, known.entries) != (chain.head, len(chain.entries)):
        yield SESSION, "$.sealed.ledger.head", "is not the head of the ledger that lies in the pack"
    if known.seals != sealed_specs(chain):
        yield SESSION, "$.sealed.ledger.seals", "are not those that the ledger tells of"
    if known.runs != runs(chain):
        yield SESSION, "$.sealed.ledger.runs", "are not those that the ledger tells of"


def _expiry(
    spec: Mapping[str, Any], session: SessionFile, pack: Pack, files: Mapping[str, CaseFile]
) -> Iterator[Wrong]:
    """Hold the day of the session against the ledger: a clock that was set back makes no seal hold again."""
    told, chain = session.sealed, chain_of(pack.folder)
    if told.screen or told.general or chain is None:
        return
    held = (file.held.series for file in files.values() if file.held is not None)
    here = {each["ledger_id"] for each in held if each is not None}
    begun = (place for place, each in enumerate(chain.entries) if each.get("run") in here)
    before = chain.entries[: next(begun, 0)]
    day = max([session.started, *(str(each["time"]) for each in before)])[:10]
    if is_over(str(spec["expires"]), day):
        yield SESSION, "$.sealed.general", f"does not say that the seal had expired by {day}"


def _requirements(
    spec: dict[str, Any], session: SessionFile, files: Mapping[str, CaseFile]
) -> Iterator[Wrong]:
    """Hold what the tests asked against what was sealed: what differs has to be told as a difference."""
    different = {each["id"] for each in session.sealed.differences}
    for path, file in files.items():
        asked = file.asked
        sealed = cast("Mapping[str, Any]", spec.get("requirements", {})).get(asked.id)
        if asked.id in different or session.sealed.screen:
            continue
        if sealed is None:
            yield path, "$.asked", "was not sealed, and no difference says so"
            continue
        if plain([sealed_bar(bar) for bar in asked.bars]) != sealed["bars"]:
            yield path, "$.asked.bars", "are not the sealed ones, and no difference says so"
        if plain(asked.scenario.conditions()) != sealed["scenario"]:
            yield path, "$.asked.scenario", "is not the sealed one, and no difference says so"
    if session.sealed.screen:
        return
    asked_of = {(file.asked.id, file.asked.candidate) for file in files.values()}
    asked_of |= {(each.id, each.candidate) for each in session.gate.expected}
    for subject, requirement in spec["requirements"].items():
        for name in requirement["offers"]:
            if name in dict(session.gate.candidates) and (subject, name) not in asked_of:
                yield SESSION, "$.gate.expected", f"{subject} is sealed for {name}, and is left out"
