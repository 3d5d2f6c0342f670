"""The GPU of a loaded candidate: which one it is, and who was on it before.

The real `pynvml`, and a driver's library that answers a script.
"""

import json

import pytest

BACKENDS = """
import json, os
from pathlib import Path
from pytest_procure.provision import Provisioned

class Declared:
    '''A candidate whose work is done by a process that is not its child, and that stays.'''
    device = "cuda:0"

    def __init__(self, pid=0, variables=None):
        self.pid, self.variables = pid, variables

    def load(self, base):
        script = Path(os.environ["STAND_IN_SCRIPT"])
        new = script.with_suffix(".loaded")
        new.write_text(script.read_text().replace("0.processes ", f"0.processes {self.pid},"))
        new.replace(script)
        return Loaded(self)

class Loaded:
    device, releases_gil = "cuda:0", True

    def __init__(self, declared):
        if declared.variables is not None:
            self.variables = declared.variables

    def predict(self, inputs):
        return inputs

    def describe(self):
        return {}

    def close(self):
        pass

def provisioned(declared):
    return Provisioned(declared, Path())

"""


@pytest.fixture
def told(driver):
    """Run code with the backends above, and give what it tells."""

    def run(code):
        return json.loads(driver.run(BACKENDS + code))

    return run


def test_who_comes_while_a_candidate_is_loaded_was_not_there_before(driver, told):
    driver.says("gpus 1\n0.processes 77")
    assert told("print(json.dumps(sorted(provisioned(Declared(88)).before)))") == [77]


def test_what_a_candidate_left_behind_is_somebody_else_to_others_and_never_to_itself(driver, told):
    driver.says("gpus 1\n0.processes 77")
    first, again, other = told(
        "declared = Declared(88); every = [declared, declared, Declared(99)]\n"
        "print(json.dumps([sorted(provisioned(each).before) for each in every]))"
    )
    assert (first, again, other) == ([77], [77], [77, 88])


def test_a_candidate_on_the_processor_asks_no_driver(driver, told):
    driver.says("gpus 1\n0.processes 77")
    code = "declared = Declared(); declared.device = 'cpu'\n"
    assert told(code + "print(json.dumps(sorted(provisioned(declared).before)))") == []


def test_the_gpu_is_found_by_the_environment_that_the_candidate_gets(driver, told, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    driver.says(
        "gpus 2\n0.name NVIDIA_L4\n0.uuid GPU-a\n0.energy 1\n1.name NVIDIA_H200\n1.uuid GPU-b\n1.energy 1"
    )
    looked_at, energy, disclosed = told(
        "given = {'CUDA_VISIBLE_DEVICES': '1', 'CUDA_DEVICE_ORDER': 'PCI_BUS_ID'}\n"
        "mine = provisioned(Declared(variables=given)); found = mine.instruments()\n"
        "print(json.dumps([[gpu.uuid for gpu in found.gpus], found.energy, mine.describe()['gpus']]))"
    )
    assert (looked_at, disclosed) == (["GPU-b"], ["NVIDIA H200"])
    assert energy.startswith("of GPU 1 alone")
