"""Where an endpoint is and how it is spoken to, as plain data: it travels to the load processes as JSON."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from pytest_procure.errors import DeclarationError, ProvisionError
from pytest_procure.redaction import is_named_secret, keep_secret

#: Most bytes of one answer, and of its head; a server that sends more is cut off.
MOST_BODY = 8 << 20
MOST_HEAD = 64 << 10
#: Stands for the port of a server that `Served` starts.
OPEN_PORT = ":{port}"
#: Stands for the sample in the template of a request's JSON.
SAMPLE = "$sample"
_PORTS = {"http": 80, "https": 443}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, a field name
_KEY_FIELD = re.compile(r"(?i)(?:.*[-_.])?(?:api-?key|key|token|auth|secret|password|credential|cookie)")
_NOT_OURS = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "authorization"}


@dataclass(frozen=True, slots=True)
class Target:
    """One URL that takes POST requests.

    `reader` names how answers are read. `key` is the name of the environment variable that holds the secret,
    never the secret, and `key_field` where it goes; `ca` a file with the certificates to trust.
    """

    scheme: str
    host: str
    port: int
    path: str
    reader: str
    stream: bool = False
    key: str = ""
    key_field: str = "Authorization"
    headers: tuple[tuple[str, str], ...] = ()
    ca: str = ""
    select: tuple[str | int, ...] = ()  # json: the way to the output; kserve: names of outputs
    media: str = "application/json"  # of a request's body

    @property
    def authority(self) -> str:
        """Host and port as the Host field names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address, for people."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def hidden(self) -> str:
        """Give the secret, so that an answer that repeats it can be kept out of every record; "" for none."""
        return secret(self.key) if self.key else ""

    def head(self) -> bytes:
        """Give the start of every request, up to where Content-Length and the body differ.

        Reads the secret from the environment. Raises `ProvisionError` when it is not there.
        """
        accept = "text/event-stream" if self.stream else "application/json"
        if self.media != "application/json":
            accept = f"{self.media}, {accept}"
        lines = [
            f"POST {self.path} HTTP/1.1",
            f"Host: {self.authority}",
            f"Content-Type: {self.media}",
            f"Accept: {accept}",
            "Accept-Encoding: identity",  # what is compressed is not read, so that no bomb is unpacked
            "User-Agent: pytest-procure",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        if self.key:
            scheme = "Bearer " if self.key_field.lower() == "authorization" else ""
            lines.append(f"{self.key_field}: {scheme}{secret(self.key)}")
        return ("\r\n".join(lines) + "\r\n").encode("latin-1")

    def as_dict(self) -> dict[str, Any]:
        """Give all of it as plain JSON data."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Target:
        """Read what `as_dict` gave, also after it was JSON."""
        headers = tuple((name, value) for name, value in plain["headers"])
        return cls(**{**plain, "headers": headers, "select": tuple(plain["select"])})


def check_url(url: str, *, what: str) -> None:
    """Check an address as it is declared: its port may be left open. Raises `DeclarationError`."""
    parse_url(url.replace(OPEN_PORT, ":1", 1) if isinstance(url, str) else url, what=what)


def parse_url(url: str, *, what: str) -> SplitResult:
    """Check an address. Raises `DeclarationError`; what it quotes holds no user name and no password."""
    if isinstance(url, str) and OPEN_PORT in url:
        raise DeclarationError(
            f"the URL of {what} leaves its port open, which only a server that is started here can fill; "
            "expected `Served([...], ...)` around it, or a port"
        )
    try:
        split = urlsplit(url)
        port, host = split.port, split.hostname
    except (ValueError, AttributeError):
        raise DeclarationError(f"the URL of {what} cannot be read; expected `https://host/v1`") from None
    if split.username is not None or split.password is not None:
        raise DeclarationError(f"the URL of {what} holds a user name or a password; expected `key_env=NAME`")
    printable = url.isascii() and url.isprintable() and " " not in url
    if split.scheme not in _PORTS or not host or port == 0 or not printable:
        raise DeclarationError(f"the URL of {what} is {url!r}; expected for example `https://host/v1`")
    if split.query or split.fragment:
        raise DeclarationError(f"the URL of {what} holds a query or a fragment; expected `https://host/v1`")
    return split


def target_at(split: SplitResult, path: str, **more: Any) -> Target:
    """Make a target from a checked address."""
    host = split.hostname or ""
    return Target(split.scheme, host, split.port or _PORTS[split.scheme], path, **more)


def checked_headers(headers: dict[str, str], *, what: str) -> tuple[tuple[str, str], ...]:
    """Check header fields that an author adds. Raises `DeclarationError`; values are never quoted."""
    for name, value in headers.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise DeclarationError(f"{what}: `{name!r}` is no name of a header field")
        if name.lower() in _NOT_OURS:
            raise DeclarationError(f"{what}: the header field `{name}` is set by the driver; leave it out")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise DeclarationError(f"{what}: the header field `{name}` has a value that is no plain text")
        if _KEY_FIELD.fullmatch(name):
            _refuse_literal(name, value, what=f"the header field `{name}` of {what}", field=f"'{name}'")
    return tuple(headers.items())


def check_key(variable: str, field: str, *, what: str) -> None:
    """Check the name of the variable that holds a key, and of the header field that it goes into.

    Raises `DeclarationError`, which never quotes the variable's name: somebody may have put the key there.
    """
    if not isinstance(variable, str) or (variable and not _VARIABLE.fullmatch(variable)):
        raise DeclarationError(
            f"`key_env` of {what} names no environment variable; expected the name of the one that holds the "
            "key, as in key_env='VENDOR_KEY', not the key"
        )
    if not isinstance(field, str) or field.lower() != "authorization":
        checked_headers({field: ""}, what=what)


def refuse_literal_keys(data: Any, *, what: str) -> None:
    """Refuse a key that is written out in the JSON of each request. Raises `DeclarationError`.

    `what` names the parameter, as in "`options` of an OpenAIEndpoint". One that stands in the environment is
    taken, and kept out of every record.
    """
    for name, value in _texts(data):
        if is_named_secret(name):
            _refuse_literal(name, value, what=f"`{name}` in {what}")


def _texts(data: Any) -> Iterator[tuple[str, str]]:
    """Give each text that stands in a field, with the field's name."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            if isinstance(value, str):
                yield str(name), value
            else:
                yield from _texts(value)
    elif isinstance(data, Sequence) and not isinstance(data, str | bytes):
        for each in data:
            yield from _texts(each)


def _refuse_literal(name: str, value: str, *, what: str, field: str = "") -> None:
    """Let a key pass that stands in the environment. Raises `DeclarationError` for any other."""
    if value and value != SAMPLE and value not in os.environ.values():
        there = f"`key_env=NAME, key_header={field}`, or " if field else ""
        raise DeclarationError(
            f"{what} looks like a key that is written out, and keys come from the environment; expected "
            f"{there}`os.environ['NAME']`"
        )
    keep_secret(name, value, surely=True)


def secret(name: str) -> str:
    """Read a key from the environment. Raises `ProvisionError`, which names the variable alone."""
    value = os.environ.get(name, "")
    if not value:
        raise ProvisionError(f"the environment variable `{name}` is not set; it holds the endpoint's key")
    if not value.isascii() or not value.isprintable():
        raise ProvisionError(f"the environment variable `{name}` holds what can be no key")
    keep_secret(name, value, surely=True)
    return value


def trusting(target: Target) -> ssl.SSLContext:
    """Make what says whose certificates are trusted. Raises `ProvisionError` for a file that holds none."""
    try:
        return ssl.create_default_context(cafile=target.ca or None)
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror
        raise ProvisionError(f"`ca_file` `{target.ca}` holds no certificates in PEM: {reason}") from None


def refuse_proxy(target: Target) -> None:
    """Raise `ProvisionError` where the environment sends this address through a proxy.

    A proxy's time would be measured as the candidate's. This machine's own addresses never take one.
    """
    if is_own(target.host):
        return
    proxies = getproxies_environment()
    chosen = target.scheme if target.scheme in proxies else "all"
    if chosen in proxies and not proxy_bypass(target.host, proxies):
        raise ProvisionError(
            f"the environment sends {target.scheme}://{target.host} through a proxy "
            f"(`{chosen.upper()}_PROXY`), whose time would be measured as the candidate's; "
            f"unset it, or add {target.host} to `NO_PROXY`"
        )


def is_own(host: str) -> bool:
    """Whether a host is this machine by its own name for itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
