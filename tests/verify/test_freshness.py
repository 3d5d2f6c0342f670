"""Evidence that holds may still be stale: it is said, and the command fails."""

import datetime as dt
import json
from dataclasses import replace

import packs
import pytest

from pytest_procure.cli import main
from pytest_procure.evidence.triggers import ALWAYS, DATA, HARDWARE, MODEL, PRICES
from pytest_procure.verify import verify
from pytest_procure.verify.freshness import stale, triggers

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


@pytest.mark.parametrize("field", ["precision", "hardware"])
def test_an_offer_that_states_something_else_has_drifted(fresh, written, field):
    new = written("new", "quality", started=LATER)
    fresh.record["candidates"][0][field] = "other"
    assert any(f"`acme`: {field}: was" in said for _, said in states(fresh, against=new))


def test_another_processor_is_drift(fresh, written):
    other = {**packs.ENVIRONMENT, "cpu": {"model": "Zen 9"}}
    told = states(fresh, against=written("new", "quality", started=LATER, environment=other))
    assert told == {("drifted", "the processor: was none, is now Zen 9")}


# -- triggers --------------------------------------------------------------------------------------------


def asking(found, *own, **more):
    found.record["seal"] = {**found.record["seal"], "retest": [*ALWAYS, *own]}
    settings = {"against": None, "on": "2026-12-31", **more}
    told = triggers(found, stale(found, **settings), against=settings["against"])
    return {each.text: each.state for each in told}


def test_without_a_later_pack_no_change_was_looked_for(fresh):
    assert set(asking(fresh).values()) == {"not looked at"}


@pytest.mark.parametrize(
    ("trigger", "changed"),
    [
        (PRICES, {"candidate": packs.offer(price="2 USD")}),
        (HARDWARE, {"environment": {**packs.ENVIRONMENT, "gpus": []}}),
    ],
)
def test_a_trigger_fires_that_the_later_pack_shows_and_no_other(fresh, written, trigger, changed):
    told = asking(fresh, against=written("new", "quality", started=LATER, **changed))
    assert {text for text, state in told.items() if state == "fires"} == {trigger}
    assert set(told.values()) == {"fires", "does not fire"}


def test_the_models_trigger_fires_on_another_fingerprint(fresh, written, monkeypatch):
    monkeypatch.setattr(packs, "DISCLOSED", {"runtime": "Python", "model": "m2"})
    assert asking(fresh, against=written("new", "quality", started=LATER))[MODEL] == "fires"


def test_the_datas_trigger_fires_on_other_items(fresh, written, monkeypatch):
    more = packs.numbers("quality")
    monkeypatch.setattr(packs, "numbers", lambda _: replace(more, version="2"))
    assert asking(fresh, against=written("new", "quality", started=LATER))[DATA] == "fires"


@pytest.mark.parametrize(
    ("dated", "state"),
    [("2026-12-01", "does not fire"), ("2026-09-01", "fires"), ("", "fires")],
)
def test_prices_are_too_old_by_their_sheets_date_or_where_it_has_none(fresh, dated, state):
    fresh.record["candidates"][0]["price"]["date"] = dated
    assert asking(fresh, "Prices older than 90 days")["Prices older than 90 days"] == state


def test_words_of_the_suites_own_are_for_people(fresh, written):
    new = written("new", "quality", started=LATER)
    assert asking(fresh, "the court rules", against=new)["the court rules"] == "for people to tell"


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
