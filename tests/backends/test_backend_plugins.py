"""Backends that other distributions bring: real distributions on the path, as an installer leaves them."""

import pytest

from pytest_procure import Candidate, backend_named
from pytest_procure.errors import DeclarationError

MODULE = """
class Npu:
    def __init__(self, path, *, cores=1):
        self.path, self.cores = path, cores
    def load(self, base):
        raise NotImplementedError

thing = 3
def nothing():
    return None
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(distribution, module=MODULE, **entries):
        name = distribution.replace("-", "_")
        info = tmp_path / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        lines = [f"{key.replace('_', '-')} = {value}" for key, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(["[pytest_procure.backends]", *lines]))
        (tmp_path / f"{name}.py").write_text(module)

    return installed


def test_a_conftest_names_a_backend_of_another_distribution(install):
    install("acme-npu", acme_npu="acme_npu:Npu")
    backend = backend_named("acme-npu", "model.bin", cores=4)
    assert (backend.path, backend.cores) == ("model.bin", 4)
    assert Candidate("acme", backend=backend).backend is backend


def refused(name, *arguments, **named):
    with pytest.raises(DeclarationError) as refusal:
        backend_named(name, *arguments, **named)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_an_unknown_name_is_told_with_the_nearest(install):
    install("near-npu", near_npu="near_npu:Npu")
    assert "did you mean `near-npu`?" in refused("near-np")


def test_a_plugin_that_cannot_be_imported_is_told_in_one_line(install):
    install("broken-npu", module="import nowhere\n", broken_npu="broken_npu:Npu")
    said = refused("broken-npu", "m")
    assert "broken-npu 1.2" in said
    assert "ModuleNotFoundError: No module named 'nowhere'" in said


def test_a_plugin_that_ends_the_process_on_import_is_told(install):
    install("ending-npu", module="raise SystemExit(3)\n", ending_npu="ending_npu:Npu")
    assert "SystemExit: 3" in refused("ending-npu")


def test_arguments_that_it_does_not_take_are_told(install):
    install("picky-npu", picky_npu="picky_npu:Npu")
    assert "unexpected keyword argument 'core'" in refused("picky-npu", "m", core=2)


def test_what_is_no_backend_is_told(install):
    install("odd-npu", number="odd_npu:thing", nothing="odd_npu:nothing")
    assert "is int; expected a class or a function" in refused("number")
    assert "gave a NoneType, which has no `load(base)`" in refused("nothing")


def test_a_name_that_two_distributions_bring_is_told(install):
    install("one-npu", twice="one_npu:Npu")
    install("two-npu", twice="two_npu:Npu")
    assert "brought by one-npu 1.2 and by two-npu 1.2" in refused("twice", "m")
