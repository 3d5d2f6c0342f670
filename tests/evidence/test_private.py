"""The private folder: a salt made once, a head, and nobody else's eyes."""

import pytest

from pytest_procure.errors import EvidenceError
from pytest_procure.evidence.private import Private, fingerprint


def test_the_salt_is_made_once(tmp_path):
    first = Private(tmp_path).make_salt()
    assert len(first) == 32
    assert Private(tmp_path).make_salt() == first
    assert Private(tmp_path).salt() == first


def test_there_is_no_salt_before_it_is_made(tmp_path):
    assert Private(tmp_path).salt() is None
    assert Private(tmp_path).head() is None


@pytest.mark.parametrize("text", ["", "zz", "00", "0" * 63, "0" * 66])
def test_a_damaged_salt_is_told(tmp_path, text):
    Private(tmp_path).make_salt()
    (tmp_path / ".procure" / "salt").write_text(text)
    with pytest.raises(EvidenceError, match=r".procure/salt holds no 64 hexadecimal digits"):
        Private(tmp_path).salt()


def test_the_environment_comes_first(tmp_path, monkeypatch):
    Private(tmp_path).make_salt()
    monkeypatch.setenv("PROCURE_SALT", "ab" * 32)
    assert Private(tmp_path).salt() == b"\xab" * 32
    monkeypatch.setenv("PROCURE_SALT", "ab")
    with pytest.raises(EvidenceError, match="environment variable PROCURE_SALT"):
        Private(tmp_path).salt()


def test_a_fingerprint_tells_salts_apart_and_gives_none_away():
    assert fingerprint(b"a" * 32) != fingerprint(b"b" * 32)
    assert (b"a" * 32).hex() not in fingerprint(b"a" * 32)
