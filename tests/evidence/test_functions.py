"""A scorer is known by all that its answer hangs on."""

import functools
import importlib.util
import linecache
import sys
import textwrap

import pytest

from pytest_procure.evidence.functions import function_source

MODULE = """
import json
from limits import TOL as MARGIN

TOL = 0  # of what is right
TABLE = {"a": 1}
OFFERS = ["one"]

def helper(a, b):
    return abs(a - b) <= TOL + TABLE["a"]

def near(a, b):
    '''Whether it is near.'''
    return helper(a, b) and a <= MARGIN

def within(most):
    return lambda a, b: abs(a - b) <= most

class Near:
    def __init__(self, most):
        self.most = most
    def __call__(self, a, b):
        self.seen = a
        return abs(a - b) <= self.most

by_name = lambda a, b: a <= TOL

def offers():
    return OFFERS
"""


def module(folder, text=MODULE, limits="import deeper\nTOL = deeper.TOL\n", deeper="TOL = 9\n"):
    (folder / "limits.py").write_text(limits)
    (folder / "deeper.py").write_text(deeper)
    path = folder / "scoring.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    name = "scoring"
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        sys.modules[name] = made  # where the source of a class is looked for
        spec.loader.exec_module(made)
    for imported in ("limits", "deeper"):
        sys.modules.pop(imported, None)
    linecache.clearcache()
    return made


@pytest.fixture(autouse=True)
def _leave_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "scoring", None)


def source(folder, name="near", **texts):
    return function_source(getattr(module(folder, **texts), name), folder)["source"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TOL = 0", "TOL = 2000"),
        ("<= TOL +", "<= 5 + TOL +"),
        ("{'a': 1}".replace("'", '"'), '{"a": 2000}'),
        ("a <= MARGIN", "True"),
        ("\ndef near", "\nTABLE['a'] = 2000\n\ndef near"),
        ("\ndef offers", "\nTABLE.update(a=2000)\n\ndef offers"),
    ],
)
def test_what_a_scorer_reaches_matters(tmp_path, old, new):
    assert old in MODULE
    assert source(tmp_path) != source(tmp_path, text=MODULE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# of what is right", "# of what is wrong"),
        ('OFFERS = ["one"]', 'OFFERS = ["one", "two"]'),
        ("    return OFFERS", "    return OFFERS[:1]"),
        ("\n\ndef within", "\n\n\n\ndef within"),
    ],
)
def test_a_comment_and_what_it_does_not_reach_do_not(tmp_path, old, new):
    assert old in MODULE
    assert source(tmp_path) == source(tmp_path, text=MODULE.replace(old, new))


@pytest.mark.parametrize("texts", [{"limits": "TOL = 2000\n"}, {"deeper": "TOL = 2000\n"}])
def test_files_of_the_suite_that_it_imports_matter(tmp_path, texts):
    assert source(tmp_path) != source(tmp_path, **texts)


def test_a_module_that_reaches_names_without_writing_them_is_taken_whole(tmp_path):
    text = MODULE.replace("helper(a, b) and", "globals()['OFFERS'] and")
    assert source(tmp_path, text=text) != source(tmp_path, text=text.replace('["one"]', '["two"]'))


def test_a_lambda_is_found_by_its_line(tmp_path):
    text = MODULE.replace("TOL = 0", "TOL = 2000")
    assert source(tmp_path, "by_name") != source(tmp_path, "by_name", text=text)


@pytest.mark.parametrize(
    "make",
    [
        lambda scoring, most: scoring.within(most),
        lambda scoring, most: scoring.Near(most),
        lambda scoring, most: functools.partial(lambda a, b, c: a - b <= c, c=most),
        lambda scoring, most: functools.partial(scoring.near, most),
        lambda scoring, most: scoring.Near(most).__call__,
    ],
)
def test_what_it_was_made_with_matters(tmp_path, make):
    scoring = module(tmp_path)
    assert function_source(make(scoring, 1), tmp_path) == function_source(make(scoring, 1), tmp_path)
    assert function_source(make(scoring, 1), tmp_path) != function_source(make(scoring, 2000), tmp_path)


def test_a_number_that_is_put_in_its_place_while_loading_matters(tmp_path):
    scoring, other = module(tmp_path), module(tmp_path)
    other.MARGIN = 2000
    assert function_source(scoring.near, tmp_path) != function_source(other.near, tmp_path)


def test_what_it_remembers_while_it_scores_makes_no_other_of_it(tmp_path):
    near = module(tmp_path).Near(1)
    before = function_source(near, tmp_path)
    near(3, 4)
    assert function_source(near, tmp_path) == before


def test_a_path_of_this_machine_is_left_out(tmp_path):
    scoring = module(tmp_path)
    assert function_source(scoring.within("/home/a"), tmp_path) == function_source(
        scoring.within("/b/c"), tmp_path
    )


def test_of_a_function_that_is_none_of_the_suites_its_own_source_is_digested(tmp_path):
    assert function_source(textwrap.dedent, tmp_path) == function_source(textwrap.dedent)
    assert function_source(len, tmp_path) == {"id": "builtins.len", "source": "unknown"}
