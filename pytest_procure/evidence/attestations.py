"""What is said of a pack and signed: in-toto statements in DSSE envelopes, by ed25519 keys.

    attestations/test-result.dsse.json   the in-toto test-result predicate, for tools that know it
    attestations/verdict.dsse.json       our own predicate: the whole verdict
    attestations/KEY.pub                 the public keys that signed, by the first digits of their id

Statement: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md; envelope and what is signed
(PAE): https://github.com/secure-systems-lab/dsse. The id of a key is the SHA-256 of its SubjectPublicKeyInfo.
A signature is over the exact bytes of the statement, and the statement names the root of the manifest.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_procure.errors import EvidenceError, unwritten

from .manifest import OUTSIDE, read, read_bytes
from .plain import dumps, loads
from .whole import replace

if TYPE_CHECKING:  # an extra, and it takes a tenth of a second to import
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
VERDICT = "urn:pytest-procure:verdict:v1"
PAYLOAD = "application/vnd.in-toto+json"
_WORDS = {"accept": "PASSED", "waived": "PASSED", "inconclusive": "WARNED"}
_MOST = 64 << 20  # bytes of an envelope


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that can check signatures. `id`: 64 hexadecimal digits."""

    id: str
    pem: bytes
    key: Ed25519PublicKey

    def signed(self, signature: bytes, message: bytes) -> bool:
        """Whether this key made the signature of the message."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

        try:
            self.key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of the envelopes: (file, what is wrong with it), and who has signed all of them."""

    wrong: list[tuple[str, str]]
    signers: list[str]


def statements(folder: Path) -> dict[str, dict[str, Any]]:
    """Give what there is to say of a pack, by name of the attestation. Raises `EvidenceError`."""
    listed, root = read(folder)
    digests = {entry.path: entry.sha256 for entry in listed.files}
    record = loads(read_bytes(folder, "verdict.json"), "verdict.json")
    subject = [
        {"name": name, "digest": {"sha256": root if name == "manifest.json" else digests.get(name, "")}}
        for name in ("manifest.json", "verdict.json", "report.html")
    ]
    results = [result for q in record["requirements"] for result in q["results"]]
    named: dict[str, list[str]] = {"PASSED": [], "WARNED": [], "FAILED": []}
    for result in results:
        named[_WORDS.get(result["verdict"], "FAILED")].append(result["test"])
    worst = next((word for word in ("FAILED", "WARNED") if named[word]), "PASSED")
    accepted = bool(record["outcome"]["accepted"])
    test_result = {
        "result": "PASSED" if accepted else "FAILED" if worst == "PASSED" else worst,
        "configuration": [
            {"name": path, "digest": {"sha256": digest}}
            for path, digest in digests.items()
            if path in {"session.json", "environment.json"} or path.startswith("cases/")
        ],
        "passedTests": named["PASSED"],
        "warnedTests": named["WARNED"],
        "failedTests": named["FAILED"],
    }
    return {
        "test-result": _statement(subject, TEST_RESULT, test_result),
        "verdict": _statement(subject, VERDICT, record),
    }


def _statement(subject: list[dict[str, Any]], kind: str, predicate: dict[str, Any]) -> dict[str, Any]:
    return {"_type": STATEMENT, "subject": subject, "predicateType": kind, "predicate": predicate}


def pae(kind: str, body: bytes) -> bytes:
    """Give the bytes that a DSSE signature is made of (pre-authentication encoding)."""
    name = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(body), body)


def sign(folder: Path, key: Ed25519PrivateKey, *, first: bool) -> str:
    """Sign a pack's statements; give the key's id. `first`: the pack must not be signed yet, else it must be.

    Raises `EvidenceError` where that does not fit, or the key has signed already.
    """
    public = _public(key.public_key())
    for name, statement in statements(folder).items():
        file = f"{OUTSIDE}/{name}.dsse.json"
        body = dumps(statement).encode("ascii")
        there = (folder / file).exists()
        if there and first:
            raise EvidenceError(
                f"{file}: the pack is signed already; a second party uses `procure countersign`"
            )
        if not there and not first:
            raise EvidenceError(f"{folder}: the pack is not signed yet; use `procure sign`")
        signatures = loads(read_bytes(folder, file, _MOST), file)["signatures"] if there else []
        if any(each["keyid"] == public.id for each in signatures):
            raise EvidenceError(f"{file}: key {public.id[:16]} has signed already")
        made = base64.b64encode(key.sign(pae(PAYLOAD, body))).decode()
        envelope = {
            "payload": base64.b64encode(body).decode(),
            "payloadType": PAYLOAD,
            "signatures": [*signatures, {"keyid": public.id, "sig": made}],
        }
        _put(folder / file, dumps(envelope).encode())
    _put(folder / OUTSIDE / f"{public.id[:16]}.pub", public.pem)
    return public.id


