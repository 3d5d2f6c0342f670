import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import (
    batch_design_effect,
    cluster_design_effect,
    korn_graubard_bounds,
    latency_design_effect,
)

invariant = settings(derandomize=True, max_examples=40)
LARGEST = np.iinfo(np.int64).max


def bursts(n, every, length):
    return np.arange(n) % every < length


def test_standard_error_over_five_clusters():
    clusters = np.repeat(np.arange(5), 4)
    values = np.concatenate([np.arange(4) < right for right in (4, 4, 3, 3, 1)]).astype(float)
    effect, df = cluster_design_effect(values, clusters)
    error = math.sqrt(effect * np.var(values, ddof=1) / 20)
    assert (error, df) == (pytest.approx(0.1369306394, abs=1e-9), 4)


def test_items_that_are_their_own_cluster_have_no_design_effect():
    effect, df = cluster_design_effect([1, 0, 1, 1, 0.5], list("abcde"))
    assert (effect, df) == (pytest.approx(1.0, abs=1e-12), 4)


def test_items_repeated_in_their_cluster_count_once():
    once = np.array([1.0] * 15 + [0.0] * 5)
    effect, _ = cluster_design_effect(np.repeat(once, 3), np.repeat(np.arange(20), 3))
    assert effect == pytest.approx(3.0, rel=0.06)


def test_values_without_spread_are_taken_as_wholly_alike_within_clusters():
    assert cluster_design_effect([1.0] * 12, [0] * 6 + [1] * 3 + [2] * 3) == (4.5, 2)


@invariant
@given(
    st.lists(st.tuples(st.floats(0, 1, width=16), st.integers(0, 5)), min_size=2, max_size=60),
    st.randoms(use_true_random=False),
)
def test_cluster_labels_and_item_order_do_not_matter(rows, random):
    values, clusters = zip(*rows, strict=True)
    assume(len(set(clusters)) > 1)
    again = random.sample(rows, len(rows))
    effect, df = cluster_design_effect(values, clusters)
    other, same_df = cluster_design_effect([v for v, _ in again], [f"document {c}" for _, c in again])
    assert (other, same_df) == (pytest.approx(effect, rel=1e-6, abs=1e-9), df)


def test_twenty_late_requests_in_a_row_of_a_hundred():
    assert batch_design_effect([0] * 20 + [1] * 80, batches=(10,)) == (pytest.approx(100 / 9, abs=1e-9), 9)


def test_the_remainder_goes_to_the_last_batch():
    indicator = np.array([0, 0, 1, 1, 1, 1, 0])
    share, residuals = 4 / 7, np.array([1 - 3 * 4 / 7, 3 - 4 * 4 / 7])
    expected = 2 * np.sum(residuals**2) / (7 * share * (1 - share))
    assert batch_design_effect(indicator, batches=(2,)) == (pytest.approx(expected), 1)


def test_the_worst_number_of_batches_counts_with_its_own_degrees_of_freedom():
    indicator = bursts(4000, 800, 80)
    alone = {b: batch_design_effect(indicator, batches=(b,)) for b in (5, 10, 20, 40)}
    assert batch_design_effect(indicator) == max(alone.values())


def test_fewer_batches_count_where_two_are_equal():
    indicator = [0, 0, 1, 1] * 5
    assert batch_design_effect(indicator, batches=(5, 5)) == batch_design_effect(indicator, batches=(5,))
    assert batch_design_effect([1, 1, 0, 0], batches=(2, 4)) == batch_design_effect(
        [1, 1, 0, 0], batches=(2,)
    )


@pytest.mark.parametrize("value", [0, 1, True, False])
def test_a_constant_indicator_has_no_design_effect(value):
    assert batch_design_effect([value] * 100) is None


def test_a_share_steadier_than_chance_is_told_as_it_is():
    assert batch_design_effect([0, 1] * 200, batches=(5, 10)) == (pytest.approx(0.0), 4)


def test_more_batches_than_requests_are_left_out():
    indicator = [1, 0, 0, 1, 1, 0, 1]
    assert batch_design_effect(indicator) == batch_design_effect(indicator, batches=(5,))


@pytest.mark.parametrize("kind", [bool, np.int8, np.int64, np.float64, list])
def test_any_kind_of_zero_and_one_will_do(kind):
    flags = bursts(200, 50, 7)
    given_as = flags.tolist() if kind is list else flags.astype(kind)
    assert batch_design_effect(given_as) == batch_design_effect(flags)


