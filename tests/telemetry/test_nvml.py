"""GPUs as their driver tells them: the real `pynvml`, and a driver's library that answers a script."""

import json
import sys

import pytest

from pytest_procure.telemetry.nvml import gpus

GPUS = """
import json
from pytest_procure.telemetry.nvml import gpus
found, reason = gpus()
print(json.dumps([[gpu.describe() for gpu in found], reason]))
"""


def told(driver, says=None):
    if says is not None:
        driver.says(says)
    return json.loads(driver.run(GPUS))


def test_a_gpu_is_described_as_its_driver_tells(driver):
    (gpu,), reason = told(driver)
    assert gpu == {
        "index": 0,
        "name": "NVIDIA H200",
        "uuid": "GPU-1234",
        "driver": "580.65",
        "vbios": "96.00.A1",
        "cuda": "13.1",
        "pci": "00000000:17:00.0",
        "memory": 150_000_000_000,
        "power_limit_w": 700.0,
        "power_limit_default_w": 700.0,
        "clock_sm_mhz": 1980,
        "clock_sm_most_mhz": 2100,
        "clock_memory_mhz": 3200,
        "clock_memory_most_mhz": 3201,
        "persistence": True,
        "ecc": True,
        "mig": False,
    }
    assert reason == ""


def test_every_gpu_is_listed_and_what_one_does_not_tell_is_none(driver):
    (first, second), _ = told(driver, "gpus 2\n0.name H200\n1.name L4\n1.vbios !4\n1.ecc !3\n1.mig 1")
    assert (first["name"], second["name"], second["index"]) == ("H200", "L4", 1)
    assert (second["vbios"], second["ecc"], second["memory"], second["mig"]) == (None, None, None, True)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("init !9", "no NVIDIA driver: Driver Not Loaded"),
        ("init !4", "the NVIDIA driver does not answer: Insufficient Permissions"),
        ("init !18", "the NVIDIA driver does not answer: RM has detected an NVML/RM version mismatch."),
        ("gpus !999", "the NVIDIA driver does not list its GPUs: Unknown Error"),
        ("gpus 0", "the NVIDIA driver lists no GPU"),
    ],
)
def test_why_there_is_no_gpu_is_told_in_a_sentence(driver, says, reason):
    assert told(driver, says) == [[], reason]


def test_without_the_package_the_command_to_run_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found, reason = gpus()
    assert found == ()
    assert "pip install 'pytest-procure[gpu]'" in reason


def test_the_real_library_gives_gpus_or_a_reason():
    pytest.importorskip("pynvml")
    found, reason = gpus()
    assert bool(found) != bool(reason)
