"""Packs of tests that were really run, without pytest around them."""

import tempfile
from pathlib import Path

import numpy as np

from pytest_procure import ms
from pytest_procure.asserts import Role
from pytest_procure.backends import Function
from pytest_procure.bars import declare_bar
from pytest_procure.candidates import Candidate, HourlyPrice
from pytest_procure.cases import Case
from pytest_procure.datasets import Dataset
from pytest_procure.decision import Policy
from pytest_procure.evidence import pack
from pytest_procure.evidence.keeping import Keeper
from pytest_procure.evidence.parts import Requirement
from pytest_procure.evidence.sealed import UNSEALED
from pytest_procure.evidence.session_file import GatePart, SessionFile, record_of
from pytest_procure.gate import Expected, Gate
from pytest_procure.procure import Procure
from pytest_procure.provision import provisioned
from pytest_procure.report.outputs import outputs
from pytest_procure.scenarios import Scenario
from pytest_procure.suite import Offer
from pytest_procure.trials import Trial

DISCLOSED = {"runtime": "Python", "model": "m1"}
ENVIRONMENT = {"gpus": [{"name": "H100", "uuid": "GPU-1", "driver": "570.1"}], "python": {"version": "3"}}
BARS = {
    "quality": [("accuracy", {"at_least": 0.9}), ("error_rate", {"at_most": 0.1})],
    "server": [
        ("latency.p95", {"at_most": "10 s"}),
        ("goodput", {"at_least": 0.5, "latency": "10 s", "correct": True}),
        ("cost_per_correct", {"at_most": "1 USD"}),
        ("own.joy", {"at_least": 3}),
    ],
    "groups": [("accuracy", {"at_least": 0.5}), ("corpus.right", {"at_least": 0.5})],
    "offline": [("throughput", {"at_least": "1 1/s"}), ("accuracy", {"at_least": 0.9})],
    "beside": [
        ("accuracy", {"below": "other", "margin": 0.2}),
        ("latency.p50", {"at_most": "900 %", "of": "other"}),
    ],
    "words": [("quality.close", {"at_least": 0.2})],
}
SCENARIOS = {
    "quality": Scenario.declare("single_stream", warmup=0),
    "server": Scenario.declare("server", qps=2000, count=240, max_batch=4, warmup=0, seed=1),
    "groups": Scenario.declare("multi_stream", samples_per_query=3, warmup=0),
    "offline": Scenario.declare("offline", max_batch=16, warmup=0),
    "beside": Scenario.declare("single_stream", warmup=0),
    "words": Scenario.declare("single_stream", warmup=0),
}


def close(output: str, reference: str) -> float:
    """Share of letters that agree."""
    return sum(a == b for a, b in zip(output, reference, strict=False)) / len(reference)


def numbers(kind: str) -> Dataset:
    inputs = np.arange(60)
    more = {"strata": ["low"] * 20 + ["high"] * 40}
    if kind == "groups":
        more = {
            "clusters": (inputs // 2).tolist(),
            "corpus": {"right": lambda out, ref: np.mean(np.equal(out, ref))},
        }
    if kind == "words":
        words = [f"answer {n}" for n in inputs]
        return Dataset.from_arrays("words", inputs=words, references=words, scorer={"close": close})
    return Dataset.from_arrays("numbers", inputs=inputs, references=inputs % 10, licence="internal", **more)


def stumbling(wrong: int = 17, raises: int = 13):
    """Right but for 13, on which it raises, and one more, which it answers wrongly."""

    def answer(inputs):
        if isinstance(inputs, list):
            return [text.replace("9", "8") for text in inputs]
        if raises in inputs:
            raise ValueError("thirteen")
        return [-1 if number == wrong else int(number) % 10 for number in inputs]

    return answer


def offer(name: str = "acme", wrong: int = 17, price: str = "1 USD", raises: int = 13) -> Candidate:
    backend = Function(stumbling(wrong, raises), name="stumbling")
    return Candidate(name, vendor="Acme", backend=backend, price=HourlyPrice(price, utilisation=0.5))


def write(
    folder: Path,
    *kinds: str,
    candidate: Candidate | None = None,
    environment: dict | None = None,
    started: str = "2026-11-30T12:00:00Z",
    **keeping: object,
) -> Path:
    """Run each kind of test on a candidate and write the pack of it all."""
    candidate = candidate or offer()
    gate, keeper = Gate(), Keeper(folder, **keeping)
    stated = candidate.describe()
    for kind in kinds:
        bars = tuple(declare_bar(name, **limit) for name, limit in BARS[kind])
        asked = Requirement(
            f"test_{kind}",
            f"Is it {kind}?",
            f"test_{kind}[{candidate.name}]",
            candidate.name,
            SCENARIOS[kind],
            bars,
        )
        trial = Trial(asked, Policy(), case=Case(candidate, bars, Policy()), disclosed=DISCLOSED)
        others = [Offer(offer("other", wrong=23, raises=-1), Path())] if kind == "beside" else []
        loaded = provisioned(candidate.backend, Path())
        with tempfile.TemporaryDirectory() as locks:
            kept, tempfile.tempdir = tempfile.tempdir, locks
            try:
                held = Procure(
                    trial.case, loaded, numbers(kind).slice(), SCENARIOS[kind], references=others,
                    journals=keeper.journals(asked.test),
                )  # fmt: skip
                result = held.run()
            finally:
                tempfile.tempdir = kept
        if kind == "server":
            held.measure("own.joy", 4, interval=(3.5, 5))
        if kind == "quality":
            role = Role("assert result.accuracy > 0.5", "test_x.py:9", negated=False, optional=False)
            trial.case.compare(result.accuracy._measurement, ">", result.accuracy.quantity, role)
            trial.case.compare(result.latency.p90._measurement, "<=", ms(900), role)
            trial.not_reached = [("assert False", "test_x.py:10")]
        trial.conclude(keeper.run)
        keeper.case(trial.file())
        gate.expect(
            [Expected(asked.id, asked.question, asked.scenario.label, asked.test, candidate.name)],
            {candidate.name: stated},
        )
        gate.receive(trial.record, trial.disclosed, trial.right)
    session = SessionFile(
        format="pytest-procure/session", version=1, title="Numbers", decision="", measured_by="Buyer",
        measured_for="Board", started=started, finished=started, plugin_version="1", command="pytest",
        policy=Policy(), status=1, gate=GatePart.of(gate), sealed=UNSEALED, notes=("A note.",),
        valid_until="",
    )  # fmt: skip
    record = record_of(session, gate.results.values(), environment or ENVIRONMENT, right=gate.right)
    pack.write(folder, session, record, {name: text.encode() for name, text in outputs(record).items()})
    return folder
