"""The pack of a sealed run holds spec and ledger, and what it says of them is held against both."""

import json

import pytest

from pytest_procure.evidence import manifest, pack
from pytest_procure.evidence.plain import dumps
from pytest_procure.verify import verify


@pytest.fixture
def ran(sealed):
    """The folder of a sealed run that holds."""
    ended = sealed.run("--procure-report")
    assert ended.status == 0, ended.text
    return ended.folder


def wrong(folder):
    """Write the manifest anew, and give what is wrong all the same, by file."""
    (folder / manifest.MANIFEST).unlink()
    pack.put(folder / manifest.MANIFEST, manifest.manifest(folder))
    return {each.file: each.said for each in verify(folder).mismatches}


def test_spec_and_ledger_lie_in_the_pack(ran, sealed):
    assert (ran / "spec.json").read_bytes() == (sealed.path / "procure-spec.json").read_bytes()
    kept = (ran / "ledger.jsonl").read_bytes()
    assert kept == (sealed.path / "procure-ledger.jsonl").read_bytes()
    assert wrong(ran) == {}


def test_an_edited_spec_is_not_the_one_that_the_session_was_held_to(ran):
    told = json.loads((ran / "spec.json").read_text("utf-8"))
    told["requirements"]["test_it.py::test_reads"]["bars"][0]["value"] = "0.5"
    (ran / "spec.json").write_text(json.dumps(told), "utf-8")
    assert "is not the spec that the session was held to" in wrong(ran)["spec.json"]


def test_entries_cut_off_the_ledger_are_missed(ran):
    lines = (ran / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (ran / "ledger.jsonl").write_bytes(b"".join(lines[:-1]))
    assert wrong(ran)["session.json"] in {
        "is not the head of the ledger that lies in the pack",
        "are not those that the ledger tells of",
    }


def test_an_entry_changed_inside_the_ledger_breaks_its_chain(ran):
    told = (ran / "ledger.jsonl").read_bytes()
    (ran / "ledger.jsonl").write_bytes(told.replace(b'"verdict":"accept"', b'"verdict":"reject"'))
    found = wrong(ran)
    assert "ledger.jsonl" in found or "session.json" in found


@pytest.mark.parametrize("name", ["spec.json", "ledger.jsonl"])
def test_a_pack_without_its_spec_or_ledger_does_not_hold(ran, name):
    (ran / name).unlink()
    assert name in wrong(ran)


def test_a_bar_that_is_not_the_sealed_one_is_found_where_no_difference_tells(ran):
    """Whoever makes verdict and pages anew as well is still held to the spec."""
    (path,) = (ran / "cases").iterdir()
    told = json.loads(path.read_text("utf-8"))
    told["asked"]["bars"][0]["limit"]["number"] = "0.5"
    path.write_text(dumps(told), "ascii")
    found = wrong(ran)
    assert found[f"cases/{path.name}"] == "are not the sealed ones, and no difference says so"


def test_a_pack_that_was_held_to_no_seal_holds_no_spec(suite):
    suite.offers(good=1.0)
    suite.tests("@pytest.mark.bar('accuracy', at_least=0.5)\ndef test_it(procure):\n    procure.run()\n")
    folder = suite.run("--procure-report").folder
    (folder / "spec.json").write_text("{}", "ascii")
    assert "lies in the pack of a session that was held to no seal" in wrong(folder)["spec.json"]


def test_a_deviation_that_was_declared_is_told_alike_by_session_and_verification(sealed):
    sealed.offers(good=0.99)
    ended = sealed.run("--procure-report", "--procure-deviation", "conftest.py: a better offer; the board")
    assert ended.record["deviations"][0]["used"] is True
    assert verify(ended.folder).holds
