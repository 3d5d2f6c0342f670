import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.bars import declare_bar
from pytest_procure.decision import Decision, Policy
from pytest_procure.metrics.measurement import Measurement, Share, unmeasurable
from pytest_procure.units import Quantity
from pytest_procure.verdict import Finding, Verdict, judge
from pytest_procure.wording import sentence

POLICY = Policy()
LIMITS = {
    "accuracy": {"at_least": 0.9},
    "quality.rouge": {"at_least": 0.9},
    "latency.p95": {"at_most": "80 ms"},
    "throughput": {"at_least": "40 1/s"},
    "error_rate": {"at_most": 0.1},
    "cost_per_request": {"at_most": "1 USD"},
    "own.x": {"at_most": 3},
}
ACCEPT = Decision(accept=True, reject_p=1.0)
CLOSE = Decision(accept=False, reject_p=0.5)
UNTOLD = Decision(accept=False, reject_p=None, blocked="too few")
EXACTLY_OVER = Decision(accept=False, reject_p=0.0, exact=True)


def worse(p):
    """Evidence against a bar, with this probability of arising by chance."""
    return Decision(accept=False, reject_p=p)


def finding(name, decision, **more):
    bar = declare_bar(name, **LIMITS[name])
    return Finding(bar, unmeasurable(bar.metric, "made by hand"), decision, **more)


def verdicts(findings, **harness):
    verdict, judged = judge(findings, POLICY, **harness)
    return verdict, [each.verdict for each in judged]


def test_all_bars_met_is_accepted():
    findings = [finding("accuracy", ACCEPT), finding("latency.p95", ACCEPT)]
    assert verdicts(findings) == (Verdict.ACCEPT, [Verdict.ACCEPT, Verdict.ACCEPT])


def test_one_undecided_bar_leaves_it_undecided():
    findings = [finding("accuracy", ACCEPT), finding("latency.p95", CLOSE)]
    assert verdicts(findings)[0] is Verdict.INCONCLUSIVE


def test_evidence_against_one_bar_rejects():
    assert verdicts([finding("accuracy", worse(0.049))])[0] is Verdict.REJECT
    assert verdicts([finding("accuracy", worse(0.051))])[0] is Verdict.INCONCLUSIVE


def test_each_further_bar_makes_rejection_harder():
    # Holm: the smallest of two is doubled.
    findings = [finding("error_rate", worse(0.03)), finding("own.x", ACCEPT)]
    assert verdicts(findings)[0] is Verdict.INCONCLUSIVE
    findings = [finding("error_rate", worse(0.02)), finding("own.x", ACCEPT)]
    assert verdicts(findings) == (Verdict.REJECT, [Verdict.REJECT, Verdict.ACCEPT])


def test_the_second_worst_bar_is_corrected_for_one_less():
    findings = [finding("error_rate", worse(0.01)), finding("own.x", worse(0.04))]
    assert verdicts(findings)[1] == [Verdict.REJECT, Verdict.REJECT]


def test_a_bar_that_the_evidence_cannot_reject_takes_nothing_from_the_others():
    findings = [finding("error_rate", worse(0.04)), finding("own.x", UNTOLD)]
    assert verdicts(findings) == (Verdict.REJECT, [Verdict.REJECT, Verdict.INCONCLUSIVE])


def test_what_is_exact_is_rejected_outright_and_takes_nothing_from_the_others():
    findings = [finding("error_rate", worse(0.04)), finding("own.x", EXACTLY_OVER)]
    assert verdicts(findings)[1] == [Verdict.REJECT, Verdict.REJECT]


@pytest.mark.parametrize("quality", [CLOSE, worse(0.001), UNTOLD])
@pytest.mark.parametrize("name", ["latency.p95", "throughput", "cost_per_request"])
@pytest.mark.parametrize("decision", [ACCEPT, worse(0.0001), EXACTLY_OVER])
def test_speed_and_cost_are_struck_where_quality_is_not_shown(quality, name, decision):
    alone, _ = judge([finding("accuracy", quality)], POLICY)
    verdict, (_, struck) = judge([finding("accuracy", quality), finding(name, decision)], POLICY)
    assert struck.struck
    assert verdict is alone


@pytest.mark.parametrize("name", ["error_rate", "own.x"])
def test_failures_and_values_of_ones_own_are_never_struck(name):
    verdict, (_, other) = judge([finding("accuracy", CLOSE), finding(name, worse(0.0001))], POLICY)
    assert not other.struck
    assert verdict is Verdict.REJECT


def test_one_of_two_quality_bars_not_met_strikes_speed():
    findings = [finding("accuracy", ACCEPT), finding("quality.rouge", CLOSE), finding("latency.p95", ACCEPT)]
    _, judged = judge(findings, POLICY)
    assert [each.struck for each in judged] == [False, False, True]


def test_a_quality_comparison_that_decides_nothing_strikes_nothing():
    findings = [finding("accuracy", CLOSE, observed_only=True), finding("latency.p95", ACCEPT)]
    verdict, judged = judge(findings, POLICY)
    assert verdict is Verdict.ACCEPT
    assert not any(each.struck for each in judged)


@pytest.mark.parametrize("decision", [CLOSE, worse(0.0001), EXACTLY_OVER])
def test_what_is_observed_only_decides_nothing(decision):
    findings = [finding("accuracy", ACCEPT), finding("error_rate", decision, observed_only=True)]
    assert verdicts(findings)[0] is Verdict.ACCEPT


