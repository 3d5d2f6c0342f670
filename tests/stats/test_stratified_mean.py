import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.errors import DomainError
from pytest_procure.stats import korn_graubard_bounds, stratified_mean, stratified_share

invariant = settings(derandomize=True, max_examples=100)


@invariant
@given(st.lists(st.tuples(st.integers(2, 40), st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=5))
def test_of_right_and_wrong_it_is_the_stratified_share(strata):
    sizes = [size for size, _, _ in strata]
    hits = [round(size * share) for size, share, _ in strata]
    parts = np.array([part for _, _, part in strata]) / sum(part for _, _, part in strata)
    values = np.concatenate([[1.0] * k + [0.0] * (n - k) for k, n in zip(hits, sizes, strict=True)])
    codes = np.repeat(np.arange(len(sizes)), sizes)
    expected = stratified_share(hits, sizes, parts)
    found = stratified_mean(values, codes, parts)
    assert found.mean == pytest.approx(expected.share, abs=1e-12)
    assert found.df == expected.df
    assert found.design_effect == pytest.approx(expected.design_effect, rel=1e-9, abs=1e-9)


def test_the_order_of_the_values_does_not_matter():
    values, codes = np.array([1, 0, 1, 1, 0.5]), np.array([0, 0, 1, 1, 1])
    turned = stratified_mean(values[::-1], codes[::-1], [0.3, 0.7])
    assert turned == pytest.approx(stratified_mean(values, codes, [0.3, 0.7]))


@pytest.mark.parametrize(
    ("values", "strata", "weights"),
    [
        ([1, 0], [0, 1], [0.5, 0.5]),
        ([1, 0], [0, 0], [0.5, 0.5]),
        ([1, 0], [0, 0], [0.9]),
        ([1, 2], [0, 0], [1]),
        ([1, 0], [0, 1], [1]),
        ([1, 0], [0.0, 0.0], [1]),
    ],
)
def test_what_lies_outside_the_method_is_refused(values, strata, weights):
    with pytest.raises(DomainError):
        stratified_mean(values, strata, weights)


def test_an_offer_exactly_at_the_bar_is_accepted_no_oftener_than_declared():
    rng, weights, sizes = np.random.default_rng(5), np.array([0.7, 0.3]), np.array([140, 60])
    accepted = 0
    codes = np.repeat([0, 1], sizes)
    for _ in range(2000):
        right = rng.random(200) < np.where(codes == 0, 0.97, (0.95 - 0.7 * 0.97) / 0.3)
        found = stratified_mean(right.astype(float), codes, weights)
        effect = max(1.0, found.design_effect)
        low = korn_graubard_bounds(found.mean, 200, effect, found.df, confidence=0.95).low
        accepted += low >= 0.95
    assert accepted / 2000 <= 0.055
