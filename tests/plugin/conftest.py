"""A buyer's suite in a folder of its own: small, fast, and with offers whose share of right answers is known.

Sample k is the number k, and right is its last digit. `answers(0.5)` is right on every second sample.
"""

import json
import pkgutil
import re
import tempfile
import textwrap
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from sealed_suite import INI, READS, WRITES, seal

import pytest_procure
from pytest_procure.evidence.schema import schema
from pytest_procure.verify import verify

# Pytester forgets the modules that an inner session imports first. These must not be imported twice: numpy
# refuses, and a second `Candidate` class would not know the first.
for module in pkgutil.walk_packages(pytest_procure.__path__, "pytest_procure."):
    import_module(module.name)
import_module("scipy.special")

HEAD = """
import numpy as np
import pytest
from pytest_procure import Candidate, Dataset, Function, HourlyPrice

def answers(share):
    def answer(inputs):
        inputs = np.asarray(inputs)
        return np.where(inputs * 37 % 100 < share * 100, inputs % 10, -1)
    return answer

def numbers(n=400, **more):
    inputs = np.arange(n)
    return Dataset.from_arrays("numbers", inputs=inputs, references=inputs % 10, **more)
"""
OFFERS = """
PRICE = HourlyPrice("1 USD", utilisation=0.5)

@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    shares = {shares!r}
    return [Candidate(name, backend=answers(share), price=PRICE) for name, share in shares.items()]
"""
DATA = """
@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"numbers": numbers}
"""
TESTS = """
import pytest
from pytest_procure import *
"""
#: Without fields that the format does not know.
FORMAT = jsonschema.Draft202012Validator(schema(strict=True))
#: Other plugins cost time that is not ours.
WITHOUT_OTHERS = ("-p", "no:benchmark", "-p", "no:hypothesispytest", "-p", "no:xdist")


@dataclass
class Ended:
    """How a session of the suite ended."""

    status: int
    text: str
    outcomes: dict[str, int]
    folder: Path

    @property
    def errors(self) -> list[str]:
        """What stands on lines of its own that tell a mistake."""
        return [line for line in self.text.splitlines() if line.startswith("ERROR: ")]

    @property
    def quiet(self) -> bool:
        """Whether nobody is shown a traceback."""
        return not re.search(r"Traceback|INTERNALERROR|^[\w/.]+\.py:\d+: \w*Error$", self.text, re.MULTILINE)

    @property
    def words(self) -> str:
        """The text without its line breaks, which depend on the terminal's width."""
        return " ".join(self.text.split())

    @property
    def record(self) -> dict[str, Any]:
        """What `verdict.json` says; every record that a test makes has to follow the format."""
        found: dict[str, Any] = json.loads((self.folder / "verdict.json").read_text("utf-8"))
        FORMAT.validate(found)
        return found

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """Results by test, without the file's name."""
        every = [result for each in self.record["requirements"] for result in each["results"]]
        return {result["test"].rpartition("::")[2]: result for result in every}

    @property
    def verdicts(self) -> dict[str, str]:
        """Verdicts by test, without the file's name."""
        return {test: result["verdict"] for test, result in self.results.items()}


class BuyersSuite:
    """Writes files, and runs pytest on them."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.path = pytester.path

    def write(self, name: str, text: str) -> Path:
        """Write a file, and the folders above it."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def conftest(self, text: str, *, folder: str = ".") -> Path:
        """Write a conftest that knows `answers` and `numbers`."""
        return self.write(f"{folder}/conftest.py", HEAD + textwrap.dedent(text))

    def offers(self, *, folder: str = ".", **shares: float) -> Path:
        """Write a conftest with candidates, by the share that each answers right, and with the numbers."""
        return self.conftest(OFFERS.replace("{shares!r}", repr(shares)) + DATA, folder=folder)

    def tests(self, text: str, *, name: str = "test_it.py") -> Path:
        """Write a test file that knows pytest and our public names."""
        return self.write(name, TESTS + textwrap.dedent(text))

    def run(self, *arguments: str, process: bool = False) -> Ended:
        """Run pytest on the folder; in a process of its own only where that matters."""
        plain = ("-p", "no:cacheprovider", *arguments)
        if process:
            result = self._pytester.runpytest_subprocess(*plain, timeout=60)
        else:
            result = self._pytester.runpytest_inprocess(*WITHOUT_OTHERS, *plain, no_reraise_ctrlc=True)
        said = [*result.outlines, *result.errlines]
        # A usage error may end a session before there is a summary to read.
        counted = result.parseoutcomes() if re.search(r"=+ .* in [\d.]+s", "\n".join(said)) else {}
        ended = Ended(int(result.ret), "\n".join(said), counted, self.path / "procure-report")
        if "--procure-report" in arguments and (ended.folder / "manifest.json").exists():
            # Whatever a test's session does: what it leaves behind follows from its rows.
            assert [str(each) for each in verify(ended.folder).mismatches] == []
        return ended

    def mistake(self, *arguments: str) -> str:
        """Run pytest and give the one line that tells the author's mistake."""
        ended = self.run(*arguments)
        assert ended.status == pytest.ExitCode.USAGE_ERROR, ended.text
        assert ended.quiet, ended.text
        assert len(ended.errors) == 1, ended.text
        return ended.errors[0].removeprefix("ERROR: procure: ")


@pytest.fixture
def suite(pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuyersSuite:
    """A suite without files. Devices are locked in a temporary folder of its own, so that nobody waits."""
    locks = tmp_path / "locks"
    locks.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(locks))
    monkeypatch.setenv("TMPDIR", str(locks))
    monkeypatch.setenv("COLUMNS", "200")
    return BuyersSuite(pytester)


@pytest.fixture
def sealed(suite):
    """A suite that is sealed, with one good offer; a sealed run is required."""
    suite.write("pytest.ini", INI)
    suite.offers(good=1.0)
    suite.tests(READS)
    return seal(suite)


@pytest.fixture
def sealed_two(suite):
    """The same with two requirements."""
    suite.write("pytest.ini", INI)
    suite.offers(good=1.0)
    suite.tests(READS + WRITES)
    return seal(suite)
