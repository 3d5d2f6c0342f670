"""A suite that is sealed again, relabelled, or run by another clock: what it gains, and what is told."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from sealed_suite import INI, READS, kept_out, seal

from pytest_procure.evidence import ledger
from pytest_procure.verify import verify

RERUN = ("--procure-rerun", "bars were agreed anew")
FIRST = "Bars, data, candidates and tests are those that were sealed before anything was measured."
ANEW = "The suite was sealed anew after 1 run(s) had begun under another spec"


@pytest.fixture
def rejected(suite):
    """A suite whose only offer is right on 90 %, turned down at a bar of 95 %."""
    suite.write("pytest.ini", INI)
    suite.offers(good=0.9)
    suite.tests(READS.replace("0.9,", "0.95,"))
    assert seal(suite).run().status == 1
    return suite


# -- sealed again -------------------------------------------------------------------------------------------


def test_a_first_seal_is_told_as_one(sealed):
    ended = sealed.run("--procure-report")
    assert ended.record["seal"]["sentence"] == FIRST
    assert ended.record["ledger"]["earlier"] == []


def test_a_bar_that_is_moved_after_a_result_and_sealed_again_is_told(rejected):
    rejected.tests(READS.replace("0.9,", "0.8,"))
    ended = seal(rejected).run("--procure-report", *RERUN)
    assert ended.status == 0  # allowed, and told
    assert FIRST not in ended.words
    assert ANEW in ended.words
    assert "Sealed before: spec" in ended.words
    page = (ended.folder / "report.html").read_text("utf-8")
    assert "<dt>Fixed beforehand</dt><dd>sealed anew, after 1 run</dd>" in page
    assert ANEW in page
    assert ANEW in (ended.folder / "summary.md").read_text("utf-8")
    (earlier,) = ended.record["ledger"]["earlier"]
    assert (earlier["runs"], earlier["looks"]) == (1, 0)


def test_a_test_of_another_name_that_is_sealed_after_a_result_is_told(rejected):
    rejected.tests(READS.replace("0.9,", "0.8,").replace("test_reads", "test_reads_well"))
    ended = seal(rejected).run("--procure-report")
    assert ended.status == 0
    assert ANEW in ended.words
    assert "of another name or model 1 run began" in ended.words
    assert "none was begun before." not in ended.words


def test_a_screening_before_the_seal_that_holds_is_told(sealed):
    sealed.run("--procure-screen")
    sealed.tests(READS.replace("0.9,", "0.8,"))
    ended = seal(sealed).run("--procure-report")
    assert "sealed anew after 1 screening(s) or pilot(s) had begun" in ended.words


def test_sealing_the_same_again_is_no_other_seal(sealed):
    sealed.run()
    seal(sealed)
    ended = sealed.run("--procure-report", *RERUN)
    assert ended.record["seal"]["sentence"] == FIRST


def test_a_pack_that_denies_an_earlier_seal_does_not_hold(rejected):
    rejected.tests(READS.replace("0.9,", "0.8,"))
    ended = seal(rejected).run("--procure-report", *RERUN)
    path = ended.folder / "session.json"
    told = json.loads(path.read_text("utf-8"))
    told["sealed"]["ledger"]["runs"] = told["sealed"]["ledger"]["runs"][1:]
    told["sealed"]["ledger"]["seals"] = told["sealed"]["ledger"]["seals"][1:]
    path.write_text(json.dumps(told, sort_keys=True, indent=1) + "\n", "utf-8")
    found = "\n".join(map(str, verify(ended.folder).mismatches))
    assert "$.sealed.ledger.runs: are not those that the ledger tells of" in found
    assert "$.sealed.ledger.seals: are not those that the ledger tells of" in found


# -- relabelled ---------------------------------------------------------------------------------------------


def test_an_offer_on_hardware_of_another_name_is_run_again_at_half_the_risk(suite):
    def offers(hardware):
        suite.conftest(f"""
            def pytest_procure_candidates():
                return [Candidate("good", backend=answers(1.0), hardware="{hardware}")]
            def pytest_procure_datasets():
                return {{"numbers": numbers}}
        """)

    offers("rack 1")
    suite.write("pytest.ini", INI)
    suite.tests(READS)
    seal(suite).run()
    offers("rack 2")
    declared = [
        each for what in ("good", "conftest.py") for each in ("--procure-deviation", f"{what}: a label; boss")
    ]
    kept_out(suite.run("--procure-report", *declared), "this would be run 2 of it")
    ended = suite.run("--procure-report", *declared, *RERUN)
    assert ended.status == 0, ended.text
    assert ended.results["test_reads[good]"]["series"]["consumer_risk"] == 0.025


# -- another clock ------------------------------------------------------------------------------------------


def clock(monkeypatch, days):
    class Moved(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=days)

    monkeypatch.setattr("pytest_procure.evidence.ledger.datetime", Moved)
    monkeypatch.setattr("pytest_procure.held.datetime", Moved)


@pytest.fixture
def expiring(suite):
    suite.write("pytest.ini", INI.replace("2999-12-31", datetime.now(UTC).date().isoformat()))
    suite.offers(good=1.0)
    suite.tests(READS)
    return seal(suite)


def test_a_clock_that_is_set_back_lets_no_run_begin(sealed, monkeypatch):
    with monkeypatch.context() as patch:
        clock(patch, days=30)
        assert sealed.run().status == 0
    kept_out(sealed.run("--procure-report", *RERUN), "the clock was set back, or was wrong then")


def test_a_seal_that_has_expired_stays_so_by_the_ledger(expiring, monkeypatch):
    with monkeypatch.context() as patch:
        clock(patch, days=30)
        expiring.run()
    ended = expiring.run("--procure-report", *RERUN)
    kept_out(ended, "the seal expired on")
    assert ended.record["seal"]["state"] == "expired"


def test_a_pack_that_denies_the_expiry_does_not_hold(expiring, monkeypatch):
    with monkeypatch.context() as patch:
        clock(patch, days=30)
        ended = expiring.run("--procure-report")
    path = ended.folder / "session.json"
    told = json.loads(path.read_text("utf-8"))
    told["sealed"]["general"] = []
    told["started"] = (datetime.now(UTC) + timedelta(days=30)).isoformat(timespec="seconds")
    path.write_text(json.dumps(told, sort_keys=True, indent=1) + "\n", "utf-8")
    found = "\n".join(map(str, verify(ended.folder).mismatches))
    assert "$.sealed.general: does not say that the seal had expired by" in found


# -- what this machine kept ---------------------------------------------------------------------------------


def test_that_the_kept_head_is_gone_is_told(sealed):
    sealed.run()
    (sealed.path / ".procure" / "head").unlink()
    ended = sealed.run("--procure-report", *RERUN)
    assert "The head that this machine kept is gone" in ended.record["ledger"]["sentence"]


def test_a_machine_that_keeps_its_head_says_nothing_of_it(sealed):
    sealed.run()
    assert "kept is gone" not in sealed.run("--procure-report", *RERUN).record["ledger"]["sentence"]


# -- scorers, and what answers ------------------------------------------------------------------------------


SCORED = """
TOLERANCE = 0  # in digits

