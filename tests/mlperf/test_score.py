import operator

import numpy as np
import pytest

from pytest_procure.mlperf import PublishedScoreError, Score
from pytest_procure.mlperf.score import figure

SCORE = Score(99123.0, "tokens/s")


@pytest.mark.parametrize(
    "compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
)
@pytest.mark.parametrize("bar", [80.0, 80, np.float64(80), "80 ms"])
def test_a_published_score_refuses_to_decide_a_bar_from_either_side(compare, bar):
    with pytest.raises(PublishedScoreError, match="rule `verdict`"):
        compare(SCORE, bar)
    if not isinstance(bar, str):
        with pytest.raises(PublishedScoreError, match="rule `verdict`"):
            compare(bar, SCORE)


@pytest.mark.parametrize(
    "use",
    [lambda s: s * 2, lambda s: 2 / s, lambda s: s + s, float, int, round, abs, lambda s: np.float64(2) * s],
)
def test_a_published_score_refuses_to_be_calculated_with(use):
    with pytest.raises(PublishedScoreError, match="rule `transfer`"):
        use(SCORE)


def test_a_bare_assert_on_a_published_score_is_an_error_that_says_why():
    with pytest.raises(PublishedScoreError, match="it is context and never a bar"):
        assert SCORE


def test_two_published_scores_are_equal_only_with_their_units():
    assert Score(1.0, "ms") == Score(1.0, "ms")
    assert Score(1.0, "ms") != Score(1.0, "s")
    assert len({Score(1.0, "ms"), Score(1.0, "ms")}) == 1


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (62.695344, None, "62.695344"),
        (101527.0, None, "101,527"),
        (3189.0833, 4, "3,189"),
        (0.0565013, None, "0.0565013"),
        (float("nan"), None, "not a number"),
        (1e-9, None, "0.000000001"),
        (0.0, 3, "0"),
    ],
)
def test_figures_print_as_published_or_rounded_when_derived(number, digits, text):
    assert figure(number, digits) == text
