"""The decision rule's risks and floors: from the ini file, from a bar, and shared between candidates."""

import pytest

READS = """
@pytest.mark.bar("accuracy", at_least=0.9)
def test_reads(procure):
    procure.run()
"""


def run_of(suite, ini="", text=READS, *arguments, **shares):
    suite.offers(**(shares or {"only": 0.93}))
    suite.write("pytest.ini", f"[pytest]\n{ini}\n")
    suite.tests(text)
    return suite.run("--procure-report", *arguments)


def finding_of(ended, name="only"):
    (finding,) = ended.results[f"test_reads[{name}]"]["findings"]
    return finding


def low(ended):
    return finding_of(ended)["low"]["number"]


# procure_consumer_risk


def test_without_a_word_the_consumers_risk_is_5_percent(suite):
    ended = run_of(suite)
    assert ended.record["consumer_risk"] == 0.05
    assert finding_of(ended)["confidence"] == 0.95
    assert "wrongly accept it at most 1 time in 20" in finding_of(ended)["rule"]


def test_a_smaller_consumers_risk_lowers_the_bound_and_turns_a_close_offer_away(suite):
    usual, strict = (
        (low(ended), finding_of(ended)["verdict"])
        for ended in (run_of(suite, ini) for ini in ("", "procure_consumer_risk = 0.001"))
    )
    assert strict[0] < usual[0]
    assert (usual[1], strict[1]) == ("accept", "inconclusive")


def test_the_suites_risk_stands_in_the_words_and_the_record(suite):
    ended = run_of(suite, "procure_consumer_risk = 0.01")
    assert ended.record["consumer_risk"] == 0.01
    assert finding_of(ended)["confidence"] == 0.99
    assert "wrongly accept it at most 1 time in 100" in finding_of(ended)["rule"]
    assert any("with probability at most 1 %" in line for line in ended.record["rule"])


def test_a_risk_that_is_no_round_number_of_times_is_told_as_a_share(suite):
    ended = run_of(suite, "procure_consumer_risk = 0.03")
    assert "wrongly accept it in at most 3 % of such tests" in finding_of(ended)["rule"]


@pytest.mark.parametrize("written", ["0", "0.5", "1", "-0.1", "nan", "5 %", "small", "1e-9"])
def test_a_consumers_risk_that_cannot_be_meant_is_one_sentence(suite, written):
    suite.offers(only=1.0)
    suite.write("pytest.ini", f"[pytest]\nprocure_consumer_risk = {written}\n")
    suite.tests(READS)
    said = f"ini key `procure_consumer_risk = {written}`; expected a number from 1e-06 to 0.49"
    assert suite.mistake() == said


# A bar's own risk


def test_a_bars_own_risk_decides_it_and_stands_in_its_words(suite):
    strict = READS.replace("at_least=0.9", "at_least=0.9, consumer_risk=0.001")
    ended = run_of(suite, "procure_consumer_risk = 0.2", strict)
    assert ended.verdicts == {"test_reads[only]": "inconclusive"}
    assert finding_of(ended)["confidence"] == 0.999
    assert "wrongly accept it at most 1 time in 1000" in finding_of(ended)["rule"]
    assert low(ended) == low(run_of(suite, "procure_consumer_risk = 0.001"))


def test_other_bars_keep_the_suites_risk(suite):
    both = '@pytest.mark.bar("error_rate", at_most=0.1)' + READS.replace("0.9)", "0.9, consumer_risk=0.001)")
    ended = run_of(suite, "procure_consumer_risk = 0.02", both)
    confidences = {
        each["metric"]: each["confidence"] for each in ended.results["test_reads[only]"]["findings"]
    }
    assert confidences == {"accuracy": 0.999, "error_rate": 0.98}


def test_an_assert_is_decided_at_the_suites_risk(suite):
    text = "def test_reads(procure):\n    assert procure.run().accuracy >= 0.9\n"
    ended = run_of(suite, "procure_consumer_risk = 0.001", text)
    assert ended.status == pytest.ExitCode.TESTS_FAILED
    assert finding_of(ended)["confidence"] == 0.999


