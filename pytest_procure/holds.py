"""A hold: one requirement on one candidate, held to its seal, with its entries in the ledger."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from .datasets import DatasetSlice
from .decision import Policy
from .errors import EvidenceError
from .evidence.canonical import plain
from .evidence.differences import candidate_differences, difference, disclosed_differences, slice_differences
from .evidence.ledger import Chain, Entry, Ledger
from .evidence.record import DifferenceRecord, SeriesRecord, WaiverRecord
from .evidence.sealing import salted_slice, sealed_as_salted, sealed_candidate
from .evidence.series import aborted, begun_entry, model_digest, number, refusal, series
from .evidence.spec import Spec


@cache
def _instead_of_a_salt() -> bytes:
    """Give what hides the items of a suite whose salt is lost, for as long as this process lives."""
    return secrets.token_bytes(32)


@dataclass(slots=True)
class Hold:
    """Begin, measured and end of a run stand in the ledger before and after what they announce.

    `keeps`: whether the run keeps to its seal, given what it found different itself.
    `reason`: why a requirement that was measured before is run again; "" if nobody declared one.
    `waiver`: the sealed one in force, or None.
    """

    ledger: Ledger
    spec: Spec
    spec_digest: str
    salt: bytes | None
    requirement: str
    candidate: str
    stated: Mapping[str, Any]
    kind: Literal["run", "screen", "pilot"]
    reason: str
    keeps: Callable[[Sequence[DifferenceRecord]], bool]
    waiver: WaiverRecord | None = None
    differences: list[DifferenceRecord] = field(default_factory=list)
    run: str = ""  # "" until it begins
    _digest: str = ""
    _model: str = ""
    _number: int = 1
    _aborted: int = 0  # of those before it
    _risk: float = 0.0
    _measured: bool = False

    def look(self, chosen: DatasetSlice, disclosed: Mapping[str, Any]) -> DatasetSlice:
        """Compare the samples and the loaded candidate with the sealed ones, before they are used.

        Gives the samples so that a pack tells of them no more than the spec does: by salted digests, which
        are those of this moment.
        """
        hidden = salted_slice(chosen, self.salt or _instead_of_a_salt())
        _ = hidden.digest
        self._digest = sealed_candidate(self.stated, disclosed)["digest"]
        self._model = model_digest(plain(disclosed))
        if self.kind == "run":
            self.differences += disclosed_differences(self.spec, self.candidate, plain(disclosed))
            self.differences += self._of_slice(hidden)
        return hidden

    def look_again(self, disclosed: Mapping[str, Any]) -> None:
        """Compare the candidate with the sealed one once more, after it was loaded anew."""
        if self.kind == "run":
            self.differences += disclosed_differences(self.spec, self.candidate, plain(disclosed))

    def look_at_other(self, name: str, stated: Mapping[str, Any], disclosed: Mapping[str, Any]) -> None:
        """Compare a candidate that this one is compared with: what differs there concerns this one."""
        if self.kind == "run":
            found = [
                *candidate_differences(self.spec, name, plain(stated)),
                *disclosed_differences(self.spec, name, plain(disclosed)),
            ]
            for each in found:
                each["candidate"] = self.candidate
            self.differences += found

    def begin(self, policy: Policy) -> Policy:
        """Write that the run begins, and give the risk that it is judged at; once, however often it is asked.

        Raises `EvidenceError` where the run may not begin: it was measured before and nobody declared why it
        is run again, or the ledger is amiss.
        """
        if self.run:
            return policy.of_run(self._number)
        run = uuid.uuid4().hex

        def entry(chain: Chain) -> Entry:
            own = begun_entry(
                run,
                kind=self.kind,
                requirement=self.requirement,
                candidate=self.candidate,
                candidate_digest=self._digest,
                model=self._model,
                spec=self.spec_digest,
                reason="",
            )
            earlier = series(chain, own) if self.kind == "run" else []
            if why := refusal(earlier, self.reason):
                raise EvidenceError(why)
            self._number, self._aborted = number(earlier), aborted(earlier)
            return {**own, "reason": self.reason if earlier else ""}

        self.ledger.append("begin", entry)
        self.run = run
        return self._judged_at(policy)

    def measured(self, policy: Policy, requests: int) -> Policy:
        """Write that all requests are answered, before anybody sees what came of them.

        The number is that of when it began: whoever begins later has the later one, and the smaller risk.
        Raises `EvidenceError`.
        """
        if not self._measured:
            self.ledger.append("measured", lambda _: {"run": self.run, "requests": requests})
            self._measured = True
        return self._judged_at(policy)

    def end(self, verdict: str, logs: Mapping[str, str] | None = None) -> None:
        """Write the verdict, or that the run ended before all was measured. Raises `EvidenceError`.

        `logs`: SHA-256 of each file of rows that a pack holds of it, by its path there; none without a pack.
        """
        if self.run:
            told = verdict if self._measured else ""
            kept = self.kind != "run" or self.keeps(self.differences)
            ended = {"run": self.run, "verdict": told, "as_sealed": kept, "logs": dict(logs or {})}
            self.ledger.append("end", lambda _: ended)

    def record(self) -> SeriesRecord | None:
        """Tell which run it was; None if it never began."""
        if not self.run or self.kind != "run":
            return None
        return {
            "run": self._number,
            "of": self._number,
            "aborted": self._aborted + (not self._measured),
            "candidate": self._digest,
            "reason": self.reason if self._number > 1 else "",
            "consumer_risk": self._risk,
            "ledger_id": self.run,
        }

    def _judged_at(self, policy: Policy) -> Policy:
        judged = policy.of_run(self._number)
        self._risk = judged.consumer_risk
        return judged

    def _of_slice(self, hidden: DatasetSlice) -> list[DifferenceRecord]:
        requirement = self.spec["requirements"].get(self.requirement)
        offer = None if requirement is None else requirement["offers"].get(self.candidate)
        sealed = None if offer is None else self.spec["datasets"].get(offer["slice"])
        if offer is None or sealed is None:
            return []  # the requirement, or the candidate, is itself not pre-registered
        if self.salt is None:
            said = (
                "the salt is lost, so nobody can show that these are the sealed items; put back "
                "`.procure/salt`, or seal again"
            )
            return [
                difference(
                    "missing",
                    self.requirement,
                    "the salt",
                    self.spec["salt"],
                    "",
                    declarable=False,
                    sentence=said,
                )
            ]
        ran = sealed_as_salted(hidden, self.salt, self.ledger.path.parent)
        return list(slice_differences(self.requirement, self.candidate, offer["slice"], sealed, ran))
