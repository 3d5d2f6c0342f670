"""Whether anybody answers at an address: asked once, before a requirement's first request, and not later.

found ──► connected ──► [ TLS ] ──► `HEAD /`, without a key ──► a word of HTTP, whatever it says
"""

from __future__ import annotations

import socket
import ssl
from time import monotonic

from pytest_procure.errors import ProvisionError

from .failure import line
from .target import Target, trusting

#: A first packet that is lost is sent again after 1, 3 and 7 s.
PATIENCE_S = 10.0
#: How long a server is listened to. One that is silent for longer is there: how long it takes is measured.
WORD_S = 3.0
#: From here on it is known which status was answered.
_START = len(b"HTTP/1.1 400")
_RUN_AGAIN = "start the server, or mend host and port of the candidate's URL, and run again"


def reach(target: Target) -> None:
    """See that a server is there, and speaks what its URL says.

    Raises `ProvisionError` where the host cannot be found, nothing takes connections, TLS is spoken and not
    asked for, or asked for and not spoken, a certificate is not trusted, or what answers is no HTTP.
    """
    context = trusting(target) if target.scheme == "https" else None
    with _connected(target, PATIENCE_S) as connection:
        if context is None:
            said = _word(target, connection)
        else:
            with _secured(target, context, connection) as secured:
                said = _word(target, secured)
    if said is None or (said.startswith(b"HTTP/") and not _is_refusal_of_plain_text(target, said)):
        return
    if target.scheme == "http" and _speaks_tls(target):
        raise _unreached(target, f"the server speaks TLS; did you mean {_with_scheme(target, 'https')}?")
    if said and not said.startswith(b"HTTP/"):
        shown = line(said.decode("latin-1"))
        raise _unreached(target, f"what answers there is no HTTP (it begins `{shown}`)", _RUN_AGAIN)
    if not said:
        raise _unreached(target, "connections are closed without an answer", _RUN_AGAIN)


def _connected(target: Target, patience: float) -> socket.socket:
    """Connect to the first address that takes it; each gets its share of the time."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise _unreached(
            target, f"the host {target.host} cannot be found: {line(why)}", "mend the candidate's URL"
        ) from None
    why = ""
    for family, kind, protocol, _, where in found:
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(patience / len(found))
        try:
            connection.connect(where)
        except OSError as error:
            connection.close()
            late = isinstance(error, TimeoutError)
            why = f"no connection within {patience:g} s" if late else _words(error)
        else:
            return connection
    raise _unreached(target, why, _RUN_AGAIN)


def _secured(target: Target, context: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket:
    """Speak TLS over a connection, which is the result's from now on."""
    try:
        return context.wrap_socket(connection, server_hostname=target.host)
    except ssl.SSLCertVerificationError as error:
        raise _unreached(
            target,
            f"its certificate is not trusted: {line(error.verify_message).rstrip('.')}",
            "name the certificates to trust by `ca_file=`, or mend the host of the candidate's URL",
        ) from None
    except (OSError, ValueError) as error:  # a host's name may be none that TLS can ask for
        reason = _words(error)
    connection.close()  # a server that reads one connection after the other waits for its end
    if _speaks_http(target):
        raise _unreached(
            target, f"the server does not speak TLS; did you mean {_with_scheme(target, 'http')}?"
        )
    raise _unreached(target, f"no TLS connection: {reason}", _RUN_AGAIN)


def _word(target: Target, connection: socket.socket) -> bytes | None:
    """Ask for nothing much, and give how the answer begins; None where the server takes its time."""
    said = b""
    until = monotonic() + WORD_S
    try:
        connection.settimeout(WORD_S)
        connection.sendall(
            f"HEAD / HTTP/1.1\r\nHost: {target.authority}\r\nUser-Agent: pytest-procure\r\n"
            "Connection: close\r\n\r\n".encode("ascii")
        )
        while len(said) < _START:
            connection.settimeout(max(0.001, until - monotonic()))
            part = connection.recv(4096)
            if not part:
                break
            said += part
    except TimeoutError:
        return said or None
    except OSError:  # a reset
        return said
    return said


def _is_refusal_of_plain_text(target: Target, said: bytes) -> bool:
    """Whether it may be what servers of TLS answer to who speaks none: HTTP, status 400."""
    return target.scheme == "http" and said[_START - 3 : _START] == b"400"


def _speaks_tls(target: Target) -> bool:
    """Whether TLS is spoken there, whoever it is: nothing is sent over it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with _connected(target, WORD_S) as connection, context.wrap_socket(connection):
            return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # it refuses this handshake, in TLS
    except (OSError, ProvisionError):
        return False


def _speaks_http(target: Target) -> bool:
    """Whether HTTP is spoken there without TLS."""
    try:
        with _connected(target, WORD_S) as connection:
            return (_word(target, connection) or b"").startswith(b"HTTP/")
    except ProvisionError:
        return False


def _with_scheme(target: Target, scheme: str) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{scheme}://{host}:{target.port}"


def _words(error: Exception) -> str:
    """Give a system's reason in the middle of a sentence."""
    if isinstance(error, ssl.SSLError) and error.reason:
        return line(error.reason)
    told = line(getattr(error, "strerror", None) or error or type(error).__name__)
    return told[:1].lower() + told[1:]


def _unreached(target: Target, what: str, mend: str = "") -> ProvisionError:
    return ProvisionError(f"{target.url}: {what}" + (f"; {mend}" if mend else ""))
