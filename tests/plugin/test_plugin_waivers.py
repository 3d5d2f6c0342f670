"""Waivers let pass what is measured and not met, by somebody, for a reason, until a day."""

import pytest
from sealed_suite import READS, WRITES, kept_out, seal

WAIVER = '@pytest.mark.waiver(owner="claims department", reason="fixed in 2.1", expires="2999-12-31")'
SAID = "test_it.py::test_reads by claims department until 2999-12-31 (reason: fixed in 2.1)"
UNDECIDED = READS.replace("count=400", "count=20")


@pytest.mark.parametrize("test", [READS, UNDECIDED])
def test_a_sealed_waiver_lets_pass_and_is_named_in_the_verdict_sentence(suite, test):
    suite.offers(good=0.5 if test is READS else 0.95)
    suite.tests(WAIVER + test)
    seal(suite)
    ended = suite.run("--procure-report")
    assert ended.status == 0
    assert ended.record["outcome"]["sentence"] == f"good is accepted with a waiver: {SAID}."
    assert ended.verdicts == {"test_reads[good]": "waived"}
    (waiver,) = ended.record["waivers"]
    assert waiver["state"] == "in force"
    assert "claims department" in (ended.folder / "report.html").read_text("utf-8")


def test_an_assert_that_is_waived_fails_no_test(suite):
    suite.offers(good=0.5)
    suite.tests(f"{WAIVER}\ndef test_reads(procure):\n    assert procure.run().accuracy >= 0.9\n")
    seal(suite)
    ended = suite.run("--procure-report")
    assert (ended.status, ended.outcomes) == (0, {"xfailed": 1})
    assert ended.verdicts == {"test_reads[good]": "waived"}


def test_an_offer_with_a_waiver_is_waived_as_a_whole_even_where_the_rest_is_accepted(suite):
    suite.offers(good=0.95)
    suite.tests(WAIVER + READS.replace("at_least=0.9, design=0.97", "at_least=0.99") + WRITES)
    seal(suite)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[good]": "waived", "test_writes[good]": "accept"}
    (candidate,) = ended.record["candidates"]
    assert candidate["verdict"] == "waived"
    assert candidate["sentence"].startswith("meets 1 of 2 requirements; waived: ")


def test_a_waiver_that_is_not_sealed_is_none(suite):
    suite.offers(good=0.5)
    suite.tests(READS)
    seal(suite)
    suite.tests(WAIVER + READS)
    record = kept_out(suite.run("--procure-report"), "A waiver was not sealed and counts for nothing")
    assert record["waivers"][0]["state"] == "not sealed"


def test_without_any_seal_a_waiver_is_none(suite):
    suite.offers(good=0.5)
    suite.tests(WAIVER + READS)
    kept_out(suite.run("--procure-report"), "A waiver was not sealed and counts for nothing")


def test_an_expired_waiver_is_none(suite):
    suite.offers(good=0.5)
    suite.tests(WAIVER.replace("2999", "2020") + READS)
    seal(suite)
    record = kept_out(suite.run("--procure-report"), "A waiver has expired and counts for nothing")
    assert record["waivers"][0]["state"] == "expired"


def test_a_waiver_for_one_candidate_is_none_for_another(suite):
    suite.offers(good=0.5, other=0.5)
    suite.tests(WAIVER.replace(")", ', candidate="good")') + READS)
    seal(suite)
    ended = suite.run("--procure-report")
    assert ended.status == 1
    assert ended.verdicts == {"test_reads[good]": "waived", "test_reads[other]": "reject"}


def test_a_waiver_does_not_stand_in_for_a_measurement(suite):
    suite.offers(good=1.0)
    suite.tests(WAIVER + READS + WRITES)
    seal(suite)
    kept_out(suite.run("--procure-report", "-k", "writes"), "it was deselected")


def test_a_waiver_does_not_cover_an_error(suite):
    suite.offers(good=0.5)
    suite.tests(WAIVER + READS + "    raise RuntimeError('broken')\n")
    seal(suite)
    kept_out(suite.run("--procure-report"), "RuntimeError: broken")


def test_a_waiver_that_nobody_needs_is_told(suite):
    suite.offers(good=1.0)
    suite.tests(WAIVER + READS)
    seal(suite)
    ended = suite.run("--procure-report")
    assert ended.status == 0
    assert ended.record["outcome"]["sentence"] == "good is accepted."
    assert ended.record["waivers"][0]["state"] == "not needed"


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        ("waiver('x')", "expected owner=, reason=, expires=, candidate="),
        ("waiver(owner='a', reason='b')", "`expires=` is missing"),
        ("waiver(owner='a', reason=' ', expires='2999-12-31')", "`reason=` is missing"),
        ("waiver(owner='a', reason='b', expires='soon')", "expected a date"),
        ("waiver(owner='a', reason='b', until='2999-12-31')", "unknown argument `until`"),
        ("waiver(owner='a', reason='b', expires='2999-12-31', candidate='god')", "did you mean `good`?"),
        ("requirement('x')", "expected owner=, risk="),
        ("requirement(ownr='x')", "did you mean `owner`?"),
    ],
)
def test_a_mark_that_cannot_be_meant_is_a_mistake(suite, mark, sentence):
    suite.offers(good=1.0)
    suite.tests(
        f"@pytest.mark.{mark}"
        + READS.replace('@pytest.mark.requirement(owner="post room", risk="letters go astray")\n', "")
    )
    assert sentence in suite.mistake()
