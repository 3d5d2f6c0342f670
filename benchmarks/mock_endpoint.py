"""An OpenAI-compatible endpoint with known truth: it answers as it is told, and logs what it did and when.

    python benchmarks/mock_endpoint.py --port 8900 ttft_ms=50 itl_ms=10 tokens=32

`GET /log` gives the log, `POST /behave` (JSON) sets the behaviour and begins a new log. A client that tells
something else than the log is wrong. Times are `perf_counter_ns`, which all processes of a Linux machine
share; `received` is absolute, all others count from it: when bytes were handed to the socket.

One word is one token: " w0 w1 w2", so that a count of words recounts exactly. Only this machine can reach it.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import signal
import ssl
import time
from collections import deque
from dataclasses import fields, replace
from typing import Any

from mock_behaviour import INSTANT, REASONS, Behaviour, Record, now
from mock_exchange import Exchange


class Server:
    """Behaviour, log and queue."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.loop = asyncio.get_running_loop()
        self.begin(behaviour)

    def begin(self, behaviour: Behaviour) -> None:
        """Forget what was, and behave so."""
        self.behaviour = behaviour
        self.records: list[Record] = []
        self.numbers = 0
        self.in_service = 0
        self.at_once = 0
        self.most_at_once = 0
        self.connections = 0
        self.queue: deque[Exchange] = deque()
        self.instant = INSTANT if behaviour.instant else b""

    def number(self) -> int:
        """Number a request, from 1."""
        self.numbers += 1
        if self.numbers == 1 and self.behaviour.stall_s:
            self.loop.call_later(self.behaviour.stall_at_s, time.sleep, self.behaviour.stall_s)
        if 0 < self.behaviour.ends_after < self.numbers:
            os._exit(1)
        return self.numbers

    def log(self) -> dict[str, Any]:
        """What was done, as plain JSON data."""
        return {
            "records": [vars(record) for record in self.records],
            "most_at_once": self.most_at_once,
            "connections": self.connections,
        }


class Connection(asyncio.Protocol):
    """A connection to a client."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transport: Any = None
        self.buffer = b""
        self.exchange: Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it."""
        self.transport = transport
        self.server.connections += 1

    def connection_lost(self, error: Exception | None) -> None:
        """End what is under way."""
        del error
        self.transport = None
        if self.exchange is not None:
            self.exchange.gone()

    def data_received(self, data: bytes) -> None:
        """Take a request, when all of it is there."""
        self.buffer += data
        told = self.buffer.startswith(b"POST /behave")
        if self.server.instant and not told and self.buffer.endswith(b"}"):
            self.buffer = b""
            self.transport.write(self.server.instant)
            return
        head, separator, rest = self.buffer.partition(b"\r\n\r\n")
        if not separator or self.exchange is not None:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        named = {name.lower(): value for name, value in (text.split(": ", 1) for text in lines)}
        length = int(named.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        self.route(first.split(" ")[1], named, rest[:length])

    def route(self, path: str, named: dict[str, str], body: bytes) -> None:
        """Answer by path."""
        server = self.server
        if path == "/log":
            self.answer(200, json.dumps(server.log()).encode())
        elif path == "/behave":
            server.begin(Behaviour(**json.loads(body)))
            self.answer(200, b"{}")
        elif path.endswith("/health"):
            self.answer(200, b"{}")
        elif path.endswith("/models"):
            self.answer(200, json.dumps({"data": [{"id": server.behaviour.model}]}).encode())
        elif path.endswith(("/completions", "/embeddings", "/predict")):
            Exchange(self, path, named, body, now()).begin()
        else:
            self.answer(404, b'{"error": {"message": "no such path"}}')

    def answer(self, status: int, body: bytes, media_type: str = "application/json", more: str = "") -> None:
        """Send an answer in one piece."""
        head = (
            f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}\r\nContent-Type: {media_type}\r\n"
            f"Content-Length: {len(body)}\r\nServer: mock\r\n{more}\r\n"
        )
        self.write(head.encode() + body)

    def write(self, data: bytes) -> None:
        """Send bytes, where somebody listens."""
        if self.transport is not None:
            self.transport.write(data)


async def main(port: int, behaviour: Behaviour, certificate: str, key: str) -> None:
    """Serve until the process is told to end."""
    loop = asyncio.get_running_loop()
    server = Server(behaviour)
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    listening = await loop.create_server(
        lambda: Connection(server), "127.0.0.1", port, ssl=context, backlog=4096
    )
    print(f"ready {listening.sockets[0].getsockname()[1]}", flush=True)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()
    listening.close()


def parsed(told: list[str]) -> Behaviour:
    """Read `name=value` pairs. Raises `ValueError`, in a line, for one that is none."""
    kinds = {each.name: type(each.default) for each in fields(Behaviour)}
    behaviour = Behaviour()
    for each in told:
        name, _, value = each.partition("=")
        if name not in kinds:
            near = difflib.get_close_matches(name, kinds, n=1, cutoff=0)[0]
            raise ValueError(
                f"unknown behaviour `{name}`; the nearest is `{near}`, see benchmarks/mock_behaviour.py"
            )
        try:
            read = value in {"1", "true", "True"} if kinds[name] is bool else kinds[name](value)
        except ValueError:
            raise ValueError(f"`{each}`; expected a number, as in `{name}=8`") from None
        behaviour = replace(behaviour, **{name: read})
    return behaviour


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0: any that is free, printed as `ready PORT`")
    parser.add_argument("--certificate", default="", help="PEM file: speak TLS")
    parser.add_argument("--key", default="", help="PEM file of its private key")
    parser.add_argument("behaviour", nargs="*", help="name=value")
    given = parser.parse_args()
    try:
        asked = parsed(given.behaviour)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    run(main(given.port, asked, given.certificate, given.key))
