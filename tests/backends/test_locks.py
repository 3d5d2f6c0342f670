import os
import stat
import subprocess
import sys
import threading

import pytest

from pytest_procure.backends import device_lock
from pytest_procure.backends.locks import lock_file
from pytest_procure.errors import ProvisionError

HOLD = """
import sys
from pytest_procure.backends import device_lock
with device_lock("cuda:0", timeout=0):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the processes started here


@pytest.fixture
def holder():
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        yield process


def test_the_error_names_the_process_that_holds_the_device(holder):
    with (
        pytest.raises(ProvisionError, match=f"held by process {holder.pid}"),
        device_lock("cuda:0", timeout=0),
    ):
        pass


def test_another_device_is_free(holder):
    with device_lock("cuda:1", timeout=0):
        pass


def test_a_killed_process_holds_nothing(holder):
    holder.kill()
    holder.wait()
    with device_lock("cuda:0", timeout=0):
        pass


def test_one_process_cannot_hold_a_device_twice():
    with (
        device_lock("cpu", timeout=0),
        pytest.raises(ProvisionError, match="held by this process"),
        device_lock("cpu", timeout=0),
    ):
        pass


def test_the_lock_ends_with_the_block_even_when_it_raises():
    with pytest.raises(KeyError), device_lock("cpu", timeout=0):
        raise KeyError
    with device_lock("cpu", timeout=0):
        pass


def test_the_lock_is_had_as_soon_as_it_is_free():
    first = device_lock("cpu", timeout=0)
    first.__enter__()
    waits = threading.Timer(0.01, first.__exit__, (None, None, None))
    waits.start()
    with device_lock("cpu", timeout=30):
        waits.join()


def test_the_file_is_for_this_user_alone():
    with device_lock("cpu", timeout=0):
        assert stat.S_IMODE(lock_file("cpu").stat().st_mode) == 0o600
        assert str(os.getuid()) in lock_file("cpu").name


def test_a_link_in_the_lock_files_place_is_refused_and_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    lock_file("cpu").symlink_to(victim)
    with pytest.raises(ProvisionError, match="cannot be opened"), device_lock("cpu", timeout=0):
        pass
    assert victim.read_text() == "kept"


def test_a_second_name_of_another_file_is_refused(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    os.link(victim, lock_file("cpu"))
    with pytest.raises(ProvisionError, match="not a plain file"), device_lock("cpu", timeout=0):
        pass
    assert victim.read_text() == "kept"


def test_a_device_name_cannot_lead_out_of_the_folder(tmp_path):
    assert lock_file("../../etc/passwd").parent == tmp_path
