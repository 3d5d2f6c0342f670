import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_procure

HEAVY = {"numpy", "scipy", "jinja2", "torch", "onnxruntime"}


def imported_by(statement):
    """Names of the top-level modules that a fresh interpreter holds after this statement."""
    code = f"{statement}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("name", pytest_procure.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(pytest_procure, name) is not None


def test_public_names_are_listed_once_in_alphabetical_order():
    assert pytest_procure.__all__ == sorted(set(pytest_procure.__all__))


def test_dir_shows_the_public_names():
    assert set(pytest_procure.__all__) <= set(dir(pytest_procure))


def test_a_star_import_gives_the_public_names_and_nothing_else():
    found = {}
    exec("from pytest_procure import *", found)  # noqa: S102 - the statement under test
    assert set(found) - {"__builtins__"} == set(pytest_procure.__all__)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(pytest_procure.__file__).read_text("utf-8"))
    (typed,) = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    names = {
        alias.asname: f"{node.module}"
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert names == pytest_procure._HOMES


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Condidate'"):
        _ = pytest_procure.Condidate


@pytest.mark.parametrize("statement", ["import pytest_procure", "import pytest_procure.plugin"])
def test_importing_the_package_or_the_plugin_imports_nothing_heavy(statement):
    assert imported_by(statement) & HEAVY == set()
