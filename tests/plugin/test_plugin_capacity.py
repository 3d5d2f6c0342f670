"""A search for capacity, and a sweep, from the test to the record."""

from __future__ import annotations

import pytest

#: A machine that is busy with something else must not decide: bars that only a failing candidate misses, and
#: batches that take whatever a pause of the machine has piled up.
UNDECIDED = {"inconclusive", "invalid"}  # invalid: that busy machine again
SEARCH = """
    @pytest.mark.scenario("server", qps=200, duration="60 s", max_batch=64)
    def test_carries(procure):
        found = procure.find_capacity(
            {{"error_rate": 0.5, "latency.p50": "5 s"}}, most={most}, short="0.2 s", confirm="1.2 s", {more}
        )
        assert found.capacity >= {bar}
"""


def search(suite, *, most=400, bar="per_second(150)", more="runs=4"):
    suite.tests(SEARCH.format(most=most, bar=bar, more=more))
    ended = suite.run("--procure-report")
    return ended, ended.results["test_carries[good]"]


def test_a_capacity_is_shown_by_a_fresh_run_that_alone_counts(suite):
    suite.offers(good=1.0)
    ended, result = search(suite)
    assert ended.status == 0, ended.text
    confirming, *probes = result["runs"]
    sweep = confirming["sweep"]
    assert [point["role"] for point in sweep["points"]] == ["bracket", "bracket", "confirm"]
    assert [point["offered"] for point in sweep["points"]] == [200, 400, 400]
    assert all(point["ok"] for point in sweep["points"])
    assert sweep["found"] == 400
    assert sweep["by"] == "rate"
    assert sweep["bars"] == ["requests failed at most 0.5", "slower half of the requests (p50) at most 5 s"]
    assert confirming["requests"] == 5 * 96
    assert len({confirming["log"], *(probe["log"] for probe in probes)}) == 3
    assert all(probe["probe"] and not probe["declared"] for probe in probes)
    assert "probe" not in confirming
    found = {finding["metric"]: finding for finding in result["findings"]}
    assert found["capacity"]["verdict"] == "accept"
    assert found["capacity"]["low"]["number"] == 400
    assert found["latency.p50"]["observed_only"]
    assert found["sustained_rate"]["observed_only"]


def test_a_capacity_beyond_what_was_shown_is_not_decided(suite):
    suite.offers(good=1.0)
    ended, result = search(suite, bar="per_second(4000)")
    assert ended.status == 1
    assert result["verdict"] in UNDECIDED
    assert (
        "400/s (likely at least 400/s); asked: at least 4,000/s; no higher rate was confirmed"
        in (result["sentence"])
    )


def test_fewer_launches_than_a_claim_takes_decide_nothing(suite):
    suite.offers(good=1.0)
    _, result = search(suite, more="runs=4, launches=1")
    assert result["verdict"] in UNDECIDED
    assert "1 launch(es) are too few for a claim of capacity; it takes 5" in result["sentence"]


def test_a_candidate_that_meets_the_bars_at_no_rate_has_no_capacity(suite):
    suite.offers(good=0.3)
    suite.tests("""
        @pytest.mark.scenario("server", qps=400, duration="60 s", max_batch=64)
        def test_carries(procure):
            found = procure.find_capacity({"accuracy": 0.9}, short="0.1 s", runs=3)
            assert found.result is None
            assert found.rate is None
            assert found.capacity >= per_second(10)
    """)
    ended = suite.run("--procure-report")
    result = ended.results["test_carries[good]"]
    assert result["verdict"] == "inconclusive"
    assert (
        "not measurable, because no rate met the bars: the lowest tried was 100 requests/s"
        in (result["sentence"])
    )
    assert [point["ok"] for point in result["runs"][0]["sweep"]["points"]] == [False] * 3
    assert result["runs"][0]["sweep"]["found"] is None


def test_a_confirming_run_that_misses_a_bar_shows_nothing(suite):
    """Short runs see few answers and may be lucky; the long one is held to the decision rule."""
    suite.offers(good=0.92)
    suite.tests("""
        @pytest.mark.scenario("server", qps=200, duration="60 s", max_batch=64)
        def test_carries(procure):
            found = procure.find_capacity({"accuracy": 0.9}, most=200, short="1 s", confirm="1 s")
            assert found.rate is None
            assert found.capacity >= per_second(10)
    """)
    result = suite.run("--procure-report").results["test_carries[good]"]
    assert result["verdict"] in UNDECIDED
    assert (
        "not shown; asked: at least 10/s; a fresh run did not show the bars at 200 requests/s"
        in (result["sentence"])
    )
    assert "answers right: 9" in result["sentence"]


