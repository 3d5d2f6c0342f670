"""A case that was really run, without pytest around it."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from pytest_procure.backends import Function
from pytest_procure.bars import declare_bar
from pytest_procure.candidates import Candidate, HourlyPrice
from pytest_procure.cases import Case
from pytest_procure.datasets import Dataset
from pytest_procure.decision import Policy
from pytest_procure.procure import Procure
from pytest_procure.provision import provisioned
from pytest_procure.scenarios import Scenario

DATA = Dataset.from_arrays(
    "numbers", inputs=np.arange(60), references=np.arange(60) % 10, strata=["low"] * 20 + ["high"] * 40
)


def stumbling(inputs):
    """Right but for 13, on which it raises, and 17, which it does not answer."""
    if 13 in inputs:
        raise ValueError("thirteen")
    return [None if number == 17 else number % 10 for number in inputs]


@pytest.fixture
def run_case(tmp_path, monkeypatch):
    """Run a scenario over 60 numbers; gives the case, concluded by whoever needs it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(answer=stumbling, scenario="single_stream", bars=(), **arguments):
        offer = Candidate("acme", backend=Function(answer), price=HourlyPrice("1 USD", utilisation=0.5))
        asked = Scenario.declare(scenario, warmup=0, **arguments)
        case = Case(offer, [declare_bar(name, **limit) for name, limit in bars], Policy())
        Procure(case, provisioned(offer.backend, Path()), DATA.slice(), asked).run()
        return case

    return run


@pytest.fixture
def execution(run_case):
    """Run a scenario over 60 numbers and give its execution."""

    def run(*arguments, **more):
        ((result, _),) = run_case(*arguments, **more).results
        return result.execution

    return run
