"""What a session is held to: the seal, the ledger, and what was declared on the command line about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from . import __version__
from .answering import owner_of, waivers_of
from .concluding import concerns, is_declared
from .decision import Policy
from .errors import DeclarationError, EvidenceError, unknown
from .evidence import ledger, private, spec, triggers
from .evidence.differences import SUITE, candidate_differences, requirement_differences, suite_differences
from .evidence.pack import LEDGER, SPEC
from .evidence.parts import Requirement
from .evidence.record import DeviationRecord, DifferenceRecord, WaiverRecord
from .evidence.sealed import LedgerPart, SealedPart
from .evidence.sealing import sealed_bar
from .evidence.series import runs, sealed_specs
from .evidence.sources import asserts_of_test, file_digest, source_of_test, suite_files
from .evidence.spec import SealedRequirement, Spec
from .evidence.waivers import in_force, is_over, waiver_record, waivers
from .gate import Expected, Gate
from .holds import Hold
from .redaction import redacted
from .thresholds import limits

_TASK = ("title", "decision", "measured_by", "measured_for")
#: Options and marks with which other plugins run a failed test again until it passes.
_RERUN_OPTIONS = ("reruns", "retries", "force_flaky")
_RERUN_MARKS = ("flaky", "retry")


class Held:
    """The seal of a session's suite. Without one, and outside of sealing, it holds nothing."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.folder = seal_folder(config)
        self.required = bool(config.getini("procure_require_seal"))
        self.screen = bool(config.getoption("procure_screen"))
        self.sealing = bool(config.getoption("procure_seal"))
        self.pilot = config.getoption("procure_pilot") is not None
        self.day = datetime.now(UTC).date().isoformat()
        self.ledger = ledger.Ledger(self.folder)
        self.problems: list[str] = []
        self.differences: list[DifferenceRecord] = []
        self.unsealed_waivers: list[WaiverRecord] = []
        self.files: dict[str, bytes] = {}  # spec and ledger as a pack holds them, by the names there
        self.spec: Spec | None = None
        self.digest = ""
        self.sealed_at = ""
        self.anchor = str(config.getoption("procure_ledger_head") or "").strip().lower()
        self._salt: bytes | None = None
        self._lost = False  # the head that this machine kept
        if self.pilot or not (self.sealing or config.getoption("procure_plan")):
            self._open()
        self.waivers: list[WaiverRecord] = []
        if self.spec is not None and not self.screen:
            self.waivers = waivers(self.spec, self.day)
        self.deviations = [deviation(told) for told in config.getoption("procure_deviation") or ()]
        self.ran: Spec = _unfilled()
        self._read: set[Path] = set()  # files whose imports were followed
        self._drawn: set[Path] = set()  # files that the tests draw on

    def _open(self) -> None:
        """Read the spec, and see that it is the one that was sealed last. What is amiss becomes a problem."""
        try:
            found = spec.read(self.folder)
            if found is None:
                self._refuse_flags_of_a_seal()
            if found is not None:
                self._check(found)
                self._salt = self._known_salt(found)
                self.spec = found
        except EvidenceError as error:
            self.problems.append(str(error))

    def _refuse_flags_of_a_seal(self) -> None:
        for option in ("ledger-head", "rerun"):
            if self._config.getoption(f"procure_{option.replace('-', '_')}"):
                raise EvidenceError(
                    f"`--procure-{option}` is about a sealed suite, and there is no {spec.NAME} in "
                    f"{self.folder}; put it back, or leave the flag out"
                )

    def _check(self, found: Spec) -> None:
        """Hold the spec against the ledger, and the ledger against a head that was kept elsewhere."""
        self.digest = spec.spec_digest(found)
        kept = private.Private(self.folder)
        self._lost = kept.head() is None and kept.is_here()
        chain = self.ledger.read()
        self.day = max(
            self.day, str(chain.entries[-1]["time"])[:10]
        )  # a clock that was set back gains nothing
        sealed, self.sealed_at = sealed_specs(chain)[-1]
        if sealed != self.digest:
            raise EvidenceError(
                f"{spec.NAME} is not the spec that was sealed last ({sealed[:12]} on {self.sealed_at[:10]}): "
                "it was edited, or another was put in its place; restore it, or seal again"
            )
        if self.anchor and not any(digest.startswith(self.anchor) for digest in chain.digests):
            raise EvidenceError(
                f"{ledger.NAME} holds no entry {self.anchor[:12]}, which was kept elsewhere: runs were "
                "removed from it"
            )

    def _known_salt(self, sealed: Spec) -> bytes | None:
        salt = private.Private(self.folder).salt()
        if salt is not None and private.fingerprint(salt) != sealed["salt"]:
            raise EvidenceError(
                f"the salt in {private.FOLDER}/salt is not the one that {spec.NAME} was sealed with; put "
                "that one back, or seal again"
            )
        return salt

    # -- declare ------------------------------------------------------------------------------------------

    def declare(self, item: pytest.Item, requirement: Requirement, stated: Mapping[str, Any]) -> None:
        """Take in what a test declares. Raises `ProcureError` for what cannot be meant."""
        refuse_reruns(item)
        owner, risk = owner_of(item, str(self._config.getini("procure_owner")))
        waived = waivers_of(item, set(stated))
        if self.spec is None and not self.sealing:
            self.unsealed_waivers += [waiver_record(requirement.id, each, "not sealed") for each in waived]
            return
        known = self.ran["requirements"]
        if requirement.id not in known:
            test: Any = getattr(item, "obj", None)
            known[requirement.id] = {
                "question": requirement.question,
                "owner": owner,
                "risk": risk,
                "scenario": requirement.scenario.conditions(),
                "bars": [sealed_bar(bar) for bar in requirement.bars],
                "asserts": asserts_of_test(test, item.path),
                "source": source_of_test(test, item.path),
                "offers": {},
                "waivers": waived,
            }
            self._draws_on(item.path)
        known[requirement.id]["offers"][requirement.candidate] = {"test": requirement.test, "slice": ""}
        for name, described in stated.items():
            self.ran["candidates"].setdefault(name, {"stated": described, "disclosed": {}, "digest": ""})

    def _draws_on(self, path: Path) -> None:
        """Take in the files that a test draws on: the conftests above it, and what they and it import."""
        root = self._config.rootpath
        conftests = {folder / "conftest.py" for folder in path.parents if root in (folder, *folder.parents)}
        starts = {path, *(conftest for conftest in conftests if conftest.is_file())} - self._read
        for start in starts:
            self._drawn |= suite_files(start, root, self._drawn)
        self._read |= starts
        self._drawn |= starts - {path}
        for file in self._drawn:
            name = file.relative_to(root).as_posix()
            if name not in self.ran["files"]:
                self.ran["files"][name] = file_digest(file)

    def compare(self, policy: Policy, award: str) -> None:
        """Hold all that was declared against the seal."""
        self._fill(policy, award)
        if self.spec is None or self.screen or self.pilot:
            return
        found = list(suite_differences(self.spec, self.ran))
        for name, candidate in self.ran["candidates"].items():
            found += candidate_differences(self.spec, name, candidate["stated"])
        for subject, requirement in self.ran["requirements"].items():
            found += requirement_differences(self.spec, subject, requirement)
            self.unsealed_waivers += self._not_sealed(subject, requirement)
        self.differences = found
        subjects = {SUITE, *self.spec["requirements"], *self.spec["candidates"], *self.spec["files"]}
        subjects |= {each["id"] for each in found}
        for deviation in self.deviations:
            if deviation["id"] not in subjects:
                known = unknown("requirement, candidate or file", deviation["id"], subjects)
                self.problems.append(f"--procure-deviation: {known}")

    def _fill(self, policy: Policy, award: str) -> None:
        """Write down what concerns the suite as a whole."""
        config = self._config
        self.ran["task"] = {key: redacted(str(config.getini(f"procure_{key}"))) for key in _TASK}
        self.ran["rule"] = {
            "award": award,
            "consumer_risk": policy.consumer_risk,
            "rejection_risk": policy.rejection_risk,
            "min_clusters": policy.min_clusters,
            "audit": limits(config).told(),
        }
        self.ran["expires"] = _date(str(config.getini("procure_expires")))
        self.ran["retest"] = [*triggers.ALWAYS, *config.getini("procure_retest")]
        self.ran["plugin"] = ".".join(__version__.split(".")[:2])

    def _not_sealed(self, subject: str, ran: SealedRequirement) -> Iterable[WaiverRecord]:
        assert self.spec is not None, "compared with a seal"
        sealed = self.spec["requirements"].get(subject)
        known = [] if sealed is None else sealed["waivers"]
        return [waiver_record(subject, each, "not sealed") for each in ran["waivers"] if each not in known]

    def hold(self, requirement: Requirement, stated: Mapping[str, Any]) -> Hold | None:
        """Give what holds one requirement on one candidate to the seal; None without a seal."""
        if self.spec is None:
            return None
        return Hold(
            ledger=self.ledger,
            spec=self.spec,
            spec_digest=self.digest,
            salt=self._salt,
            requirement=requirement.id,
            candidate=requirement.candidate,
            stated=stated,
            kind="screen" if self.screen else "pilot" if self.pilot else "run",
            reason=redacted(str(self._config.getoption("procure_rerun") or "").strip()),
            keeps=lambda own: self.keeps(own, requirement),
            waiver=in_force(self.waivers, requirement.id, requirement.candidate),
        )

    def general(self) -> list[str]:
        """Say what keeps every offer from acceptance, whatever it measures."""
        if self.screen:
            return []
        if self.spec is None:
            told = "the suite is not sealed, and `procure_require_seal` asks for it; seal it with `pytest "
            return [f"{told}--procure-seal`"] if self.required else []
        if is_over(self.spec["expires"], self.day):
            return [f"the seal expired on {self.spec['expires']}; seal again with a later `procure_expires`"]
        return []

    def keeps(self, own: Iterable[DifferenceRecord], requirement: Requirement) -> bool:
        """Whether a requirement was run as sealed on a candidate, given what its run found different."""
        subjects = set(self.ran["requirements"])
        open_ones = (each for each in [*self.differences, *own] if not is_declared(each, self.deviations))
        concern = (concerns(each, requirement.id, requirement.candidate, subjects) for each in open_ones)
        return not (self.general() or any(concern))

    def sharing(self, candidates: int) -> int:
        """Count the candidates that share the consumer's risk: under a seal, all that are sealed."""
        return max(candidates, 0 if self.spec is None else len(self.spec["candidates"]))

    # -- conclude -----------------------------------------------------------------------------------------

    def expect_all(self, gate: Gate, selected: Sequence[str] | None) -> None:
        """Expect every sealed requirement on every selected candidate, whether or not it was collected."""
        if self.spec is None:
            return
        for subject, requirement in self.spec["requirements"].items():
            for name, offer in requirement["offers"].items():
                if offer["test"] in gate.expected or (selected and name not in selected):
                    continue
                label = str(requirement["scenario"].get("label", ""))
                expected = Expected(subject, requirement["question"], label, offer["test"], name)
                gate.expect([expected], {name: self.spec["candidates"][name]["stated"]})
                gate.absent.add(offer["test"])

    def part(self) -> SealedPart:
        """Write down what is known of seal and ledger by now; `files` are then those of this moment."""
        told, fault = None, ""
        self.files = {}
        if self.spec is not None:
            self.files[SPEC] = spec.dumps(self.spec).encode()
            try:
                chain = self.ledger.read()
                self.files[LEDGER] = ledger.dumps(chain)
                anchored = bool(self.anchor)
                told = LedgerPart(
                    ledger.NAME,
                    len(chain.entries),
                    chain.head,
                    anchored,
                    runs(chain),
                    sealed_specs(chain),
                    self._lost,
                )
            except EvidenceError as error:
                fault = str(error)
        sealed = self.spec
        return SealedPart(
            screen=self.screen,
            required=self.required,
            file="" if sealed is None else spec.NAME,
            spec="" if sealed is None else self.digest,
            sealed="" if sealed is None else self.sealed_at,
            expires="" if sealed is None else sealed["expires"],
            retest=[] if sealed is None else sealed["retest"],
            general=self.general(),
            differences=self.differences,
            deviations=self.deviations,
            waivers=[*self.waivers, *self.unsealed_waivers],
            ledger=told,
            fault=fault,
        )

    # -- between processes --------------------------------------------------------------------------------

    def told(self) -> dict[str, Any]:
        """Give what a worker of pytest-xdist tells its controller."""
        return {"differences": self.differences, "unsealed_waivers": self.unsealed_waivers}

    def take(self, told: Mapping[str, Any]) -> None:
        """On the controller: take in what a worker told."""
        self.differences = list(told.get("differences", ()))
        self.unsealed_waivers = list(told.get("unsealed_waivers", ()))


