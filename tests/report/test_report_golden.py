"""A pack whose bytes are known: the same on every machine and every Python."""

import golden
import pytest

from pytest_procure.cli import main
from pytest_procure.report.outputs import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_golden_pack_renders_to_its_golden_bytes(tmp_path, name):
    assert main(["report", str(golden.FOLDER), "--out", str(tmp_path)]) == 0
    # Not compared by pytest, which would write 200 kB of difference.
    same = (tmp_path / name).read_bytes() == (golden.FOLDER / name).read_bytes()
    assert same, f"{name} differs: if that is wanted, run `python tests/report/golden.py` and read the diff"
