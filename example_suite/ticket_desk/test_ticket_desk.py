"""Which model to put behind the support desk: it copies the reference number out of each ticket."""

import pytest


# Ten seconds is what an agent waits before turning to another window: an answer that takes longer counts as
# failed, and so as wrong. A token is a sign of the number, or two; an untrained typist takes half a second
# for one.
#
# The bars on percentiles say the same of the first token and of each further one. They cannot be much
# tighter: of a server that is less than twenty times quicker than its bar, 150 requests tell too little.
@pytest.mark.scenario("single_stream", count=150, warmup=3, timeout="10 s")
@pytest.mark.dataset_slice("tickets")
@pytest.mark.bar("quality.exact", at_least=0.8, design=0.92)
@pytest.mark.bar("quality.well_formed", at_least=0.9, design=0.98)
@pytest.mark.bar("ttft.p90", at_most="10 s")
@pytest.mark.bar("tpot.p90", at_most="500 ms")
@pytest.mark.bar("cost_per_accepted", at_most="0.00005 USD")
def test_copies_the_number_while_the_agent_waits(procure):
    """Does it copy the reference number out of each ticket, in its form, while the agent waits?"""
    procure.run()
