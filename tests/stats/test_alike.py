"""What observations that tell the same are worth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure import stats
from pytest_procure.stats import Alike, Effect, worst_effect

invariant = settings(derandomize=True, max_examples=60)


def test_observations_of_their_own_are_independent():
    alike = Alike((np.arange(10),))
    assert alike.effect(np.ones(10)) == Effect(1.0, None, None)
    assert alike.groups is None


def test_all_of_one_group_tell_as_much_as_one():
    alike = Alike((np.zeros(50, dtype=np.int64),))
    assert alike.effect(np.ones(50)) == Effect(50.0, 1, 1)
    assert alike.groups == 1


def test_repeats_that_are_all_right_count_once_each():
    assert Alike((np.arange(300) % 100,)).effect(np.ones(300)) == Effect(3.0, 99, 100)


def test_two_ways_that_cross_add_up_and_the_fewer_groups_count():
    # Each of 30 customers is asked the same 25 questions; 5 questions and 6 customers are hard.
    customer, question = (each.ravel() for each in np.meshgrid(range(30), range(25), indexing="ij"))
    right = (question >= 5) & (customer >= 6)
    crossed = Alike((customer, question)).effect(right)
    apart = [Alike((labels,)).effect(right) for labels in (customer, question)]
    assert crossed.design_effect == pytest.approx(sum(each.design_effect for each in apart) - 1.0)
    assert (crossed.df, crossed.groups) == (24, 25)


def test_a_way_within_another_adds_nothing():
    inner = np.arange(60) // 2
    right = np.isin(inner // 5, (1, 3))
    both = Alike((inner // 5, inner)).effect(right)
    assert both.design_effect == pytest.approx(Alike((inner // 5,)).effect(right).design_effect)


def test_questions_that_every_customer_is_asked_are_not_many():
    # 60 customers with nine questions in common and one of their own, of which 57 are right.
    question = np.where(np.arange(600) % 10 < 9, np.arange(600) % 10, 9 + np.arange(600) // 10)
    right = ~np.isin(question, (20, 30, 40))
    effect = Alike((np.arange(600) // 10, question)).effect(right)
    worth = stats.effective_n(600, effect.design_effect, effect.df, confidence=0.95)
    assert worth < 20
    alone = Alike((np.arange(600) // 10,)).effect(right)
    assert stats.effective_n(600, alone.design_effect, alone.df, confidence=0.95) > 80


def test_observations_of_several_samples_tell_what_the_samples_would_once():
    assert Alike(per=4, samples=100).effect(np.ones(200)) == Effect(8.0, 24, 100)


def test_what_is_worth_least_counts_with_the_fewest_groups():
    # Four degrees of freedom cost more than a design effect of 1.2.
    found = worst_effect(1000, Effect(1.0, 4), Effect(1.2, 799, 800))
    assert found == Effect(1.0, 4, 800)
    assert worst_effect(1000, Effect(1.0, 4), Effect(5.0, 199, 200)).df == 199


@invariant
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()), min_size=2, max_size=60))
def test_a_second_way_never_makes_observations_worth_more(drawn):
    one, other, right = (np.array(each) for each in zip(*drawn, strict=True))
    both = Alike((one, other)).effect(right)
    for labels in (one, other):
        assert both.design_effect >= Alike((labels,)).effect(right).design_effect - 1e-9
    assert both.design_effect >= 1.0
