from __future__ import annotations

import threading

import pytest

from pytest_procure.telemetry import sampling as module
from pytest_procure.telemetry.sampling import sampling


class Told:
    """A probe that remembers what it was told, and by which thread."""

    def __init__(self):
        self.calls = []
        self.threads = set()
        self.sampled = threading.Event()

    def start(self):
        self.calls.append("start")

    def sample(self):
        self.calls.append("sample")
        self.threads.add(threading.current_thread().name)
        self.sampled.set()

    def stop(self):
        self.calls.append("stop")


class Broken(Told):
    def sample(self):
        raise OSError("the device is gone")


def test_a_probe_is_started_once_sampled_and_stopped_once():
    probe = Told()
    with sampling([probe]) as sampler:
        assert probe.sampled.wait(30)
    assert probe.calls[0] == "start"
    assert probe.calls[-1] == "stop"
    assert set(probe.calls[1:-1]) == {"sample"}
    assert probe.threads == {"procure-sampler"}
    assert sampler.cpu_ns is not None


def test_without_probes_there_is_no_thread():
    before = set(threading.enumerate())
    with sampling([]) as sampler:
        assert set(threading.enumerate()) <= before
    assert sampler.cpu_ns is None


def test_no_thread_is_left():
    with sampling([Told()]):
        pass
    assert "procure-sampler" not in {thread.name for thread in threading.enumerate()}


def test_a_probe_that_fails_ends_itself_and_nothing_else():
    broken, well = Broken(), Told()
    with sampling([broken, well]) as sampler:
        assert well.sampled.wait(30)
        well.sampled.clear()
        assert well.sampled.wait(30)
    assert sampler.failures == ["Broken: OSError: the device is gone"]
    assert broken.calls == ["start"]
    assert well.calls[-1] == "stop"


def test_a_probe_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(module, "_GRACE_SECONDS", 0.01)
    inside, released = threading.Event(), threading.Event()

    class Stuck(Told):
        def sample(self):
            inside.set()
            released.wait(30)

    probe = Stuck()
    with sampling([probe]) as sampler:
        assert inside.wait(30)
    assert sampler.failures == ["a probe did not return, and was given up"]
    assert probe.calls == ["start"]
    released.set()


def test_an_interrupted_window_is_stopped():
    probe = Told()

    def interrupted():
        with sampling([probe]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert probe.calls[-1] == "stop"
