"""A server that is started for the run, and asked as an endpoint: a model server on this machine.

declared ──► started on a free port ──► ready ──► [ run: watched ] ──► ended, with all that it started
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast
from urllib.parse import urlsplit

from pytest_procure.calling import declared
from pytest_procure.errors import DeclarationError, ProvisionError
from pytest_procure.isolation.endings import Ending
from pytest_procure.redaction import quoted
from pytest_procure.units import Quantity, duration

from .command import checked_arguments, checked_names, program_file, shown_arguments
from .endpoints.target import OPEN_PORT, Target, is_own
from .files import file_record, model_file
from .kept_program import said_by
from .process import environment_of, secrets_of
from .protocol import Admitting, Backend, LoadedEndpoint, Reachable, Sending
from .server import Ready, Server
from .server_log import ServerLog

_LEAST_LOG = 64 << 10
_VERSION_S = 60.0
_LONGEST_VERSION = 120
_VERSION_BYTES = 64 << 10
_NAMED_SECRET = re.compile(r"(?i)(key|token|secret|passw|credential)")


@declared
@dataclass(frozen=True, slots=True)
class Served:
    """Declares a server: `command` starts it, and `endpoint` asks it.

    The server gets a free port of this machine, as `{port}` in its arguments and settings and as the variable
    PORT; the endpoint's URL names it so too: `OpenAIEndpoint("http://127.0.0.1:{port}/v1", model="m")`. A
    program with a slash in it is relative to the conftest, where the server is started; any other is found by
    PATH.

    It is ready when its port takes connections and `ready` says so: a path that answers 200 ("/health"), a
    text in a line of its log, or a function of its URL; within `start_timeout`.

    `environment` names the variables it gets beside PATH, HOME and the like; `settings` are others, with
    values that are disclosed. `files`: what it loads, disclosed with digests. `version`: a text, or a command
    whose first line of output is one. `log`: a file that keeps what it writes, up to `log_bytes`. `device` is
    where it says it computes.
    """

    command: Sequence[str]
    endpoint: Any
    _: KW_ONLY
    ready: str | Callable[[str], object] = ""
    start_timeout: Quantity | str = "120 s"
    environment: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str | Path] = ()
    version: str | Sequence[str] = ""
    log: str | Path = ""
    log_bytes: int = 4 << 20
    device: str = "cpu"

    remote: ClassVar[bool] = True  # it has a process of its own already

    def __post_init__(self) -> None:
        checked_arguments(self.command, what="Served")
        checked_names(self.environment, what="Served")
        _checked_endpoint(self.endpoint)
        if not isinstance(self.ready, str) and not callable(self.ready):
            raise DeclarationError(
                f"`ready={self.ready!r}` of Served; expected a path ('/health'), a text of its log, or a "
                "function of its URL"
            )
        if duration(self.start_timeout, what="start_timeout").number <= 0:
            raise DeclarationError(f"`start_timeout={self.start_timeout}` of Served; expected longer than 0")
        if isinstance(self.files, (str, Path)):
            raise DeclarationError(f"`files={self.files!r}` of Served; expected a list of paths")
        if not isinstance(self.log_bytes, int) or self.log_bytes < _LEAST_LOG:
            raise DeclarationError(f"`log_bytes={self.log_bytes!r}` of Served; expected {_LEAST_LOG} or more")
        if not isinstance(self.version, str):
            checked_arguments(self.version, what="Served(version=...)")
        _checked_settings(self.settings)

    def load(self, base: Path) -> LoadedServed:
        """Start the server and wait until it is ready.

        Raises `ProvisionError` where a program or file is not there, where the server ends, and where it is
        not ready in time: with the last lines of its log.
        """
        program = program_file(base, self.command[0])
        files = [file_record(model_file(base, path), Path(path).name) for path in self.files]
        environment = environment_of(self.environment) | dict(self.settings)
        version = (
            self.version
            if isinstance(self.version, str)
            else _version(base, self.version, environment, secrets_of(self.environment))
        )
        return LoadedServed(self, base, program, files, version, environment)


class LoadedServed:
    """A server that runs, and its endpoint.

    One that has ended stays ended for the run in which it ended; the next run begins with a fresh one.
    """

    #: Waiting for the network is done outside of Python's lock.
    releases_gil = True

    def __init__(  # noqa: PLR0913, PLR0917 - what a server is made of, found when it was loaded
        self,
        declared: Served,
        base: Path,
        program: Path,
        files: list[dict[str, Any]],
        version: str,
        environment: dict[str, str],
    ) -> None:
        self._declared = declared
        self._base = base
        self._arguments = [str(program), *declared.command[1:]]
        self._shown = shown_arguments([each.replace(f"{base}/", "") for each in declared.command[1:]])
        self._files = files
        self._version = version
        self._environment = environment
        self._ready = _ready(declared.ready)
        self._starts = 0
        self._server = self._start()
        self._endpoint = self._ask_at(self._server.port)

    @property
    def device(self) -> str:
        """Where it says it computes; unlike another's endpoint it shares this machine with other runs."""
        return self._declared.device

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment it gets, which decides on which GPU it computes."""
        return self._environment

    @property
    def target(self) -> Target:
        """Where it is, and how its answers are read."""
        return self._endpoint.target

    @property
    def sending(self) -> Sending:
        """How requests are sent."""
        return self._endpoint.sending

    @property
    def around(self) -> tuple[bytes, bytes] | None:
        """What of every body stands before and behind the messages of a chat; None where it is no chat."""
        return self._endpoint.around

    @property
    def log_bytes(self) -> tuple[int, int]:
        """How much the server has written into its log so far, and how much is kept at most."""
        return self._server.log.bytes, self._declared.log_bytes

    def body(self, item: Any) -> bytes:
        """Write the request's body for one sample."""
        return self._endpoint.body(item)

    def output(self, data: bytes) -> Any:
        """Make an output of what the target's reader has kept of an answer."""
        return self._endpoint.output(data)

    def predict(self, inputs: Any) -> Sequence[Any]:
        """Ask one sample after the other. Raises `RuntimeError`; where the server has ended, with how."""
        try:
            return self._endpoint.predict(inputs)
        except RuntimeError:
            ending = self._server.ending(patient=True)
            if ending is None:
                raise
            raise RuntimeError(ending.sentence) from None

    def reach(self) -> None:
        """See that the server speaks what its URL says. One that has ended is started anew by a run."""
        if isinstance(self._endpoint, Reachable) and self._server.ending() is None:
            self._endpoint.reach()

    def admit(self, samples: Iterable[Any]) -> None:
        """See that one of these samples may be asked. Raises `ProvisionError` where each is turned away."""
        if isinstance(self._endpoint, Admitting) and self._server.ending() is None:
            self._endpoint.admit(samples)

    def begin(self) -> None:
        """Begin a run: start the server anew if it has ended. Raises `ProvisionError` where that fails."""
        if self._server.ending() is not None:
            self._server.close()
            self._server = self._start()
            self._endpoint.close()
            self._endpoint = self._ask_at(self._server.port)

    def ending(self, *, patient: bool = False) -> Ending | None:
        """Tell how the server has ended; None while it runs."""
        return self._server.ending(patient=patient)

    def conditions(self) -> dict[str, Any]:
        """Disclose what the server did so far, as plain JSON data."""
        server = self._server
        return {
            "server": {
                "port": server.port,
                "starts": self._starts,
                "ready_after_ms": round(server.ready_after_s * 1e3),
                "most_memory_bytes": server.most_bytes,
                "log": server.log.record(),
            }
        }

    def describe(self) -> dict[str, Any]:
        """Disclose the server and its endpoint; the port, which is another each time, as it was declared."""
        declared = self._declared
        told = dict(self._endpoint.describe())
        told["url"] = told["url"].replace(f":{self._server.port}", OPEN_PORT, 1)
        told["endpoint"] = told.pop("runtime", "")
        return {
            "runtime": self._version or Path(declared.command[0]).name,
            "device": self.device,
            **told,
            "command": [Path(declared.command[0]).name, *self._shown],
            "version": self._version or None,
            "files": self._files,
            "environment": list(declared.environment),
            "settings": dict(declared.settings),
            "ready_when": self._ready.label,
            "start_timeout": str(declared.start_timeout),
        }

    def close(self) -> None:
        """End the server and everything it started."""
        self._endpoint.close()
        self._server.close()

    def _start(self) -> Server:
        declared = self._declared
        log = ServerLog(
            path=self._base / declared.log if declared.log else None,
            limit=declared.log_bytes,
            # The endpoint asks with its key already while it is loaded.
            secrets=secrets_of([*declared.environment, getattr(declared.endpoint, "key_env", "")]),
            awaited=self._ready.line,
        )
        self._starts += 1
        server = Server(self._arguments, folder=self._base, environment=self._environment, log=log)
        server.wait_ready(self._ready, float(duration(declared.start_timeout, what="start_timeout").base))
        return server

    def _ask_at(self, port: int) -> LoadedEndpoint:
        declared = self._declared.endpoint
        try:
            at_port: Backend = dataclasses.replace(
                declared, url=declared.url.replace(OPEN_PORT, f":{port}", 1)
            )
            loaded = cast("LoadedEndpoint", at_port.load(self._base))
            self._server.log.hide(secrets_of([loaded.target.key]))
        except BaseException:
            self._server.close()
            raise
        return loaded


