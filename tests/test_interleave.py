"""Blocks and their order, with a driver that only writes down what it was asked."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.datasets import Dataset
from pytest_procure.driver.pull import drive
from pytest_procure.errors import DataError, DeclarationError
from pytest_procure.interleave import Block, interleaved
from pytest_procure.metrics.comparison import BLOCKS
from pytest_procure.scenarios import Scenario, queries, sample_order

NAMES = ("new", "ref")


class Asked:
    """A driver that logs the samples a run would ask for, and hangs where it is told to."""

    def __init__(self, hangs=()):
        self.blocks = []
        self.hangs = hangs

    def __call__(self, backend, block, scenario):
        number = sum(name == backend for name, _, _ in self.blocks)
        self.blocks.append((backend, block, scenario))
        asked = queries(scenario, len(block)) * scenario.samples_per_query
        log = SimpleNamespace(samples=sample_order(len(block), asked, scenario.seed))
        return SimpleNamespace(log=log, broken=(backend, number) in self.hangs)

    @property
    def order(self):
        return [name for name, _, _ in self.blocks]


def slice_of(n):
    return Dataset.from_arrays("numbers", inputs=np.arange(n) * 10).slice()


def run(n=100, scenario="single_stream", *, names=NAMES, hangs=(), own=None, **arguments):
    """Interleave; gives runs by candidate and what the driver was asked. `own`: scenarios by candidate."""
    driver = Asked(hangs)
    scenarios = own or dict.fromkeys(names, Scenario.declare(scenario, **arguments))
    return interleaved({name: name for name in names}, slice_of(n), scenarios, driver), driver


def items(runs):
    return [each.log.samples.tolist() for each in runs]


@settings(derandomize=True, max_examples=40)
@given(st.integers(BLOCKS, 500), st.integers(0, 2**32))
def test_every_item_is_asked_once_of_every_candidate(n, seed):
    runs, _ = run(n, seed=seed)
    for name in NAMES:
        assert sorted(np.concatenate(items(runs[name])).tolist()) == list(range(n))


@pytest.mark.parametrize(
    ("scenario", "more"),
    [
        ("single_stream", {}),
        ("single_stream", {"count": 37}),
        ("multi_stream", {"samples_per_query": 4}),
        ("offline", {}),
        ("server", {"qps": 10, "duration": "30 s"}),
    ],
)
def test_all_candidates_are_asked_the_same_items_in_the_same_order(scenario, more):
    runs, _ = run(100, scenario, **more)
    assert items(runs["new"]) == items(runs["ref"])


def test_the_slice_is_cut_into_blocks_of_nearly_one_size():
    runs, _ = run(105)
    assert sorted(map(len, items(runs["new"]))) == [10] * 5 + [11] * 5


def test_a_block_is_finished_by_all_before_the_next_begins():
    _, driver = run()
    rounds = np.array(driver.order).reshape(BLOCKS, 2)
    assert all(set(pair) == set(NAMES) for pair in rounds.tolist())


def test_blocks_are_no_neighbours_in_the_dataset():
    runs, _ = run(1000)
    first = sorted(items(runs["new"])[0])
    assert first[-1] - first[0] > 500


def test_nobody_is_always_first():
    orders = [run(seed=seed)[1].order[::2] for seed in range(20)]
    first = [order.count("new") for order in orders]
    assert min(first) > 0
    assert max(first) < BLOCKS
    assert 80 < sum(first) < 120


def test_the_seed_decides_blocks_and_their_order():
    again = [run(seed=4) for _ in range(2)]
    assert again[0][1].order == again[1][1].order
    assert items(again[0][0]["new"]) == items(again[1][0]["new"])
    other, _ = run(seed=5)
    assert items(again[0][0]["new"]) != items(other["new"])


def test_three_candidates_share_the_blocks():
    runs, _ = run(names=("new", "ref", "old"))
    assert items(runs["new"]) == items(runs["ref"]) == items(runs["old"])


def test_a_count_is_shared_out_over_the_blocks():
    runs, _ = run(100, count=250)
    assert set(map(len, items(runs["new"]))) == {25}


def test_a_count_that_does_not_divide_is_rounded_up():
    runs, _ = run(100, count=41)
    assert set(map(len, items(runs["new"]))) == {5}


def test_a_block_of_queries_of_several_samples_asks_whole_queries():
    runs, _ = run(100, "multi_stream", samples_per_query=4)
    assert set(map(len, items(runs["new"]))) == {12}


def test_a_closed_loops_duration_is_shared_out_over_the_blocks():
    driver = Asked()
    timed = Scenario.declare("single_stream", duration="20 s")
    interleaved({"new": "new"}, slice_of(100), {"new": timed}, driver)
    assert {str(asked.duration) for _, _, asked in driver.blocks} == {"2 s"}


def test_a_declared_rate_stays_and_its_queries_are_shared_out():
    _, driver = run(100, "server", qps=10, duration="30 s")
    assert {(asked.qps, asked.count, asked.duration) for _, _, asked in driver.blocks} == {(10.0, 30, None)}


def test_every_block_has_arrivals_of_its_own():
    _, driver = run(100, "server", qps=10, duration="30 s")
    seeds = [asked.seed for _, _, asked in driver.blocks]
    assert len(set(seeds)) == BLOCKS
    assert seeds[::2] == seeds[1::2]


def test_each_candidate_is_served_by_its_own_batch_policy():
    own = {name: Scenario.declare("offline", max_batch=size) for name, size in (("new", 1), ("ref", 64))}
    _, driver = run(own=own)
    assert {(name, asked.max_batch) for name, _, asked in driver.blocks} == {("new", 1), ("ref", 64)}


@pytest.mark.parametrize("who", NAMES)
def test_a_call_that_never_returns_ends_the_comparison_with_its_block(who):
    runs, _ = run(hangs={(who, 3)})
    assert [len(each) for each in runs.values()] == [4, 4]


def test_a_block_gives_the_inputs_of_its_own_items():
    block = Block(slice_of(50), np.array([7, 3, 40]))
    assert len(block) == 3
    assert block.take(np.array([2, 0])).tolist() == [400, 70]


def test_logs_name_items_of_the_slice_whatever_drives_them():
    class Doubles:
        device, releases_gil = "cpu", True

        def predict(self, inputs):
            return inputs * 2

    chosen = slice_of(40)
    runs = interleaved({"new": Doubles()}, chosen, {"new": Scenario.declare("single_stream")}, drive)
    for each in runs["new"]:
        assert each.log.answers == (chosen.inputs[each.log.samples] * 2).tolist()


def test_launches_are_refused():
    with pytest.raises(DeclarationError, match="a comparison has blocks instead of `launches=`; leave them"):
        run(scenario="offline", launches=2)


def test_a_slice_that_is_smaller_than_the_blocks_is_refused():
    with pytest.raises(DataError, match=r"cut into 10 blocks, and the slice has 9 sample\(s\)"):
        run(9)
    assert len(run(10)[0]["new"]) == BLOCKS


def test_what_a_driver_raises_ends_the_comparison():
    def broken(*_):
        raise DataError("no such sample")

    with pytest.raises(DataError, match="no such sample"):
        interleaved({"new": "new"}, slice_of(10), {"new": Scenario.declare("single_stream")}, broken)
