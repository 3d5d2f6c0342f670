import sys
import textwrap

import pytest

from pytest_procure.asserts import after, raised_by, role


class Probe:
    """A value that writes down the role of every comparison made with it."""

    def __init__(self, *, answer=True):
        self.answer = answer
        self.roles = []

    def __le__(self, other):
        self.roles.append(role(sys._getframe(1)))
        return self.answer


@pytest.fixture
def written(tmp_path):
    """Write a module, run it with `x` (which answers True) and `y` (False), and give the namespace."""

    def run(source):
        path = tmp_path / "written.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        names = {"x": Probe(), "y": Probe(answer=False)}
        exec(compile(path.read_text("utf-8"), str(path), "exec"), names)  # noqa: S102 - source as in a suite
        return names

    return run


def roles(names):
    return [(each.negated, each.optional) if each else None for each in names["x"].roles + names["y"].roles]


PLAIN, NEGATED, OPTIONAL, BOTH = (False, False), (True, False), (False, True), (True, True)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("assert x <= 1", [PLAIN]),
        ("assert (x <= 1)", [PLAIN]),
        ("assert x <= 1, 'message'", [PLAIN]),
        ("assert 1 >= x", [PLAIN]),
        ("assert x <= 1 and x <= 2", [PLAIN, PLAIN]),
        ("assert (x <=\n        1)", [PLAIN]),
        ("assert x <= 1; assert x <= 1", [PLAIN, PLAIN]),
        ("assert not y <= 1", [NEGATED]),
        ("assert not not x <= 1", [PLAIN]),
        ("assert x <= 1 or y <= 1", [OPTIONAL]),
        ("assert y <= 1 or x <= 1", [OPTIONAL, OPTIONAL]),
        ("assert (y <= 1 or x <= 1) and x <= 1", [OPTIONAL, PLAIN, OPTIONAL]),
        ("assert not (y <= 1 or y <= 2)", [NEGATED, NEGATED]),
        ("assert not (y <= 1 and x <= 2)", [BOTH]),
        ("assert x <= 1 if True else y <= 1", [OPTIONAL]),
        ("assert all(each <= 1 for each in [x])", [PLAIN]),
        ("assert all([x <= 1, x <= 2])", [PLAIN, PLAIN]),
        ("assert any(each <= 1 for each in [x])", [OPTIONAL]),
        ("assert not any(each <= 1 for each in [y])", [NEGATED]),
        ("assert not all(each <= 1 for each in [y])", [BOTH]),
        ("assert (x <= 1) is True", [PLAIN]),
        ("x <= 1", [None]),
        ("fine = x <= 1\nassert fine", [None]),
        ("if x <= 1: pass", [None]),
        ("assert [each for each in [x] if each <= 1]", [PLAIN]),
        ("sorted([x], key=lambda each: each <= 1)", [None]),
        ("def helper(value):\n    assert value <= 1\nhelper(x)", [PLAIN]),
        ("def helper(value):\n    return value <= 1\nassert helper(x)", [None]),
    ],
)
def test_the_role_of_a_comparison_is_read_from_where_it_stands(written, source, expected):
    assert roles(written(source)) == expected


@pytest.mark.parametrize(
    "source",
    [
        "assert (y <= 1) is False",
        "assert (y <= 1, y <= 2) == (False, False)",
        "assert sum([y <= 1]) == 0",
        "assert [each for each in [y] if each <= 1] == []",
        "assert next((each for each in [y] if each <= 1), None) is None",
        "assert True ^ (y <= 1)",
        "assert True not in [y <= 1]",
        "assert bool(x <= 1)",
    ],
)
def test_a_comparison_of_which_an_assert_makes_something_else_is_unclear(written, source):
    names = written(source)
    assert all(each.unclear for each in names["x"].roles + names["y"].roles)


@pytest.mark.parametrize(
    "source",
    [
        "assert x <= 1",
        "assert not y <= 1",
        "assert x <= 1 and (y <= 1 or x <= 2)",
        "assert all(each <= 1 for each in [x])",
        "assert not [each for each in [y] if each <= 1]",
    ],
)
def test_a_comparison_that_an_assert_takes_as_it_is_is_clear(written, source):
    names = written(source)
    assert not any(each.unclear for each in names["x"].roles + names["y"].roles)


def test_a_role_names_the_asserted_text_and_its_place(written):
    (found,) = written("\n\nassert x   <= 1, 'too slow'")["x"].roles
    assert (found.text, found.where) == ("assert x <= 1", "written.py:3")


def test_a_comparison_without_source_has_no_role():
    probe = Probe()
    exec("assert probe <= 1", {"probe": probe})  # noqa: S102 - a source that is nowhere
    assert probe.roles == [None]


def test_two_comparisons_on_one_line_are_told_apart(written):
    assert roles(written("assert x <= 1; fine = x <= 2; assert not y <= 3")) == [PLAIN, None, NEGATED]


FUNCTION = """
def check(value):
    assert value
    assert value > 1
    for each in [value]:
        assert each > 2
    if value:
        assert value > 3

def other(value):
    assert value > 4
"""


def test_asserts_below_a_line_are_listed_in_order_for_that_function_alone(written):
    check = written(FUNCTION)["check"]
    assert after(check, 3) == [
        ("assert value > 1", "written.py:4"),
        ("assert each > 2", "written.py:6"),
        ("assert value > 3", "written.py:8"),
    ]
    assert after(check, 8) == []


def test_an_assertion_error_is_traced_to_the_assert_that_raised_it(written):
    names = written("def check(value):\n    assert (\n        value\n    ), 'no'\n")
    with pytest.raises(AssertionError) as caught:
        names["check"](0)
    assert raised_by(caught.value) == "written.py:2"


def test_an_assertion_error_of_something_else_is_traced_to_nothing(written):
    names = written("def check():\n    raise AssertionError('by hand')\n")
    with pytest.raises(AssertionError) as caught:
        names["check"]()
    assert raised_by(caught.value) == ""