def _ready(declared: str | Callable[[str], object]) -> Ready:
    if not isinstance(declared, str):
        return Ready(asks=declared)
    return Ready(path=declared) if declared.startswith("/") else Ready(line=declared)


def _checked_endpoint(endpoint: Any) -> None:
    url = getattr(endpoint, "url", None)
    usable = dataclasses.is_dataclass(endpoint) and not isinstance(endpoint, type)
    if not usable or not isinstance(url, str) or not isinstance(endpoint, Backend):
        raise DeclarationError(
            f"Served asks a {type(endpoint).__name__}; expected an endpoint, as in "
            "OpenAIEndpoint('http://127.0.0.1:{port}/v1', model='m')"
        )
    if OPEN_PORT not in url or not is_own(urlsplit(url.replace(OPEN_PORT, "")).hostname or ""):
        raise DeclarationError(
            f"the endpoint of Served is at {url}; expected the port that the server is given, on this "
            "machine: `http://127.0.0.1:{port}...`"
        )


def _checked_settings(settings: Mapping[str, str]) -> None:
    checked_names(list(settings), what="Served(settings=...)")
    for name, value in settings.items():
        if not isinstance(value, str):
            raise DeclarationError(f"`settings` of Served hold {name}={value!r}; expected a text")
        if _NAMED_SECRET.search(name):
            raise DeclarationError(
                f"`settings` of Served hold `{name}`, which looks like a secret and would be disclosed; pass "
                f"it by `environment=['{name}']`"
            )


def _version(
    base: Path, command: Sequence[str], environment: Mapping[str, str], secrets: Sequence[str]
) -> str:
    program = program_file(base, command[0])
    try:
        status, said = said_by(
            [str(program), *command[1:]],
            folder=base,
            environment=environment,
            limit=_VERSION_S,
            most=_VERSION_BYTES,
        )
    except TimeoutError:
        raise ProvisionError(
            f"`version=` of Served: `{program.name}` had not ended after {_VERSION_S:g} s, and was ended"
        ) from None
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    if status or not lines:
        raise ProvisionError(
            f"`version=` of Served: `{program.name}` ended with exit status {status} and said "
            f"{_quoted(lines[-1], secrets) if lines else 'nothing'!r}; expected a line that names the version"
        )
    return _quoted(lines[0], secrets)


def _quoted(text: str, secrets: Sequence[str]) -> str:
    return quoted(text, _LONGEST_VERSION, also=secrets, shown="(secret)")
