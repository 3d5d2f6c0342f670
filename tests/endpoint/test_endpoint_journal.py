"""The journal of a run against an endpoint holds, at each look, what its load processes have done by then."""

import shutil

import numpy as np
import pytest
from mock_process import Texts

from pytest_procure import OpenAIEndpoint
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.driver.journal import Journal, Journalled
from pytest_procure.errors import ProvisionError
from pytest_procure.evidence.partial import settle
from pytest_procure.scenarios import Scenario

TRAFFIC = {
    "server": {"qps": 100, "count": 60},
    "closed_loop": {"concurrency": 4, "think_time": "5 ms", "count": 60},
    "sessions": {"starts": 40, "turns": 3, "think_time": "20 ms", "count": 20},
    "multi_stream": {"samples_per_query": 3, "count": 20},
}


def journalled(mock, tmp_path, name, look=None, **more):
    scenario = Scenario.declare(name, warmup=0, **TRAFFIC[name], **more)
    about = {"test": "t", "candidate": "c", "samples_per_query": scenario.samples_per_query}
    journal = Journal(tmp_path / "runs" / "t.0123abcd.1.part", about)
    endpoint = mock.endpoint(load_processes=2)
    return drive(endpoint, Texts(60), scenario, journal=journal, progress=look).log, journal


@pytest.mark.parametrize("name", TRAFFIC)
def test_what_a_run_has_done_stands_in_its_journal(mock, tmp_path, name):
    mock.behave(tokens=2, hang_every=20)
    log, journal = journalled(mock, tmp_path, name, timeout="500 ms")
    (partial,) = settle(tmp_path)
    rows = np.load(tmp_path / partial.file)
    query = rows["query"]
    assert rows["item"].tolist() == log.samples.tolist()
    assert rows["scheduled_ns"].tolist() == log.scheduled[query].tolist()
    assert rows["started_ns"].tolist() == log.started[query].tolist()
    answered = np.where(log.answered, log.completed, -1)
    assert (answered < 0).any()  # a request that was given up has no answer
    assert rows["completed_ns"].tolist() == answered[query].tolist()
    assert f"{int((log.started >= 0).sum()):,}" in partial.said
    assert not journal.path.exists()


def test_a_look_on_the_way_is_a_part_of_what_became_of_the_run(mock, tmp_path):
    mock.behave(tokens=2)
    seen = []

    def look(begun, total):
        if begun > 10 and not seen:
            seen.append(tmp_path / "then.part")
            shutil.copy(tmp_path / "runs" / "t.0123abcd.1.part", seen[0])

    log, journal = journalled(mock, tmp_path, "server", look)
    then, end = Journalled.read(seen[0]), Journalled.read(journal.path)
    assert 0 < (then.completed >= 0).sum() < len(log)
    for name in ("started", "completed"):
        early, late = getattr(then, name), getattr(end, name)
        assert (late >= 0).all()
        assert early[early >= 0].tolist() == late[early >= 0].tolist()


def test_a_run_that_never_began_leaves_no_journal(mock, tmp_path):
    endpoint = OpenAIEndpoint("http://nowhere.invalid/v1", model="m").load(tmp_path)
    journal = Journal(tmp_path / "runs" / "t.0123abcd.1.part", {})
    with pytest.raises(ProvisionError, match="cannot be found"):
        drive(endpoint, Texts(5), Scenario.declare("server", qps=10, count=5), journal=journal)
    assert not journal.path.parent.exists()


def test_a_journal_that_counts_differently_is_told_and_not_read(mock, tmp_path):
    _, journal = journalled(mock, tmp_path, "multi_stream")
    data = journal.path.read_bytes()
    journal.path.write_bytes(data.replace(b'"samples_per_query": 3', b'"samples_per_query": 2'))
    (partial,) = settle(tmp_path)
    assert partial.said == (
        "A run was under way, and its journal cannot be read: it counts samples and queries differently."
    )
