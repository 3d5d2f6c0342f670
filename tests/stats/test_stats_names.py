import inspect
import subprocess
import sys

import pytest_procure.stats


def test_every_public_name_is_exported_and_documented():
    for name in pytest_procure.stats.__all__:
        assert inspect.getdoc(getattr(pytest_procure.stats, name))


def test_nothing_else_is_public():
    public = {
        name
        for name, value in vars(pytest_procure.stats).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert public == set(pytest_procure.stats.__all__)


def test_importing_the_room_does_not_load_scipy():
    code = "import sys, pytest_procure.stats; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
