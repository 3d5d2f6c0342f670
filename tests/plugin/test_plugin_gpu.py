"""Offers on GPUs, as a session sees them: the real `pynvml`, and a driver's library that answers a script.

Two sessions, each in a process that finds the library, are looked at by many tests.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_procure.verify import verify

CONFTEST = """
import numpy as np
import pytest
from pytest_procure import Candidate, Dataset, Function

def right(inputs):
    return np.asarray(inputs) % 10

PLACES = {"quiet": "cuda:0", "shared": "cuda:1", "slowed": "cuda:2", "lost": "cuda:3", "processor": "cpu"}

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate(name, backend=Function(right, device=place)) for name, place in PLACES.items()]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    inputs = np.arange(300)
    return {"numbers": lambda: Dataset.from_arrays("numbers", inputs=inputs, references=inputs % 10)}
"""
#: What is shown must not depend on where these tests run.
IN_NO_CONTAINER = """
import os
from pytest_procure.telemetry import owners
owners._FIRST_NAMESPACE = os.readlink("/proc/self/ns/pid")
"""
TESTS = """
import pytest

@pytest.mark.scenario("offline", count=300, launches=2)
@pytest.mark.bar("accuracy", at_least=0.9)
@pytest.mark.bar("gpu_memory_peak", at_most="21 GB")
def test_wide(procure, candidate):
    "Is it right, within 21 GB?"
    result = procure.run()
    if candidate.name == "quiet":
        assert [gpu.name for gpus in result.gpus for gpu in gpus] == ["NVIDIA H200"] * 2

@pytest.mark.scenario("single_stream", count=300)
@pytest.mark.bar("gpu_memory_peak", at_most="18 GiB")
def test_narrow(procure):
    "Within 18 GiB?"
    procure.run()

@pytest.mark.scenario("single_stream", count=300)
@pytest.mark.bar("accuracy", at_least=0.9)
def test_right(procure):
    "Is it right?"
    procure.run()

def test_fixture(gpu):
    assert (gpu.name, gpu.index, gpu.mig) == ("NVIDIA H200", 0, False)
"""
SCRIPT = """
driver 580.65
gpus 4
0.memory 20000000000
1.memory 20000000000
2.memory 20000000000
3.memory 20000000000 !15
0.energy 1000
0.reasons 0
1.reasons 0
2.reasons 0x44
0.vbios 96.00.A1
0.processes self
1.processes self,1,2
2.processes self
3.processes self
2.power 300000
"""


#: Two offers on one GPU, whose work is done by processes that are not ours, and were not there before.
COMPARED_CONFTEST = """
import os
from pathlib import Path

import numpy as np
import pytest
from pytest_procure import Candidate, Dataset, Function

class Daemon:
    device, isolation = "cuda:0", None

    def __init__(self, pid):
        self.pid = pid

    def load(self, base):
        script = Path(os.environ["STAND_IN_SCRIPT"])
        new = script.with_suffix(".loaded")
        new.write_text(script.read_text().replace("0.processes ", f"0.processes {self.pid},"))
        new.replace(script)
        return Function(lambda inputs: np.asarray(inputs) % 10, device=self.device).load(base)

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [Candidate(name, backend=Daemon(pid)) for name, pid in (("new", 900_001), ("ref", 900_002))]

@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    inputs = np.arange(300)
    return {"numbers": lambda: Dataset.from_arrays("numbers", inputs=inputs, references=inputs % 10)}
"""
COMPARED_TESTS = """
import pytest

@pytest.mark.scenario("single_stream", warmup=0)
@pytest.mark.bar("accuracy", at_least="90 %", of="ref")
@pytest.mark.bar("gpu_memory_peak", at_most="18 GB")
def test_narrow(procure):
    "As right as the other, within 18 GB?"
    procure.run()

@pytest.mark.scenario("single_stream", warmup=0)
@pytest.mark.bar("accuracy", at_least="90 %", of="ref")
@pytest.mark.bar("gpu_memory_peak", at_most="21 GB")
def test_wide(procure):
    "As right as the other, within 21 GB?"
    procure.run()
