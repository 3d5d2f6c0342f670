"""A guard on the ways out of this process: candidate code that ends it with status 0 would end a test green.

`os._exit` and the `exec` family end the session without a verdict, and pytest's exit status with it. While
the guard stands, they raise `ProcessExit` instead, which fails the request; where nobody would see that, the
process ends with a status that is no success. What is left is C code that calls `_exit` by itself, which only
a process of its own (`isolation="process"`) contains.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

#: pytest's own for a session that broke inside.
_BROKEN = 3
_EXECS = ("execv", "execve")


class ProcessExit(SystemExit):
    """Somebody tried to end the whole process from inside."""


class ExitGuard:
    """Stands from `up` to `down`. A forked process is its own master: there, nothing is changed.

    `say` is called with one line before the process ends.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._pid = os.getpid()
        self._real: dict[str, Any] = {}

    def up(self) -> None:
        """Take the place of the real ones, in `os` and in the module that it has them from."""
        self._real = {name: getattr(os, name) for name in ("_exit", *_EXECS)}
        self._put({"_exit": self._exit} | {name: self._exec(name) for name in _EXECS})

    def down(self) -> None:
        """Put the real ones back."""
        self._put(self._real)

    def _exit(self, status: int) -> NoReturn:
        real: Callable[[int], NoReturn] = self._real["_exit"]
        if os.getpid() != self._pid:
            real(status)
        told = f"os._exit({status}) was called, which would have ended the whole test session"
        if _is_seen():
            raise ProcessExit(told)
        if status:
            real(status)
        self._say(f"{told} without a verdict")
        real(_BROKEN)

    def _exec(self, name: str) -> Callable[..., Any]:
        real = self._real[name]

        def execute(path: Any, *more: Any) -> Any:
            if os.getpid() != self._pid:
                return real(path, *more)
            raise ProcessExit(f"os.{name}({path!r}) was called, which would have replaced the test session")

        return execute

    @staticmethod
    def _put(functions: dict[str, Any]) -> None:
        modules = [os, *(sys.modules[name] for name in ("posix",) if name in sys.modules)]
        for module in modules:
            for name, function in functions.items():
                setattr(module, name, function)


def stand_guard(config: Any) -> None:
    """Guard the ways out until the end of a pytest session."""

    def say(line: str) -> None:
        capture = config.pluginmanager.get_plugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(in_=True)
        os.write(2, f"\nERROR: procure: {line}\n".encode(errors="replace"))

    guard = ExitGuard(say)
    guard.up()
    config.add_cleanup(guard.down)


def _is_seen() -> bool:
    """Whether an exception raised here fails something: in the driver's threads, and in the tests' own."""
    current = threading.current_thread()
    return current is threading.main_thread() or current.name.startswith("procure-worker-")
