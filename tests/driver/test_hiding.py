"""What a run quotes of its candidate holds no secret."""

from dataclasses import dataclass, fields, replace

from driver_fakes import Numbers, Offer, negate

from pytest_procure.driver.audit import Audit
from pytest_procure.driver.hiding import hide_secrets
from pytest_procure.driver.pull import drive
from pytest_procure.isolation.endings import ended
from pytest_procure.scenarios import Scenario

KEY = "sk" + "-abcdefghijklmnop1234"  # made up


@dataclass(frozen=True)
class Watched(Audit):
    """An audit that quotes what processes said."""

    lost: tuple[str, ...] = ()


def test_no_text_of_a_run_holds_a_key_and_the_rest_stays():
    run = drive(Offer(negate), Numbers(1), Scenario.declare("offline"))
    ending = ended(3, oom_kills=0, held="1 MB")
    told = f"it wrote {KEY}"
    known = {field.name: getattr(run.audit, field.name) for field in fields(run.audit)}
    run.log.errors, run.log.stopped = {0: told}, told
    quoting = replace(run, audit=Watched(**known, lost=(told,)), endings=(replace(ending, sentence=told),))
    hidden = hide_secrets(quoting)
    shown = "it wrote [redacted]"
    assert hidden.log.errors == {0: shown}
    assert hidden.log.stopped == shown
    assert [each.sentence for each in hidden.endings] == [shown]
    assert hidden.audit == Watched(**known, lost=(shown,))
