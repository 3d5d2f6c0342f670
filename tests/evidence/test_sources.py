"""Source digests: what a test says, and what it draws on."""

import functools
import importlib.util
import textwrap

import pytest

from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.sources import (
    asserts_of_test,
    file_digest,
    source_of_test,
    suite_files,
)

MODULE = """
LIMIT = 80

def helper(result):
    assert result < LIMIT

def test_one(procure):
    result = procure.run()
    assert result.x <= LIMIT
    assert (
        result.y
        >= 3
    ), "too few"

def test_two():
    pass

class TestMore:
    size = 3

    def test_three(self):
        assert self.size

    def test_four(self):
        pass
"""


def load(path, text=MODULE):
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digest(path, text, name="test_one"):
    module = load(path, text)
    return source_of_test(functools.reduce(getattr, name.split("."), module), path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def test_two():\n    pass", "def test_two():\n    assert 0"),
        ("        pass\n", "        print()\n"),
        ("def test_two():\n    pass\n", ""),
        ("\n\ndef test_two", "\n\n\n\ndef test_two"),
        ("    result = procure.run()\n", "    result = procure.run()   \n"),
    ],
)
def test_a_neighbouring_test_and_empty_space_do_not_matter(tmp_path, old, new):
    assert old in MODULE
    assert digest(tmp_path / "test_a.py", MODULE) == digest(tmp_path / "test_a.py", MODULE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 80", "LIMIT = 90"),
        ("result < LIMIT", "True"),
        (">= 3", ">= 2"),
        ("def test_one", "@id\ndef test_one"),
    ],
)
def test_the_test_and_what_stands_beside_it_matter(tmp_path, old, new):
    changed = MODULE.replace(old, new).replace("@id", "@(lambda f: f)")
    assert digest(tmp_path / "test_a.py", MODULE) != digest(tmp_path / "test_a.py", changed)


def test_of_a_class_its_other_tests_do_not_matter_and_the_rest_does(tmp_path):
    def of(text):
        return digest(tmp_path / "test_a.py", text, "TestMore.test_three")

    before = of(MODULE)
    assert (
        of(MODULE.replace("def test_four(self):\n        pass", "def test_four(self):\n        print()"))
        == before
    )
    assert of(MODULE.replace("size = 3", "size = 4")) != before


def test_asserts_are_listed_as_they_are_written(tmp_path):
    module = load(tmp_path / "test_a.py")
    assert asserts_of_test(module.test_one, tmp_path / "test_a.py") == [
        "assert result.x <= LIMIT",
        "assert result.y >= 3",
    ]
    assert asserts_of_test(module.TestMore().test_three, tmp_path / "test_a.py") == ["assert self.size"]


def test_files_that_are_imported_are_found_and_those_of_others_are_not(tmp_path):
    for name, text in {
        "limits.py": "import deeper\n",
        "deeper.py": "from .nothing import x\n",
        "package/__init__.py": "",
        "package/part.py": "from . import other\n",
        "package/other.py": "",
        "unused.py": "",
        "site-packages/limits2.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    test = tmp_path / "test_a.py"
    test.write_text(
        "import json\nfrom limits import LIMIT\ndef test_one():\n    from package.part import x\n"
    )
    found = {path.relative_to(tmp_path).as_posix() for path in suite_files(test, tmp_path)}
    assert found == {"limits.py", "deeper.py", "package/__init__.py", "package/part.py", "package/other.py"}


def test_line_ends_make_no_other_file(tmp_path):
    (tmp_path / "a").write_bytes(b"x = 1\ny = 2\n")
    (tmp_path / "b").write_bytes(b"x = 1\r\ny = 2\r\n")
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b")


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(EvidenceError, match=r"the source gone.py cannot be read"):
        file_digest(tmp_path / "gone.py")