def check(
    folder: Path, paths: Iterable[str], expected: dict[str, dict[str, Any]], trusted: Iterable[PublicKey]
) -> Checked:
    """Check the envelopes against what they should say, and their signatures. Raises `EvidenceError`.

    Signatures by keys that are not trusted are checked by the key that lies in the pack, which shows that
    they are whole, and not whose they are.
    """
    wrong: list[tuple[str, str]] = []
    keys = {key.id: key for key in trusted}
    known = {f"{OUTSIDE}/{name}.dsse.json" for name in expected}
    wrong += [(path, "the envelope is missing") for path in sorted(known - set(paths))]
    signers: list[set[str]] = []
    named: set[str] = set()
    for name, statement in expected.items():
        file = f"{OUTSIDE}/{name}.dsse.json"
        if file not in paths:
            signers.append(set())
            continue
        try:
            ids, said = _envelope(folder, file, dumps(statement).encode("ascii"), keys)
        except (EvidenceError, KeyError, TypeError, ValueError) as error:
            ids, said = {}, [str(error).removeprefix(f"{file}: ")]
        wrong += [(file, each) for each in said]
        named |= ids.keys()
        signers.append({each for each, valid in ids.items() if valid})
    known |= {f"{OUTSIDE}/{each[:16]}.pub" for each in named}
    wrong += [(path, "the file is unknown: no envelope names it") for path in sorted(set(paths) - known)]
    wrong += [
        (path, "the public key is missing") for path in sorted(known - set(paths)) if path.endswith(".pub")
    ]
    whole = set.intersection(*signers) if signers else set()
    return Checked(wrong, sorted(whole))


def _envelope(
    folder: Path, file: str, body: bytes, keys: dict[str, PublicKey]
) -> tuple[dict[str, bool], list[str]]:
    """Check one envelope: (key id -> whether its signature holds, what is wrong)."""
    envelope = loads(read_bytes(folder, file, _MOST), file)
    if set(envelope) != {"payload", "payloadType", "signatures"} or envelope["payloadType"] != PAYLOAD:
        return {}, ["no DSSE envelope of an in-toto statement"]
    wrong = []
    if _decoded(envelope["payload"]) != body:
        wrong.append("says something else than the pack holds")
    found: dict[str, bool] = {}
    for number, each in enumerate(envelope["signatures"]):
        if set(each) != {"keyid", "sig"} or each["keyid"] in found:
            return found, [*wrong, f"signature {number} is none as DSSE has them, or stands twice"]
        given = keys.get(each["keyid"])
        there = _key(read_bytes(folder, f"{OUTSIDE}/{each['keyid'][:16]}.pub", 10_000), "the key in the pack")
        if there.id != each["keyid"] or (given is not None and given.id != there.id):
            wrong.append(f"signature {number} names another key than the one that lies in the pack")
        valid = there.id == each["keyid"] and there.signed(_decoded(each["sig"]), pae(PAYLOAD, body))
        if not valid:
            wrong.append(f"signature {number} does not hold")
        found[each["keyid"]] = valid
    if not found:
        wrong.append("nobody has signed it")
    return found, wrong


def _decoded(text: str) -> bytes:
    """Decode base64 that has one spelling only. Raises `EvidenceError`."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise EvidenceError("base64 that is not in its canonical form")
    return data


def public_key(path: Path) -> PublicKey:
    """Read a public key. Raises `EvidenceError`."""
    try:
        data = path.read_bytes()[:10_000]
    except OSError as error:
        raise EvidenceError(f"the key {path} cannot be read: {error.strerror}") from error
    return _key(data, str(path))


def private_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key. Raises `EvidenceError`; no message holds anything of the key."""
    ed25519, serialization = _cryptography()
    try:
        key = serialization.load_pem_private_key(path.read_bytes()[:10_000], password=None)
    except OSError as error:
        raise EvidenceError(f"the key {path} cannot be read: {error.strerror}") from error
    except (TypeError, ValueError):
        raise EvidenceError(f"{path} is no private key of ours; `procure keygen` makes one") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise EvidenceError(f"{path} is a key of another kind; expected ed25519, as `procure keygen` makes")
    private: Ed25519PrivateKey = key
    return private


def generate(path: Path) -> str:
    """Make a key pair: PATH, for its owner alone, and PATH.pub; give its id. Never overwrites a file."""
    ed25519, serialization = _cryptography()
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = _public(key.public_key())
    other = path.with_name(f"{path.name}.pub")
    for file in (path, other):
        if file.exists():
            raise EvidenceError(f"{file} is there already; name another file, for a key is never overwritten")
    made: list[Path] = []
    try:
        for file, data, mode in ((path, secret, 0o600), (other, public.pem, 0o644)):
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            made.append(file)
            with os.fdopen(handle, "wb") as opened:
                opened.write(data)
    except OSError as error:
        for file in made:  # half a pair is none
            with suppress(OSError):
                file.unlink()
        raise unwritten(f"the key {path.name}", error, path.parent) from error
    return public.id


def _key(data: bytes, where: str) -> PublicKey:
    ed25519, serialization = _cryptography()
    try:
        key = serialization.load_pem_public_key(data)
    except (TypeError, ValueError):
        raise EvidenceError(f"{where} is no public key; expected the .pub file of `procure keygen`") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise EvidenceError(f"{where} is a key of another kind; expected ed25519, as `procure keygen` makes")
    made = _public(key)
    if made.pem != data:
        raise EvidenceError(f"{where} is a public key in another form than `procure keygen` writes")
    return made


def _public(key: Ed25519PublicKey) -> PublicKey:
    _, serialization = _cryptography()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = key.public_bytes(serialization.Encoding.PEM, form)
    return PublicKey(sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest(), pem, key)


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - the same
    except ImportError:
        raise EvidenceError(
            "signatures need the package `cryptography`; `pip install 'pytest-procure[sign]'`"
        ) from None
    return ed25519, serialization


def _put(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        replace(path, data, 0o644)
    except OSError as error:
        raise unwritten(path.name, error, path.parent) from error