@invariant
@given(st.lists(st.booleans(), min_size=40, max_size=300))
def test_an_indicator_and_its_opposite_are_alike(flags):
    opposite = [not flag for flag in flags]
    effect = batch_design_effect(flags)
    if effect is None:
        assert batch_design_effect(opposite) is None
    else:
        assert batch_design_effect(opposite) == (pytest.approx(effect[0], rel=1e-9), effect[1])


def test_send_order_is_data():
    together, apart = bursts(1000, 1000, 100), bursts(1000, 10, 1)
    assert batch_design_effect(together)[0] > 50 * batch_design_effect(apart)[0]


def test_design_effect_of_an_autoregressive_series():
    rng = np.random.default_rng(20)
    noise, values = rng.standard_normal(400_000), [0.0]
    for shock in noise.tolist():
        values.append(0.9 * values[-1] + math.sqrt(1 - 0.81) * shock)
    # For "above the median" of a Gaussian series the correlation at lag k is 2/pi * arcsin(rho^k).
    exact = 1 + 2 * sum(2 / math.pi * math.asin(0.9**k) for k in range(1, 400))
    effect, _ = batch_design_effect(np.array(values) > 0, batches=(400,))
    assert effect == pytest.approx(exact, rel=0.2)


def test_the_bulk_lends_its_correlation_to_a_lucky_run():
    waves = 50 + 49 * np.sin(np.arange(2000) / 100)
    effect, df = latency_design_effect(waves, 1000.0)
    assert effect > 20
    assert (effect, df) == batch_design_effect(waves > np.sort(waves)[1799])


def test_the_bar_itself_counts_where_it_is_the_worse():
    latencies = np.where(bursts(2000, 2000, 20), 100.0, np.arange(2000) % 10)
    assert latency_design_effect(latencies, 50.0) == batch_design_effect(latencies > 50.0)


def test_a_request_exactly_at_the_limit_is_within_it():
    assert latency_design_effect(np.arange(1000) // 100, 4) == batch_design_effect(np.arange(1000) >= 500)


def test_latency_design_effect_is_never_below_one():
    assert latency_design_effect(np.arange(1000) % 10, 100.0)[0] == 1.0


def test_equal_latencies_show_no_correlation():
    assert latency_design_effect([5] * 400, 10) == (1.0, 39)
    assert latency_design_effect([5] * 400, 1) == (1.0, 39)


def test_ties_at_the_top_still_show_their_correlation():
    latencies = np.where(bursts(1000, 500, 150), 9, 1)
    assert latency_design_effect(latencies, 10) == batch_design_effect(latencies >= 9)


def test_failures_are_over_any_limit_in_either_notation():
    flags = bursts(1000, 100, 12)
    as_float = np.where(flags, math.inf, 1e6)
    as_int = np.where(flags, LARGEST, 1_000_000)
    assert latency_design_effect(as_float, 2e6) == latency_design_effect(as_int, 2_000_000)
    assert latency_design_effect(as_float, 2e6) == batch_design_effect(flags)


@invariant
@given(st.lists(st.integers(0, 100), min_size=40, max_size=200), st.integers(0, 100), st.integers(1, 1000))
def test_the_unit_of_time_does_not_matter(latencies, limit, factor):
    scaled = np.array(latencies, dtype=np.int64) * factor
    assert latency_design_effect(scaled, limit * factor) == latency_design_effect(latencies, limit)


def test_a_queue_exactly_at_its_bar_is_seldom_accepted():
    rng = np.random.default_rng(4)
    runs, n, load = 400, 1999, 0.5
    waits, latencies = np.zeros(runs), np.empty((n, runs))
    for i in range(-200, n):
        service = rng.lognormal(-math.log(2) / 2, math.sqrt(math.log(2)), runs)
        if i >= 0:
            latencies[i] = waits + service
        waits = np.maximum(waits + service - rng.exponential(1 / load, runs), 0.0)
    limit = float(np.quantile(latencies, 0.95))
    accepted = 0
    for run in latencies.T:
        effect, df = latency_design_effect(run, limit)
        bounds = korn_graubard_bounds(float(np.mean(run <= limit)), n, effect, df, confidence=0.95)
        accepted += n / effect >= 100 and bounds.low >= 0.95
    assert accepted / runs <= 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cluster_design_effect([1], [1]), r"values has 1 values, expected at least 2"),
        (
            lambda: cluster_design_effect([1, math.nan], [1, 2]),
            r"values\[1\] is nan, expected a finite number",
        ),
        (lambda: cluster_design_effect([1, 0], [1, 2, 3]), r"clusters has 3 values, expected 2"),
        (
            lambda: cluster_design_effect([1, 0], [7, 7]),
            r"clusters has 1 distinct label, expected at least 2",
        ),
        (lambda: cluster_design_effect([1, 0], ["a", None]), r"clusters is .*, expected labels of one kind"),
        (lambda: batch_design_effect([]), r"indicator has 0 values, expected at least 1"),
        (
            lambda: batch_design_effect([1, 0, 1]),
            r"indicator has 3 values, expected at least 5, one for each",
        ),
        (lambda: batch_design_effect([1, 0, 2] * 9), r"indicator\[2\] is 2, expected 0 or 1"),
        (lambda: batch_design_effect([1, 0, math.nan] * 9), r"indicator\[2\] is nan, expected 0 or 1"),
        (lambda: batch_design_effect(["a"] * 9), r"indicator is 'str32', expected values of 0 or 1"),
        (
            lambda: batch_design_effect([1, 0] * 9, batches=(1,)),
            r"batches is 1, expected a whole number of at",
        ),
        (
            lambda: batch_design_effect([1, 0] * 9, batches=()),
            r"batches is \(\), expected at least one number",
        ),
        (
            lambda: latency_design_effect([1, math.nan] * 9, 1),
            r"latencies\[1\] is nan, expected a number or inf",
        ),
        (lambda: latency_design_effect([1, 2], 1), r"latencies has 2 values, expected at least 5"),
        (lambda: latency_design_effect([1, 2] * 9, math.inf), r"limit is inf, expected a finite number"),
        (lambda: latency_design_effect([[1, 2]], 1), r"latencies has shape \(1, 2\), expected one dimension"),
    ],
)
def test_a_value_outside_the_domain_is_named_with_what_was_expected(call, message):
    with pytest.raises(DomainError, match=message):
        call()


