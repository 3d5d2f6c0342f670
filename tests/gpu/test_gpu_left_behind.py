"""What processes of an offer held of a GPU is free again when they were ended, however they were."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
import torch_offers

from pytest_procure.backends import Command, HttpJson, Served
from pytest_procure.errors import ProvisionError
from pytest_procure.isolation.hosted import Hosted
from pytest_procure.telemetry.driver import gpus_of

pytestmark = pytest.mark.gpu

HOLDS = [sys.executable, str(Path(__file__).with_name("holds_memory.py")), "cuda:0"]
GIBIBYTE = 2**30


def used():
    """Bytes in use on the first GPU."""
    ((gpu,), _) = gpus_of("cuda:0")
    return gpu.nvml.nvmlDeviceGetMemoryInfo(gpu.gpu).used


def is_free_again(before):
    """Whether a driver has what it has lent back within ten seconds of the end of a process."""
    ends = time.monotonic() + 10
    while used() - before >= 2**26 and time.monotonic() < ends:
        time.sleep(0.05)
    return used() - before < 2**26


def test_memory_of_an_isolated_worker_that_is_killed_is_free_again(torch, tmp_path):
    before = used()
    loaded = Hosted(torch_offers.LARGE).load(tmp_path)
    assert used() - before >= GIBIBYTE
    os.kill(loaded.pids[0], signal.SIGKILL)
    assert is_free_again(before)
    with pytest.raises(ProvisionError, match="killed by SIGKILL"):
        loaded.close()


def test_memory_of_a_command_that_does_not_end_by_itself_is_free_again(torch, tmp_path):
    before = used()
    loaded = Command(HOLDS, device="cuda:0").load(tmp_path)
    try:
        assert loaded.predict(["any"]) == [1.0]
        assert used() - before >= GIBIBYTE
    finally:
        loaded.close()
    assert is_free_again(before)


def test_memory_of_a_server_that_does_not_end_by_itself_is_free_again(torch, tmp_path):
    before = used()
    loaded = Served(HOLDS, HttpJson("http://127.0.0.1:{port}/"), device="cuda:0").load(tmp_path)
    try:
        assert used() - before >= GIBIBYTE
    finally:
        loaded.close()
    assert is_free_again(before)
