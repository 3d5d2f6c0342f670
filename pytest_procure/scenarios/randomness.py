"""Random numbers of a seed, one stream a purpose: arrivals do not depend on the sample order."""

from __future__ import annotations

import numpy as np

ARRIVALS, ORDER = 1, 2
REPEATS = 4  # 3 is the order of interleaved blocks


def generator(seed: int, stream: int) -> np.random.Generator:
    """Make the generator of one stream."""
    # Named outright: `default_rng` may change its engine in a later numpy.
    return np.random.Generator(np.random.PCG64([seed, stream]))