def by_hand(values, clusters, value, unseen=0.5):
    """Add `unseen` clusters of one value to the sums, as the formula stands on paper."""
    sizes = {label: clusters.count(label) for label in set(clusters)}
    totals = {label: sum(v for v, c in zip(values, clusters, strict=True) if c == label) for label in sizes}
    m = sum(s * s for s in sizes.values()) / len(values)
    n, groups = len(values) + unseen * m, len(sizes) + unseen
    mean = (sum(values) + unseen * m * value) / n
    between = sum((totals[c] - mean * sizes[c]) ** 2 for c in sizes) + unseen * (m * (value - mean)) ** 2
    within = sum((v - mean) ** 2 for v in values) + unseen * m * (value - mean) ** 2
    return groups / (groups - 1) * between / n**2 / (within / (n - 1) / n)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 1.0]), st.integers(0, 5)), min_size=3, max_size=40).filter(
        lambda rows: len({c for _, c in rows}) > 1 and len({v for v, _ in rows}) > 1
    )
)
def test_half_a_cluster_that_is_all_wrong_or_all_right_is_added_to_the_sums(rows):
    values, clusters = [v for v, _ in rows], [c for _, c in rows]
    plain, df = cluster_design_effect(values, clusters)
    most = sum(clusters.count(c) ** 2 for c in set(clusters)) / len(rows)
    imagined = max(by_hand(values, clusters, 0.0), by_hand(values, clusters, 1.0))
    assert cluster_design_effect(values, clusters, unseen=0.5) == (
        pytest.approx(max(plain, min(most, imagined))),
        df,
    )


def test_a_far_limit_leaves_out_what_is_far_below_it():
    values = [1] * 1000 + [3] * 1000
    assert latency_design_effect(values, 1000)[0] > 100
    assert latency_design_effect(values, 1000, far=20) == (1.0, 4)
    assert latency_design_effect(values, 59, far=20)[0] > 100


def test_slow_rows_within_sight_of_a_far_limit_count():
    values = [1] * 1000 + [100] * 90 + [1] * 910
    assert latency_design_effect(values, 1000, far=20)[0] > 90
