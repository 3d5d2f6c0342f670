import sys
from types import SimpleNamespace

import pytest

from pytest_procure.telemetry.nvml import gpus


class NVMLError(Exception):
    pass


def refuse(*_):
    raise NVMLError("Not Supported")


@pytest.fixture
def driver(monkeypatch):
    """A driver with one GPU; it stands in for NVML, which answers only where a GPU is."""
    calls = []
    library = SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: calls.append("init"),
        nvmlShutdown=lambda: calls.append("shutdown"),
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda gpu: "NVIDIA H200",
        nvmlDeviceGetUUID=lambda gpu: b"GPU-1234",
        nvmlSystemGetDriverVersion=lambda: "580.65",
        nvmlSystemGetCudaDriverVersion_v2=lambda: 13010,
        nvmlDeviceGetMemoryInfo=lambda gpu: SimpleNamespace(total=150_000_000_000),
        nvmlDeviceGetEnforcedPowerLimit=refuse,
        nvmlDeviceGetPowerManagementDefaultLimit=lambda gpu: 700_000,
        nvmlDeviceGetClockInfo=lambda gpu, kind: 1980,
        nvmlDeviceGetMaxClockInfo=lambda gpu, kind: 2100,
        nvmlDeviceGetEccMode=lambda gpu: [1, 1],
        calls=calls,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return library


def test_a_gpu_is_described_as_its_driver_tells(driver):
    (gpu,), reason = gpus()
    assert gpu.describe() == {
        "index": 0,
        "name": "NVIDIA H200",
        "uuid": "GPU-1234",
        "driver": "580.65",
        "cuda": "13.1",
        "memory": 150_000_000_000,
        "power_limit_w": None,
        "power_limit_default_w": 700.0,
        "clock_sm_mhz": 1980,
        "clock_sm_most_mhz": 2100,
        "clock_memory_mhz": 1980,
        "clock_memory_most_mhz": 2100,
        "persistence": None,
        "ecc": True,
        "mig": None,
    }
    assert reason == ""


def test_the_driver_is_let_go(driver):
    gpus()
    assert driver.calls == ["init", "shutdown"]


def test_without_a_driver_the_reason_is_told(driver):
    driver.nvmlInit = refuse
    assert gpus() == ((), "no NVIDIA driver: Not Supported")


def test_a_driver_that_does_not_answer_is_told_and_let_go(driver):
    driver.nvmlDeviceGetCount = refuse
    assert gpus() == ((), "the NVIDIA driver does not list its GPUs: Not Supported")
    assert driver.calls == ["init", "shutdown"]


def test_a_machine_without_gpus_says_so(driver):
    driver.nvmlDeviceGetCount = lambda: 0
    assert gpus() == ((), "the NVIDIA driver lists no GPU")


def test_without_the_package_the_command_to_run_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found, reason = gpus()
    assert found == ()
    assert "pip install 'pytest-procure[gpu]'" in reason


def test_the_real_library_gives_gpus_or_a_reason():
    pytest.importorskip("pynvml")
    found, reason = gpus()
    assert bool(found) != bool(reason)
