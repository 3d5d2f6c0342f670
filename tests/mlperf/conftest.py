"""Published results of three rounds, with the logs at hand and without, and the command on them."""

from pathlib import Path

import pytest

from pytest_procure.cli import main
from pytest_procure.mlperf import load_results

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def data():
    return DATA


@pytest.fixture(scope="session")
def published():
    """Rows of v4.1, v5.1 and v6.0 with the logs at hand."""
    return load_results(
        DATA / "v4.1.summary_results.json",
        DATA / "v5.1.summary_results.json.gz",
        DATA / "v6.0.summary_results.json",
        DATA / "checkout",
    )


@pytest.fixture(scope="session")
def bare():
    """The same rows without any log."""
    return load_results(
        DATA / "v4.1.summary_results.json",
        DATA / "v5.1.summary_results.json.gz",
        DATA / "v6.0.summary_results.json",
    )


@pytest.fixture
def procure(capsys):
    """Run `procure mlperf` in this process: exit status, stdout, stderr."""

    def run(*arguments):
        status = main(["mlperf", *map(str, arguments)])
        return status, *capsys.readouterr()

    return run
