"""A sealed suite's pack holds spec and ledger, and verifies; what was cut, moved or left out is found."""

import json
import shutil

import pytest
from sealed_suite import INI, READS, WRITES, ledger, seal

from pytest_procure.evidence import manifest, pack
from pytest_procure.evidence.plain import dumps
from pytest_procure.report.html import render
from pytest_procure.verify import verify


@pytest.fixture
def sealed(suite):
    suite.offers(good=1.0)
    suite.write("pytest.ini", INI)
    suite.tests(READS + WRITES)
    return seal(suite)


def said(found):
    return "\n".join(map(str, found.mismatches))


def edit(folder, path, change):
    data = json.loads((folder / path).read_text())
    change(data)
    pack.put(folder / path, dumps(data))


def made_anew(folder):
    """Make record, page and manifest anew, as somebody would who can write files."""
    record = verify(folder).record
    pack.put(folder / "verdict.json", dumps(record))
    pack.put(folder / "report.html", render(record))
    (folder / "manifest.json").unlink()
    pack.put(folder / "manifest.json", manifest.manifest(folder))
    return verify(folder)


def test_a_sealed_sessions_pack_holds(sealed):
    ended = sealed.run("--procure-report")
    found = verify(ended.folder)
    assert found.holds, said(found)
    assert ended.record["seal"]["state"] == "sealed"
    assert (ended.folder / "ledger.jsonl").is_file()


def test_a_declared_further_run_and_a_screening_verify_as_well(sealed):
    sealed.run("--procure-report")
    for flags in (["--procure-rerun", "a better fan"], ["--procure-screen"]):
        ended = sealed.run("--procure-report", *flags)
        found = verify(ended.folder)
        assert found.holds, said(found)


def test_a_deviating_sessions_pack_holds_and_says_so(sealed):
    sealed.tests((READS + WRITES).replace("at_least=0.9,", "at_least=0.8,"))
    ended = sealed.run("--procure-report")
    found = verify(ended.folder)
    assert found.holds, said(found)
    assert ended.record["outcome"]["accepted"] is False


def test_a_screening_of_other_bars_holds_and_accepts_nothing(sealed):
    sealed.tests((READS + WRITES).replace("at_least=0.9,", "at_least=0.8,"))
    ended = sealed.run("--procure-report", "--procure-screen")
    found = verify(ended.folder)
    assert found.holds, said(found)
    assert ended.record["outcome"]["accepted"] is False


def test_runs_deleted_from_the_packs_ledger_are_found(sealed):
    sealed.run("--procure-report")
    ended = sealed.run("--procure-report", "--procure-rerun", "a better fan")
    path = ended.folder / "ledger.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[-6:]]), "utf-8")
    assert "does not follow from the line before" in said(made_anew(ended.folder))


def test_a_ledger_cut_to_its_head_is_not_the_one_that_was_anchored(sealed):
    sealed.run("--procure-report")
    head = ledger(sealed)[-1]["previous"]
    ended = sealed.run("--procure-report", "--procure-rerun", "a better fan")
    assert verify(ended.folder, anchor=head).holds
    path = ended.folder / "ledger.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text(lines[0], "utf-8")
    assert "is the anchor" in said(verify(ended.folder, anchor=head))


def test_a_bar_moved_after_the_run_is_not_the_sealed_one(sealed):
    ended = sealed.run("--procure-report")
    (case,) = ended.folder.glob("cases/*reads*.json")

    def lower(data):
        data["asked"]["bars"][0]["limit"]["number"] = "0.5"

    edit(ended.folder, case.relative_to(ended.folder), lower)
    found = made_anew(ended.folder)
    assert "$.asked.bars: are not the sealed ones, and no difference says so" in said(found)


def test_a_requirement_taken_out_of_the_pack_is_sealed_and_left_out(sealed):
    ended = sealed.run("--procure-report")
    (case,) = ended.folder.glob("cases/*writes*.json")
    case.unlink()

    def leave_out(data):
        data["gate"]["expected"] = [e for e in data["gate"]["expected"] if "writes" not in e["id"]]

    edit(ended.folder, "session.json", leave_out)
    assert "is sealed for good, and is left out" in said(made_anew(ended.folder))


def test_another_spec_in_the_pack_is_found(sealed):
    ended = sealed.run("--procure-report")
    path = ended.folder / "spec.json"
    path.write_text(path.read_text("utf-8").replace("2999-12-31", "2998-12-31"), "utf-8")
    assert "is not the spec that the session was held to" in said(made_anew(ended.folder))


def test_a_pack_without_its_ledger_does_not_hold(sealed):
    ended = sealed.run("--procure-report")
    (ended.folder / "ledger.jsonl").unlink()
    assert not made_anew(ended.folder).holds
    shutil.rmtree(ended.folder)
