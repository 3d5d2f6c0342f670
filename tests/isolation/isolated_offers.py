"""Backends as a vendor might write them, well and ill: plain functions, for a process of their own."""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np

from pytest_procure.isolation import child, frames

HOARD: list[bytes] = []


def negate(inputs):
    return -inputs


def same(inputs):
    return inputs


def counts(inputs):
    return [sum(len(each) for each in inputs)] if isinstance(inputs, list) else [int(inputs.sum(dtype=int))]


def raises(inputs):
    raise KeyError("no such class")


def mutters(inputs):
    sys.stderr.write("a first word\na word before I go\x1b[31m\n" + " \n")
    sys.stderr.flush()
    os._exit(7)


def crashes(inputs):
    ctypes.string_at(0)


def aborts(inputs):
    os.abort()


def leaves(inputs):
    os._exit(0)


def exits(inputs):
    raise SystemExit(0)


def hangs(inputs):
    threading.Event().wait()


def leaks(inputs):
    while True:
        HOARD.append(b"x" * 20_000_000)
        time.sleep(0.001)


def kills_itself(inputs):
    os.kill(os.getpid(), signal.SIGKILL)


def answers_too_few(inputs):
    return inputs[:-1] if len(inputs) > 1 else []


def answers_with_code(inputs):
    return [lambda: None]


def tells_its_pid(inputs):
    return [os.getpid()]


def channel() -> int:
    """Find our channel, as a hostile backend would."""
    return next(number for number in range(3, 100) if _is_socket(number))


def _is_socket(number):
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


def shouts(inputs):
    os.write(channel(), b"\x80\x04\x95" + b"pickle, if you please" * 10)
    return inputs


def answers_again(inputs):
    """Answer the first thing that was ever asked, once more."""
    os.write(channel(), frames.head(frames.ANSWER, frames.INTEGERS, frames.INLINE, 1, 0))
    return inputs


def swallows(inputs):
    """Have the answers lost on their way from now on: the next completion never comes."""
    child._Server._answer = lambda *_: None
    return inputs


def cuts(inputs):
    """Try to cut the shared memory off under our hands."""
    refused = []
    for number in range(3, 100):
        try:
            os.ftruncate(number, 0)
        except PermissionError:
            refused.append(number)
        except OSError:
            continue
    return [len(refused)]


def hangs_up(inputs):
    os.close(channel())
    threading.Event().wait()


def leaves_a_child_behind(inputs):
    """End, while something that it started holds the channel open."""
    os.set_inheritable(channel(), True)  # noqa: FBT003 - its name says what is true
    subprocess.Popen(["sleep", "600"], close_fds=False)  # noqa: S607 - of every system
    os._exit(0)


def leaves_a_stranger_behind(inputs):
    """The same with one that has left our group, whose number is told."""
    os.set_inheritable(channel(), True)  # noqa: FBT003 - as above
    stranger = subprocess.Popen(["sleep", "60"], close_fds=False, start_new_session=True)  # noqa: S607 - as above
    os.write(2, f"{stranger.pid}\n".encode())
    os._exit(0)


def hangs_with_the_lock(inputs):
    """Hang in C code that does not let go of Python's lock."""
    ctypes.PyDLL(None).sleep(600)


class At:
    """Does something else at one call, counted from 1 in each process; otherwise it negates."""

    def __init__(self, call, what):
        self.call, self.what, self.calls = call, what, 0

    def __call__(self, inputs):
        self.calls += 1
        return self.what(inputs) if self.calls == self.call else np.negative(inputs)
