"""A pipeline in a process of its own: how each sample passed each stage comes back with the answers."""

import pytest

from pytest_procure.backends.protocol import Answer, Passing, StagePass
from pytest_procure.isolation.endings import Breach
from pytest_procure.isolation.plain import decode, encode

PASSED = (StagePass("a", Passing.OK, 5, "x", 3, 1, 2), StagePass("b", Passing.FAILED, 7))


def test_an_answer_comes_back_with_its_stages_and_its_error():
    answer = Answer(None, 3, 1, PASSED, "stage b: no index")
    assert decode(memoryview(encode([answer]))) == [answer]
    assert decode(memoryview(encode([Answer(1, 2, 3)]))) == [Answer(1, 2, 3)]


def test_stages_that_cannot_be_read_are_a_breach():
    good = encode([Answer(1, stages=PASSED)])
    wrong = good.replace(b'"a", 1, 5', b'"a", 9, 5')
    assert wrong != good
    with pytest.raises(Breach):
        decode(memoryview(wrong))
