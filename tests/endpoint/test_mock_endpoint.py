"""How the mock is told to behave, on a command line."""

import subprocess
import sys

import pytest
from mock_process import MOCK


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("ttft_sm=5", "unknown behaviour `ttft_sm`; the nearest is `ttft_ms`"),
        ("tokens=many", "`tokens=many`; expected a number, as in `tokens=8`"),
    ],
)
def test_what_is_no_behaviour_is_told_in_a_line(told, said):
    done = subprocess.run(
        [sys.executable, str(MOCK), told], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"mock_endpoint.py: {said}")
