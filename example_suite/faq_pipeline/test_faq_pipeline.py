"""Which pipeline to put behind a help desk that answers with the number of an article."""

import pytest


@pytest.mark.scenario("single_stream", count=120, warmup=3, timeout="60 s")  # each question once
@pytest.mark.dataset_slice("python-faq", n=120, seed=1)
@pytest.mark.bar("quality.right_article", at_least=0.45, design=0.6)
@pytest.mark.bar("stage.retrieve.quality", at_least=0.65)
@pytest.mark.bar("stage.rerank.quality", at_least=0.45)
@pytest.mark.bar("stage.rerank.latency.p95", at_most="2 s")
@pytest.mark.bar("latency.p90", at_most="30 s")
@pytest.mark.bar("cost_per_request", at_most="0.0002 USD")
def test_answers_with_the_right_article(procure):
    """Is the customer given the number of the article that answers the question, within half a minute?"""
    procure.run()