"""


@dataclass
class Session:
    """What a session left behind."""

    status: int
    record: dict[str, Any]
    page: str

    def result(self, test, candidate):
        every = [result for each in self.record["requirements"] for result in each["results"]]
        (found,) = [result for result in every if result["test"].endswith(f"::{test}[{candidate}]")]
        return found

    def run(self, candidate, test="test_wide"):
        (found,) = self.result(test, candidate)["runs"]
        return found


def session_in(
    folder: Path, library: Path, script: str | None, conftest: str = CONFTEST, tests: str = TESTS
) -> Session:
    """Run the suite where the driver's library is found; without a script it says that there is no driver."""
    (folder / "conftest.py").write_text(conftest + IN_NO_CONTAINER, encoding="utf-8")
    (folder / "test_it.py").write_text(tests, encoding="utf-8")
    if script is not None:
        names = [f"{n}.name NVIDIA_H200\n{n}.uuid GPU-{n}" for n in range(4)]
        (folder / "script").write_text("\n".join([script, *names]), encoding="utf-8")
    here = {"LD_LIBRARY_PATH": str(library), "STAND_IN_SCRIPT": str(folder / "script"), "TMPDIR": str(folder)}
    without = [f"-pno:{name}" for name in ("cacheprovider", "benchmark", "hypothesispytest", "xdist")]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--procure-report", *without],
        cwd=folder,
        env=os.environ | here,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    left = folder / "procure-report"
    assert (left / "manifest.json").exists(), ran.stdout + ran.stderr
    assert [str(each) for each in verify(left).mismatches] == []
    record = json.loads((left / "verdict.json").read_text("utf-8"))
    return Session(ran.returncode, record, (left / "report.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def session(tmp_path_factory, driver_library):
    """Four GPUs: one quiet, one shared with strangers, one that slows down, one that is lost."""
    return session_in(tmp_path_factory.mktemp("gpus"), driver_library, SCRIPT)


@pytest.fixture(scope="module")
def compared(tmp_path_factory, driver_library):
    """A session that holds two candidates on one GPU against each other."""
    script = "gpus 1\n0.memory 20000000000\n0.processes self"
    folder = tmp_path_factory.mktemp("compared")
    return session_in(folder, driver_library, script, COMPARED_CONFTEST, COMPARED_TESTS)


@pytest.fixture(scope="module")
def driverless(tmp_path_factory, driver_library):
    """The same suite where there is no driver."""
    return session_in(tmp_path_factory.mktemp("no-driver"), driver_library, None)


def test_the_gpu_of_an_offer_is_looked_at_and_disclosed(session):
    run = session.run("quiet", "test_right")
    (gpu,) = run["audit"]["gpus"]
    assert (gpu["index"], gpu["name"], gpu["uuid"]) == (0, "NVIDIA H200", "GPU-0")
    assert [told for told in run["faults"] + run["notes"] if "GPU" in told] == []
    assert session.record["environment"]["gpus"][0]["vbios"] == "96.00.A1"
    assert session.result("test_right", "quiet")["verdict"] == "accept"


def test_an_offer_on_the_cpu_has_no_gpu(session):
    assert "gpus" not in session.run("processor", "test_right")["audit"]
    (finding,) = session.result("test_narrow", "processor")["findings"]
    assert (finding["verdict"], finding["estimate"]) == ("inconclusive", None)
    assert "the candidate uses no GPU that is known" in finding["sentence"]


def test_a_shared_gpu_is_the_harnesses_fault(session):
    told = (
        "2 processes of somebody else held GPU 1 (NVIDIA H200) during the run; end them, or give the run a "
        "GPU of its own"
    )
    assert told in session.run("shared")["faults"]
    assert told in session.page


def test_memory_that_others_may_have_taken_rejects_nobody(session):
    assert session.result("test_narrow", "shared")["verdict"] == "inconclusive"
    assert session.result("test_wide", "shared")["verdict"] == "accept"


def test_memory_beside_a_candidate_to_compare_with_rejects_nobody(compared):
    finding = compared.result("test_narrow", "new")["findings"][-1]
    assert (finding["verdict"], finding["estimate"]["text"]) == ("inconclusive", "20 GB")
    assert finding["hint"] == (
        "What is in use may be another's in part; a new run on a GPU of its own, in no container "
        "and without another candidate beside it, could decide."
    )
    assert compared.result("test_wide", "new")["findings"][-1]["verdict"] == "accept"


def test_processes_of_compared_candidates_are_no_fault_of_the_harness(compared):
    runs = compared.result("test_wide", "new")["runs"]
    assert [fault for run in runs for fault in run["faults"] if "GPU" in fault] == []
    told = (
        "2 process(es) held GPU 0 (NVIDIA H200) of which it cannot be told whether they are the candidate's"
    )
    assert [note for note in runs[0]["notes"] if note.startswith(told)]


def test_a_gpu_that_held_its_clocks_down_is_among_the_things_to_know(session):
    told = (
        "GPU 2 (NVIDIA H200) ran below its clocks: heat, by hardware (100% of looks), "
        "power cap (100% of looks)"
    )
    assert told in session.run("slowed")["notes"]
    assert f"The candidate: {told}" in session.page
    assert session.result("test_wide", "slowed")["verdict"] == "accept"


def test_a_bar_may_be_on_the_gpus_memory(session):
    (finding,) = session.result("test_narrow", "quiet")["findings"]
    assert (finding["verdict"], finding["estimate"]["text"]) == ("reject", "20 GB")
    assert session.result("test_wide", "quiet")["verdict"] == "accept"


def test_a_lost_gpu_is_told_and_its_memory_is_not_measurable(session):
    assert "GPU 3 (NVIDIA H200) was lost: GPU is lost" in session.run("lost", "test_right")["notes"][0]
    assert session.result("test_narrow", "lost")["verdict"] == "inconclusive"


def test_whose_energy_it_is_and_how_it_is_counted_is_told(session):
    assert session.run("quiet")["conditions"]["energy"] == "of GPU 0 alone, by the driver's energy counter"
    told = "of GPU 2 alone, added up from its power, read ten times a second"
    assert session.run("slowed")["conditions"]["energy"] == told
    told = "not counted: GPU 1: the driver tells neither its energy nor its power"
    assert session.run("shared")["conditions"]["energy"] == told


def test_without_a_driver_a_sentence_says_so_and_offers_on_the_cpu_go_on(driverless):
    assert driverless.record["environment"]["gpus_absent"] == "no NVIDIA driver: Driver Not Loaded"
    assert driverless.run("quiet", "test_right")["notes"] == [
        "its GPU was not looked at: no NVIDIA driver: Driver Not Loaded"
    ]
    assert driverless.result("test_right", "processor")["verdict"] == "accept"
    (finding,) = driverless.result("test_narrow", "quiet")["findings"]
    assert "no NVIDIA driver: Driver Not Loaded" in finding["sentence"]