def test_the_declared_bars_are_searched_by_where_no_others_are_given(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=400, count=400, max_batch=64)
        @pytest.mark.bar("error_rate", at_most=0.5)
        def test_carries(procure):
            procure.run()
            found = procure.find_capacity(most=400, short="0.1 s", confirm="1 s")
            assert found.capacity >= per_second(100)
    """)
    result = suite.run("--procure-report").results["test_carries[good]"]
    assert result["runs"][1]["sweep"]["bars"] == ["requests failed at most 0.5"]


def test_what_is_sustained_sets_the_cost_at_a_mean_rate(suite):
    suite.offers(good=1.0)
    suite.tests("""
        @pytest.mark.scenario("server", qps=400, duration="60 s", max_batch=64)
        def test_carries(procure):
            found = procure.find_capacity({"error_rate": 0.5}, most=400, short="0.1 s", confirm="1 s")
            one = found.cost_per_request(mean=100)
            three = found.cost_per_request(mean="900 1/s")
            assert abs(one.value - 1 / 3600 / 100) < 1e-12
            assert abs(three.value - 3 / 3600 / 900) < 1e-12
            assert one <= money("0.000003 USD")
    """)
    ended = suite.run("--procure-report")
    assert ended.status == 0, ended.text
    (cost,) = [
        each
        for each in ended.results["test_carries[good]"]["findings"]
        if each["metric"] == "cost_per_request"
    ]
    assert "(1 unit of 400 requests/s, as confirmed, 25% utilised)" in cost["sentence"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("find_capacity()", "a search takes bars, as in `find_capacity({'latency.p95': '80 ms'})`"),
        ("find_capacity({'error_rate': 0.5})", "and it has none; expected `start=`"),
        ("find_capacity({'error_rate': 0.5}, start=9, launches=0)", "`launches=0`; expected a whole number"),
        ("sweep()", "a sweep takes `rates=[10, 20, 40]` or `concurrency=[1, 4, 16]`"),
        ("sweep(rates=[0])", "`rates=0`; expected requests a second"),
    ],
)
def test_what_cannot_be_searched_is_told_in_a_line(suite, call, message):
    suite.offers(good=1.0)
    suite.tests(f"""
        def test_carries(procure):
            procure.{call}
    """)
    ended = suite.run()
    assert ended.status == 1
    assert message in ended.words
    assert "Traceback" not in ended.text


@pytest.mark.parametrize(
    ("loads", "by"), [("rates=[200, 400, 800]", "rate"), ("concurrency=[1, 4]", "concurrency")]
)
def test_a_sweep_keeps_its_curve_and_decides_nothing(suite, loads, by):
    suite.offers(good=1.0)
    suite.tests(f"""
        def test_carries(procure):
            curve = procure.sweep({loads}, bars={{"error_rate": 0.5}}, short="0.1 s")
            assert all(point["achieved"] > 0 for point in curve)
            assert procure.run().accuracy >= 0.9
    """)
    ended = suite.run("--procure-report")
    assert ended.status == 0, ended.text
    result = ended.results["test_carries[good]"]
    sweep = result["runs"][0]["sweep"]
    assert sweep["by"] == by
    assert {point["role"] for point in sweep["points"]} == {"sweep"}
    assert all(point["p50"] <= point["p95"] <= point["p99"] for point in sweep["points"])
    assert [finding["metric"] for finding in result["findings"]] == ["accuracy"]


def test_percentiles_among_failures_are_absent_from_the_curve(suite):
    suite.conftest("""
        def answer(inputs):
            if int(inputs[0]) % 4 == 0:
                raise ValueError("full")
            return np.asarray(inputs) % 10

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]

        @pytest.hookimpl(optionalhook=True)
        def pytest_procure_datasets():
            return {"numbers": numbers}
    """)
    suite.tests("""
        def test_carries(procure):
            (point,) = procure.sweep(rates=[400], short="1 s", bars={"error_rate": 0.1})
            assert point["p50"] is not None
            assert (point["p95"], point["p99"]) == (None, None)
            assert point["failed"] == 100
            assert not point["ok"]
            assert procure.run().error_rate <= 0.5
    """)
    ended = suite.run()
    assert ended.status == 0, ended.text


INTERRUPTED = """
    import os, signal

    calls = []

    def answer(inputs):
        calls.append(1)
        if len(calls) == 100:  # in the third run: the two before it take 30 and 50
            os.kill(os.getpid(), signal.SIGINT)
        return np.asarray(inputs) % 10

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate("good", backend=answer)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        return {"numbers": numbers}
"""


@pytest.mark.parametrize(
    ("call", "called"),
    [
        ("find_capacity({'error_rate': 0.5}, start=200, short='0.1 s')", "search"),
        ("sweep(rates=[200, 400, 800], bars={'error_rate': 0.5}, short='0.1 s')", "sweep"),
    ],
)
def test_ctrl_c_in_a_search_keeps_the_runs_before_it_and_says_so(suite, call, called):
    suite.conftest(INTERRUPTED)
    suite.tests(f"""
        def test_carries(procure):
            procure.{call}
    """)
    ended = suite.run("--procure-report")
    assert ended.status == pytest.ExitCode.INTERRUPTED
    result = ended.results["test_carries[good]"]
    assert result["verdict"] == "not tested"
    cut, last, first = result["runs"]
    assert (cut["stopped"], cut["declared"]) == ("interrupted", False)
    assert [point["offered"] for point in last["sweep"]["points"]] == [200, 400]
    assert last["sweep"]["found"] is None
    assert last["sweep"]["sentence"] == f"the {called} was interrupted; it is kept as far as it came, 2 runs"
    assert first["probe"]
    assert (first["ok"], last["ok"]) == (20, 40)