def test_nothing_that_decides_is_not_tested():
    assert verdicts([])[0] is Verdict.NOT_TESTED
    assert verdicts([finding("accuracy", ACCEPT, observed_only=True)])[0] is Verdict.NOT_TESTED


def test_a_bar_on_one_measurement_counts_once_and_the_first_stays():
    first = finding("accuracy", worse(0.03))
    again = Finding(first.bar, first.measurement, first.decision)
    verdict, judged = judge([first, again], POLICY)
    assert (verdict, len(judged)) == (Verdict.REJECT, 1)


def test_the_same_bar_on_two_runs_counts_twice():
    _, judged = judge([finding("accuracy", ACCEPT), finding("accuracy", ACCEPT)], POLICY)
    assert len(judged) == 2


def test_an_invalid_finding_begins_with_what_makes_it_invalid():
    bar = declare_bar("accuracy", at_least=0.9)
    measured = Measurement(bar.metric, Quantity.of(0.5), 100, "samples", Share(50.0, 100))
    told = sentence(Finding(bar, measured, CLOSE, verdict=Verdict.INVALID))
    assert told.startswith("the measuring machine was late or shared")


def test_a_late_harness_turns_a_timed_rejection_into_invalid():
    findings = [finding("accuracy", ACCEPT), finding("latency.p95", worse(0.0001))]
    assert verdicts(findings, late=True) == (Verdict.INVALID, [Verdict.ACCEPT, Verdict.INVALID])


def test_a_late_harness_takes_no_acceptance_away():
    findings = [finding("accuracy", ACCEPT), finding("latency.p95", ACCEPT)]
    assert verdicts(findings, late=True)[0] is Verdict.ACCEPT


@pytest.mark.parametrize("name", ["accuracy", "error_rate", "own.x"])
def test_a_late_harness_says_nothing_of_what_is_not_timed(name):
    assert verdicts([finding(name, worse(0.0001))], late=True)[0] is Verdict.REJECT


@pytest.mark.parametrize("name", ["accuracy", "error_rate", "own.x"])
def test_a_late_harness_that_lost_requests_makes_every_failure_doubtful(name):
    findings = [finding(name, worse(0.0001))]
    assert verdicts(findings, late=True, late_failures=True)[0] is Verdict.INVALID


def test_a_stepped_clock_voids_what_is_timed_even_where_it_is_accepted():
    findings = [finding("accuracy", ACCEPT), finding("latency.p95", ACCEPT)]
    assert verdicts(findings, may_flatter=True) == (Verdict.INVALID, [Verdict.ACCEPT, Verdict.INVALID])


def test_what_is_rejected_for_certain_stays_so_whatever_is_invalid_beside_it():
    findings = [finding("error_rate", worse(0.0001)), finding("latency.p95", worse(0.0001))]
    assert verdicts(findings, late=True)[0] is Verdict.REJECT


def test_only_accept_and_waived_may_be_bought():
    assert {each for each in Verdict if each.passes} == {Verdict.ACCEPT, Verdict.WAIVED}


DECISIONS = st.one_of(st.just(ACCEPT), st.just(EXACTLY_OVER), st.floats(0, 1).map(worse), st.just(UNTOLD))
FINDINGS = st.lists(
    st.builds(finding, st.sampled_from(sorted(LIMITS)), DECISIONS, observed_only=st.booleans()), max_size=6
)


@given(FINDINGS, st.booleans())
def test_a_late_harness_never_makes_or_takes_an_acceptance(findings, failures):
    sound, _ = judge(findings, POLICY)
    late, _ = judge(findings, POLICY, late=True, late_failures=failures)
    assert (late is Verdict.ACCEPT) == (sound is Verdict.ACCEPT)


@given(FINDINGS, st.booleans(), st.booleans())
def test_no_fault_of_the_harness_makes_an_acceptance(findings, late, failures):
    sound, _ = judge(findings, POLICY)
    faulty, _ = judge(findings, POLICY, late=late, late_failures=failures, may_flatter=True)
    assert not (faulty is Verdict.ACCEPT and sound is not Verdict.ACCEPT)


@given(FINDINGS)
def test_acceptance_takes_every_bar_that_decides(findings):
    verdict, judged = judge(findings, POLICY)
    deciding = [each for each in judged if not (each.struck or each.observed_only)]
    assert (verdict is Verdict.ACCEPT) == (
        bool(deciding) and all(each.decision.accept for each in judged if not each.observed_only)
    )


@given(FINDINGS)
def test_the_order_of_findings_is_kept(findings):
    _, judged = judge(findings, POLICY)
    order = [(each.bar.key, each.observed_only, id(each.measurement)) for each in findings]
    assert [(each.bar.key, each.observed_only, id(each.measurement)) for each in judged] == list(
        dict.fromkeys(order)
    )


def test_a_bar_in_another_unit_is_the_same_bar():
    bars = [declare_bar("latency.p95", at_most=limit) for limit in ("1 s", "1000 ms", Quantity.of(1, "s"))]
    measured = unmeasurable(bars[0].metric, "made by hand")
    _, judged = judge([Finding(bar, measured, ACCEPT) for bar in bars], POLICY)
    assert len(judged) == 1
