"""How the mock endpoint behaves, and what it writes down of a request."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

now = time.perf_counter_ns

REASONS = {200: "OK", 307: "Temporary Redirect", 404: "Not Found", 429: "Too Many Requests"}


_ANSWER = (
    b'{"id": "m1", "object": "chat.completion", "created": 0, "model": "mock", "choices": [{"index": 0, '
    b'"message": {"role": "assistant", "content": " w0"}, "finish_reason": "stop"}], '
    b'"usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}'
)
INSTANT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nServer: mock\r\n\r\n%s"
    % (len(_ANSWER), _ANSWER)
)


@dataclass(frozen=True)
class Behaviour:
    """What it does. `..._every=n`: to each nth request; 0: to none."""

    ttft_ms: float = 0.0  # from the request's last byte to the first token
    slow_ttft_ms: float = 0.0
    slow_every: int = 0  # this often the TTFT is `slow_ttft_ms`
    slow_after: int = 0  # all behind the first so many take `slow_ttft_ms`
    cold: int = 0  # the first so many requests take `slow_ttft_ms`
    itl_ms: float = 0.0  # from chunk to chunk
    tokens: int = 8
    tokens_per_chunk: int = 1
    coalesce: int = 1  # events a write
    split: int = 0  # cut each write in two behind this many bytes, 1 ms apart
    preamble: str = "role"  # "role", "empty" or "none": what comes before the first token, at once
    reasoning: int = 0  # first tokens that come as `reasoning_content`
    usage: str = "last"  # "last", "none" or "every"
    usage_factor: float = 1.0  # reported output tokens over true ones
    cached: int = 0  # input tokens that are reported as cached
    finish: bool = True  # whether a finish_reason is given
    cut_every: int = 0  # ... which is "length", the limit of tokens
    done: bool = True  # whether the end mark is sent
    eol: str = "\n"
    comment: bool = False  # a comment before each event
    text: str = ""  # what it answers in place of w0 w1 ...
    parrot: bool = False  # it answers with the last message it was sent, and logs all of them
    json_for_stream: bool = False
    media_type: str = "application/json"
    by_close: bool = False  # the answer ends with the connection
    error_every: int = 0
    error_status: int = 500
    error_once: bool = False  # a second attempt at a refused request succeeds
    retry_after: str = ""
    break_every: int = 0  # an error event after `break_after` tokens
    drop_every: int = 0  # the connection is closed after `break_after` tokens
    break_after: int = 4
    reset: bool = False  # ... by RST
    hang_every: int = 0
    html_every: int = 0
    empty_every: int = 0
    twice_every: int = 0  # the answer is sent twice
    redirect_every: int = 0
    gzip_every: int = 0
    flood_every: int = 0  # an answer that never ends
    headers_every: int = 0  # a head that never ends
    echo_every: int = 0  # an error that repeats the key it was sent
    slots: int = 0  # served side by side; the others wait in turn
    stall_at_s: float = 0.0  # from the first request on
    stall_s: float = 0.0  # nothing is read or written for so long
    ends_after: int = 0  # the server ends for good when it is asked once more than so often
    instant: bool = False  # one prepared answer and no log: for the highest rate
    model: str = "mock"


@dataclass
class Record:
    """What was done to one request."""

    number: int
    received: int
    id: str
    kind: str = "ok"
    status: int = 200
    queued: int = 0
    first: int | None = None  # the first token
    chunks: list[int] = field(default_factory=list)  # each event with tokens
    tokens: int = 0
    messages: list[dict[str, str]] = field(default_factory=list)
    end: int | None = None
