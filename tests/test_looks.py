"""Of several runs in one test no best one can be picked."""

import dataclasses

import numpy as np
import pytest

from pytest_procure.decision import Policy


def test_each_look_halves_the_risk_as_a_further_run_does():
    policy = dataclasses.replace(Policy(), run=2, consumer_risk=0.025)
    assert policy.after(0) == policy
    assert policy.after(2).consumer_risk == pytest.approx(0.05 / 2**3)


def test_whoever_runs_until_one_looks_good_gets_no_more_than_twice_the_risk():
    """The chance that some run k of 60 is beyond the risk that it is judged at, where none is any good."""
    chances = np.random.default_rng(1).random((20_000, 60))
    risks = np.array([Policy().after(k).consumer_risk for k in range(60)])
    assert (chances < risks).any(axis=1).mean() < 2 * Policy().consumer_risk
