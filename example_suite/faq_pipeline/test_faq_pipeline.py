"""Which pipeline to put behind a help desk that answers with the number of an article."""

import pytest


# An answer that takes longer than the ten seconds a customer waits counts as failed, and so as wrong. There
# is no bar on a percentile beside that: it would take several hundred requests, and minutes, to show one.
@pytest.mark.scenario("single_stream", count=84, warmup=3, timeout="10 s")  # each question once
@pytest.mark.dataset_slice("python-faq", n=84, seed=1)
@pytest.mark.bar("quality.right_article", at_least=0.3, design=0.55)
@pytest.mark.bar("stage.retrieve.quality", at_least=0.5, design=0.75)
@pytest.mark.bar("stage.rerank.quality", at_least=0.3, design=0.6)
@pytest.mark.bar("stage.answer.quality", at_least=0.8, design=0.98)
@pytest.mark.bar("cost_per_request", at_most="0.0002 USD")
def test_answers_with_the_right_article(procure):
    """Is the customer given the number of the right article, within ten seconds?"""
    procure.run()
