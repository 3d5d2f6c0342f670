"""What the harness measures of itself, from the ini to the verdict."""

import pytest

BUSY = """
import threading

@pytest.mark.scenario("server", qps=200, count=120)
@pytest.mark.bar("latency.p50", at_most="1 us")
def test_quick(procure):
    over = threading.Event()

    def spin():
        while not over.is_set():
            pass

    thread = threading.Thread(target=spin, name="suite-poller", daemon=True)
    thread.start()
    procure.run()
    over.set()
    thread.join()
"""
CALM = """
@pytest.mark.scenario("server", qps=200, count=60)
@pytest.mark.bar("accuracy", at_least=0.5)
def test_right(procure):
    procure.run()
"""


def test_a_busy_python_thread_in_the_process_makes_a_slow_run_invalid(suite):
    suite.offers(acme=1.0)
    suite.tests(BUSY)
    ended = suite.run("--procure-report")
    assert ended.verdicts == {"test_quick[acme]": "invalid"}
    assert ended.status == 1
    (run,) = ended.results["test_quick[acme]"]["runs"]
    assert any("`suite-poller` above all" in fault for fault in run["faults"])


def test_the_audit_is_in_the_record_with_the_limits_it_was_held_to(suite):
    suite.offers(acme=1.0)
    suite.tests(CALM)
    ended = suite.run("--procure-report", "-o", "procure_max_send_lag=3 ms")
    audit = ended.results["test_right[acme]"]["runs"][0]["audit"]
    assert audit["limits"]["send_lag_ns"] == 3_000_000
    assert audit["candidate"]["offered"] == 60
    assert audit["arrivals"]["irregular"] == []


@pytest.mark.parametrize(
    ("key", "written", "expected"),
    [
        ("max_send_lag", "1", "a time up to a minute, as in `1 ms`"),
        ("max_send_lag", "2 h", "a time up to a minute, as in `1 ms`"),
        ("max_clock_step", "0 ms", "a time up to a minute, as in `1 ms`"),
        ("max_gc_pause", "soon", "a time up to a minute, as in `1 ms`"),
        ("max_run_delay", "5 %", "a share up to 1"),
        ("max_other_threads", "nan", "a share up to 1"),
        ("max_pinned", "1.5", "a share up to 1"),
        ("max_send_lag_of_bar", "-1", "a share up to 1"),
        ("max_backlog_growth", "0.5", "a factor from 1 up to 1,000,000"),
    ],
)
def test_a_threshold_that_cannot_be_meant_is_a_usage_error(suite, key, written, expected):
    suite.offers(acme=1.0)
    suite.tests(CALM)
    assert suite.mistake("-o", f"procure_{key}={written}") == (
        f"ini key `procure_{key} = {written}`; expected {expected}"
    )


SLOW = """
import threading
from pytest_procure import Function

def slow(inputs):
    threading.Event().wait(0.01 * len(inputs))
    return np.asarray(inputs) % 10

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate("slow", backend=Function(slow))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}
"""
OVERLOADED = """
@pytest.mark.scenario(%s, warmup=0)
@pytest.mark.bar("accuracy", at_least=0.9)
def test_keeps_up(procure):
    procure.run()
"""


@pytest.mark.parametrize(
    "traffic",
    [
        '"server", qps=200, count=100',
        '"burst", base=100, peak=300, period="200 ms", duty=0.5, duration="600 ms"',
        '"ramp", start=100, end=300, duration="600 ms"',
        '"ramp", start=300, end=100, duration="600 ms"',
    ],
)
def test_half_the_rate_is_rejected_although_all_is_answered_in_the_drain_time(suite, traffic):
    suite.conftest(SLOW)
    suite.tests(OVERLOADED % traffic)
    ended = suite.run("--procure-report")
    (run,) = ended.results["test_keeps_up[slow]"]["runs"]
    assert run["ok"] == run["requests"]
    assert ended.verdicts["test_keeps_up[slow]"] in {"reject", "invalid"}  # invalid on a busy machine
    assert any(note.startswith("the backlog grew: ") for note in run["notes"])
    assert "the backlog grew all the while: it was asked" in ended.words
