"""Signatures: who has signed what, by keys that others can check with other tools."""

import base64
import json
import stat

import pytest

from pytest_procure.cli import main
from pytest_procure.errors import EvidenceError
from pytest_procure.evidence import attestations
from pytest_procure.verify import verify


def envelope(folder, name="verdict"):
    return json.loads((folder / "attestations" / f"{name}.dsse.json").read_text())


def holding(found):
    return [level.name for level in found.levels if level.holds]


def test_what_is_signed_is_an_in_toto_statement_about_the_root_of_the_pack(signed):
    statement = json.loads(base64.b64decode(envelope(signed, "test-result")["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert statement["subject"][0] == {"name": "manifest.json", "digest": {"sha256": verify(signed).root}}
    assert statement["predicate"]["result"] in {"PASSED", "WARNED", "FAILED"}
    assert "test_words[acme]" in statement["predicate"]["passedTests"]


def test_the_second_statement_holds_the_whole_verdict(signed):
    statement = json.loads(base64.b64decode(envelope(signed)["payload"]))
    assert statement["predicate"] == json.loads((signed / "verdict.json").read_text())


def test_the_signature_is_over_the_encoding_that_dsse_defines(signed, keys):
    assert attestations.pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"  # the example of the specification
    )
    told = envelope(signed)
    message = attestations.pae(told["payloadType"], base64.b64decode(told["payload"]))
    key = attestations.public_key(keys["buyer"][1])
    assert key.signed(base64.b64decode(told["signatures"][0]["sig"]), message)


def test_levels_hold_as_far_as_keys_and_anchor_show(signed, copied, keys):
    buyer, vendor = keys["buyer"][1], keys["vendor"][1]
    root = verify(signed).root
    assert holding(verify(signed)) == ["L0"]
    assert holding(verify(signed, keys=[buyer])) == ["L0", "L1"]
    assert holding(verify(signed, keys=[buyer], anchor=root)) == ["L0", "L1", "L2"]
    attestations.sign(copied, attestations.private_key(keys["vendor"][0]), first=False)
    found = verify(copied, keys=[buyer, vendor], anchor=root)
    assert (found.holds, holding(found)) == (True, ["L0", "L1", "L2", "L3"])


def test_a_level_that_needs_keys_says_that_none_were_given(signed, keys):
    *_, counter_signed = verify(signed).levels
    assert counter_signed.why.startswith("no keys were given; --key takes ")
    *_, counter_signed = verify(signed, keys=[keys["buyer"][1], keys["vendor"][1]]).levels
    assert counter_signed.why == "1 of the 2 keys you gave signed it"


def test_a_pack_that_is_not_the_anchored_one_does_not_hold(signed, keys):
    found = verify(signed, keys=[keys["buyer"][1]], anchor="0" * 64)
    assert not found.holds
    assert "is the anchor" in str(found.mismatches[0])


def test_every_level_says_what_it_does_not_show(signed):
    assert all(level.leaves_open and level.proves and level.why for level in verify(signed).levels)


def test_no_level_holds_for_a_pack_that_does_not(copied, keys):
    (copied / "report.html").write_text("<html>")
    assert holding(verify(copied, keys=[keys["buyer"][1]])) == []


def test_a_key_that_has_not_signed_is_a_mismatch(signed, keys):
    found = verify(signed, keys=[keys["vendor"][1]])
    assert not found.holds
    assert "has not signed this pack" in str(found.mismatches[-1])


def test_an_unsigned_pack_does_not_hold_for_whoever_asks_for_a_signature(written, keys):
    folder = written("plain", "words")
    assert verify(folder).holds
    assert not verify(folder, keys=[keys["buyer"][1]]).holds


def test_a_pack_made_anew_and_signed_by_another_key_does_not_pass_for_the_buyers(copied, resealed, keys):
    resealed(copied)
    attestations.sign(copied, attestations.private_key(keys["vendor"][0]), first=True)
    assert verify(copied).holds
    assert not verify(copied, keys=[keys["buyer"][1]]).holds


def test_signatures_of_another_pack_do_not_pass(copied, written, keys):
    other = written("other", "words")
    attestations.sign(other, attestations.private_key(keys["buyer"][0]), first=True)
    for name in ("verdict", "test-result"):
        target = copied / "attestations" / f"{name}.dsse.json"
        target.write_bytes((other / "attestations" / f"{name}.dsse.json").read_bytes())
    found = verify(copied, keys=[keys["buyer"][1]])
    assert any("says something else than the pack holds" in str(each) for each in found.mismatches)


def test_a_key_is_for_its_owner_alone_and_never_overwritten(tmp_path, capsys):
    assert main(["keygen", str(tmp_path / "key")]) == 0
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    before = (tmp_path / "key").read_bytes()
    assert main(["keygen", str(tmp_path / "key")]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "key").read_bytes() == before


def test_signing_twice_with_one_key_is_refused(copied, keys):
    key = attestations.private_key(keys["buyer"][0])
    with pytest.raises(EvidenceError, match="has signed already"):
        attestations.sign(copied, key, first=False)
    with pytest.raises(EvidenceError, match="uses `procure countersign`"):
        attestations.sign(copied, key, first=True)


def test_a_pack_that_does_not_hold_is_not_signed(copied, keys, capsys):
    (copied / "report.html").write_text("<html>")
    assert main(["countersign", str(copied), "--key", str(keys["vendor"][0])]) == 2
    assert "does not hold, so it is not signed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "data", [b"", b"hush", b"-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n"]
)
def test_a_file_that_is_no_key_is_refused_without_its_text(tmp_path, data):
    (tmp_path / "key").write_bytes(data)
    for read in (attestations.private_key, attestations.public_key):
        with pytest.raises(EvidenceError) as error:
            read(tmp_path / "key")
        assert "hush" not in str(error.value)


def test_another_implementation_of_dsse_verifies_the_envelope(signed):
    dsse = pytest.importorskip("securesystemslib.dsse")
    signer = pytest.importorskip("securesystemslib.signer")
    told = envelope(signed)
    (keyid,) = [each["keyid"] for each in told["signatures"]]
    pem = (signed / "attestations" / f"{keyid[:16]}.pub").read_text()
    key = signer.SSlibKey(keyid, "ed25519", "ed25519", {"public": _raw(pem).hex()})
    theirs = dsse.Envelope.from_dict({**told, "signatures": [dict(each) for each in told["signatures"]]})
    assert theirs.verify([key], 1)


def _raw(pem):
    from cryptography.hazmat.primitives import serialization

    return serialization.load_pem_public_key(pem.encode()).public_bytes_raw()
