"""A process of its own sees its inputs and nothing more, and never outlives who started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import isolated_offers as offers
import numpy as np
import pytest

from pytest_procure.backends.function import Function
from pytest_procure.driver.hosting import Host
from pytest_procure.errors import DataError, ProvisionError
from pytest_procure.isolation import lane
from pytest_procure.isolation.arena import ARENA_BYTES
from pytest_procure.isolation.hosted import Hosted, LoadedHosted

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


class Refuses:
    """A backend that cannot be brought up."""

    def __init__(self, how):
        self.how = how

    def load(self, base):
        self.how(base)


def no_model(base):
    raise ProvisionError(f"there is no model in {base.name}")


def a_bug(base):
    raise ZeroDivisionError("one of theirs\nin two lines")


class Secretive:
    """A loaded backend whose words about itself are those given."""

    releases_gil = True

    def __init__(self, device, told):
        self.device, self.told = device, told

    def load(self, base):
        del base
        return self

    def describe(self):
        return self.told

    def predict(self, inputs):
        return inputs

    def close(self):
        offers.crashes(None)


def hosted(backend, base=Path()):
    return Hosted(backend).load(base)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid):
    """Wait for a process to be gone; the kernel takes a moment."""
    limit = time.monotonic() + 20
    while alive(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    return not alive(pid)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (no_model, "there is no model in models"),
        (a_bug, "backend Refuses could not be loaded: ZeroDivisionError: one of theirs in two lines"),
        (
            offers.leaves,
            "it could not be loaded in a process of its own: its process ended itself with exit status 0",
        ),
        (offers.crashes, "its process was ended by SIGSEGV (segmentation fault)"),
        (offers.exits, "SystemExit: 0"),
    ],
)
def test_what_cannot_be_loaded_says_why(how, told):
    with pytest.raises(ProvisionError) as raised:
        hosted(Refuses(how), Path("models"))
    assert told in str(raised.value)
    assert str(raised.value).isprintable()


def test_a_load_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(lane, "LOAD_SECONDS", 0.5)
    with pytest.raises(ProvisionError, match=r"its process hung: there was no answer within 0\.5 s"):
        hosted(Refuses(offers.hangs))


@pytest.mark.parametrize(
    ("device", "told"),
    [
        pytest.param("cpu", object(), id="cpu-an object"),
        ("cpu", {"x": float("nan")}),
        (3, {}),
        ("c\x1b[31m", {}),
        ("c" * 81, {}),
    ],
    ids=str,
)
def test_what_a_backend_tells_of_itself_is_checked(device, told):
    with pytest.raises(ProvisionError):
        hosted(Secretive(device, told))


def test_a_crash_at_the_very_end_is_told():
    backend = hosted(Secretive("cuda:7", {"runtime": "r 1"}))
    assert backend.device == "cuda:7"
    assert backend.describe() == {"runtime": "r 1", "isolation": "process"}
    with pytest.raises(ProvisionError, match=r"could not be closed: its process was ended by SIGSEGV"):
        backend.close()


@pytest.mark.parametrize(
    "batch",
    [
        np.arange(12.0, dtype=np.float32).reshape(3, 4),
        np.arange(12).reshape(3, 4)[:, ::2],
        np.zeros((0, 3)),
        np.array(["a", "bc"]),
        np.array(["a", None], dtype=object),
        ["a text", {"b": np.arange(3)}],
        np.zeros((70, 1000, 1000), dtype=np.uint8),
    ],
    ids=lambda batch: f"{type(batch).__name__}-{getattr(batch, 'dtype', '')}-{len(batch)}",
)
def test_inputs_arrive_as_they_are(batch):
    backend = hosted(Function(offers.same))
    arrived = backend.predict(batch)
    backend.close()
    if getattr(batch, "dtype", None) == np.dtype(object):
        batch = list(batch)  # an array of anything comes back as what is in it
    assert type(arrived) is type(batch)
    assert str(arrived) == str(batch)


def test_inputs_beyond_the_shared_memory_arrive_too():
    backend = hosted(Function(offers.counts))
    assert backend.predict([b"x" * (ARENA_BYTES + 1)]) == [ARENA_BYTES + 1]
    assert backend.predict(np.ones(ARENA_BYTES + 1, dtype=np.uint8)) == [ARENA_BYTES + 1]
    backend.close()


def test_an_input_that_cannot_be_sent_is_not_the_candidates_fault():
    backend = hosted(Function(offers.same))
    with pytest.raises(DataError, match="a sample cannot be sent to a process of its own"):
        backend.predict([lambda: 0])
    assert backend.fault is not None
    backend.close()


def test_inputs_cannot_be_written_on():
    backend = hosted(Function(writes))
    with pytest.raises(Exception, match="read-only"):
        backend.predict(np.arange(3))
    backend.close()


@LINUX
def test_shared_memory_cannot_be_cut_off():
    backend = hosted(Function(offers.cuts))
    assert backend.predict(np.arange(3)) == [2]  # there and back
    assert backend.predict(np.arange(3)) == [2]  # and we are still here
    backend.close()


@LINUX
def test_what_a_hosted_candidate_computes_is_no_foreign_load():
    backend = hosted(Function(offers.same))
    ours, theirs = time.process_time_ns(), backend.cpu_ns()
    assert theirs > 0
    assert Host(backend).readings().own_cpu_ns >= ours + theirs
    backend.close()


def test_how_long_a_process_waits_counts_like_a_worker_thread():
    host = Host(Waits([[5, None], [7, 1], [107, 4]]))
    for _ in range(3):
        host.readings()
    assert host.delays_ns([3]) == [3, 100, 3]
    assert host.delays_ns(None) is None


class Waits(LoadedHosted):
    """Processes that have waited for so long, each time one looks."""

    def __init__(self, waits):
        self.waits = waits

    def waited_ns(self):
        return self.waits.pop(0)

    def cpu_ns(self):
        return 0


def writes(inputs):
    inputs[:] = 0
    return inputs


SESSION = """
import sys, threading
from pathlib import Path
import numpy as np
import isolated_offers as offers
from pytest_procure.backends.function import Function
from pytest_procure.isolation.hosted import Hosted
def start():
    global backend
    backend = Hosted(Function(offers.At(2, offers.{what}))).load(Path())
starter = threading.Thread(target=start)
(starter.start if "{who}" == "a thread" else start)()
if "{who}" == "a thread":
    starter.join()
backend.predict(np.arange(2))
if "{what}".startswith("hangs"):
    threading.Thread(target=backend.predict, args=(np.arange(2),), daemon=True).start()
print(backend.pids[0], flush=True)
sys.stdin.read()
{end}
"""


@LINUX
@pytest.mark.parametrize(
    ("what", "who", "end"),
    [
        ("same", "main", "return"),
        ("same", "main", "raise"),
        ("hangs", "main", "os._exit"),
        ("hangs", "main", "kill -9"),
        ("hangs_with_the_lock", "main", "kill -9"),
        ("hangs", "a thread", "kill -9"),
    ],
)
def test_it_does_not_outlive_who_started_it(what, who, end):
    last = {"os._exit": "import os; os._exit(3)", "raise": "raise SystemExit('as it may happen')"}.get(
        end, ""
    )
    code = textwrap.dedent(SESSION).format(what=what, who=who, end=last)
    session = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path)])},
    )
    pid = int(session.stdout.readline())
    assert alive(pid)
    if end == "kill -9":
        session.send_signal(signal.SIGKILL)
    session.stdin.close()
    session.wait(60)
    session.stdout.close()
    assert gone(pid)
