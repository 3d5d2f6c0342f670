import pytest

from pytest_procure import Candidate
from pytest_procure.disclosure import deviations, notes_of, refuse_deviating
from pytest_procure.errors import ProvisionError


def offer(**stated):
    return Candidate("acme", backend=lambda batch: batch, **stated)


def told(**observed):
    return {"runtime": "onnxruntime 1.32.0", "observed": observed}


def invalidating(found):
    return [each.what for each in found if each.invalidates]


def test_another_precision_than_declared_invalidates():
    (found,) = deviations(offer(precision="int8"), told(precision={"fp32": 1.0}))
    assert found.invalidates
    assert found.sentence == "precision: declared `int8`, observed weights or operators in fp32 (100%)"


@pytest.mark.parametrize("precision", ["fp32", "FP32", "float32", "", "unheard of"])
def test_what_is_as_declared_or_not_known_is_no_deviation(precision):
    assert deviations(offer(precision=precision), told(precision={"fp32": 0.97, "int8": 0.03})) == []


def test_a_mixture_that_was_not_declared_is_told_and_invalidates_nothing():
    (found,) = deviations(offer(precision="int8"), told(precision={"int8": 0.6, "fp32": 0.4}))
    assert not found.invalidates


def test_an_accelerator_that_was_declared_and_not_used_invalidates():
    for hardware in ("1 x NVIDIA H100", "L4", "RTX 4090", "A100 80GB"):
        assert invalidating(deviations(offer(hardware=hardware), told(device="cpu"))) == ["device"]
        assert deviations(offer(hardware=hardware), told(device="cuda:0")) == []
    assert deviations(offer(hardware="2 x c7i.large"), told(device="cpu")) == []


def test_another_runtime_than_declared_is_told():
    assert deviations(offer(runtime="onnxruntime 1.32"), told()) == []
    (found,) = deviations(offer(runtime="onnxruntime 1.3"), told())
    assert (found.what, found.invalidates) == ("runtime", False)
    (found,) = deviations(offer(runtime="tensorrt 10.1"), told())
    assert found.observed == "`onnxruntime 1.32.0`"


def test_what_a_backend_does_not_observe_is_not_compared():
    assert (
        deviations(offer(precision="int8", hardware="H100"), {"runtime": "Python 3", "device": "cpu"}) == []
    )


def test_the_stages_of_a_pipeline_are_looked_at():
    stages = [{"name": "a", "backend": told(precision={"fp32": 1.0}, device="cpu")}]
    found = deviations(offer(precision="int8", hardware="H100"), {"stages": stages})
    assert invalidating(found) == ["precision", "device"]


def test_an_offer_that_is_not_what_it_says_is_no_measure_for_others():
    with pytest.raises(ProvisionError, match="candidate `acme` is no measure for others: precision"):
        refuse_deviating(offer(precision="int8"), told(precision={"fp32": 1.0}))
    refuse_deviating(offer(precision="fp32"), told(precision={"fp32": 1.0}))


def test_notes_name_their_candidate():
    backend = {"notes": ["it ran code"], "deviations": ["precision: ..."]}
    assert notes_of([{"name": "a", "backend": backend}, {"name": "b", "backend": {}}]) == [
        "Candidate `a`: it ran code.",
        "Candidate `a`: precision: ....",
    ]
