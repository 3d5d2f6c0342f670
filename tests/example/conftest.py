"""Modules of an example suite, imported as its own conftest imports them, and forgotten again."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

SUITES = Path(__file__).parents[2] / "example_suite"


def _modules(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    names = {path.stem for path in folder.glob("*.py")} - {"conftest"}
    yield import_module
    for name in names & set(sys.modules):
        del sys.modules[name]


@pytest.fixture
def faq(monkeypatch):
    """Import a module of the FAQ pipeline's suite."""
    yield from _modules(SUITES / "faq_pipeline", monkeypatch)


@pytest.fixture
def desk(monkeypatch):
    """Import a module of the ticket desk's suite."""
    yield from _modules(SUITES / "ticket_desk", monkeypatch)
