"""The driver itself: what it sends, what it keeps to itself, and that nothing of it stays behind."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import trustme
from mock_process import Mock, Texts

from pytest_procure import HttpJson, OpenAIEndpoint
from pytest_procure.backends.protocol import LoadedEndpoint
from pytest_procure.driver.endpoint import crew
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.log import Status
from pytest_procure.errors import DataError, DeclarationError, ProvisionError
from pytest_procure.scenarios import Scenario, arrivals, sample_order
from pytest_procure.units import Quantity, ms

SECOND = 1_000_000_000
NO_PAUSE = ms(0)


def test_the_schedule_and_the_order_are_those_of_the_scenario(mock):
    run = mock.run(qps=100, count=60, seed=3)
    scenario = Scenario.declare("server", qps=100, count=60, seed=3)
    assert run.log.scheduled.tolist() == arrivals(scenario, 60).tolist()
    assert run.log.samples.tolist() == sample_order(40, 60, 3).tolist()
    assert (run.log.started >= run.log.scheduled).all()


def test_each_answer_stands_with_the_sample_that_was_asked(mock):
    endpoint = HttpJson(f"{mock.url}/predict", output=("predictions", 0, "label")).load(Path())
    log = mock.run(qps=200, count=80, endpoint=endpoint).log
    assert log.answers == [f"prompt {sample}" for sample in log.samples]


@pytest.mark.parametrize("processes", [2, 3])
def test_load_processes_share_one_schedule(mock, processes):
    mock.behave(ttft_ms=5, itl_ms=1, tokens=3)
    run = mock.run(qps=200, count=100, endpoint=mock.endpoint(load_processes=processes))
    log = run.log
    assert log.ok.all()
    assert run.audit.load_processes == processes
    assert (np.diff(log.scheduled) >= 0).all()
    assert (log.wire.chunks == 3).all()
    first = log.wire.first_token
    assert ((first > log.started) & (first <= log.completed)).all()
    assert len(mock.records()) == 100


def test_single_stream_has_one_request_under_way(mock):
    mock.behave(ttft_ms=2, tokens=2)
    log = mock.run("single_stream", count=30).log
    assert (log.started[1:] >= log.completed[:-1]).all()
    assert mock.log()["most_at_once"] == 1
    assert (log.scheduled <= log.started).all()


@dataclass(frozen=True)
class Users(Scenario):
    """A closed loop of several users, who think."""

    concurrency: int = 1
    think_time: Quantity = NO_PAUSE


def test_a_closed_loop_keeps_as_many_under_way_as_it_has_users(mock):
    mock.behave(ttft_ms=50, tokens=1)
    run = drive(mock.endpoint(), Texts(9), Users("single_stream", count=64, warmup=0, concurrency=8))
    log = run.log
    assert log.ok.all()
    assert mock.log()["most_at_once"] == 8
    assert (np.diff(log.started) >= 0).all()
    assert (log.scheduled <= log.started).all()


def test_users_think_before_they_ask_again(mock):
    mock.behave(tokens=1)
    users = Users("single_stream", count=10, warmup=0, concurrency=2, think_time=ms(100))
    log = drive(mock.endpoint(), Texts(9), users).log
    ended = np.sort(log.completed)
    assert log.ok.all()
    assert (log.started[2:] - ended[:-2] >= 0.1 * SECOND).all()


def test_a_warm_up_may_be_a_time(mock):
    mock.behave(ttft_ms=10, tokens=1)
    scenario = replace(Scenario.declare("server", qps=100, count=10), warmup=ms(300))
    run = drive(mock.endpoint(), Texts(9), scenario)
    assert run.log.ok.all()
    assert 1 < run.conditions["warmup_calls"] == len(mock.log()["records"]) - 10


def test_a_closed_loop_by_duration_ends_and_logs_what_it_sent(mock):
    mock.behave(ttft_ms=2, tokens=2)
    log = mock.run("single_stream", duration="500 ms").log
    assert len(log) == len(mock.log()["records"])
    assert log.ok.all()
    assert log.scheduled[-1] < SECOND // 2


def test_offline_keeps_as_many_under_way_as_there_are_connections(mock):
    mock.behave(ttft_ms=20, tokens=1)
    run = mock.run("offline", count=40, endpoint=mock.endpoint(connections=4))
    assert run.log.ok.all()
    assert mock.log()["most_at_once"] == 4
    assert mock.log()["connections"] <= 6  # two more ask for the log


def test_connections_are_kept_alive(mock):
    mock.behave(tokens=2)
    mock.run("single_stream", count=30)
    assert mock.log()["connections"] <= 3


def test_a_cap_on_connections_makes_requests_wait_and_reads_so(mock):
    mock.behave(ttft_ms=200, tokens=1)
    run = mock.run(qps=50, count=50, endpoint=mock.endpoint(connections=2), timeout="20 s")
    assert mock.log()["most_at_once"] == 2
    assert run.log.ok.all()
    assert run.log.latency[-1] > SECOND
    assert run.audit.pinned_share > 0.2
    assert any("all 2 connections were in use" in note for note in run.audit.candidate_notes())


def test_a_request_that_never_got_a_connection_is_lost(mock):
    mock.behave(hang_every=1)
    # All are due at once, so that those who wait for the one connection have their deadline with its user.
    log = mock.run(qps=1_000_000, count=20, endpoint=mock.endpoint(connections=1), timeout="1 s").log
    assert set(log.status.tolist()) <= {Status.TIMEOUT, Status.LOST}
    assert (log.status[log.started < 0] == Status.LOST).all()
    assert (log.started < 0).any()


def test_an_embedding_is_an_answer_of_numbers(mock):
    log = mock.run(qps=100, count=10, endpoint=mock.endpoint(kind="embeddings")).log
    assert log.answers[0] == [float(len(f"prompt {log.samples[0]}")), 1.0]
    assert not log.wire.streamed.any()


def test_completions_are_asked_and_read(mock):
    log = mock.run(qps=100, count=10, endpoint=mock.endpoint(kind="completions")).log
    assert set(log.answers) == {" w0 w1 w2 w3 w4 w5 w6 w7"}


def test_messages_and_options_go_into_the_request_as_they_are():
    endpoint = OpenAIEndpoint("http://127.0.0.1:9/v1", model="m", options={"max_tokens": 5}).load(Path())
    messages = [{"role": "system", "content": "short"}, {"role": "user", "content": "hi"}]
    asked = json.loads(endpoint.body(messages))
    assert asked == {
        "model": "m",
        "max_tokens": 5,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert json.loads(endpoint.body(np.str_("hi")))["messages"] == [{"role": "user", "content": "hi"}]
    with pytest.raises(DataError, match="expected a text, or a list of messages"):
        endpoint.body(7)


def test_a_template_holds_the_sample_where_it_says_so():
    endpoint = HttpJson("http://127.0.0.1:9/x", template={"rows": [["$sample", 1]], "n": "$samples"}).load(
        Path()
    )
    assert json.loads(endpoint.body(np.array([1.5, 2]))) == {"rows": [[[1.5, 2.0], 1]], "n": "$samples"}
    with pytest.raises(DeclarationError, match="all requests would be the same"):
        HttpJson("http://127.0.0.1:9/x", template={"input": "hi"})


@pytest.mark.parametrize("output", ["predictions", 0, None, {"predictions": 0}, ("predictions", True)])
def test_a_way_to_the_output_that_is_none_is_refused(output):
    with pytest.raises(DeclarationError, match="expected names and places"):
        HttpJson("http://127.0.0.1:9/x", output=output)


def test_both_are_loaded_endpoints_and_answer_a_batch(mock):
    mock.behave(tokens=2)
    for endpoint in (mock.endpoint(), mock.endpoint(stream=False)):
        assert isinstance(endpoint, LoadedEndpoint)
        (answer,) = endpoint.predict(["hi"])
        assert (answer.output, answer.input_tokens, answer.output_tokens) == (" w0 w1", 3, 2)
    mock.behave(error_every=1)
    with pytest.raises(RuntimeError, match="HTTP 500"):
        mock.endpoint().predict(["hi"])


# TLS, proxies, keys


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def secure(authority, tmp_path, request):
    """A mock that speaks TLS, told by a parameter how to behave: it cannot be told later."""
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    told = getattr(request, "param", [])
    mock = Mock("--certificate", str(tmp_path / "server.pem"), "--key", str(tmp_path / "server.pem"), *told)
    mock.url = mock.url.replace("http:", "https:")
    yield mock
    mock.end()


def test_tls_is_spoken_to_a_server_whose_certificate_is_trusted(secure, tmp_path):
    endpoint = OpenAIEndpoint(secure.url, model="m", ca_file="ca.pem").load(tmp_path)
    run = secure.run(qps=100, count=20, endpoint=endpoint)
    assert run.log.ok.all(), run.log.errors
    (answer,) = endpoint.predict(["hi"])
    assert answer.output == " w0 w1 w2 w3 w4 w5 w6 w7"


@pytest.mark.parametrize("secure", [["tokens=40000"]], indirect=True)
def test_requests_and_answers_of_many_records_pass_tls(secure, tmp_path):
    endpoint = OpenAIEndpoint(secure.url, model="m", ca_file="ca.pem", stream=False).load(tmp_path)

    class Long(Texts):
        def take(self, indices):
            return [f"{k}" * 1_000_000 for k in indices]

    scenario = Scenario.declare("closed_loop", concurrency=2, count=6, warmup=0)
    log = drive(endpoint, Long(3), scenario).log
    assert log.ok.all(), log.errors
    assert {len(answer.split()) for answer in log.answers} == {40_000}


def test_a_certificate_that_nobody_vouches_for_is_refused(secure):
    log = secure.run(qps=100, count=5, endpoint=OpenAIEndpoint(secure.url, model="m").load(Path())).log
    assert not log.ok.any()
    assert all("TLS" in error for error in log.errors.values())


def test_a_proxy_in_the_environment_is_refused_with_a_sentence(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    declared = OpenAIEndpoint("https://api.test/v1", model="m")
    with pytest.raises(ProvisionError, match=r"`HTTPS_PROXY`.* add api\.test to `NO_PROXY`"):
        declared.load(Path())
    monkeypatch.setenv("NO_PROXY", "api.test")
    declared.load(Path())


def test_this_machine_s_own_addresses_take_no_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    OpenAIEndpoint("http://127.0.0.1:9/v1", model="m").load(Path())


def test_the_key_is_sent_and_shown_nowhere(mock, monkeypatch):
    key = "sk-0123456789"
    monkeypatch.setenv("MOCK_KEY", key)
    declared = OpenAIEndpoint(mock.url, model="m", key_env="MOCK_KEY", headers={"X-Team": "secret-too"})
    endpoint = declared.load(Path())
    mock.behave(echo_every=2, text=f"your key is {key} indeed", tokens=5)
    run = mock.run(qps=100, count=10, endpoint=endpoint)
    assert set(run.log.errors.values()) == {"HTTP 401: wrong key Bearer [key]"}  # it was sent
    shown = [
        repr(declared),
        json.dumps(endpoint.describe()),
        json.dumps(run.conditions),
        str(run.log.answers),
    ]
    shown += [json.dumps(run.audit.as_dict())]
    for text in shown:
        assert key not in text
        assert "secret-too" not in text
    assert "your key is [key] indeed" in run.log.answers
    assert endpoint.describe()["key_from"] == "MOCK_KEY"


def test_a_key_may_have_a_field_of_its_own(mock, monkeypatch):
    monkeypatch.setenv("MOCK_KEY", "abc")
    endpoint = OpenAIEndpoint(mock.url, model="m", key_env="MOCK_KEY", key_header="api-key").load(Path())
    assert b"\r\napi-key: abc\r\n" in endpoint.target.head()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"url": "https://user:pw@host/v1"}, "holds a user name or a password"),
        ({"url": "ftp://host/v1"}, "expected for example `https://host/v1`"),
        ({"url": "https://host/v1?key=1"}, "holds a query"),
        ({"url": "https://ho st/v1"}, "expected for example"),
        ({"kind": "chats"}, "did you mean `chat`"),
        ({"options": {"stream": False}}, "`options` of an OpenAIEndpoint hold `stream`"),
        ({"options": {"seed": {1}}}, "no plain JSON data"),
        ({"headers": {"Host": "x"}}, "is set by the driver"),
        ({"headers": {"X-A": "b\r\nX-C: d"}}, "has a value that is no plain text"),
        ({"headers": {"X A": "b"}}, "is no name of a header field"),
        ({"key_header": "A\r\nB"}, "is no name of a header field"),
        ({"retries": 11}, "`retries=11`"),
        ({"connections": 0}, "`connections=0`"),
        ({"count_tokens": 5}, "expected a function of a text"),
        ({"model": ""}, "expected the model's name"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_declared(arguments, said):
    with pytest.raises(DeclarationError) as refused:
        OpenAIEndpoint(**{"url": "https://host/v1", "model": "m", **arguments})
    assert said in str(refused.value)
    assert "pw" not in str(refused.value)


def test_an_empty_slice_is_refused(mock):
    with pytest.raises(DataError, match="slice is empty"):
        mock.run(samples=0, qps=10, count=5)


# What goes wrong on our own side


def children():
    return {
        int(pid) for pid in Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    }


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_process_and_no_descriptor_stays_behind(mock):
    mock.run(qps=100, count=10)
    before = descriptors(), children()
    for _ in range(3):
        mock.run(qps=100, count=10)
    mock.behave(error_every=1)
    mock.run(qps=100, count=10)
    assert (descriptors(), children()) == before


def test_a_load_process_that_is_killed_is_the_harness_s_fault_and_keeps_what_was_measured(mock, monkeypatch):
    started = []
    plain = crew.Worker.__init__

    def noting(self, *arguments):
        plain(self, *arguments)
        started.append(self)

    def kill(begun, total):
        if begun >= 40 and started[0].process.poll() is None:
            os.kill(started[0].process.pid, signal.SIGKILL)

    monkeypatch.setattr(crew.Worker, "__init__", noting)
    scenario = Scenario.declare("server", qps=50, count=4000, warmup=0)
    run = drive(mock.endpoint(load_processes=2), Texts(40), scenario, progress=kill)
    assert run.log.stopped == "a load process was lost"
    assert any("a load process was lost" in fault for fault in run.audit.faults())
    assert run.log.answered.any()
    assert (run.log.status == Status.LOST).any()
    # The other one has ended in its own way: what it sent, and what it saw of itself, is kept.
    assert len(run.audit.lost_processes) == 1
    assert run.audit.loop_lag_p50_ns is not None
    begun = np.flatnonzero(run.log.started >= 0)
    assert run.log.answered[begun[begun % 2 == 1]].mean() > 0.5


def test_a_load_process_that_is_busy_with_something_else_makes_the_run_invalid(mock, monkeypatch, tmp_path):
    busy = """
        import sys, threading
        if sys.argv[0] == "-c":
            def spin():
                while True: pass
            for _ in range(2):
                threading.Thread(target=spin, daemon=True).start()
    """
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(busy))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    mock.behave(ttft_ms=5, tokens=2)
    run = mock.run(qps=50, count=100, timeout="5 s")
    assert run.audit.faults()
    assert run.audit.send_lag_p99_ns > SECOND // 200  # Python hands its lock over every 5 ms


def test_a_load_process_that_cannot_start_says_why(mock, monkeypatch):
    monkeypatch.setattr(crew, "_BOOT", "import sys; sys.exit('no such thing')")
    with pytest.raises(ProvisionError, match="a load process could not start: no such thing"):
        mock.run(qps=50, count=10)


def test_ctrl_c_leaves_a_partial_log_that_says_so(mock, tmp_path):
    script = f"""
        import sys, threading, time, signal, os
        from pathlib import Path
        sys.path[:0] = [{str(Path(__file__).parent)!r}]
        from mock_process import Texts
        from pytest_procure import OpenAIEndpoint
        from pytest_procure.driver.endpoint.drive import drive
        from pytest_procure.scenarios import Scenario
        def interrupt(begun, total):
            if begun > 20:
                signal.raise_signal(signal.SIGINT)
        endpoint = OpenAIEndpoint({mock.url!r}, model="m").load(Path())
        run = drive(endpoint, Texts(5), Scenario.declare("server", qps=50, count=2000), progress=interrupt)
        print(run.interrupted, run.log.stopped, run.log.ok.sum() > 10, (run.log.status == 0).any())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["True", "interrupted", "True", "True"], done.stderr


def test_the_wall_limit_ends_a_run_whose_answers_do_not_come(mock):
    mock.behave(hang_every=1)
    scenario = Scenario.declare("server", qps=50, count=20, timeout="60 s", drain="500 ms", warmup=0)
    run = drive(mock.endpoint(), Texts(5), scenario)
    assert "answers were still missing" in run.log.stopped
    assert (run.log.status == Status.LOST).all()
    assert (run.log.latency > 0).all()


def test_without_the_extra_an_endpoint_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "httptools", None)
    with pytest.raises(ProvisionError, match=r"pip install 'pytest-procure\[endpoint\]'"):
        OpenAIEndpoint("http://127.0.0.1:9/v1", model="m").load(Path())
