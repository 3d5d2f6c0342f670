"""What does the plugin cost a suite that does not use it?

    python benchmarks/import_time.py

Runs pytest on one empty test under `-X importtime`, 21 times after a warm-up, and prints the median of our
modules' own time. Bytecode is cached, as it is on any machine after the first run.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 21


def own_ms(folder: str) -> float:
    """Sum the own times of our modules in one run, in ms."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-X", "importtime", "-m", "pytest", "-q", "-p", "no:cacheprovider", folder]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603 - our own command
    lines = [line.removeprefix("import time:").split("|") for line in ran.stderr.splitlines()]
    return sum(int(own) for own, _, name in filter(_ours, lines)) / 1000


def _ours(line: list[str]) -> bool:
    return len(line) == 3 and line[2].strip().partition(".")[0] == "pytest_procure"


def main() -> None:
    """Print the median and the extremes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing(): pass\n", encoding="utf-8")
        own_ms(folder)
        times = sorted(own_ms(folder) for _ in range(RUNS))
    print(
        f"own import time of pytest_procure: median {statistics.median(times):.1f} ms of {RUNS} runs "
        f"({times[0]:.1f} to {times[-1]:.1f})"
    )


if __name__ == "__main__":
    main()
