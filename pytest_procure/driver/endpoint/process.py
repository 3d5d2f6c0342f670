"""A load process: `python -c "...process.main()"`, started fresh by the crew, never forked.

It reads a line of JSON (what to send, and the descriptors of the shared memory), opens connections, warms up,
says `ready`, waits for `go`, runs its load, and says what it saw of itself. When its input ends, it ends.
"""

from __future__ import annotations

import asyncio
import gc
import json
import mmap
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from pytest_procure.backends.endpoints.failure import line
from pytest_procure.backends.endpoints.target import Target

from . import columns
from .connection import Connection
from .load import Load
from .settle import Settler
from .talk import requests_of
from .traffic import Traffic

_NOWHERE = "/dev/null"
_MOST_WARM = 256
#: After the warm-up: a server that closes connections as soon as it has answered is seen to do so.
_IDLE_S = 0.03


def main() -> None:
    """Run as a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    asked = json.loads(sys.stdin.buffer.readline())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(asked))


async def _run(asked: dict[str, Any]) -> None:
    target = Target.of(asked["target"])
    rows = asked["rows"]
    shared = columns.mapped(asked["columns"])
    control = columns.mapped(asked["control"])
    assert shared is not None, "there is at least one row"
    assert control is not None, "the same"
    table = columns.views(shared, rows)
    counters = memoryview(control).cast("q")[columns.CONTROL * asked["rank"] :][: columns.CONTROL]
    requests = _requests(target, asked)
    loop = asyncio.get_running_loop()
    try:
        connect, address = await _connector(target, asked["traffic"]["timeout_ns"] * 1e-9)
    except OSError as error:
        _say({"failed": f"the host {target.host} cannot be found: {line(error.strerror or error)}"})
        return
    settler = Settler(target, table, 0, asked["token_store"], asked["output_store"], target.hidden())
    made, own = requests_of(asked, target, requests, table, settler)
    load = Load(Traffic(**asked["traffic"]), own, settler, made, connect, counters)
    commands = _Commands(load)
    loop.add_reader(sys.stdin.fileno(), commands.read)
    warmed = await _warm_up(load, target, asked, connect, requests)
    gc.collect()
    gc.freeze()
    gc.disable()
    _say({"ready": warmed | {"address": address}})
    await commands.gone
    cpu, delay, begun = time.process_time_ns(), _run_delay(), time.perf_counter_ns()
    if not load.done.is_set():
        load.begin(commands.origin)
    await load.done.wait()
    ended = time.perf_counter_ns()
    cpu, delay = time.process_time_ns() - cpu, _run_delay() - delay
    _say({"over": True})
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
                "opened": load.opened,
                "unasked_for": load.unasked_for,
                "keeps": load.keeps,
                "resent": load.resent,
                "pinned_ns": load.pinned_ns,
            }
        }
    )


class _Commands:
    """What comes on the input: `go TIME`, and its end."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._text = b""
        self.origin = 0
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def read(self) -> None:
        """Read what is there."""
        data = os.read(sys.stdin.fileno(), 4096)
        self._text += data
        if not data:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._load.stop()
        elif self._text.endswith(b"\n"):
            self.origin = int(self._text.removeprefix(b"go "))
        if not self.gone.done() and (not data or self.origin):
            self.gone.set_result(None)


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


async def _connector(target: Target, patience: float) -> tuple[Callable[[Load], Any], str]:
    """Find the host once, before the run; give what opens a connection to it, and the address."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    context = ssl.create_default_context(cafile=target.ca or None) if target.scheme == "https" else None
    if context is not None:
        context.set_alpn_protocols(["http/1.1"])

    async def reach(load: Load, address: str) -> Connection:
        _, connection = await loop.create_connection(
            lambda: Connection(load),
            address,
            target.port,
            ssl=context,
            server_hostname=target.host if context is not None else None,
        )
        return connection

    async def opened(load: Load) -> Connection:
        async with asyncio.timeout(patience):
            for address in addresses[1:]:
                try:
                    return await reach(load, addresses[0])
                except OSError:  # try another address, and stay with it
                    addresses.remove(addresses[0])
                    addresses[:] = [address, *(each for each in addresses if each != address)]
            return await reach(load, addresses[0])

    return (lambda load: loop.create_task(opened(load))), addresses[0]


async def _warm_up(
    load: Load,
    target: Target,
    asked: dict[str, Any],
    connect: Callable[[Load], Any],
    requests: list[tuple[bytes, bytes]],
) -> dict[str, Any]:
    """Send requests that are not logged, from the order's end, and open the connections to begin with.

    An open loop begins with as many as Little's law asks for at the warm-up's own pace, and a half more.
    """
    items, traffic = asked["warmup_items"], load.traffic
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
        first = Load(before, table, settler, requests, connect, memoryview(bytearray(24)).cast("q"))
        if not load.done.is_set():
            first.begin(time.perf_counter_ns())
            await _either(first.done, load.done)
            await asyncio.sleep(_IDLE_S)
        first.stop()
        settler.finish()
        os.close(nowhere)
        calls = sum(sent >= 0 for sent in table["sent"])
        failures = calls - sum(table["good"])
        load.adopt(first)
        took = [ended - sent for ended, sent in zip(table["ended"], table["sent"], strict=True) if ended >= 0]
        if took and traffic.concurrency is None:
            wanted = int(1.5 * asked["rate"] * sum(took) / len(took) * 1e-9) + 4
    try:
        await load.warm(min(wanted, _MOST_WARM if traffic.concurrency is None else wanted))
    except (OSError, ssl.SSLError):
        failures += 1  # it will fail in the run, where it counts
    return {"calls": calls, "failures": failures, "connections": load.connections}


async def _either(one: asyncio.Event, other: asyncio.Event) -> None:
    waits = [asyncio.create_task(one.wait()), asyncio.create_task(other.wait())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def _scratch(items: list[int]) -> columns.Columns:
    """Make columns that nobody reads."""
    table = columns.views(mmap.mmap(-1, columns.size(len(items))), len(items))
    for name, (_, _, nothing) in columns.LAYOUT.items():
        for row in range(len(items)):
            table[name][row] = nothing
    for row, item in enumerate(items):
        table["item"][row] = item
    return table


def _run_delay() -> int:
    """How long this process has waited for a processor, in ns; 0 where the system does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
