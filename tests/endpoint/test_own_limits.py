"""What the load processes lack, or miss, is the harness's own doing and nobody else's."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from mock_process import Texts

from pytest_procure.backends.endpoints.target import Target
from pytest_procure.driver.endpoint import columns, crew
from pytest_procure.driver.endpoint.columns import MOST_LAG
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.endpoint.load import Load
from pytest_procure.driver.endpoint.loop import Loop
from pytest_procure.driver.endpoint.settle import Settler
from pytest_procure.driver.endpoint.traffic import Traffic
from pytest_procure.driver.log import Status
from pytest_procure.scenarios import Scenario

MS = 1_000_000
FEW_FILES = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
sys.path.insert(0, sys.argv[1])
from mock_process import Texts
from pathlib import Path
from pytest_procure import OpenAIEndpoint
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.scenarios import Scenario
scenario = Scenario.declare("closed_loop", concurrency=100, count=300, warmup=0, timeout="2 s")
run = drive(OpenAIEndpoint(sys.argv[2], model="mock").load(Path()), Texts(40), scenario)
print(json.dumps([sorted(set(run.log.status.tolist())), list(run.audit.faults()), run.audit.is_broken]))
"""


def test_a_machine_without_files_for_all_connections_is_at_fault_and_not_the_endpoint(mock):
    mock.behave(ttft_ms=20, tokens=2)
    command = [sys.executable, "-c", FEW_FILES, str(Path(__file__).parent), mock.url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    statuses, faults, is_broken = json.loads(done.stdout)
    assert set(statuses) <= {Status.OK, Status.LOST, Status.TIMEOUT}
    assert is_broken
    assert any("could open no more connections: Too many open files" in fault for fault in faults)


def test_a_load_process_that_was_stopped_for_a_while_is_at_fault(mock, monkeypatch):
    started, stops = [], []
    plain = crew.Worker.__init__

    def noting(self, *arguments):
        plain(self, *arguments)
        started.append(self)

    def stop(begun, total):
        if begun >= 20 * (len(stops) + 1) and len(stops) < 2:
            stops.append(begun)
            os.kill(started[0].process.pid, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(started[0].process.pid, signal.SIGCONT)

    monkeypatch.setattr(crew.Worker, "__init__", noting)
    run = drive(
        mock.endpoint(), Texts(40), Scenario.declare("server", qps=40, count=100, warmup=0), progress=stop
    )
    assert len(stops) == 2
    assert run.audit.stalled_ns > 500 * MS
    assert any("stood still for" in fault for fault in run.audit.faults())
    assert run.audit.taken >= run.audit.stalled_ns / run.audit.window_ns


def test_a_token_count_that_fails_on_an_answer_costs_its_count_and_not_the_run(mock):
    counts = iter([ValueError("<|endoftext|>"), None, 2.5, -3, *range(10, 16)])

    def count(text):
        told = next(counts)
        if isinstance(told, Exception):
            raise told
        return told

    run = mock.run("single_stream", count=10, endpoint=mock.endpoint(count_tokens=count))
    assert run.log.wire.counted.tolist() == [-1, -1, -1, -1, *range(10, 16)]


def test_no_more_load_processes_run_than_there_may_be_connections(mock):
    run = mock.run(qps=200, count=20, endpoint=mock.endpoint(connections=2, load_processes=4))
    assert run.audit.load_processes == 2


@pytest.fixture
def load():
    """A load of ten requests that never gets a connection."""
    table = columns.views(mmap.mmap(-1, columns.size(10)), 10)
    for query in range(10):
        table["sent"][query] = -1
        table["scheduled"][query] = query * MS
    nowhere = os.open(os.devnull, os.O_WRONLY)
    settler = Settler(Target("http", "host", 80, "/", "chat"), table, 0, nowhere, nowhere)
    traffic = Traffic(
        first=0, step=1, total=10, timeout_ns=10**12, connections=2, retries=0, concurrency=None,
        duration_ns=None,
    )  # fmt: skip
    counters = memoryview(bytearray(24)).cast("q")
    made = Load(traffic, table, settler, [(b"x", b"y")], lambda *_: None, Loop(), counters)
    made.origin = settler.origin = time.perf_counter_ns() - 100 * MS
    yield made, table
    os.close(nowhere)


def test_a_request_that_is_late_before_it_waits_for_a_connection_was_late(load):
    load, table = load
    load._send_due(time.perf_counter_ns())
    assert min(table["lag"]) >= 90 * MS


def test_a_connection_that_fails_fails_none_that_came_after_it_was_asked_for(load):
    load, table = load
    load._send_due(load.origin + 5 * MS)
    load.unconnected(ConnectionRefusedError(111, "Connection refused"), load.origin - MS)
    assert sum(table["failure"]) == 0
    load.unconnected(ConnectionRefusedError(111, "Connection refused"), load.origin + MS)
    assert [query for query in range(10) if table["failure"][query]] == [0]


def test_a_lag_beyond_what_its_column_holds_reads_as_at_least_that(load):
    load, table = load
    load._start(0, load.origin - 2 * MOST_LAG)  # it was due so long ago
    assert table["lag"][0] == MOST_LAG


@pytest.mark.parametrize(("lag_ns", "read"), [(MOST_LAG, f">= {MOST_LAG}"), (MOST_LAG - 1, MOST_LAG - 1)])
def test_a_lag_that_may_be_longer_than_it_reads_says_so_and_is_a_fault_whatever_is_allowed(
    mock, lag_ns, read
):
    told = replace(mock.run("single_stream", count=2).audit, send_lag_p99_ns=lag_ns, send_lag_max_ns=lag_ns)
    assert told.as_dict()["send_lag_p99_ns"] == told.as_dict()["send_lag_max_ns"] == read
    late = [fault for fault in told.faults(200_000 * MS) if "1 request in 100 was sent" in fault]  # 10 s
    assert bool(late) == (lag_ns == MOST_LAG)
    assert all("was sent at least 4.29 s late" in fault for fault in late)
