"""What an exit status says of a candidate."""

from __future__ import annotations

import signal

import pytest

from pytest_procure.isolation import kernel
from pytest_procure.isolation.endings import ended, with_last_words


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL"])
def test_a_fault_is_the_candidates(name):
    ending = ended(-signal.Signals[name], oom_kills=0, held="1 MB")
    assert ending.by_candidate
    assert ending.name == f"a crash ({name})"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_from_anybody_is_nobodys(name):
    assert not ended(-signal.Signals[name], oom_kills=0, held="1 MB").by_candidate


def test_a_kill_while_the_kernel_killed_for_memory_is_the_candidates():
    ending = ended(-signal.SIGKILL, oom_kills=1, held="900 MB")
    assert ending.by_candidate
    assert ending.kind == "out of memory"
    assert "it held 900 MB" in ending.sentence


def test_a_kill_for_memory_does_not_explain_a_crash():
    assert ended(-signal.SIGSEGV, oom_kills=1, held="1 MB").kind == "signal"


@pytest.mark.parametrize("status", [0, 1, 139])
def test_an_exit_is_the_candidates_whatever_its_status(status):
    ending = ended(status, oom_kills=0, held="1 MB")
    assert ending.by_candidate
    assert ending.name == f"an exit (status {status})"


def test_a_signal_without_a_name_has_its_number():
    assert "signal 35" in ended(-35, oom_kills=0, held="").sentence.replace("SIGRTMIN+1", "signal 35")


def test_last_words_are_quoted_where_there_are_any():
    ending = ended(1, oom_kills=0, held="")
    assert with_last_words(ending, "") == ending
    assert with_last_words(ending, "no model").sentence.endswith('; it last wrote "no model"')


def test_what_the_kernel_does_not_tell_is_no_number_from_elsewhere(tmp_path, monkeypatch):
    gone = 2**22 + 1  # beyond the largest process number
    assert kernel.resident(gone) == 0
    assert kernel.cpu_ns(gone) == 0
    assert kernel.waited_ns(gone) is None
    monkeypatch.setattr(kernel, "Path", lambda _: tmp_path / "nothing")
    assert kernel.oom_kills() == 0


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        ("0::/a/b\n", "sys/fs/cgroup/a/b/memory.events"),
        ("9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n", "sys/fs/cgroup/memory/a/b/memory.oom_control"),
        ("4:memory:/docker/1f\n", "sys/fs/cgroup/memory/memory.oom_control"),  # seen from inside
    ],
)
def test_kills_for_memory_are_read_of_control_groups_of_both_versions(tmp_path, monkeypatch, groups, file):
    for name, text in (("proc/self/cgroup", groups), (file, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "ascii")
    monkeypatch.setattr(kernel, "Path", lambda path: tmp_path / path.lstrip("/"))
    assert kernel.oom_kills() == 3


def test_a_kill_that_nobody_explains_says_what_it_often_is():
    ending = ended(-signal.SIGKILL, oom_kills=0, held="900 MB")
    assert ending.sentence.endswith("nobody knows by whom (often for want of memory: it held 900 MB)")
    assert not ending.by_candidate
