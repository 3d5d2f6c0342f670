from __future__ import annotations

import signal
import threading

import pytest
from driver_fakes import printed

from pytest_procure.driver.interrupts import Interrupts


def press():
    signal.raise_signal(signal.SIGINT)


def test_the_first_is_raised_where_it_is_armed():
    with Interrupts() as interrupts:
        interrupts.arm()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert interrupts.pressed == 1


def test_a_second_is_counted_and_not_raised():
    with Interrupts() as interrupts:
        interrupts.arm()
        with pytest.raises(KeyboardInterrupt):
            press()
        assert interrupts.hurried_ns is None
        press()
    assert interrupts.pressed == 2
    assert interrupts.hurried_ns is not None


def test_the_first_is_counted_and_not_raised_where_it_is_held():
    with Interrupts() as interrupts:
        interrupts.arm()
        interrupts.hold()
        press()
    assert interrupts.pressed == 1


def test_what_came_before_it_was_armed_is_raised_then():
    with Interrupts() as interrupts:
        press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.arm()


def test_the_third_is_raised_in_any_case():
    with Interrupts():
        press()
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_afterwards_python_raises_it_as_ever():
    with Interrupts():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_does_not_swallow_what_was_held():
    def run():
        with Interrupts():
            press()
            raise ValueError

    with pytest.raises(KeyboardInterrupt) as raised:
        run()
    assert isinstance(raised.value.__cause__, ValueError)


def test_the_handler_of_somebody_else_is_left_alone():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with Interrupts() as interrupts:
            press()
    finally:
        signal.signal(signal.SIGINT, before)
    assert (seen, interrupts.pressed) == ([1], 0)


def test_another_thread_than_the_main_one_takes_nothing_over():
    handlers = []

    def enter():
        with Interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


AFTER_THE_LAST_ANSWER = """
import signal
from driver_fakes import Numbers, Offer
from pytest_procure.driver import pull
from pytest_procure.scenarios import Scenario

class Crew(pull.Crew):
    def join(self, grace):
        for _ in range(PRESSED):
            signal.raise_signal(signal.SIGINT)
        return super().join(grace)

pull.Crew = Crew
run = pull.drive(Offer(lambda batch: batch), Numbers(9), Scenario.declare("single_stream", warmup=0))
print(run.interrupted, run.log.stopped, run.log.ok.sum(), run.hung)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.parametrize("pressed", [1, 2])
def test_ctrl_c_after_the_last_answer_keeps_the_log_and_marks_it(pressed):
    program = AFTER_THE_LAST_ANSWER.replace("PRESSED", str(pressed))
    assert printed(program).split() == ["True", "interrupted", "9", "False", "True"]


def test_the_inner_one_decides_while_it_lasts():
    with Interrupts() as outer:
        outer.arm()
        with Interrupts() as inner:
            inner.arm()
            inner.hold()
            press()
        assert (inner.pressed, outer.pressed) == (1, 1)
        press()  # the first was the inner one's


def test_an_outer_one_is_armed_again_or_holds_on():
    with Interrupts() as outer:
        outer.arm()
        with Interrupts() as inner:
            inner.arm()
            inner.hold()
        with pytest.raises(KeyboardInterrupt):
            press()
    with Interrupts(holds_on=True) as outer:
        outer.arm()
        with Interrupts() as inner:
            inner.arm()
            inner.hold()
        press()
        with pytest.raises(KeyboardInterrupt):
            outer.arm()


def test_nothing_begins_when_it_was_pressed_around():
    with Interrupts() as outer:
        press()
        with pytest.raises(KeyboardInterrupt), Interrupts() as inner:
            inner.arm()
    assert outer.pressed == 1


def test_that_of_an_interrupted_test_stays_until_the_session_is_written():
    before, interrupts = signal.getsignal(signal.SIGINT), Interrupts()

    def interrupted():
        with interrupts:
            interrupts.arm()
            interrupts.stay()
            press()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    press()  # the second is held, outside as well
    with pytest.raises(KeyboardInterrupt):
        press()
    interrupts.release()
    assert signal.getsignal(signal.SIGINT) is before