def near(output, reference):
    return abs(output - reference) <= TOLERANCE

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("good", backend=answers(1.0))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": lambda: numbers(scorer=near)}
"""
DECLARED = ("--procure-deviation", "conftest.py: a comment corrected; boss")


@pytest.fixture
def scored(suite):
    suite.write("pytest.ini", INI)
    suite.conftest(SCORED)
    suite.tests(READS.replace('"accuracy"', '"quality.near"'))
    return seal(suite)


def test_a_tolerance_that_is_loosened_is_no_comment_corrected(scored):
    scored.conftest(SCORED.replace("TOLERANCE = 0", "TOLERANCE = 2000"))
    kept_out(scored.run("--procure-report", *DECLARED), "scorer `quality.near / source` was sealed as")


def test_a_comment_corrected_passes_as_one(scored):
    scored.conftest(SCORED.replace("in digits", "in whole digits"))
    ended = scored.run("--procure-report", *DECLARED)
    assert ended.status == 0, ended.text


def test_that_files_of_a_plain_function_are_not_sealed_is_told(sealed):
    ended = sealed.run("--procure-report")
    assert "good: answered by the suite's own Python; what that reads" in ended.words


# -- the harness's thresholds -------------------------------------------------------------------------------


def test_thresholds_that_the_suite_sets_stand_on_the_page_and_in_the_seal(sealed):
    usual = sealed.run("--procure-report")
    assert "Set by the suite" not in (usual.folder / "report.html").read_text("utf-8")
    sealed.write("pytest.ini", INI + "procure_max_other_threads = 1\n")
    ended = sealed.run("--procure-report", *RERUN)
    page = (ended.folder / "report.html").read_text("utf-8")
    assert "Set by the suite: max_other_threads (usually 0.05)" in page
    assert "`procure_max_other_threads` was sealed as 0.05 and is 1" in ended.words
    assert ended.record["outcome"]["accepted"] is False


# -- what people wrote --------------------------------------------------------------------------------------


def test_secrets_in_what_is_stated_are_in_no_file(suite):
    key = "sk" + "-abcdefghijklmnop1234"
    suite.write(
        "pytest.ini", f"[pytest]\nprocure_title = of {key}\nprocure_decision = at https://a:{key}@b\n"
    )
    suite.conftest(f"""
        PRICE = HourlyPrice("1 USD", utilisation=0.5, source="https://bob:hush@prices/x")
        def pytest_procure_candidates():
            return [Candidate("good", backend=answers(1.0), notes="ask with {key}", hardware="node {key}",
                              vendor="{key}", runtime="token=hush", price=PRICE)]
        def pytest_procure_datasets():
            return {{"numbers": lambda: numbers(source="postgresql://bob:hush@db/x", caveats=["pwd=hush"],
                                               licence="{key}")}}
    """)
    suite.tests(f"""
        @pytest.mark.requirement(owner="{key}", risk="{key}")
        @pytest.mark.waiver(owner="{key}", reason="{key}", expires="2999-01-01")
        def test_reads(procure):
            '''Does it read, with {key}?'''
            result = procure.run()
            assert result.accuracy >= 0.9, "{key}"
            assert result.error_rate <= (0.1 if "{key}" else 0)
    """)
    seal(suite)
    ended = suite.run("--procure-report", "--procure-deviation", f"suite: {key}; {key}")
    assert ended.status == 0, ended.text
    ended = suite.run("--procure-report", "--procure-rerun", f"because {key}")
    assert ended.status == 0, ended.text
    written = [path for path in ended.folder.rglob("*") if path.is_file()]
    written += [suite.path / "procure-spec.json", suite.path / ledger.NAME]
    for path in written:
        data = path.read_bytes()
        assert key.encode() not in data, path
        assert b"hush" not in data, path
