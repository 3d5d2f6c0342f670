"""One measurement at a time on a device."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from pytest_procure.errors import ProvisionError

_POLL_S = 0.05


@contextmanager
def device_lock(
    device: str, *, timeout: float, waiting: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold `device` for the block, against every other process of this user that does the same.

    Waits at most `timeout` seconds, then raises `ProvisionError`, which names the holder. `waiting` is told
    once, in a sentence, that it waits, and for whom. The lock ends with
    the block or with the process. It knows a device by its name: where `CUDA_VISIBLE_DEVICES` differs between
    processes, pass the GPU's UUID.
    """
    path = lock_file(device)
    descriptor = _open(path)
    try:
        deadline = time.monotonic() + timeout
        while not _locked(descriptor):
            if waiting is not None:
                waiting(
                    f"waiting for device `{device}`, at most {timeout:g} s: {_holder(descriptor)} holds it"
                )
                waiting = None
            if time.monotonic() >= deadline:
                raise ProvisionError(
                    f"device `{device}` is held by {_holder(descriptor)}, after {timeout:g} s of waiting; "
                    "end that run first, or give this one another device"
                )
            time.sleep(_POLL_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        try:
            yield
        finally:
            # Explicitly: a child that was forked meanwhile shares this lock and may outlive the block.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def lock_file(device: str) -> Path:
    """The file that stands for `device`; it stays where it is, for removing it would let two in."""
    return Path(tempfile.gettempdir()) / f"pytest-procure-{os.getuid()}-{quote(device, safe='')}.lock"


def _open(path: Path) -> int:
    # The folder is anyone's to write in: a link or another user's file there is no lock of ours.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ProvisionError(f"the lock file {path.name} cannot be opened: {error.strerror}") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink != 1:
        os.close(descriptor)
        raise ProvisionError(f"the lock file {path.name} is not a plain file of this user; remove it")
    return descriptor


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    pid = os.pread(descriptor, 20, 0).decode("ascii", "replace")
    if not pid:
        return "another process"
    return "this process" if pid == str(os.getpid()) else f"process {pid}"
