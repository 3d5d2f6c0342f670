"""A pack whose bytes are known: the same on every machine and every Python."""

import subprocess
import sys

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


@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8"},
    ],
    ids=["plain", "far away"],
)
def test_order_of_hashes_time_zone_and_locale_change_no_byte(tmp_path, surroundings):
    """In processes of their own: hashes are seeded when Python starts."""
    code = (
        "import locale, sys\n"
        "try: locale.setlocale(locale.LC_ALL, '')\n"
        "except locale.Error: pass\n"
        "from pytest_procure.cli import main\n"
        "raise SystemExit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "report", str(golden.FOLDER), "--out", str(tmp_path)]
    subprocess.run(command, check=True, env={**surroundings, "PYTHONPATH": ":".join(sys.path)})
    assert [name for name in NAMES if not same(tmp_path, name)] == []


def same(folder, name):
    return (folder / name).read_bytes() == (golden.FOLDER / name).read_bytes()
