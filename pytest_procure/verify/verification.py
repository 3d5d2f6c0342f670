"""The verification: what of a pack does not follow from the rest of it, by file and field.

files      the folder against the manifest: nothing missing, nothing unknown, every digest
rows       outputs against their digests, items against the slice's digest
record     `verdict.json` against the record that the rows give
page       `report.html`, `summary.md` and `findings.csv` against what the record gives
seal       what was asked against the sealed spec, and the ledger's head and runs against the ledger
claims     what was signed against what there is
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_procure.errors import EvidenceError, ProcureError
from pytest_procure.evidence import attestations, manifest, plain
from pytest_procure.evidence.crate import metadata
from pytest_procure.evidence.pack import CRATE, REPORT, SPEC, VERDICT
from pytest_procure.evidence.record import Record

from .carrying import carried
from .levels import Level, levels
from .recomputing import Pack, Recomputed
from .sealing import chain_of, sealing

#: Mismatches of one kind that are told outright; the rest are counted.
_TOLD = 50


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that is not as the rest of the pack has it."""

    file: str
    field: str  # path inside the file, as in `$.outcome.accepted`; "" for the file as a whole
    said: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.field}" if self.field else self.file
        return f"{place}: {self.said}"


@dataclass(slots=True)
class Verification:
    """What was found. `levels`: what the pack's integrity shows, and what it does not."""

    folder: Path
    root: str = ""
    mismatches: list[Mismatch] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    record: Record | None = None  # as recomputed
    recomputed: Recomputed | None = None
    signers: list[str] = field(default_factory=list)  # ids of keys whose signatures hold
    carried: list[str] = field(default_factory=list)  # what follows from nothing: digests alone cover it

    @property
    def holds(self) -> bool:
        """Whether all that follows from the rows does, and the rest is what was recorded, and signed."""
        return not self.mismatches

    def add(self, file: str, field: str, said: str) -> None:
        """Note a mismatch."""
        self.mismatches.append(Mismatch(file, field, said))


def verify(folder: Path, *, keys: list[Path] | None = None, anchor: str = "") -> Verification:
    """Check a pack. `keys`: public keys that must have signed; `anchor`: a digest kept elsewhere.

    Raises `EvidenceError` for a folder that is no pack, or a key that cannot be read.
    """
    found = Verification(folder)
    public = [attestations.public_key(path) for path in keys or ()]
    if not folder.is_dir() or folder.is_symlink():
        raise EvidenceError(f"{folder} is no folder; expected an evidence pack, such as `procure-report`")
    pack = Pack(folder)
    if manifest.MANIFEST not in pack.paths:
        raise EvidenceError(
            f"{folder} holds no {manifest.MANIFEST}, so it is no pack that was finished; "
            f"`procure recover {folder}` makes one of what a killed session left"
        )
    _files(found, pack)
    _recompute(found, pack)
    if found.recomputed is not None:
        _rows(found, pack, found.recomputed)
        _record(found, pack, found.recomputed)
        _page(found, pack, found.recomputed.record)
        _sealed(found, pack, found.recomputed)
        found.carried = carried(pack, found.recomputed)
    _claims(found, pack, public)
    known = chain_of(folder) if anchor else None
    heads = [found.root, *(known.digests if known is not None else ())]
    if anchor and anchor not in heads:
        found.add(manifest.MANIFEST, "", "neither the pack's root nor an entry of its ledger is the anchor")
    found.levels = levels(found.signers, [key.id for key in public], anchor, heads, intact=found.holds)
    return found


def _files(found: Verification, pack: Pack) -> None:
    """Hold the folder against its manifest."""
    for path, why in pack.foreign:
        found.add(path, "", why)
    try:
        listed, found.root = manifest.read(pack.folder)
    except EvidenceError as error:
        found.add(manifest.MANIFEST, "", str(error))
        return
    entries = {entry.path: entry for entry in listed.files}
    if [*entries] != sorted(entries) or len(entries) != len(listed.files):
        found.add(manifest.MANIFEST, "$.files", "the paths are not in order, or one stands twice")
    for path in sorted(entries.keys() - set(pack.paths)):
        found.add(path, "", "the file is missing")
    for path in filter(manifest.covered, pack.paths):
        if path not in entries:
            found.add(path, "", "the file is unknown: no manifest names it")
            continue
        try:
            there = pack.entry(path)
        except EvidenceError as error:
            found.add(path, "", str(error))
            continue
        if there != entries[path]:
            found.add(path, "", "the file was changed: its size or SHA-256 is not the manifest's")


def _recompute(found: Verification, pack: Pack) -> None:
    try:
        found.recomputed = pack.recompute()
        found.record = found.recomputed.record
    except EvidenceError as error:
        file, _, said = str(error).partition(": ")
        found.add(file, "", said)
    except (
        ProcureError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        AssertionError,
        AttributeError,
        RecursionError,
    ) as error:
        # Whoever wrote the pack may have written anything: what cannot be judged is a mismatch, not a crash.
        found.add("cases", "", f"cannot be judged again: {type(error).__name__}: {str(error)[:200]}")


