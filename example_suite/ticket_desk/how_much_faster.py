"""How much faster Q4_0 is than the model as shipped, on this machine: both are asked in turns, ten times.

    pytest example_suite/ticket_desk/how_much_faster.py --procure-candidate Q4_0

It is no part of the suite: its file is collected where it is named.
"""

import pytest


@pytest.mark.scenario("single_stream", count=60, warmup=3, timeout="30 s")
@pytest.mark.dataset_slice("tickets", n=60, seed=1)
@pytest.mark.bar("tpot.p50", at_most="100 %", of="as shipped")
@pytest.mark.bar("ttft.p50", at_most="100 %", of="as shipped")
@pytest.mark.bar("throughput", at_least="100 %", of="as shipped")
def test_is_faster_than_as_shipped(procure):
    """Is it faster than the model as shipped: a token, the first token, and tickets a second?"""
    procure.run()
