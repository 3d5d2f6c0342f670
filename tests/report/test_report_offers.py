"""What an offer costs and which files it is, for the whole or stage by stage."""

import pytest
import sample

from pytest_procure.report.html import render
from pytest_procure.report.offers import Part, digests, prices

BY_REQUEST = {"label": "0.00003 USD a request", "source": "offer B", "date": "2026-11-20"}
STAGES = {
    "stages": [
        {"name": "retrieve", "backend": {"runtime": "BM25"}, "price": None},
        {"name": "rerank", "backend": {"files": [{"sha256": "ab" * 32}]}, "price": BY_REQUEST},
    ]
}


@pytest.mark.parametrize(
    ("backend", "found"),
    [
        ({}, []),
        ({"runtime": "x", "model": {"file": "m", "sha256": "ab"}}, [Part("", "ab")]),
        ({"declared": {"sha256": None}, "files": [{"sha256": "cd"}]}, [Part("", "cd")]),
        (STAGES, [Part("rerank", "ab" * 32)]),
        ({"stages": "none of ours", "digest": "ef"}, [Part("", "ef")]),
    ],
)
def test_a_digest_is_the_first_that_is_told(backend, found):
    assert digests({"backend": backend, "price": {}}) == found


def test_the_price_of_the_whole_goes_before_those_of_stages():
    assert [each["stage"] for each in prices({"backend": STAGES, "price": BY_REQUEST})] == [""]
    assert [each["stage"] for each in prices({"backend": STAGES, "price": {}})] == ["rerank"]
    assert prices({"backend": {}, "price": {}}) == []


def test_a_pipeline_shows_prices_and_digests_by_stage():
    record = sample.demo()
    record["candidates"][0] |= {"backend": STAGES, "price": {}}
    page = render(record)
    assert "<bdi>rerank</bdi>: <bdi>0.00003 USD a request</bdi>" in page
    assert '<bdi>rerank</bdi>: <span class="digest">abababababab…</span>' in page
    assert "stage <bdi>rerank</bdi>: <bdi>0.00003 USD a request</bdi>; source: <bdi>offer B</bdi>" in page
