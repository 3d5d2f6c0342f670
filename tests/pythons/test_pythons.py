"""A signed pack of one Python is verified, and made again byte for byte, by the others (`make test-pythons`).

Each Python has a virtual environment of its own, `.venv-3.12` and so on, with the built wheel installed.
"""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.pythons

ROOT = Path(__file__).parents[2]
FIRST, *OTHERS = VERSIONS = ("3.11", "3.12", "3.13")
#: Runs of every kind of test, without pytest around them.
ALL_KINDS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import packs
packs.write(Path("procure-report"), *packs.BARS)
"""
#: A sealed session of a suite: once, and once more with a reason, so that there is a ledger to be held to.
SUITE = {
    "conftest.py": """
import numpy as np
from pytest_procure import Candidate, Dataset, HourlyPrice

def pytest_procure_candidates():
    price = HourlyPrice("1 USD", utilisation=0.5)
    return [Candidate("good", backend=lambda inputs: np.asarray(inputs) % 10, price=price)]

def pytest_procure_datasets():
    numbers = np.arange(400)
    return {"numbers": Dataset.from_arrays("numbers", inputs=numbers, references=numbers % 10)}
""",
    "test_it.py": """
import pytest

@pytest.mark.requirement(owner="post room", risk="letters go astray")
@pytest.mark.bar("accuracy", at_least=0.9, design=0.97)
@pytest.mark.bar("latency.p95", at_most="10 s")
@pytest.mark.scenario("single_stream", count=400)
def test_reads(procure):
    '''Does it read?'''
    procure.run()
""",
    "pytest.ini": "[pytest]\nprocure_require_seal = true\nprocure_expires = 2999-12-31\n",
}
MADE_AGAIN = """
import sys
from pathlib import Path
from pytest_procure.evidence.plain import dumps
from pytest_procure.verify import verify
found = verify(Path("procure-report"))
assert found.holds, found.mismatches
sys.stdout.write(dumps(found.record))
"""


def bin_of(version):
    folder = ROOT / f".venv-{version}" / "bin"
    if not (folder / "procure").exists():
        pytest.fail(f"no Python {version} in {folder.parent}; `make test-pythons` makes it", pytrace=False)
    return folder


def run(folder, version, program, *arguments):
    """Run a program of a Python's environment in a folder; only what is installed there can be imported."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    ended = subprocess.run(
        [bin_of(version) / program, *arguments], cwd=folder, env=alone, capture_output=True, check=False
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()
    return ended.stdout


@pytest.fixture(scope="module", params=["all kinds of tests", "a sealed session"])
def signed(request, tmp_path_factory):
    """Give the folder in which a signed pack of the first Python lies."""
    folder = tmp_path_factory.mktemp("signed")
    if request.param == "all kinds of tests":
        run(folder, FIRST, "python", "-c", ALL_KINDS, str(ROOT / "tests" / "verify"))
    else:
        for name, text in SUITE.items():
            (folder / name).write_text(text, "utf-8")
        for flags in (["--procure-seal"], [], ["--procure-report", "--procure-rerun", "a better fan"]):
            run(folder, FIRST, "python", "-m", "pytest", "-q", *flags)
    run(folder, FIRST, "procure", "keygen", "buyer")
    run(folder, FIRST, "procure", "sign", "procure-report", "--key", "buyer")
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_each_environment_holds_the_python_that_it_is_named_after(version, tmp_path):
    said = run(tmp_path, version, "python", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    assert said.decode().strip() == version


@pytest.mark.parametrize("version", OTHERS)
def test_a_pack_of_another_python_verifies_with_its_signature(signed, version):
    said = run(signed, version, "procure", "verify", "procure-report", "--key", "buyer.pub").decode()
    assert "L1 signed: holds" in said


@pytest.mark.parametrize("version", OTHERS)
def test_the_verdict_is_made_again_byte_for_byte(signed, version):
    made = run(signed, version, "python", "-c", MADE_AGAIN)
    assert made == (signed / "procure-report" / "verdict.json").read_bytes()


@pytest.mark.parametrize("version", OTHERS)
def test_the_pages_are_rendered_again_byte_for_byte(signed, version):
    run(signed, version, "procure", "report", "procure-report", "--out", f"again-{version}")
    for path in sorted((signed / f"again-{version}").iterdir()):
        assert path.read_bytes() == (signed / "procure-report" / path.name).read_bytes(), path.name
    assert (signed / f"again-{version}" / "report.html").is_file()
