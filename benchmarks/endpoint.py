"""How far the endpoint driver's times are from the truth, and how many requests a second it can make.

    python benchmarks/endpoint.py [PAIRS] [rate|times]

Against the mock endpoint, whose log is the truth, in turns with a bare floor client (`floor_client.py`): the
least that Python can do. Printed are medians over pairs that alternate, and medians of their ratios.

ttft, itl, e2e   streams of 32 tokens, TTFT 50 ms, 10 ms between tokens: mean of reported minus the log, ms
rate             answers of one token, at once, not streamed: requests a second, one load process
cpu              of the same runs: us of processor time a request; on a shared machine the steadier figure
rate, prepared   the same of one prepared answer and no log, where a server does less than any of use can
cpu, prepared

The mock is quicker with uvloop, where that is installed; the driver does not use it. Other tools are run by
`peers.py`. The exit status is 1 if a figure misses what is asked of it.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_procure import OpenAIEndpoint
from pytest_procure.driver.endpoint.drive import drive
from pytest_procure.scenarios import Scenario

HERE = Path(__file__).parent
STREAMS = {1: 10, 16: 160, 128: 1024}
RATES = {1: 2_000, 16: 10_000, 128: 20_000}
#: Asked of median ratios to the floor client: of TTFT's error where there are many streams, and of the rate.
MOST_TTFT, LEAST_RATE = 2.0, 0.8


@dataclass(frozen=True)
class Loop(Scenario):
    """A closed loop with several requests under way."""

    concurrency: int = 1


class Text:
    """A slice of one sample."""

    def __len__(self) -> int:
        return 1

    def take(self, indices: Any, /) -> list[str]:
        """Give it."""
        return ["hi there"] * len(indices)


class Mock:
    """The mock endpoint as a process."""

    def __init__(self) -> None:
        command = [sys.executable, str(HERE / "mock_endpoint.py")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split()[1])

    def ask(self, method: str, path: str, body: str | None = None) -> Any:
        """Ask for its log, or tell it how to behave."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body)
        return json.loads(connection.getresponse().read())

    def behave(self, **behaviour: Any) -> None:
        """Set its behaviour, and begin a new log."""
        self.ask("POST", "/behave", json.dumps(behaviour))

    def truth(self) -> dict[int, dict[str, Any]]:
        """What it did to each request, by number."""
        records = self.ask("GET", "/log")["records"]
        return {int(r["id"].rpartition("-")[2].partition(".")[0]): r for r in records if r["id"]}


Errors = dict[str, float]


def floor(mock: Mock, concurrency: int, count: int, *, stream: bool) -> Any:
    """Run the floor client."""
    command = [sys.executable, str(HERE / "floor_client.py"), *map(str, (mock.port, concurrency, count))]
    command += ["stream"] * stream
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    return json.loads(done.stdout)


def ours(mock: Mock, concurrency: int, count: int, *, stream: bool) -> Any:
    """Run the endpoint driver."""
    endpoint = OpenAIEndpoint(f"http://127.0.0.1:{mock.port}/v1", model="mock", stream=stream).load(HERE)
    scenario = Loop("single_stream", count=count, warmup=0, concurrency=concurrency)
    return drive(endpoint, Text(), scenario)


def floor_errors(mock: Mock, concurrency: int, count: int) -> Errors:
    """Give the floor client's mean errors, ms."""
    rows, truth = floor(mock, concurrency, count, stream=True)["rows"], mock.truth()
    return errors({number: (first, last, end) for number, first, last, end in rows}, truth)


def our_errors(mock: Mock, concurrency: int, count: int) -> Errors:
    """Give ours."""
    log = ours(mock, concurrency, count, stream=True).log
    assert log.ok.all(), log.errors
    times = np.stack([log.wire.first_token, log.wire.last_token, log.completed]) - log.started
    return errors(dict(enumerate(times.T.tolist())), mock.truth())


def errors(told: dict[int, Any], truth: dict[int, dict[str, Any]]) -> Errors:
    """Hold what was told of each request against the log; means, ms."""
    found: dict[str, list[float]] = {"ttft": [], "itl": [], "e2e": []}
    for number, (first, last, end) in told.items():
        true = truth[number]
        gaps = len(true["chunks"]) - 1
        found["ttft"].append(first - true["first"])
        found["itl"].append(abs((last - first) - (true["chunks"][-1] - true["first"])) / gaps)
        found["e2e"].append(end - true["end"])
    return {name: statistics.fmean(values) / 1e6 for name, values in found.items()}


def floor_rate(mock: Mock, concurrency: int, count: int) -> Errors:
    """Give the floor client's requests a second."""
    done = floor(mock, concurrency, count, stream=False)
    return {"rate": count / done["seconds"], "cpu": done["cpu_us"]}


def our_rate(mock: Mock, concurrency: int, count: int) -> Errors:
    """Give ours."""
    run = ours(mock, concurrency, count, stream=False)
    assert run.log.ok.all(), run.log.errors
    window = run.log.window_ns
    return {"rate": count / (window / 1e9), "cpu": run.audit.load_cpu_share * window / count / 1e3}


def compared(
    mock: Mock,
    pairs: int,
    cases: dict[int, int],
    both: tuple[Callable[[Mock, int, int], Errors], Callable[[Mock, int, int], Errors]],
    note: str = "",
    **behaviour: Any,
) -> list[str]:
    """Run both in turns, first the one, then the other; print medians, and give what misses what is asked."""
    missed = []
    for concurrency, count in cases.items():
        results: tuple[list[Errors], list[Errors]] = ([], [])
        for pair in range(pairs):
            for which in (0, 1) if pair % 2 == 0 else (1, 0):
                mock.behave(**behaviour)
                results[which].append(both[which](mock, concurrency, count))
        for name in results[0][0]:
            base, own = ([each[name] for each in result] for result in results)
            ratios = sorted(b / a for a, b in zip(base, own, strict=True))
            said = _asked(name + note, concurrency, statistics.median(ratios))
            print(
                f"{name + note:>14} at {concurrency:>3}: floor {statistics.median(base):9.3f}  "
                f"ours {statistics.median(own):9.3f}  ratio {statistics.median(ratios):5.2f} "
                f"(half of the pairs: {ratios[len(ratios) // 4]:.2f} to {ratios[-1 - len(ratios) // 4]:.2f})"
                f"{said}",
                flush=True,
            )
            if "MISSED" in said:
                missed.append(f"{name} at {concurrency}")
    return missed


def _asked(name: str, concurrency: int, ratio: float) -> str:
    """Say what is asked of a ratio, and whether it is missed; "" where nothing is."""
    if name == "ttft" and concurrency > 1:
        return f"   asked <= {MOST_TTFT:g}{' MISSED' * (ratio > MOST_TTFT)}"
    if name == "rate":
        return f"   asked >= {LEAST_RATE:g}{' MISSED' * (ratio < LEAST_RATE)}"
    return ""


def main(pairs: int = 11, only: str = "") -> int:
    """Print a line for each figure; give the exit status."""
    mock, missed = Mock(), []
    try:
        if only != "times":
            rates = (floor_rate, our_rate)
            missed += compared(mock, pairs, RATES, rates, tokens=1)
            compared(mock, pairs, RATES, rates, ", prepared", instant=True)
        if only != "rate":
            both = (floor_errors, our_errors)
            missed += compared(mock, pairs, STREAMS, both, ttft_ms=50.0, itl_ms=10.0, tokens=32)
    finally:
        mock.process.terminate()
    print(f"missed: {'; '.join(missed)}" if missed else "nothing is missed")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2]), *sys.argv[2:3]))
