"""MLPerf LoadGen's random numbers: its arrivals, its loaded set and its sample order, bit for bit.

Facts of LoadGen 6.0.17 (`loadgen/loadgen.cc`, GCC's libstdc++), restated: every generator is an mt19937 of
the low 32 bits of its seed; an exponential gap takes two words; an index below n is the high half of word x
n, drawn again while the low half is too small; a shuffle draws two swaps from one number while n x n fits 32
bits. The tests hold it against the real binding.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.units import Quantity

Int64 = NDArray[np.int64]

_WORD = 2**32
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class LoadGen:
    """LoadGen's settings, by its own names.

    qsl_rng_seed              which samples are loaded, and in which order
    sample_index_rng_seed     which loaded sample a query asks
    schedule_rng_seed         server: when queries arrive
    performance_sample_count  how many samples are loaded; None: all
    min_query_count           the fewest queries; a scenario's `count`, where it has one
    sample_concatenate_permutation
                              every loaded sample equally often; else LoadGen draws with replacement
    """

    qsl_rng_seed: int = 0
    sample_index_rng_seed: int = 0
    schedule_rng_seed: int = 0
    performance_sample_count: int | None = None
    min_query_count: int = 100
    sample_concatenate_permutation: bool = False

    def schedule(self, qps: float, n: int) -> Int64:
        """Give the first n arrivals: `(n,)` int64 ns, the first at 0."""
        offsets = np.zeros(n, dtype=np.int64)
        later = islice(_offsets(qps, self.schedule_rng_seed), max(0, n - 1))
        offsets[1:] = np.fromiter(later, dtype=np.int64, count=max(0, n - 1))
        return offsets

    def queries(
        self, name: str, items: int, qps: float | None, duration: Quantity | None, count: int | None
    ) -> int | None:
        """Count what LoadGen generates: server arrivals until the duration is reached, whole passes.

        None where the duration or the slice decides, as without LoadGen.
        """
        least = count if count is not None else self.min_query_count
        by = self._size(items) if self.sample_concatenate_permutation else 0
        if name == "server" and qps is not None:
            return _generated(self, qps, 0 if duration is None else duration.ns, least, by)
        if duration is not None or (name == "offline" and count is None):
            return None
        return _padded(name, least, by)

    def order(self, name: str, items: int, total: int, samples_per_query: int) -> Int64:
        """Choose the samples of `total` / `samples_per_query` queries: `(total,)` int64 in [0, items)."""
        loaded = self.loaded(items)
        if name == "offline":
            return self._offline(loaded, total)
        words = _Words(self.sample_index_rng_seed)
        # Both orders are made even where nobody asks for them, so the generator has moved on.
        stride = samples_per_query if name == "multi_stream" else 1
        _shuffle(list(range(0, len(loaded), stride)), words)
        padding = samples_per_query - 1 if name == "multi_stream" else 0
        by = len(loaded) if self.sample_concatenate_permutation else 0
        least = _padded(name, self.min_query_count, by) if name == "single_stream" else self.min_query_count
        equal = _passes(len(loaded) + padding, least, words)
        if name == "multi_stream":
            padded = np.concatenate((loaded, np.resize(loaded, padding)))
            firsts = _below(len(loaded), total // samples_per_query, words)
            loaded = padded
            places = (firsts[:, None] + np.arange(samples_per_query)).reshape(-1)
        elif self.sample_concatenate_permutation:
            places = np.resize(np.array(equal, dtype=np.int64), total)
        else:
            places = _below(len(loaded), total, words)
        order: Int64 = loaded[places]
        return order

    def describe(self) -> dict[str, Any]:
        """Give the settings as plain JSON data."""
        return {
            "rng": "loadgen",
            "qsl_rng_seed": self.qsl_rng_seed,
            "sample_index_rng_seed": self.sample_index_rng_seed,
            "schedule_rng_seed": self.schedule_rng_seed,
            "performance_sample_count": self.performance_sample_count,
            "min_query_count": self.min_query_count,
            "sample_concatenate_permutation": self.sample_concatenate_permutation,
        }

    def loaded(self, items: int) -> Int64:
        """Give the samples that are loaded, in their order: a shuffle of the first so many."""
        samples = list(range(self._size(items)))
        _shuffle(samples, _Words(self.qsl_rng_seed))
        return np.array(samples, dtype=np.int64)

    def _size(self, items: int) -> int:
        return min(items, self.performance_sample_count or items)

    def _offline(self, loaded: Int64, total: int) -> Int64:
        """Repeat the loaded set; each whole pass is shuffled where all are to be asked equally often."""
        if not self.sample_concatenate_permutation:
            return np.resize(loaded, total)
        words = _Words(self.sample_index_rng_seed)
        _shuffle(list(range(len(loaded))), words)
        _passes(len(loaded), 1, words)
        passes = []
        for _ in range(-(-total // len(loaded))):
            each = loaded.tolist()
            _shuffle(each, words)
            passes += each
        return np.array(passes[:total], dtype=np.int64)


class _Words:
    """The raw 32-bit words of an mt19937."""

    def __init__(self, seed: int) -> None:
        # `RandomState` seeds as mt19937 does; `MT19937(seed)` would spread the seed over the state.
        self._raw = np.random.RandomState(seed % _WORD).randint
        self._kept: list[int] = []

    def word(self) -> int:
        if not self._kept:
            self._kept = self._raw(0, _WORD, _CHUNK, dtype=np.uint32).tolist()[::-1]
        return self._kept.pop()

    def below(self, n: int) -> int:
        """Draw a whole number in [0, n)."""
        least = (_WORD - n) % n
        product = self.word() * n
        while product % _WORD < least:
            product = self.word() * n
        return product // _WORD


def _below(n: int, total: int, words: _Words) -> Int64:
    return np.fromiter((words.below(n) for _ in range(total)), dtype=np.int64, count=total)


def _shuffle(values: list[int], words: _Words) -> None:
    """Shuffle in place, as libstdc++ does."""
    n = len(values)
    if n == 0:
        return
    place = 1
    if (_WORD - 1) // n >= n:
        if n % 2 == 0:
            _swap(values, place, words.below(2))
            place += 1
        while place < n:
            bound = place + 1
            first, second = divmod(words.below(bound * (bound + 1)), bound + 1)
            _swap(values, place, first)
            _swap(values, place + 1, second)
            place += 2
        return
    for each in range(place, n):
        _swap(values, each, words.below(each + 1))


def _swap(values: list[int], one: int, other: int) -> None:
    values[one], values[other] = values[other], values[one]


def _passes(n: int, least: int, words: _Words) -> list[int]:
    """Shuffle [0, n) again and again, each time from the last, until there are `least` numbers or more."""
    numbers, told = list(range(n)), []
    for _ in range(-(-least // n)):
        _shuffle(numbers, words)
        told += numbers
    return told


def _padded(name: str, least: int, by: int) -> int:
    """Pad a number of queries to passes of `by`; a single stream gets one more where they come out even."""
    if not by or name == "multi_stream":
        return least
    return (least // by + 1) * by if name == "single_stream" else -(-least // by) * by


def _offsets(qps: float, seed: int) -> Iterator[int]:
    """Give the arrivals after the first, without end."""
    words = _Words(seed)
    offset = 0
    while True:
        # Two words make a double, low word first; log and division as in the C library, not numpy's own.
        canonical = (words.word() + words.word() * float(_WORD)) / 2.0**64
        if canonical >= 1.0:
            canonical = math.nextafter(1.0, 0.0)
        offset += int(-math.log(1.0 - canonical) / qps * 1e9)
        yield offset


@functools.lru_cache(maxsize=16)
def _generated(settings: LoadGen, qps: float, until_ns: int, least: int, by: int) -> int:
    """Count the queries that LoadGen's server generates, a multiple of `by` where that is not 0."""
    least = _padded("server", least, by)
    n, last = 0, 0
    offsets = _offsets(qps, settings.schedule_rng_seed)
    upcoming = 0
    while last < until_ns or n < least:
        last, n = upcoming, n + 1
        upcoming = next(offsets)
        if by and n >= least and last < until_ns:
            least += by
    return n
