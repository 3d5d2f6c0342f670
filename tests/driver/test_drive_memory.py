"""What a run takes beside the answers, so that ten million requests fit into a gigabyte."""

from __future__ import annotations

import tracemalloc

import pytest
from driver_fakes import Numbers, Offer

from pytest_procure.driver.pull import drive
from pytest_procure.scenarios import Scenario

REQUESTS = 200_000  # what a run takes whatever its length no longer counts
ONE = (1,)  # an answer that takes nothing: the log keeps a reference to a small number


@pytest.mark.parametrize("max_batch", [1, 50])
def test_a_request_takes_at_most_a_hundred_bytes(max_batch):
    answers = ONE * max_batch
    offer = Offer(lambda batch: answers[: len(batch)])
    scenario = Scenario.declare("server", qps=1e7, count=REQUESTS, max_batch=max_batch, drain="60 s")
    # What is imported when it is first used is no part of it.
    drive(offer, Numbers(10), Scenario.declare("server", qps=1e7, count=100))
    tracemalloc.start()
    try:
        log = drive(offer, Numbers(10), scenario).log
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert log.ok.all()
    assert peak <= 100 * REQUESTS