def seal_folder(config: pytest.Config) -> Path:
    """Give the folder of spec and ledger: that of the ini file, or the root folder where there is none."""
    return config.rootpath if config.inipath is None else config.inipath.parent


def refuse_reruns(item: pytest.Item) -> None:
    """Refuse plugins that run a test until it passes. Raises `DeclarationError`."""
    asked = [name for name in _RERUN_OPTIONS if _is_set(item.config, name)]
    asked += [name for name in _RERUN_MARKS if item.get_closest_marker(name)]
    if asked:
        raise DeclarationError(
            f"`{asked[0]}` runs a test again until it passes, and the first complete run decides; leave it "
            f"out for requirements, as on {item.nodeid.partition('[')[0]}"
        )


def _is_set(config: pytest.Config, name: str) -> bool:
    """Whether an option or ini key of another plugin is set, where there is such a plugin."""
    try:
        return bool(config.getoption(name, None) or config.getini(name))
    except ValueError:
        return False


def deviation(told: str) -> DeviationRecord:
    """Read `ID: reason; approver`. Raises `UsageError`."""
    subject, _, rest = told.partition(": ")
    reason, _, approver = rest.rpartition(";")
    parts = [part.strip() for part in (subject, reason, approver)]
    if not all(parts):
        raise pytest.UsageError(
            f"procure: `--procure-deviation {told!r}`; expected 'ID: reason; approver', where ID is what "
            "differs: a requirement, a candidate, a file or `suite`"
        )
    named, why, who = parts[0], redacted(parts[1]), redacted(parts[2])
    return {"id": named, "reason": why, "approver": who, "used": False}


def _date(written: str) -> str:
    """Read the ini key `procure_expires`. Raises `UsageError`."""
    try:
        if not written or datetime.strptime(written, "%Y-%m-%d").date().isoformat() == written:  # noqa: DTZ007 - a date has no zone
            return written
    except ValueError:
        pass
    raise pytest.UsageError(
        f"procure: ini key `procure_expires = {written}`; expected a date, as in 2027-06-30"
    )


def _unfilled() -> Spec:
    return {
        "format": spec.FORMAT,
        "version": spec.VERSION,
        "plugin": "",
        "task": {},
        "rule": {},
        "expires": "",
        "retest": [],
        "salt": "",
        "candidates": {},
        "datasets": {},
        "requirements": {},
        "files": {},
    }
