"""What would decide an undecided bar: a hint that holds, or none."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.bars import declare_bar
from pytest_procure.decision import Decision, Policy
from pytest_procure.hinting import hint
from pytest_procure.metrics.measurement import (
    Anytime,
    Carried,
    Confirmed,
    Contrast,
    Corpus,
    CostOfShare,
    Curtailed,
    Exact,
    Goodput,
    Interval,
    Latencies,
    Means,
    Measurement,
    Pairs,
    Ratio,
    Share,
    Unmeasurable,
)
from pytest_procure.metrics.metric import GPU_MEMORY
from pytest_procure.units import Quantity
from pytest_procure.verdict import Finding, Verdict, find

POLICY = Policy()
ACCURACY = declare_bar("accuracy", at_least=0.9)
P95 = declare_bar("latency.p95", at_most="80 ms")
invariant = settings(derandomize=True, max_examples=200)
OPEN = Decision(accept=False, reject_p=0.5)


def measured(bar, basis, n, unit="samples", **more):
    return Measurement(bar.metric, Quantity.of(0.5) if bar is ACCURACY else bar.limit, n, unit, basis, **more)


def undecided(bar, basis, n, unit="samples", **more):
    """Find what is not decided yet, whatever the numbers say: Holm may leave anything so."""
    return replace(find(bar, measured(bar, basis, n, unit, **more), POLICY), verdict=Verdict.INCONCLUSIVE)


def size(told):
    """Read how many requests in all a hint asks for."""
    return int(re.search(r"run of ([\d,]+) ", told)[1].replace(",", ""))


@invariant
@given(st.integers(10, 3000), st.floats(0, 1), st.integers(0, 2))
def test_no_share_is_told_to_take_as_few_requests_as_were_asked(n, share, kind):
    effect = [
        {},
        {"design_effect": 3.0, "df": 9},
        {"design_effect": 2.0, "df": 9, "clusters": max(20, n // 2)},
    ]
    told = hint(undecided(ACCURACY, Share(round(share * n), n, **effect[kind]), n), POLICY)
    assert not re.search(r"(w|c)ould decide", told) or size(told) > n


@invariant
@given(st.integers(1, 600), st.floats(0, 1), st.booleans(), st.integers(0, 9))
def test_no_percentile_is_told_to_take_as_few_requests_as_were_asked(n, share, load, seed):
    slow = np.random.default_rng(seed).random(n) > share
    values = np.where(slow, 200_000_000, 30_000_000).astype(np.int64)
    told = hint(undecided(P95, Latencies(values, P95.metric.q, load), n, "requests"), POLICY)
    assert not re.search(r"(w|c)ould decide", told) or size(told) > n


def test_only_what_was_sealed_is_to_be_sealed_newly():
    finding = undecided(ACCURACY, Share(92, 100), 100)
    assert "a new run of " in hint(finding, POLICY)
    assert "a newly sealed run of " in hint(finding, POLICY, sealed=True)


def test_an_undecided_share_names_the_number_that_would_decide():
    told = hint(undecided(ACCURACY, Share(92, 100), 100), POLICY)
    assert told.startswith("If the offer is as good as it looked, a new run of ")
    assert told.endswith(" samples in all would decide 9 times in 10.")


@pytest.mark.parametrize("failures", [True, False])
def test_how_likely_a_number_decides_is_not_said_where_the_run_measures_its_own_rows(failures):
    if failures:
        bar = declare_bar("error_rate", at_most=0.05)
        finding = undecided(bar, Share(8, 200), 200, "requests")
    else:
        values = np.where(np.arange(400) % 100 < 97, 30_000_000, 200_000_000).astype(np.int64)
        finding = undecided(P95, Latencies(values, P95.metric.q, under_load=True), 400, "requests")
    told = hint(finding, POLICY)
    assert told.startswith("If the offer is as good as it looked, a new run of ")
    assert told.endswith(" requests in all could decide.")


def test_more_samples_than_the_dataset_has_are_told_to_be_labelled():
    told = hint(undecided(ACCURACY, Share(92, 100), 100, items=100, most=400), POLICY)
    assert size(told) > 400
    assert told.endswith("; the dataset has 400 samples, so it takes more labelled ones.")
    enough = hint(undecided(ACCURACY, Share(92, 100), 100, items=100, most=400_000), POLICY)
    assert enough.endswith(" samples in all would decide 9 times in 10.")


def test_a_run_longer_than_its_slice_is_told_how_many_different_samples_it_takes():
    repeated = Share(920, 1000, 10.0, 99, 100)
    told = hint(undecided(ACCURACY, repeated, 1000, items=100, most=100), POLICY)
    assert re.search(r", over [\d,]+ different samples would decide", told)
    assert int(re.search(r"over ([\d,]+) different", told)[1].replace(",", "")) < size(told)
    assert "the dataset has 100 samples" in told


def test_too_few_clusters_are_told_as_clusters_and_too_few_items_as_samples():
    clusters = hint(undecided(ACCURACY, Share(92, 100, 5.0, 9, 10), 100, items=100, most=100), POLICY)
    assert clusters == "A new run over 20 clusters or more could decide."
    items = hint(undecided(ACCURACY, Share(92, 100, 10.0, 9, 10), 100, items=10, most=10), POLICY)
    assert items == (
        "A new run over 20 different samples or more could decide; the dataset has 10 samples, so "
        "it takes more labelled ones."
    )


def test_the_least_that_acceptance_takes_could_decide_and_no_more_is_said():
    values = np.full(50, 30_000_000, dtype=np.int64)
    told = hint(undecided(P95, Latencies(values, P95.metric.q, under_load=True), 50, "requests"), POLICY)
    assert told == "A new run of 200 requests in all could decide."


def test_what_a_rate_is_carried_with_is_known_more_closely_after_a_longer_run():
    bar = declare_bar("own.rate", at_least=0.999)
    told = hint(undecided(bar, Carried(1.6, 0.5, 19, 2), 200), POLICY)
    assert told.startswith("A new run that lasts longer could decide")
    assert hint(undecided(bar, Carried(0.9, 0.5, 19, 2), 200), POLICY) == ""


SCORES = np.tile([1.0, 0.0], 50)
#: Bases whose deciding has nothing to do with a number of requests, or of which nobody knows it.
SILENT = [
    Exact(Quantity.of(1).number, "counted, not sampled"),
    Unmeasurable("nothing was seen"),
    Interval(Quantity.of(1).number, Quantity.of(0).number, Quantity.of(2).number),
    Curtailed(92, 100, 100),
    Anytime(92, 100),
    Corpus(0.5, tuple(SCORES), 100),
    Means(SCORES, "launches", 5),
    CostOfShare(Quantity.of(1).number, Share(92, 100)),
    Ratio(SCORES + 1, SCORES),
    Contrast(SCORES, SCORES, None, as_ratio=False),
    Pairs(SCORES, 10),
    Confirmed(Quantity.of(1).number, 5, 5),
    Confirmed(Quantity.of(1).number, 1, 5, "no rate was sustained"),
]


@pytest.mark.parametrize("basis", SILENT, ids=lambda basis: type(basis).__name__)
def test_nothing_is_said_where_nothing_is_known_to_decide(basis):
    finding = Finding(ACCURACY, measured(ACCURACY, basis, 100), OPEN)
    assert hint(finding, POLICY) == ""


@pytest.mark.parametrize("verdict", [Verdict.ACCEPT, Verdict.REJECT, Verdict.INVALID])
def test_nothing_is_said_of_what_is_decided(verdict):
    finding = replace(undecided(ACCURACY, Share(92, 100), 100), verdict=verdict)
    assert hint(finding, POLICY) == ""


def test_nothing_is_said_of_what_was_only_observed():
    finding = replace(undecided(ACCURACY, Share(92, 100), 100), observed_only=True)
    assert hint(finding, POLICY) == ""


def test_memory_that_may_be_anothers_is_told_by_the_machine_and_not_by_requests():
    bar = declare_bar("gpu_memory_peak", at_most="3 GB")
    ends = [Quantity.of(amount, "GB").to("B") for amount in (2, 1, 4)]
    told = hint(Finding(bar, Measurement(GPU_MEMORY, bar.limit, 9, "samples", Interval(*ends)), OPEN), POLICY)
    assert "a GPU of its own" in told
    assert "requests" not in told


@pytest.mark.parametrize(
    ("basis", "said"),
    [
        (Means(np.ones(2), "launches", 5), "A new run of 5 launches could decide."),
        (Confirmed(Quantity.of(1).number, 1, 5), "A new search with `launches=5` could decide."),
    ],
)
def test_too_few_repeats_are_told_by_their_number(basis, said):
    assert hint(Finding(ACCURACY, measured(ACCURACY, basis, 9), OPEN), POLICY) == said


def test_goodput_is_told_as_the_share_it_is():
    bar = declare_bar("goodput", at_least=0.9, latency="80 ms")
    good = np.arange(300) % 100 < 92
    basis = Goodput(Share(float(good.sum()), 300), good, None, 0, under_load=False)
    told = hint(undecided(bar, basis, 300, "requests"), POLICY)
    assert size(told) > 300
