"""A load process: `python -c "...process.main()"`, started fresh by the crew, never forked.

It reads a line of JSON (what to send, and the descriptors of the shared memory), opens connections, warms up,
says `ready`, waits for `go`, runs its load, and says what it saw of itself. When its input ends, it ends.
"""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_procure.backends.endpoints.failure import line
from pytest_procure.backends.endpoints.target import Target
from pytest_procure.errors import ProvisionError

from . import columns
from .alarm import Alarm
from .dial import Dialler
from .load import Load
from .loop import EDGE, Loop
from .settle import MOST_HELD, OF_AN_ANSWER, Settler
from .talk import requests_of
from .traffic import Traffic

_NOWHERE = "/dev/null"
_MOST_WARM = 256
#: After the warm-up and the run: a server that closes connections as soon as it has answered is seen to
#: do so, and one that answers once more than it was asked. Longer than a delayed acknowledgement (40 ms).
_IDLE_NS = 50_000_000
#: For glibc's `mallopt`: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, as much as it takes.
_KEEP_WHAT_IS_FREED = ((-1, 1 << 30), (-3, 32 << 20))
_PIECE = 64 << 10


def main() -> None:
    """Run as a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    with suppress(OSError, ValueError):  # a connection is an open file; where this fails, the run will tell
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asked = json.loads(sys.stdin.buffer.readline())
    _run(asked)


def _run(asked: dict[str, Any]) -> None:
    target = Target.of(asked["target"])
    rows = asked["rows"]
    shared = columns.mapped(asked["columns"], at_once=True)
    control = columns.mapped(asked["control"])
    assert shared is not None, "there is at least one row"
    assert control is not None, "the same"
    table = columns.views(shared, rows)
    counters = memoryview(control).cast("q")[columns.CONTROL * asked["rank"] :][: columns.CONTROL]
    requests = _requests(target, asked)
    loop = Loop()
    try:
        dial = Dialler(loop, target, asked["traffic"]["timeout_ns"])
    except ProvisionError as error:
        _say({"failed": str(error)})
        return
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else ""
        _say({"failed": f"the host {target.host} cannot be found: {line(why or str(error))}"})
        return
    settler = Settler(target, table, 0, asked["token_store"], asked["output_store"], target.hidden())
    made, own = requests_of(asked, target, requests, table, settler)
    load = Load(Traffic(**asked["traffic"]), own, settler, made, dial, loop, counters)
    commands = _Commands(load, loop)
    loop.watch(sys.stdin.fileno(), commands.read)
    alarm = Alarm()  # for later, when there may be no file left for it
    warmed = _warm_up(load, target, asked, (requests, dial, loop, alarm))
    _reserve(min(MOST_HELD, rows * OF_AN_ANSWER))
    gc.collect()
    gc.freeze()
    gc.disable()
    _say({"ready": warmed | {"address": dial.address}})
    loop.run(lambda: commands.have_come)
    cpu, delay, begun = time.process_time_ns(), _run_delay(), time.perf_counter_ns()
    if not load.is_over:
        load.begin(commands.origin)
    loop.run(lambda: load.is_over)
    ended = time.perf_counter_ns()
    cpu, delay = time.process_time_ns() - cpu, _run_delay() - delay
    if begun < load.origin < ended:
        begun = load.origin  # nothing is done before, and what is done has no share in it
    _say({"over": True})
    if load.pool.free:
        _listen(loop, alarm)  # who answers twice has an answer left for each connection
    settler.finish()
    _say(
        {
            "done": {
                "texts": list(settler.texts),
                "seen": {name: sorted(values) for name, values in sorted(settler.seen.items())},
                "window_ns": ended - begun,
                "cpu_ns": cpu,
                "run_delay_ns": delay,
                "lateness_ns": sorted(load.lateness),
                "opened": load.pool.opened,
                "unasked_for": load.unasked_for,
                "keeps": load.keeps,
                "resent": load.resent,
                "pinned_ns": load.pinned_ns,
                "short_of": sorted(load.pool.short_of),
            }
        }
    )


class _Commands:
    """What comes on the input: `go TIME`, and its end."""

    def __init__(self, load: Load, loop: Loop) -> None:
        self._load = load
        self._loop = loop
        self._text = b""
        self.origin = 0

    @property
    def have_come(self) -> bool:
        """Whether it was said when to begin, or there is nothing to wait for."""
        return bool(self.origin) or self._load.is_over

    def read(self) -> None:
        """Read what is there."""
        data = os.read(sys.stdin.fileno(), 4096)
        self._text += data
        if not data:
            self._loop.forget(sys.stdin.fileno())
            self._load.stop()
        elif self._text.endswith(b"\n"):
            self.origin = int(self._text.removeprefix(b"go "))


def _requests(target: Target, asked: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """Make the request of each item in advance, all but the number in its id: what is before and behind."""
    store = columns.mapped(asked["bodies"])
    assert store is not None, "there is at least one item"
    head, made, first = target.head(), [], 0
    for length in asked["lengths"]:
        before = b"%sContent-Length: %d\r\nX-Request-Id: %s-" % (head, length, asked["run"].encode())
        made.append((before, b"\r\n\r\n" + store[first : first + length]))
        first += length
    return made


def _warm_up(
    load: Load,
    target: Target,
    asked: dict[str, Any],
    means: tuple[list[tuple[bytes, bytes]], Dialler, Loop, Alarm],
) -> dict[str, Any]:
    """Send requests that are not logged, from the order's end, and open the connections to begin with.

    An open loop begins with as many as Little's law asks for at the warm-up's own pace, and a half more.
    """
    items, traffic = asked["warmup_items"], load.traffic
    requests, dial, loop, alarm = means
    calls = failures = 0
    wanted = 1 if traffic.concurrency is None else traffic.concurrency * traffic.together
    if items:
        table, nowhere = _scratch(items), os.open(_NOWHERE, os.O_WRONLY)
        before = Traffic(
            first=0,
            step=1,
            total=len(items),
            timeout_ns=traffic.timeout_ns,
            connections=traffic.connections,
            retries=0,
            concurrency=min(4, max(1, wanted)),
            duration_ns=asked["warmup_ns"],
        )
        settler = Settler(target, table, 0, nowhere, nowhere)
        first = Load(before, table, settler, requests, dial, loop, memoryview(bytearray(24)).cast("q"))
        if not load.is_over:
            first.begin(time.perf_counter_ns())
            loop.run(lambda: first.is_over or load.is_over)
            _listen(loop, alarm, lambda: load.is_over)
            load.unasked_for = first.unasked_for
        first.stop()
        settler.finish()
        os.close(nowhere)
        calls = sum(sent >= 0 for sent in table["sent"])
        failures = calls - sum(table["good"])
        load.pool.adopt(first.pool)
        if not first.keeps:
            load.keep_none()
        took = [ended - sent for ended, sent in zip(table["ended"], table["sent"], strict=True) if ended >= 0]
        if took and traffic.concurrency is None:
            wanted = int(1.5 * asked["rate"] * sum(took) / len(took) * 1e-9) + 4
    try:
        load.pool.warm(min(wanted, _MOST_WARM if traffic.concurrency is None else wanted), loop)
    except OSError:
        failures += 1  # it will fail in the run, where it counts
    return {"calls": calls, "failures": failures, "connections": len(load.pool.every)}


def _listen(loop: Loop, alarm: Alarm, is_over: Callable[[], bool] = lambda: False) -> None:
    """Let nothing be asked for a moment."""
    rung = [False]
    loop.watch(alarm.fd, lambda: rung.append(True), EDGE)
    alarm.set(time.perf_counter_ns() + _IDLE_NS)
    loop.run(lambda: rung[-1] or is_over())
    loop.forget(alarm.fd)


def _scratch(items: list[int]) -> columns.Columns:
    """Make columns that nobody reads."""
    table = columns.views(mmap.mmap(-1, columns.size(len(items))), len(items))
    for name, (_, _, nothing) in columns.LAYOUT.items():
        for row in range(len(items)):
            table[name][row] = nothing
    for row, item in enumerate(items):
        table["item"][row] = item
    return table


def _reserve(size: int) -> None:
    """Have memory at hand for answers that wait to be read: the first touch of a page would take its time."""
    try:
        libc = ctypes.CDLL(None)
        for option in _KEEP_WHAT_IS_FREED:
            libc.mallopt(*option)
    except (AttributeError, OSError, TypeError):
        return  # no glibc: what is freed may go back, and there is nothing to be had
    pieces = [b"." * _PIECE for _ in range(size // _PIECE)]
    del pieces


def _run_delay() -> int:
    """How long this process has waited for a processor, in ns; 0 where the system does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
