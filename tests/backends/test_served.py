"""A server that is started for the run: real processes and ports, of which none is left."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from contract import refuses

from pytest_procure.backends import Answer, Function, HttpJson, OpenAIEndpoint, Served
from pytest_procure.backends import served as serving
from pytest_procure.backends.server import Ready
from pytest_procure.backends.server_log import ServerLog
from pytest_procure.errors import DeclarationError, ProvisionError

pytest.importorskip("httptools")
HERE = Path(__file__).parent
PATIENCE_S = 20
CHAT = OpenAIEndpoint("http://127.0.0.1:{port}/v1", model="m")


def declared(*more, endpoint=CHAT, port="{port}", **named):
    named.setdefault("ready", "/health")
    return Served([sys.executable, str(HERE / "stand_in.py"), port, *more], endpoint, **named)


@pytest.fixture
def serve(tmp_path):
    """Start a stand-in; all are closed in the end."""
    loaded = []

    def start(*more, **named):
        loaded.append(declared(*more, **named).load(tmp_path))
        return loaded[-1]

    yield start
    for each in loaded:
        each.close()


def ended(pid):
    """Wait for the end of a process; whether it came."""
    try:
        event = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    found = select.select([event], [], [], PATIENCE_S)[0]
    os.close(event)
    return bool(found)


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_server_is_started_asked_and_ended(serve):
    loaded = serve()
    assert loaded.predict(["hello you"]) == [Answer("HELLO YOU ", 2, 2)]
    port = loaded.target.port
    assert not is_free(port)
    loaded.close()
    loaded.close()
    assert is_free(port)


def test_the_port_is_given_as_a_variable_too(serve):
    assert serve(port="env").predict(["a"]) == [Answer("A ", 1, 1)]


@pytest.mark.parametrize(
    "ready",
    ["", "listening on", lambda url: url.startswith("http://127.0.0.1:")],
    ids=["port", "line", "asked"],
)
def test_there_are_four_ways_to_say_that_it_is_ready(serve, ready):
    assert serve(ready=ready).predict(["a"]) == [Answer("A ", 1, 1)]


def test_any_endpoint_can_ask_it(serve):
    asked = HttpJson("http://127.0.0.1:{port}/upper", output=("output",))
    assert serve(endpoint=asked).predict(["a", "b"]) == ["A", "B"]


@pytest.mark.parametrize(
    ("fault", "ready", "limit", "told"),
    [
        ("dies", "/health", "60 s", "ended with exit status 3 before it was ready"),
        ("never", "/health", "0.5 s", "not ready within 0.5 s"),
        ("deaf", "/health", "0.5 s", "nobody listens on port"),
        ("", "all is well", "0.5 s", "its log does not say 'all is well'"),
    ],
)
def test_a_server_that_does_not_get_ready_is_told_and_ended(tmp_path, fault, ready, limit, told):
    child = tmp_path / "child"
    offer = declared(f"fault={fault}", f"child={child}", start_timeout=limit, ready=ready)
    said = refuses(offer, tmp_path, told)
    assert "its log" in said
    assert all(ended(int(pid)) for pid in (child.read_text().split() if child.exists() else ()))


@pytest.mark.parametrize(
    ("fault", "ready", "told"),
    [
        ("never", Ready(path="/health"), "GET /health answers 503"),
        ("", Ready(path="/none"), "GET /none answers 404"),
        ("", Ready(asks=lambda url: False), "says no"),
        ("", Ready(asks=lambda url: url / 0), "raised TypeError"),
    ],
)
def test_what_was_seen_of_a_server_that_is_not_ready_is_told(serve, fault, ready, told):
    loaded = serve(f"fault={fault}", ready="listening on")
    assert told in loaded._server._probe(ready, 20.0)


@pytest.mark.parametrize("fault", ["", "dies"])
def test_a_function_that_never_says_whether_it_is_ready_is_given_up(tmp_path, fault):
    asked, never, about = [], threading.Event(), threading.enumerate()

    def patient(url):
        asked.append(url)
        if fault:
            os.kill(int((tmp_path / "child").read_text().split()[0]), signal.SIGKILL)
        return never.wait()

    offer = declared(f"child={tmp_path / 'child'}", ready=patient, start_timeout="0.7 s")
    told = (
        "ended by signal 9 before"
        if fault
        else r"not ready within 0.7 s \(.*patient\(url\) has not answered\)"
    )
    with pytest.raises(ProvisionError, match=told):
        offer.load(tmp_path)
    pids = list(map(int, (tmp_path / "child").read_text().split()))
    assert all(ended(pid) for pid in pids)
    assert all(thread.daemon for thread in threading.enumerate() if thread not in about)
    assert len(asked) == 1
    never.set()


def test_what_a_version_s_command_leaves_behind_is_ended(serve):
    script = "sleep 600 & echo $! && echo 7.1"
    loaded = serve(version=["/bin/sh", "-c", script])
    assert ended(int(loaded.describe()["version"]))


def test_a_version_that_is_never_told_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "_VERSION_S", 0.3)
    offer = declared(version=["/bin/sh", "-c", "setsid sleep 600 & echo $! >child; wait"])
    refuses(offer, tmp_path, "`version=` of Served: `sh` had not ended after 0.3 s, and was ended")
    assert ended(int((tmp_path / "child").read_text()))


def test_the_last_lines_of_a_server_that_dies_are_quoted_without_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "hunter2hunter2")
    said = refuses(declared("fault=dies", environment=["MODEL_KEY"]), tmp_path, "no such key: (secret)")
    assert "loading weights" in said
    assert "hunter2" not in said


def test_what_cannot_be_started_is_told(tmp_path):
    refuses(Served(["./server"], CHAT), tmp_path, "no program `./server`")
    (tmp_path / "server").write_text("no program")
    (tmp_path / "server").chmod(0o755)
    refuses(Served(["./server"], CHAT), tmp_path, "it cannot be started: Exec format error")
    refuses(declared(files=["m.gguf"]), tmp_path, "no file `m.gguf`")
    refuses(declared(log="no/such/folder.log"), tmp_path, "cannot be written")


def test_a_server_that_dies_when_asked_is_told_and_comes_back_for_the_next_run(serve):
    loaded = serve("fault=dies-asked", "after=1")
    assert loaded.predict(["a"]) == [Answer("A ", 1, 1)]
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"exit status 3; it last wrote \"cannot allocate 12 GiB\""):
            loaded.predict(["b"])
    assert loaded.ending().by_candidate
    loaded.begin()
    assert loaded.ending() is None
    assert loaded.predict(["c"]) == [Answer("C ", 1, 1)]
    assert loaded.conditions()["server"]["starts"] == 2


def test_a_server_that_somebody_killed_is_not_blamed(serve):
    loaded = serve()
    os.kill(children_of(loaded)[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        loaded.predict(["a"])
    assert not loaded.ending().by_candidate


def test_a_server_dies_with_its_keeper(serve):
    loaded = serve()
    (server,) = children_of(loaded)
    os.kill(loaded._server._keeper.pid, signal.SIGKILL)
    assert ended(server)
    assert not loaded.ending(patient=True).by_candidate


def children_of(loaded):
    keeper = loaded._server._keeper.pid
    return list(map(int, Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()))


@pytest.mark.parametrize("fault", ["", "TERM"])
def test_nothing_that_it_started_is_left_not_even_in_sessions_of_their_own(serve, tmp_path, fault):
    loaded = serve(f"fault={fault}", f"child={tmp_path / 'child'}")
    pids = list(map(int, (tmp_path / "child").read_text().split()))
    loaded.close()
    assert all(ended(pid) for pid in pids)


def test_a_server_that_takes_seconds_to_unload_its_models_is_let_do_so(serve, tmp_path):
    loaded = serve("fault=unloads", log="server.log")
    loaded.close()
    assert (tmp_path / "server.log").read_text().endswith("unloaded\n")


def test_what_a_server_left_behind_when_it_died_is_ended(serve, tmp_path):
    loaded = serve("fault=dies-asked", "after=0", f"child={tmp_path / 'child'}")
    with pytest.raises(RuntimeError, match="exit status 3"):
        loaded.predict(["a"])
    assert all(ended(int(pid)) for pid in (tmp_path / "child").read_text().split())


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_however_a_session_ends_its_server_ends(tmp_path, end):
    code = (
        "import sys, time; from pathlib import Path; from pytest_procure import OpenAIEndpoint, Served;"
        f"offer = Served([sys.executable, {str(HERE / 'stand_in.py')!r}, '{{port}}', 'child=child'],"
        "OpenAIEndpoint('http://127.0.0.1:{port}/v1', model='m'));"
        "loaded = offer.load(Path()); print(loaded.target.port, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as session:
        port = int(session.stdout.readline())
        session.send_signal(end)
    assert all(ended(int(pid)) for pid in (tmp_path / "child").read_text().split())
    assert is_free(port)


def test_a_log_that_ends_within_a_key_is_quoted_without_it():
    log = ServerLog(path=None, limit=1 << 16, secrets=["half/of-this-key"], awaited="")
    here, there = os.pipe()
    log.read_from(here)
    os.write(there, b"denied: " + b"half/of-this-key, or half\\/of-this-key\\n and half/of-t")
    while not (told := log.last_lines(1)):
        continue
    os.close(there)
    log.wait(9)
    os.close(here)
    assert told == [r"denied: (secret), or (secret)\n and"]


def test_a_flooded_log_blocks_nobody_and_fills_no_disk(serve, tmp_path):
    loaded = serve("fault=floods", log="server.log", log_bytes=1 << 17)
    assert loaded.predict(["a"] * 3) == [Answer("A ", 1, 1)] * 3
    loaded.close()
    text = (tmp_path / "server.log").read_bytes()
    assert len(text) <= (1 << 17) + 100
    assert text.startswith(b"listening on")
    assert b"bytes left out]" in text
    written, kept = loaded.log_bytes
    assert written > 3 * 4 * 600_000 - 1
    assert kept == 1 << 17


def test_the_log_is_digested_and_kept_whole_where_it_fits(serve, tmp_path):
    import hashlib

    loaded = serve(log="server.log")
    loaded.close()
    text = (tmp_path / "server.log").read_bytes()
    told = loaded.conditions()["server"]["log"]
    assert told == {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}


def test_what_the_server_gets_is_told_to_whoever_looks_at_its_gpu(serve, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    loaded = serve(settings={"CUDA_VISIBLE_DEVICES": "1"})
    assert loaded.variables["CUDA_VISIBLE_DEVICES"] == "1"
    assert loaded.variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_command_version_files_and_settings_are_disclosed_and_no_port_and_no_folder(serve, tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"weights")
    loaded = serve(
        str(tmp_path / "m.gguf"),
        files=["m.gguf"],
        version=[sys.executable, "--version"],
        settings={"OMP_NUM_THREADS": "1"},
    )
    told = loaded.describe()
    assert told["runtime"] == told["version"] == f"Python {sys.version.split()[0]}"
    assert told["command"][1:] == [str(HERE / "stand_in.py"), "{port}", "m.gguf"]
    assert told["files"][0]["bytes"] == 7
    assert told["settings"] == {"OMP_NUM_THREADS": "1"}
    assert told["url"] == "http://127.0.0.1:{port}/v1/chat/completions"
    assert str(loaded.target.port) not in str(told)
    assert str(tmp_path) not in str(told)


def test_the_key_among_its_arguments_is_not_disclosed(serve):
    told = serve("--key", "hunter2", "--auth=hunter2").describe()
    assert told["command"][-3:] == ["--key", "[redacted]", "--auth=[redacted]"]


def test_a_version_that_is_none_is_told(tmp_path):
    refuses(declared(version=[sys.executable, "-c", "raise SystemExit(2)"]), tmp_path, "exit status 2")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Served("server --port 1", CHAT), "expected a list"),
        (lambda: Served(["server", "--api-key=abc"], CHAT), "looks like a secret"),
        (lambda: Served(["server"], Function(print)), "expected an endpoint"),
        (
            lambda: Served(["server"], OpenAIEndpoint("http://127.0.0.1:80/v1", model="m")),
            "expected the port",
        ),
        (lambda: Served(["server"], OpenAIEndpoint("http://a.example:{port}/v1", model="m")), "this machine"),
        (lambda: Served(["server"], CHAT, ready=3), "expected a path"),
        (lambda: Served(["server"], CHAT, start_timeout="0 s"), "longer than 0"),
        (lambda: Served(["server"], CHAT, environment=["A=b"]), "not values"),
        (lambda: Served(["server"], CHAT, settings={"MODEL_KEY": "abc"}), "looks like a secret"),
        (lambda: Served(["server"], CHAT, settings={"N": 3}), "expected a text"),
        (lambda: Served(["server"], CHAT, files="m.gguf"), "expected a list"),
        (lambda: Served(["server"], CHAT, log_bytes=1), "65536 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_declared(make, told):
    with pytest.raises(DeclarationError) as refusal:
        make()
    assert told in str(refusal.value)
    assert "abc" not in str(refusal.value).replace("`", "")


def test_arguments_about_tokens_are_no_secrets():
    Served(["server", "--max-tokens=4", "--tokenizer", "tokenizer.json"], CHAT)


def test_an_endpoint_whose_port_is_open_cannot_be_asked_alone(tmp_path):
    with pytest.raises(DeclarationError, match="leaves its port open"):
        CHAT.load(tmp_path)
