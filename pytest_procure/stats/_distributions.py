"""The few distribution functions the methods need, each in its beta or t form.

The beta forms take a non-integer number of observations, which an effective sample size is.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any


def _special() -> Any:
    from scipy import special  # noqa: PLC0415 - a session that judges nothing should not pay for scipy

    return special


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Quantile of Beta(a, b), a and b above 0."""
    return float(_special().betaincinv(a, b, probability))


def at_most(k: float, n: float, share: float) -> float:
    """P(X <= k) for X ~ Binomial(n, share), 0 <= k <= n, continued to real k and n."""
    if k >= n:
        return 1.0
    return float(_special().betaincc(k + 1.0, n - k, share))


def at_least(k: float, n: float, share: float) -> float:
    """P(X >= k) for X ~ Binomial(n, share), 0 <= k <= n, continued to real k and n."""
    if k <= 0.0:
        return 1.0
    return float(_special().betainc(k, n - k + 1.0, share))


def t_quantile(probability: float, df: float) -> float:
    """Quantile of Student's t."""
    return float(_special().stdtrit(df, probability))


def t_upper_tail(t: float, df: float) -> float:
    """P(T >= t) for Student's t."""
    return float(_special().stdtr(df, -t))


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal."""
    return NormalDist().inv_cdf(probability)


def log_beta(a: float, b: float) -> float:
    """Logarithm of the beta function."""
    return float(_special().betaln(a, b))
