"""Which run of a requirement decides, and at what risk a further one is judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.bars import declare_bar
from pytest_procure.decision import Policy
from pytest_procure.evidence.ledger import Chain
from pytest_procure.evidence.series import (
    aborted,
    measured_part,
    model_digest,
    number,
    refusal,
    runs,
    sealed_specs,
    series,
    under_others,
)
from pytest_procure.verdict import policy_of


def chain(*events):
    """Make a chain of (event, run, more)."""
    entries = [
        {"event": event, "run": run, "time": f"2026-11-{place + 1:02}T10:00:00Z", **more}
        for place, (event, run, more) in enumerate(events)
    ]
    return Chain(tuple(entries), tuple("0" for _ in entries))


OWN = {"requirement": "r", "candidate": "c", "candidate_digest": "d", "model": "m"}


def begin(run, *, requirement="r", digest="d", kind="run", reason="", model="m", candidate="c", spec="s"):
    told = {
        "requirement": requirement,
        "candidate": candidate,
        "candidate_digest": digest,
        "model": model,
        "kind": kind,
        "spec": spec,
    }
    return ("begin", run, {**told, "reason": reason})


def done(run, verdict="reject", **more):
    return [begin(run, **more), ("measured", run, {}), ("end", run, {"verdict": verdict})]


def test_a_run_is_complete_once_all_is_measured_whatever_becomes_of_it():
    told = runs(chain(begin("1"), ("measured", "1", {}), begin("2")))
    assert [(run["id"], run["state"], run["verdict"]) for run in told] == [
        ("1", "complete", ""),
        ("2", "aborted", ""),
    ]


def test_a_series_is_of_one_requirement_on_one_offer_and_model_without_screenings():
    told = chain(
        *done("1"),
        *done("2", requirement="q"),
        *done("3", digest="e", model="n"),
        *done("4", kind="screen"),
        *done("5", digest="f", candidate="b"),
    )
    assert [run["id"] for run in series(told, OWN)] == ["1"]


def test_what_can_be_declared_away_starts_no_series():
    """Hardware, runtime or precision by another name: another digest, and the same model."""
    told = chain(*done("1", digest="e"), *done("2", digest="f"))
    assert [run["id"] for run in series(told, OWN)] == ["1", "2"]


def test_an_entry_that_names_no_model_counts():
    assert len(series(chain(*done("1", digest="e", model="")), OWN)) == 1


def test_a_model_is_what_is_disclosed_as_one():
    told = {"runtime": "1.0", "stages": {"a": {"files": {"w": "1"}, "device": "cpu"}}}
    assert model_digest(told) == model_digest({**told, "runtime": "2.0", "gpus": ["H100"]})
    other = {"runtime": "1.0", "stages": {"a": {"files": {"w": "2"}, "device": "cpu"}}}
    assert model_digest(told) != model_digest(other)


def test_what_began_under_another_spec_is_told_of_every_kind():
    told = chain(*done("1", spec="a"), *done("2", spec="a", kind="screen"), *done("3"))
    assert [run["id"] for run in under_others(runs(told), "s")] == ["1", "2"]


def test_the_first_run_needs_no_reason():
    assert refusal([], "") == ""


def test_a_run_after_a_complete_one_needs_a_reason():
    earlier = series(chain(*done("1"), *done("2", "accept")), OWN)
    assert "this would be run 3" in refusal(earlier, "")
    assert "(2026-11-01: reject)" in refusal(earlier, "")  # the first decides, not the last
    assert refusal(earlier, "the room was too warm") == ""


def test_a_run_after_an_aborted_one_needs_a_reason_and_is_the_second():
    earlier = series(chain(begin("1")), OWN)
    assert "did not come to its end" in refusal(earlier, "")
    assert "which as run 2 is judged at a smaller risk" in refusal(earlier, "")
    assert (number(earlier), aborted(earlier)) == (2, 1)


def test_each_run_that_began_counts():
    earlier = series(chain(*done("1"), begin("2"), *done("3")), OWN)
    assert (number(earlier), aborted(earlier)) == (4, 1)


def test_a_pilot_is_a_look_of_no_series():
    told = chain(*done("1", kind="pilot"))
    assert series(told, OWN) == []
    assert [run["kind"] for run in runs(told)] == ["pilot"]


def test_what_is_of_no_known_kind_counts():
    assert len(series(chain(begin("1", kind="rehearsal")), OWN)) == 1


@given(st.integers(1, 40), st.floats(1e-6, 0.49))
def test_all_runs_together_have_less_than_twice_the_consumers_risk(k, risk):
    policy = Policy(consumer_risk=risk)
    total = sum(policy.of_run(run).consumer_risk for run in range(1, k + 1))
    assert total < 2 * risk or total == pytest.approx(2 * risk)


@given(st.integers(1, 20), st.integers(1, 20))
def test_a_policy_of_a_run_does_not_depend_on_the_way_there(first, second):
    assert Policy().of_run(first).of_run(second) == Policy().of_run(second)


def test_a_bars_own_risk_falls_with_the_run_too():
    bar = declare_bar("accuracy", at_least=0.9, consumer_risk=0.02)
    assert policy_of(bar, Policy().of_run(3)).consumer_risk == 0.005


def test_a_price_makes_no_other_candidate_and_a_model_does():
    stated = {"name": "a", "price": {"amount": "1"}, "notes": "", "precision": "fp32"}
    assert measured_part(stated, {}) == measured_part({**stated, "price": None, "notes": "new"}, {})
    assert measured_part(stated, {}) != measured_part(stated, {"sha256": "other"})


def test_sealed_specs_are_told_the_oldest_first():
    told = chain(("seal", "", {"spec": "a"}), ("seal", "", {"spec": "b"}))
    assert [digest for digest, _ in sealed_specs(told)] == ["a", "b"]
