import inspect

import pytest

from pytest_procure import errors
from pytest_procure.errors import DomainError, ProcureError, unknown

CLASSES = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, ProcureError) and each is not ProcureError
]


@pytest.mark.parametrize("each", CLASSES)
def test_every_error_stands_in_the_tree_at_the_head_of_its_module(each):
    assert each.__name__ in errors.__doc__


def test_an_argument_outside_a_methods_domain_is_a_value_error_too():
    assert issubclass(DomainError, ValueError)


def test_an_unknown_name_comes_with_the_nearest_and_with_all_known():
    assert unknown("metric", "acuracy", ["latency.p95", "accuracy"]) == (
        "unknown metric `acuracy`; did you mean `accuracy`? Known: accuracy, latency.p95"
    )


def test_a_name_that_is_a_part_of_a_longer_one_comes_with_that():
    assert "did you mean `gpu_memory_peak`?" in unknown("metric", "memory", ["gpu_memory_peak", "accuracy"])


def test_capitals_hide_no_near_name():
    assert "did you mean `accuracy`?" in unknown("metric", "ACCURACY", ["accuracy"])


def test_a_name_that_is_like_no_other_comes_without_a_guess():
    assert unknown("metric", "xyz", ["accuracy"]) == "unknown metric `xyz`. Known: accuracy"


def test_where_nothing_is_known_the_message_says_so():
    assert unknown("dataset", "forms", []) == "unknown dataset `forms`. Known: none"