def _rows(found: Verification, pack: Pack, made: Recomputed) -> None:
    """Hold outputs against digests, items against their slice, and each run's digest against its file."""
    for file in made.files.values():
        for part in file.results:
            for run in (part.run, *(run for _, run in part.references), *part.probes):
                try:
                    wrong = pack.check_run(run)
                except (EvidenceError, OSError, ValueError) as error:
                    wrong = [f"{run.log}: {error}"]
                for each in wrong[:_TOLD]:
                    file_named, _, said = each.partition(": ")
                    found.add(file_named, "", said)
    for name, told in made.session.gate.disclosed.items():
        disclosed = [each.disclosed for each in made.files.values() if each.asked.candidate == name]
        if told not in disclosed:
            found.add("session.json", f"$.gate.disclosed.{name}", "no case of this candidate discloses this")


def _record(found: Verification, pack: Pack, made: Recomputed) -> None:
    """Hold `verdict.json` against the record that the rows give."""
    try:
        stored = manifest.read_bytes(pack.folder, VERDICT)
        data = plain.loads(stored, VERDICT)
    except EvidenceError as error:
        found.add(VERDICT, "", str(error).removeprefix(f"{VERDICT}: "))
        return
    told = list(differences(data, made.record, "$"))
    for place, said in told[:_TOLD]:
        found.add(VERDICT, place, said)
    if len(told) > _TOLD:
        found.add(VERDICT, "", f"{len(told) - _TOLD:,} further fields differ")
    try:
        crate = plain.loads(manifest.read_bytes(pack.folder, CRATE), CRATE)
    except EvidenceError as error:
        found.add(CRATE, "", str(error).removeprefix(f"{CRATE}: "))
        return
    named = [path for path in pack.paths if manifest.covered(path) and path != CRATE]
    try:
        expected = metadata(named, made.record)
    except KeyError:  # a file that the manifest does not know either, and that was told already
        return
    for place, said in list(differences(crate, expected, "$"))[:_TOLD]:
        found.add(CRATE, place, said)


def _page(found: Verification, pack: Pack, record: Record) -> None:
    """Hold the report's files against those that the record gives."""
    from pytest_procure.report.outputs import outputs  # noqa: PLC0415 - a pack without a record needs no templates

    try:
        made = {name: text.encode() for name, text in outputs(record).items()}
    except Exception as error:  # noqa: BLE001 - a hostile record may make a template raise anything
        found.add(REPORT, "", f"cannot be rendered again: {type(error).__name__}: {str(error)[:200]}")
        return
    for name, page in made.items():
        try:
            stored = manifest.read_bytes(pack.folder, name)
        except EvidenceError as error:
            found.add(name, "", str(error).removeprefix(f"{name}: "))
            continue
        if stored != page:
            theirs, ours = stored.split(b"\n"), page.split(b"\n")
            pairs = zip(theirs, ours, strict=False)
            line = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), min(len(theirs), len(ours)) + 1)
            found.add(name, f"line {line}", "is not what the record renders to")


def _sealed(found: Verification, pack: Pack, made: Recomputed) -> None:
    """Hold what is said of seal and ledger against the spec and the ledger in the pack."""
    try:
        for file, place, said in sealing(pack, made.session, made.files):
            found.add(file, place, said)
    except (ProcureError, LookupError, TypeError, ValueError, AttributeError) as error:  # as for `_recompute`
        found.add(SPEC, "", f"cannot be read: {type(error).__name__}: {str(error)[:200]}")


def _claims(found: Verification, pack: Pack, public: list[attestations.PublicKey]) -> None:
    """Hold what was signed against what there is, and the signatures against the keys."""
    signed = {path for path in pack.paths if path.startswith(f"{manifest.OUTSIDE}/")}
    if not signed:
        for key in public:
            found.add(manifest.OUTSIDE, "", f"nothing is signed, and key {key.id[:16]} was to have signed")
        return
    try:
        expected = attestations.statements(pack.folder)
        checked = attestations.check(pack.folder, signed, expected, public)
    except (EvidenceError, KeyError, TypeError, ValueError) as error:
        found.add(manifest.OUTSIDE, "", str(error))
        return
    for file, said in checked.wrong:
        found.add(file, "", said)
    found.signers = checked.signers
    for key in public:
        if key.id not in checked.signers:
            found.add(manifest.OUTSIDE, "", f"key {key.id[:16]} has not signed this pack")


def differences(stored: Any, made: Any, where: str) -> Iterator[tuple[str, str]]:
    """Give each place where two plain values differ, with what stands there and what should."""
    if type(stored) is not type(made):
        yield where, f"{_short(stored)}, and the rows give {_short(made)}"
    elif isinstance(made, dict):
        for key in sorted(stored.keys() | made.keys()):
            if key not in stored:
                yield f"{where}.{key}", f"is missing; the rows give {_short(made[key])}"
            elif key not in made:
                yield f"{where}.{key}", f"{_short(stored[key])}, and the rows give no such field"
            else:
                yield from differences(stored[key], made[key], f"{where}.{key}")
    elif isinstance(made, list):
        if len(stored) != len(made):
            yield where, f"{len(stored)} entries, and the rows give {len(made)}"
        for place, (one, other) in enumerate(zip(stored, made, strict=False)):
            yield from differences(one, other, f"{where}[{place}]")
    elif stored != made:
        yield where, f"{_short(stored)}, and the rows give {_short(made)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