@pytest.mark.parametrize("written", [0, 0.5, 1, True, "5 %", 1e-17])
def test_a_bars_risk_that_cannot_be_meant_is_one_sentence(suite, written):
    suite.offers(only=1.0)
    suite.tests(READS.replace("0.9)", f"0.9, consumer_risk={written!r})"))
    assert f"`consumer_risk={written!r}`: expected a chance between 0 and 0.5" in suite.mistake()


# procure_min_clusters


CLUSTERED = """
def pytest_procure_candidates(): return [Candidate("only", backend=answers(1.0))]
def pytest_procure_datasets(): return {"numbers": lambda: numbers(clusters=np.arange(400) // 16)}
"""


@pytest.mark.parametrize(("least", "verdict"), [(25, "accept"), (26, "inconclusive")])
def test_the_fewest_clusters_of_a_verdict_are_the_suites(suite, least, verdict):
    suite.conftest(CLUSTERED)
    suite.write("pytest.ini", f"[pytest]\nprocure_min_clusters = {least}\n")
    suite.tests(READS.replace("0.9", "0.5"))
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[only]": verdict}
    assert any(f"fewer than {least} clusters give no verdict" in line for line in ended.record["rule"])


def test_without_a_word_it_takes_twenty_clusters(suite):
    suite.conftest(CLUSTERED.replace("// 16", "// 21"))  # 20 of them
    suite.tests(READS.replace("0.9", "0.5"))
    assert suite.run("--procure-report").verdicts == {"test_reads[only]": "accept"}
    suite.conftest(CLUSTERED.replace("// 16", "// 22"))  # 19
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_reads[only]": "inconclusive"}
    assert "19 clusters are too few for a verdict; it takes 20" in ended.words


@pytest.mark.parametrize("written", ["1", "many", "-20"])
def test_a_number_of_clusters_that_cannot_be_meant_is_one_sentence(suite, written):
    suite.offers(only=1.0)
    suite.write("pytest.ini", f"[pytest]\nprocure_min_clusters = {written}\n")
    suite.tests(READS)
    assert suite.mistake().startswith(f"ini key `procure_min_clusters = {written}`; expected a number from 2")


# Shared between candidates


def test_candidates_of_whom_any_may_be_awarded_share_the_risk(suite):
    offers = dict.fromkeys("abcde", 1.0)
    ended = run_of(suite, "", READS, "--procure-award", "any", **offers)
    assert finding_of(ended, "a")["confidence"] == 0.99
    assert "at most 1 time in 100" in finding_of(ended, "a")["rule"]


def test_they_share_a_bars_own_risk_too(suite):
    text = READS.replace("0.9)", "0.9, consumer_risk=0.02)")
    ended = run_of(suite, "", text, "--procure-award", "any", a=1.0, b=1.0)
    assert finding_of(ended, "a")["confidence"] == 0.99
    alone = run_of(suite, "", text, a=1.0, b=1.0)
    assert finding_of(alone, "a")["confidence"] == 0.98


def test_the_page_and_the_record_state_the_largest_risk_of_any_bar(suite):
    lax = READS.replace("at_least=0.9", "at_least=0.9, consumer_risk=0.4")
    ended = run_of(suite, "", lax)
    told = next(line for line in ended.record["rule"] if line.startswith("Consumer's risk"))
    assert "with probability at most 40 %" in told
    assert "elsewhere at most 5 %" in told


def test_candidates_that_the_command_leaves_out_share_the_risk_all_the_same(suite):
    both = run_of(suite, "", READS, "--procure-award", "any", one=0.5, two=1.0)
    alone = run_of(suite, "", READS, "--procure-award", "any", "--procure-candidate", "two", one=0.5, two=1.0)
    for ended in (both, alone):
        assert finding_of(ended, "two")["confidence"] == 0.975
        assert ended.record["consumer_risk"] == 0.025
