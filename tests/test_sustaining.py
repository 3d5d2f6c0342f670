"""Whether a candidate carries a declared rate, by what it answered and by its load meanwhile."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_procure import wording
from pytest_procure.decision import Policy
from pytest_procure.driver.limits import Limits
from pytest_procure.driver.load import Load
from pytest_procure.driver.seen import Seen
from pytest_procure.metrics.measurement import Exact, Measurement
from pytest_procure.metrics.metric import SUSTAINED
from pytest_procure.scenarios import Scenario
from pytest_procure.sustaining import sustained
from pytest_procure.units import Quantity
from pytest_procure.verdict import Verdict, judge

CALM = Seen(
    rate_is_declared=True,
    offered=200,
    sent=200,
    completed=200,
    unsent=0,
    backlog=0,
    waiting_first_third=1.0,
    waiting_last_third=1.0,
    at_once=8,
    pinned_share=0.5,
    settled_after=None,
    slower_share=None,
    never_settled=False,
)
QUEUEING = replace(CALM, backlog=100, waiting_first_third=10.0, waiting_last_third=90.0)
SURE, PERHAPS = Load(2.0, 0.05, 19), Load(1.1, 0.08, 19)


def launch(seen, *, taken=0.0, is_capped=False, is_broken=False):
    audit = SimpleNamespace(
        candidate=seen,
        backlog_grew=seen.backlog_grew(Limits()),
        limits=Limits(),
        is_capped=is_capped,
        never_settled=seen.never_settled,
        taken=taken,
        is_broken=is_broken,
    )
    return SimpleNamespace(audit=audit)


def found(*launches, answered=1.0):
    scenario = Scenario.declare("server", qps=20, count=200)
    share = Quantity.of(answered)
    measured = Measurement(SUSTAINED, share, 200, "requests", Exact(share.number, "counted, not sampled"))
    return sustained(SimpleNamespace(scenario=scenario, launches=launches), measured, Policy())


def verdict(finding, **harness):
    return judge([finding], Policy(), **harness)[0]


def test_an_overload_that_is_sure_is_rejected_although_all_is_answered():
    finding = found(launch(replace(QUEUEING, load=SURE)))
    assert verdict(finding) is Verdict.REJECT
    said = wording.sentence(finding)
    assert said.startswith("what it can do of the declared rate: 50 % (likely range 47.9")
    assert said.endswith(
        "asked: at least 99.9 %; the backlog grew all the while: it was asked 200% of what it did while "
        "requests waited"
    )
    assert "Student t lower bound of what the candidate can do" in wording.rule(finding, Policy())


def test_an_overload_by_one_standard_error_is_not_decided():
    assert verdict(found(launch(replace(QUEUEING, load=PERHAPS)))) is Verdict.INCONCLUSIVE


def test_an_overload_that_was_mostly_answered_in_time_is_not_decided():
    spell = launch(replace(QUEUEING, backlog=40, load=SURE))
    assert verdict(found(spell)) is Verdict.INCONCLUSIVE


def test_a_queue_for_the_harness_own_connections_is_not_decided():
    capped = found(launch(replace(QUEUEING, load=SURE), is_capped=True))
    assert verdict(capped) is Verdict.INCONCLUSIVE
    assert "raise `connections=`" in wording.sentence(capped)


def test_a_backlog_under_a_load_that_nobody_knows_is_not_decided():
    finding = found(launch(QUEUEING))
    assert verdict(finding) is Verdict.INCONCLUSIVE
    assert "the backlog grew all the while" in wording.sentence(finding)


def test_a_queue_that_does_not_grow_is_accepted():
    assert verdict(found(launch(CALM))) is Verdict.ACCEPT


def test_what_is_not_answered_is_rejected_whatever_its_load():
    finding = found(launch(replace(QUEUEING, load=SURE)), answered=0.9)
    assert verdict(finding) is Verdict.REJECT
    assert wording.sentence(finding).startswith(
        "requests scheduled at the declared rate that came back, good or failed: 90 %"
    )


def test_each_launch_is_one_more_chance_to_look_bad():
    close = Load(1.3, 0.12, 19)
    one = found(launch(replace(QUEUEING, load=close)))
    five = found(launch(replace(QUEUEING, load=close)), *[launch(CALM)] * 4)
    assert five.decision.reject_p == pytest.approx(5 * one.decision.reject_p)


@pytest.mark.parametrize(("delay", "expected"), [(0.1, Verdict.REJECT), (0.5, Verdict.INVALID)])
def test_a_late_harness_is_to_blame_only_as_far_as_the_time_it_took_would_help(delay, expected):
    assert verdict(found(launch(replace(QUEUEING, load=SURE), taken=delay)), late=True) is expected


@pytest.mark.parametrize(("lost", "expected"), [(False, Verdict.REJECT), (True, Verdict.INVALID)])
def test_what_a_lost_part_of_the_harness_did_not_ask_stands_against_nobody(lost, expected):
    finding = found(launch(replace(QUEUEING, load=SURE), is_broken=lost), answered=0.4)
    assert verdict(finding, late=True) is expected
