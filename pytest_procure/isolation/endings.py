"""How a candidate's process ended, and what that says of the candidate."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["signal", "exit", "killed", "out of memory", "memory limit", "hang", "channel", "duplicate"]

#: Signals that a process gets for what it did itself, in words.
_FAULTS = {
    "SIGSEGV": "segmentation fault",
    "SIGBUS": "bus error",
    "SIGABRT": "it aborted",
    "SIGFPE": "arithmetic error",
    "SIGILL": "illegal instruction",
    "SIGSYS": "a system call that is forbidden",
    "SIGTRAP": "trap",
    "SIGXCPU": "over its limit of processor time",
    "SIGXFSZ": "over its limit of file size",
    "SIGPIPE": "it wrote where nobody reads",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """What ended a candidate's process.

    `by_candidate`: nothing but the candidate can have done it. A process can also kill itself from outside,
    so to speak, and nobody can tell who sent a SIGKILL: such an end is never accepted, and rejects nothing.
    """

    kind: Kind
    sentence: str  # what happened, in words, on one line
    name: str  # the same as a noun: "a crash (SIGSEGV)"
    by_candidate: bool = True
    idle: bool = False  # between two runs: nothing was being asked

    @property
    def may_be_late(self) -> bool:
        """Whether a harness that got no processor could have caused it."""
        return self.kind == "hang"


class Ended(Exception):  # noqa: N818 - it tells what happened: the process has ended
    """A call could not be answered, because the candidate's process has ended."""


class Breach(Exception):  # noqa: N818 - it names what the process did
    """What came back is no answer to what was asked."""

    def __init__(self, sentence: str, kind: Kind = "channel") -> None:
        super().__init__(sentence)
        self.kind: Kind = kind


def ended(status: int, *, oom_kills: int, held: str) -> Ending:
    """Read an exit status as `Popen.returncode` gives it: negative for signals.

    `oom_kills`: processes of this control group that the kernel killed for memory since the process started;
    `held`: what it held when last looked at, in words.
    """
    if status >= 0:
        return Ending(
            "exit", f"its process ended itself with exit status {status}", f"an exit (status {status})"
        )
    name = _signal(-status)
    if name == "SIGKILL" and oom_kills > 0:
        said = f"its process was killed (SIGKILL) while the kernel killed for want of memory; it held {held}"
        return Ending("out of memory", said, "a kill for want of memory")
    if name in _FAULTS:
        return Ending("signal", f"its process was ended by {name} ({_FAULTS[name]})", f"a crash ({name})")
    said = f"its process was killed by {name}, nobody knows by whom"
    if name == "SIGKILL":
        said += f" (often for want of memory: it held {held})"
    return Ending("killed", said, f"a kill ({name})", by_candidate=False)


def breached(breach: Breach) -> Ending:
    """A process that is ended for what it sent."""
    name = "a second answer to one call" if breach.kind == "duplicate" else "garbage on the channel"
    return Ending(breach.kind, f"{breach}, and was ended", name)


def hung(why: str) -> Ending:
    """A process that is ended because it does not answer."""
    return Ending("hang", f"its process hung: {why}; it was ended", "a hang")


def over_limit(held: str, limit: str) -> Ending:
    """A process that is ended because it holds too much memory."""
    said = f"its process held {held} of memory, more than its limit of {limit}, and was ended"
    return Ending("memory limit", said, "memory over its limit")


def broken_off() -> Ending:
    """A process that is ended because a call to it was broken off on this side."""
    said = "its process was ended, because a call was broken off on this side"
    return Ending("killed", said, "a call broken off", by_candidate=False)


def with_last_words(ending: Ending, words: str) -> Ending:
    """Quote what the process wrote last."""
    return replace(ending, sentence=f'{ending.sentence}; it last wrote "{words}"') if words else ending


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
