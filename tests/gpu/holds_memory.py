"""A program that holds 1 GiB of a device and does not end by itself: over pipes, or as a server on PORT."""

import json
import os
import signal
import socket
import sys

import torch

signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = torch.ones(2**28, dtype=torch.float32, device=sys.argv[1])
if port := os.environ.get("PORT"):
    with socket.create_server(("127.0.0.1", int(port))) as server:
        while True:
            server.accept()
for line in sys.stdin:
    sys.stdout.write(json.dumps({"id": json.loads(line)["id"], "output": float(held[0])}) + "\n")
    sys.stdout.flush()
while True:
    signal.pause()
