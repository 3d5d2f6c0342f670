"""The load processes as seen from the process that starts them."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from pytest_procure.errors import ProvisionError

#: Not `-m`: the module must be the same whether or not the package is installed.
_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"
_MODULE = f"{__package__}.process"
_TAIL = 2000


class Worker:
    """One load process, its input and output."""

    def __init__(self, asked: dict[str, Any], descriptors: Sequence[int]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, and our own module
            [sys.executable, "-c", _BOOT.format(module=_MODULE), json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=descriptors,
        )
        self.said: dict[str, Any] = {}
        self._text = b""
        self.tell(json.dumps(asked))

    def tell(self, text: str) -> None:
        """Send a line; a process that is gone says so itself."""
        assert self.process.stdin is not None, "it has a pipe"
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return

    def read(self) -> bool:
        """Take in what it has said; False when it says nothing more."""
        assert self.process.stdout is not None, "it has a pipe"
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        self._text += data
        *lines, self._text = self._text.split(b"\n")
        for text in lines:
            self.said |= json.loads(text)
        return bool(data)

    def stop(self) -> None:
        """End its input: it gives up what is under way, and reports."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                return

    def end(self, grace: float) -> int:
        """Wait for its end, and force it after `grace` seconds; its status."""
        self.stop()
        try:
            status = self.process.wait(grace)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status

    def trouble(self) -> str:
        """Give the last line that it wrote of its own trouble."""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _TAIL))
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with status {self.process.poll()}"

    def close(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
        self._errors.close()


class Crew:
    """All load processes of a run."""

    def __init__(self, asked: Sequence[dict[str, Any]], descriptors: Sequence[int]) -> None:
        self.workers: list[Worker] = []
        self._selector = selectors.DefaultSelector()
        try:
            for each in asked:
                worker = Worker(each, descriptors)
                self.workers.append(worker)
                self._selector.register(worker.process.stdout or -1, selectors.EVENT_READ, worker)
        except BaseException:
            self.close()
            raise

    def wait(self, word: str, *, poll: float, keep_on: Callable[[], bool]) -> bool:
        """Wait until all have said `word`; False when one is gone, or `keep_on`, asked each poll, says no."""
        while waited_for := self._silent(word):
            if any(worker.process.stdout not in self._open for worker in waited_for) or not keep_on():
                return False
            self._listen(poll)
        return True

    def go(self, origin: int) -> None:
        """Let them run from `origin` on."""
        for worker in self.workers:
            worker.tell(f"go {origin}")

    def stop(self, keep_on: Callable[[], bool]) -> None:
        """Make them give up what is under way, wait for their reports, and end who makes none.

        One that is gone is not waited for, and takes no other's report with it.
        """
        for worker in self.workers:
            worker.stop()
        while any(worker.process.stdout in self._open for worker in self._silent("done")) and keep_on():
            self._listen(0.1)
        for worker in self._silent("done"):  # it must not write any more when the columns are read
            worker.process.kill()
            worker.process.wait()

    def gone(self) -> list[str]:
        """Tell of the processes that ended without a report."""
        return [worker.trouble() for worker in self._silent("done")]

    def check_ready(self) -> None:
        """Raise `ProvisionError` when one could not begin."""
        for worker in self.workers:
            if "failed" in worker.said:
                raise ProvisionError(worker.said["failed"])
            if "ready" not in worker.said and worker.process.stdout not in self._open:
                worker.end(1.0)
                raise ProvisionError(f"a load process could not start: {worker.trouble()}")

    def close(self) -> None:
        """End all of them; nothing stays behind."""
        self._selector.close()
        for worker in self.workers:
            worker.close()

    def _silent(self, word: str) -> list[Worker]:
        return [worker for worker in self.workers if word not in worker.said]

    def _listen(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if not key.data.read():
                self._selector.unregister(key.fileobj)

    @property
    def _open(self) -> set[Any]:
        return {key.fileobj for key in self._selector.get_map().values()}
