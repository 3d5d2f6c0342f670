"""How a declaration reaches a process of its own: by name and file, from wherever it was written."""

from __future__ import annotations

import functools
import importlib.util
import pickle
import subprocess
import sys
import threading

import isolated_offers as offers
import numpy as np
import pytest

from pytest_procure.backends.function import Function
from pytest_procure.errors import DeclarationError
from pytest_procure.isolation.recipe import pickled

CONFTEST = """
def answer(inputs):
    return "{said}"

class Holder:
    class Inner:
        pass
    @staticmethod
    def answer(inputs):
        return "{said}"
"""


@pytest.fixture
def conftests(tmp_path, monkeypatch):
    """Two conftests of one name, loaded as pytest loads them: the second takes the first one's place."""
    made = []
    for said in ("first", "second"):
        file = tmp_path / said / "conftest.py"
        file.parent.mkdir()
        file.write_text(CONFTEST.format(said=said), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("conftest_of_a_suite", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        made.append(module)
    return made


def elsewhere(data, expression):
    """Evaluate something about what `data` holds, in a fresh interpreter."""
    code = f"import sys, pickle; thing = pickle.loads(sys.stdin.buffer.read()); print({expression})"
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_functions_of_two_conftests_of_one_name_stay_apart(conftests):
    first, second = conftests
    data = pickled([first.answer, second.answer, second.Holder.answer], what="it")
    assert elsewhere(data, "[each(0) for each in thing]") == "['first', 'second', 'second']"


def test_a_class_inside_a_class_is_found(conftests):
    data = pickled(conftests[1].Holder.Inner(), what="it")
    assert elsewhere(data, "type(thing).__qualname__") == "Holder.Inner"


def test_what_everybody_can_import_goes_by_name():
    data = pickled(functools.partial(np.linalg.norm, axis=1), what="it")
    assert pickle.loads(data).func is np.linalg.norm  # noqa: S301 - we wrote it
    assert pickle.loads(pickled(offers.negate, what="it")) is offers.negate  # noqa: S301 - the same


def local():
    return 1


def decorated(function):
    @functools.wraps(function)
    def inner(*given):
        return function(*given)

    return inner


def inside():
    def inner(inputs):
        return inputs

    return inner


taken = decorated(local)  # its name leads to another function


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda inputs: inputs, "is a lambda; write it at the top level of a file"),
        (decorated(lambda inputs: inputs), "is a lambda; write it at the top level of a file"),
        (inside(), "is defined inside a function; write it at the top level of a file"),
        (taken, "not the same object"),
        (functools.partial(local, threading.Lock()), "TypeError: cannot pickle '_thread.lock' object"),
    ],
)
def test_what_cannot_be_sent_is_one_line_that_says_what_to_do(call, told):
    with pytest.raises(DeclarationError) as raised:
        pickled(Function(call), what="`it`")
    said = str(raised.value)
    assert said.startswith("`it` cannot be sent to a process of its own: ")
    assert told in said
    assert "or declare `isolation='none'` for it" in said
    assert "\n" not in said
