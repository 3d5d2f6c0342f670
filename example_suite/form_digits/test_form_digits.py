"""Which reader of handwritten digits to buy for scanned claim forms."""

import pytest

from pytest_procure import ms


# Whole batches only: torch.compile would compile for the size of a last, partial one within each launch.
@pytest.mark.scenario("offline", max_batch=32, launches=5, count=249 * 32)
@pytest.mark.dataset_slice("clean-forms")
@pytest.mark.bar("accuracy", at_least=0.95, design=0.98)
@pytest.mark.bar("throughput", at_least="500 1/s")
def test_reads_clean_forms_in_bulk(procure):
    """Does it read the clean reference forms, and fast enough, as a public benchmark would ask?"""
    procure.run()


@pytest.mark.scenario("server", qps=80, count=797)  # each scan once
@pytest.mark.dataset_slice("our-scans")
@pytest.mark.bar("accuracy", at_least=0.95, design=0.98)
@pytest.mark.bar("latency.p95", at_most="1 s", design=0.99)
@pytest.mark.bar("cost_per_request", at_most="0.000005 USD")
def test_reads_our_scans_at_mondays_rate(procure):
    """Does it read our own, brighter scans at Monday's rate, in time and within budget?"""
    result = procure.run()
    assert result.error_rate <= 0.01
    assert result.latency.p50 <= ms(250)
