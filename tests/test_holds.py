"""A hold on one run: what it writes, in which order, and at which risk it lets judge."""

import pytest

from pytest_procure.datasets import Dataset
from pytest_procure.decision import Policy
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.ledger import Ledger
from pytest_procure.evidence.sealing import sealed_candidate, sealed_slice
from pytest_procure.evidence.series import runs
from pytest_procure.holds import Hold

SALT = b"s" * 32
STATED = {"name": "a", "precision": "fp32"}
DISCLOSED = {"sha256": "1"}
DATA = Dataset.from_arrays("numbers", inputs=[1, 2, 3], references=[1, 2, 3]).slice()
SPEC = {
    "salt": "f",
    "candidates": {"a": sealed_candidate(STATED, DISCLOSED)},
    "datasets": {"numbers": sealed_slice(DATA, SALT)},
    "requirements": {"r": {"offers": {"a": {"test": "r[a]", "slice": "numbers"}}}},
}


@pytest.fixture
def ledger(tmp_path):
    book = Ledger(tmp_path)
    book.append("seal", lambda _: {"spec": "s"}, new=True)
    return book


def hold(ledger, *, kind="run", reason="", disclosed=DISCLOSED):
    made = Hold(
        ledger=ledger,
        spec=SPEC,
        spec_digest="s",
        salt=SALT,
        requirement="r",
        candidate="a",
        stated=STATED,
        kind=kind,
        reason=reason,
        keeps=lambda own: not own,
    )
    made.look(DATA, disclosed)
    return made


def complete(made, verdict="reject"):
    made.begin(Policy())
    judged = made.measured(Policy(), 3)
    made.end(verdict)
    return judged


def test_a_run_is_written_once_however_often_its_test_runs_the_scenario(ledger):
    made = hold(ledger)
    for _ in range(3):
        assert made.begin(Policy()) == Policy()
        assert made.measured(Policy(), 3) == Policy()
    made.end("accept")
    assert [entry["event"] for entry in ledger.read().entries] == ["seal", "begin", "measured", "end"]


def test_a_run_that_may_not_begin_writes_nothing(ledger):
    complete(hold(ledger))
    before = ledger.path.read_bytes()
    with pytest.raises(EvidenceError, match="this would be run 2"):
        hold(ledger).begin(Policy())
    assert ledger.path.read_bytes() == before


def test_a_run_while_another_still_runs_needs_a_reason(ledger):
    hold(ledger).begin(Policy())
    with pytest.raises(EvidenceError, match="did not come to its end"):
        hold(ledger).begin(Policy())


def test_of_two_runs_side_by_side_the_one_that_began_last_is_the_second(ledger):
    first, second = hold(ledger), hold(ledger, reason="in a hurry")
    assert first.begin(Policy()).consumer_risk == 0.05
    assert complete(second).consumer_risk == 0.025
    assert first.measured(Policy(), 3).consumer_risk == 0.05
    assert (first.record()["run"], second.record()["run"]) == (1, 2)


def test_whoever_ends_each_run_that_goes_badly_gets_no_more_than_twice_the_risk(ledger):
    """As many tries as one likes: the risks at which they are judged, whether or not they come to an end."""
    risks = []
    for attempt in range(15):
        made = hold(ledger, reason="the machine went down" if attempt else "")
        risks.append(made.begin(Policy()).consumer_risk)
    last = hold(ledger, reason="the machine went down")
    risks.append(complete(last, "accept").consumer_risk)
    assert sum(risks) < 2 * Policy().consumer_risk
    assert (last.record()["run"], last.record()["aborted"]) == (16, 15)


def test_the_digests_of_a_runs_rows_stand_in_its_last_entry(ledger):
    made = hold(ledger)
    made.begin(Policy())
    made.measured(Policy(), 3)
    made.end("accept", {"runs/r.npy": "ab"})
    assert ledger.read().entries[-1]["logs"] == {"runs/r.npy": "ab"}


def test_a_screening_is_never_refused_and_never_counts(ledger):
    complete(hold(ledger))
    screened = hold(ledger, kind="screen")
    assert complete(screened).consumer_risk == 0.05
    assert screened.record() is None
    assert hold(ledger, reason="x").begin(Policy()).consumer_risk == 0.025


def test_a_run_that_never_began_is_told_as_none(ledger):
    made = hold(ledger)
    made.end("not tested")
    assert made.record() is None
    assert len(ledger.read().entries) == 1


def test_a_run_that_ended_before_it_was_measured_has_no_verdict(ledger):
    made = hold(ledger)
    made.begin(Policy())
    made.end("inconclusive")
    (told,) = runs(ledger.read())
    assert (told["state"], told["verdict"]) == ("aborted", "")


def test_that_a_run_is_not_as_sealed_stands_in_the_ledger(ledger):
    complete(hold(ledger, disclosed={"sha256": "2"}), "accept")
    (told,) = runs(ledger.read())
    assert (told["verdict"], told["as_sealed"]) == ("accept", False)


def test_the_same_model_on_a_machine_of_another_name_is_no_other_series(ledger):
    complete(hold(ledger))
    relabelled = hold(ledger, reason="a typing error", disclosed={**DISCLOSED, "device": "cuda:0"})
    assert complete(relabelled).consumer_risk == 0.025


def test_another_model_is_another_series(ledger):
    complete(hold(ledger))
    assert complete(hold(ledger, disclosed={"sha256": "2"})).consumer_risk == 0.05
