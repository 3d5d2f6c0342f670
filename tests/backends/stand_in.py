"""A stand-in for a model server, of the standard library alone: what a backend does with a server is real.

    python stand_in.py PORT [fault=NAME] [after=N] [child=FILE]

It answers POST /v1/chat/completions (as a stream), POST /upper, GET /health, and KServe's V2 protocol
(`kserve_stand_in`). Faults: it `never` gets ready, is `deaf`, `dies` while starting, `dies-asked` at the
request behind number `after`, `tells` its log the key that it is asked with and dies there, `floods` its
log, answers with `empty` streams, ignores the signal `TERM`, `unloads` for three seconds when it is to end.
"""

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kserve_stand_in import answer_kserve

GIVEN = dict(part.split("=", 1) for part in sys.argv[2:] if "=" in part)
FAULT, AFTER = GIVEN.get("fault", ""), int(GIVEN.get("after", "10"))
ASKED = [0]


def say(text):
    """Write a line of the log."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):  # noqa: A002 - the name is http.server's
        """Say nothing."""

    def do_GET(self):
        if self.path == "/health":
            self.say(503 if FAULT == "never" else 200, {"status": "loading" if FAULT == "never" else "ok"})
        elif self.path.startswith("/v2"):
            answer_kserve(self, b"")
        else:
            self.say(404, {"error": f"there is no {self.path}"})

    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        ASKED[0] += 1
        if FAULT == "dies-asked" and ASKED[0] > AFTER:
            say("cannot allocate 12 GiB")
            os._exit(3)
        if FAULT == "tells" and ASKED[0] > AFTER:
            say(f"panic while serving; x-auth was {self.headers['Authorization'].split()[-1]}")
            os._exit(3)
        if FAULT == "floods":
            for _ in range(4):
                sys.stdout.write("debug " * 100_000)
        if self.path == "/v1/chat/completions":
            self.stream(json.loads(asked))
        elif self.path == "/upper":
            self.upper(json.loads(asked)["input"])
        elif self.path.startswith("/v2"):
            answer_kserve(self, asked)
        else:
            self.say(404, {"error": f"there is no {self.path}"})

    def say(self, status, answer):
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def upper(self, text):
        if isinstance(text, str):
            self.say(200, {"output": text.upper()})
        else:
            self.say(422, {"error": "expected a text"})

    def stream(self, asked):
        text = asked["messages"][-1]["content"]
        words = [] if FAULT == "empty" else text.upper().split()
        chunks = [{"choices": [{"delta": {"content": word + " "}}]} for word in words]
        chunks += [{"choices": [{"delta": {}, "finish_reason": "stop"}]}]
        chunks += [
            {"choices": [], "usage": {"prompt_tokens": len(text.split()), "completion_tokens": len(words)}}
        ]
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self.wfile.write(f"{len(event):x}\r\n{event}\r\n".encode())
        self.wfile.write(b"0\r\n\r\n")


def unload(number, frame):
    time.sleep(3)
    say("unloaded")
    os._exit(0)


def main():
    if FAULT == "dies":
        say("loading weights")
        say(f"no such key: {os.environ.get('MODEL_KEY', 'none')}")
        sys.exit(3)
    if FAULT == "TERM":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if FAULT == "unloads":
        signal.signal(signal.SIGTERM, unload)
    if "child" in GIVEN:  # in a session of its own, so that no group holds it
        child = subprocess.Popen(
            [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"],
            start_new_session=True,
        )
        Path(GIVEN["child"]).write_text(f"{os.getpid()} {child.pid}")
    port = int(os.environ["PORT"] if sys.argv[1] == "env" else sys.argv[1])
    if FAULT == "deaf":
        say("working on it")
        time.sleep(600)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    say(f"listening on {port}")
    server.serve_forever()


if __name__ == "__main__":
    main()
