"""A hold: one requirement on one candidate, held to its seal, with its entries in the ledger."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .datasets import DatasetSlice
from .decision import Policy
from .errors import EvidenceError
from .evidence.canonical import plain
from .evidence.differences import candidate_differences, difference, disclosed_differences, slice_differences
from .evidence.ledger import Chain, Entry, Ledger
from .evidence.record import DifferenceRecord, SeriesRecord, WaiverRecord
from .evidence.sealing import sealed_candidate, sealed_slice
from .evidence.series import begun_entry, number, refusal, series
from .evidence.spec import Spec


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
    kind: Literal["run", "screen"]
    reason: str
    keeps: Callable[[Sequence[DifferenceRecord]], bool]
    waiver: WaiverRecord | None = None
    differences: list[DifferenceRecord] = field(default_factory=list)
    run: str = ""  # "" until it begins
    _digest: str = ""
    _number: int = 1
    _begun: int = 1
    _risk: float = 0.0
    _measured: bool = False

    def look(self, chosen: DatasetSlice, disclosed: Mapping[str, Any]) -> None:
        """Compare the samples and the loaded candidate with the sealed ones, before they are used."""
        self._digest = sealed_candidate(self.stated, disclosed)["digest"]
        if self.kind == "screen":
            return
        self.differences += disclosed_differences(self.spec, self.candidate, plain(disclosed))
        self.differences += self._of_slice(chosen)

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
            earlier = series(chain, self.requirement, self._digest) if self.kind == "run" else []
            if why := refusal(earlier, self.reason):
                raise EvidenceError(why)
            self._number, self._begun = number(earlier), len(earlier) + 1
            return begun_entry(
                run,
                kind=self.kind,
                requirement=self.requirement,
                candidate=self.candidate,
                candidate_digest=self._digest,
                spec=self.spec_digest,
                reason=self.reason if earlier else "",
            )

        self.ledger.append("begin", entry)
        self.run = run
        return self._judged_at(policy)

    def measured(self, policy: Policy, requests: int) -> Policy:
        """Write that all requests are answered, before anybody sees what came of them.

        Another session may have finished a run in the meantime: the number is that of now. Raises
        `EvidenceError`.
        """
        if self._measured:
            return policy.of_run(self._number)

        def entry(chain: Chain) -> Entry:
            others = [run for run in series(chain, self.requirement, self._digest) if run["id"] != self.run]
            if self.kind == "run":
                self._number = max(self._number, number(others))
            return {"run": self.run, "requests": requests}

        self.ledger.append("measured", entry)
        self._measured = True
        return self._judged_at(policy)

    def end(self, verdict: str) -> None:
        """Write the verdict, or that the run ended before all was measured. Raises `EvidenceError`."""
        if self.run:
            told = verdict if self._measured else ""
            kept = self.kind == "screen" or self.keeps(self.differences)
            self.ledger.append("end", lambda _: {"run": self.run, "verdict": told, "as_sealed": kept})

    def record(self) -> SeriesRecord | None:
        """Tell which run it was; None if it never began."""
        if not self.run or self.kind == "screen":
            return None
        return {
            "run": self._number,
            "of": self._number,
            "begun": self._begun,
            "candidate": self._digest,
            "reason": self.reason if self._begun > 1 else "",
            "consumer_risk": self._risk,
            "ledger_id": self.run,
        }

    def _judged_at(self, policy: Policy) -> Policy:
        judged = policy.of_run(self._number)
        self._risk = judged.consumer_risk
        return judged

    def _of_slice(self, chosen: DatasetSlice) -> list[DifferenceRecord]:
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
        ran = sealed_slice(chosen, self.salt)
        return list(slice_differences(self.requirement, self.candidate, offer["slice"], sealed, ran))
