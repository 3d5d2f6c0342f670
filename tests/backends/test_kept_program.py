"""Programs under a keeper: real processes, of which none is left."""

import os
import sys

import pytest

from pytest_procure.backends.kept_program import KeptProgram, said_by
from pytest_procure.errors import ProvisionError


def run(tmp_path, script, **more):
    asked = {"limit": 30, "most": 100} | more
    return said_by(["/bin/sh", "-c", script], folder=tmp_path, environment=os.environ, **asked)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_program_that_ends_at_once_is_known_to_have_ended(tmp_path):
    for _ in range(20):
        assert run(tmp_path, "echo a; exit 3") == (3, b"a\n")


def test_how_it_ended_and_the_first_of_what_it_said_are_told(tmp_path):
    assert run(tmp_path, "echo out; echo err >&2; kill -9 $$", most=6) == (-9, b"out\ner")


def test_its_input_is_at_its_end(tmp_path):
    assert run(tmp_path, "cat; echo over") == (0, b"over\n")


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux")
def test_what_it_leaves_in_a_session_of_its_own_is_gone(tmp_path):
    status, said = run(tmp_path, "setsid sleep 600 & echo $!")
    assert status == 0
    assert gone(int(said))


def test_one_that_does_not_end_is_ended(tmp_path):
    with pytest.raises(TimeoutError):
        run(tmp_path, "echo $$ >pid; exec sleep 600", limit=0.5)
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_one_that_cannot_be_started_is_told_with_the_reason(tmp_path, mode):
    (tmp_path / "bad").write_bytes(b"\x7fELFno")
    (tmp_path / "bad").chmod(mode)
    why = "Permission denied" if mode == 0o644 else "Exec format error"
    with pytest.raises(ProvisionError, match=f"the program `bad` cannot be started: {why}"):
        KeptProgram([str(tmp_path / "bad")], folder=tmp_path, environment={})
