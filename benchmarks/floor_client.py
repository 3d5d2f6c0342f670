"""The least that a client in Python can add: raw sockets, one epoll loop, one stamp behind each `recv`.

    python benchmarks/floor_client.py PORT CONCURRENCY COUNT [stream]

A closed loop against the mock endpoint. It takes no answer apart: it looks for the mock's own bytes. Prints
one line of JSON: seconds, us of processor time a request, and of streams for each request its number and ns
from its sending to the first token, the last and the end.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time

now = time.perf_counter_ns


def request(number: int, *, stream: bool) -> bytes:
    """Write one request."""
    asked = {"model": "mock", "messages": [{"role": "user", "content": "hi there"}], "stream": stream}
    body = json.dumps(asked).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"X-Request-Id: floor-{number}.0\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def main(port: int, concurrency: int, count: int, *, stream: bool) -> None:
    """Keep so many requests under way until all are answered."""
    requests = [request(number, stream=stream) for number in range(count)]
    epoll, sockets, under_way = select.epoll(), {}, {}
    for _ in range(concurrency):
        each = socket.create_connection(("127.0.0.1", port))
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        each.settimeout(0)
        epoll.register(each.fileno(), select.EPOLLIN)
        sockets[each.fileno()] = each
    rows, sent, begun, cpu = [], 0, now(), time.process_time_ns()
    for descriptor in list(sockets)[:count]:
        under_way[descriptor] = [sent, now(), 0, 0, b""]
        sockets[descriptor].send(requests[sent])
        sent += 1
    while under_way:
        for descriptor, _ in epoll.poll():
            data = sockets[descriptor].recv(65536)
            stamp = now()
            row = under_way[descriptor]
            if stream:
                if b'"content":" w' in data:
                    row[2] = row[2] or stamp
                    row[3] = stamp
                row[4] = row[4][-8:] + data
                over = row[4].endswith(b"0\r\n\r\n")
            else:
                over = data.endswith(b"}")
            if not over:
                continue
            rows.append((row[0], row[2] - row[1], row[3] - row[1], stamp - row[1]))
            if sent < count:
                under_way[descriptor] = [sent, now(), 0, 0, b""]
                sockets[descriptor].send(requests[sent])
                sent += 1
            else:
                del under_way[descriptor]
    cpu_us = (time.process_time_ns() - cpu) / count / 1e3
    told = {"seconds": (now() - begun) / 1e9, "cpu_us": cpu_us, "rows": rows if stream else []}
    print(json.dumps(told))


if __name__ == "__main__":
    port, concurrency, count = map(int, sys.argv[1:4])
    main(port, concurrency, count, stream="stream" in sys.argv)
