"""Evidence that holds may still be stale: it is said, and the command fails."""

import datetime as dt
import json

import packs
import pytest

from pytest_procure.cli import main
from pytest_procure.verify import verify
from pytest_procure.verify.freshness import stale

LATER = "2026-12-24T12:00:00Z"


@pytest.fixture
def fresh(written):
    return verify(written("old", "quality"))


def states(found, **more):
    return {(each.state, each.said) for each in stale(found, **{"against": None, "on": "", **more})}


def sealed(found, expires):
    found.record["seal"] = {"expires": expires}
    return found


def test_evidence_without_an_expiry_does_not_expire(fresh):
    assert not states(fresh)


@pytest.mark.parametrize(("on", "expired"), [("2027-01-31", False), ("2027-02-01", True)])
def test_evidence_is_good_until_its_sealed_expiry(fresh, on, expired):
    told = states(sealed(fresh, "2027-01-31"), on=on)
    assert {state for state, _ in told} == ({"expired"} if expired else set())


def test_evidence_is_good_until_the_last_day_that_the_suite_declares(fresh):
    fresh.record["valid_until"] = "2027-01-31"
    assert not states(fresh, on="2027-01-31")
    assert {state for state, _ in states(fresh, on="2027-02-01")} == {"expired"}


def test_today_is_the_day_where_none_is_named(fresh):
    yesterday = dt.datetime.now(dt.UTC).date() - dt.timedelta(days=1)
    assert {state for state, _ in states(sealed(fresh, yesterday.isoformat()))} == {"expired"}


def test_an_expiry_that_is_no_date_is_no_licence(fresh):
    assert {state for state, _ in states(sealed(fresh, "whenever"))} == {"expired"}


def test_the_same_offer_measured_again_is_no_drift(fresh, written):
    assert not states(fresh, against=written("new", "quality", started=LATER))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"candidate": packs.offer(price="2 USD")}, "price.amount"),
        ({"environment": {**packs.ENVIRONMENT, "gpus": [{"name": "H100", "driver": "580.2"}]}}, "driver"),
    ],
)
def test_a_changed_offer_has_drifted_and_what_changed_is_named(fresh, written, changed, named):
    told = states(fresh, against=written("new", "quality", started=LATER, **changed))
    assert {state for state, _ in told} == {"drifted"}
    assert any(named in said for _, said in told)


def test_another_model_behind_the_same_name_has_drifted(fresh, written, monkeypatch):
    monkeypatch.setattr(packs, "DISCLOSED", {"runtime": "Python", "model": "m2"})
    told = states(fresh, against=written("new", "quality", started=LATER))
    assert told == {("drifted", "`acme`: backend.model: was 'm1', is now 'm2'")}


def test_a_later_specification_supersedes(fresh, written, monkeypatch):
    monkeypatch.setitem(packs.BARS, "quality", [("accuracy", {"at_least": 0.8})])
    told = states(fresh, against=written("new", "quality", started=LATER))
    assert {state for state, _ in told} == {"superseded"}


def test_an_offer_that_is_gone_is_superseded(fresh, written):
    new = written("new", "quality", started=LATER, candidate=packs.offer("bolt"))
    assert ("superseded", "`acme` is no longer on offer") in states(fresh, against=new)


def test_stale_evidence_fails_the_command_and_is_said(fresh, written, capsys):
    new = written("new", "quality", started=LATER, candidate=packs.offer(price="2 USD"))
    assert main(["verify", str(fresh.folder), "--against", str(new)]) == 1
    assert "DRIFTED: `acme`: price.amount: was '1', is now '2'" in capsys.readouterr().out


def test_a_date_that_is_none_is_told_in_a_sentence(fresh, capsys):
    assert main(["verify", str(fresh.folder), "--on", "soon"]) == 2
    assert "`--on soon` is no date" in capsys.readouterr().err


def test_verify_tells_what_it_found_as_json(fresh, capsys):
    assert main(["verify", "--json", str(fresh.folder)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["holds"], told["exit_status"], told["mismatches"]) == (True, 0, [])
    assert [level["name"] for level in told["levels"]] == ["L0", "L1", "L2", "L3"]


def test_a_gate_fails_on_offers_that_are_not_accepted(fresh, capsys):
    assert main(["verify", "--gate", str(fresh.folder)]) == 1
    assert "holds" in capsys.readouterr().out
