"""llama.cpp's own server (by xllamacpp), with one model, in the foreground.

    python llm_server.py MODEL.gguf PORT [THREADS]

It answers OpenAI's protocol at /v1, and GET /health.
"""

import sys
import threading

import xllamacpp


def serve(model, port, threads=2):
    """Serve one request at a time, until the process is ended."""
    asked = xllamacpp.CommonParams()
    asked.model.path = model
    asked.hostnames = ["127.0.0.1"]
    asked.port = port
    asked.n_ctx = 1024
    asked.n_parallel = 1
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(asked)
    print(f"listening at {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(sys.argv[1], *map(int, sys.argv[2:]))
