"""Secrets, and who ran where, are in no record."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure import redaction
from pytest_procure.redaction import (
    keep_secret,
    later_part,
    quoted,
    redacted,
    redacted_data,
    without_environment,
    without_keys,
    without_secret_options,
)

# Made up, in the form of real ones; written in two parts so that nobody's scanner takes them for real.
KEYS = [
    "sk" + "-abcdefghijklmnop1234",
    "gh" + "p_abcdefghijklmnopqrst",
    "h" + "f_abcdefghijklmnopqrst",
    "AKI" + "AABCDEFGHIJKLMNOP",
    "ey" + "Jhbacdefgh.eyJzdWIiOiIx.c2lnbmF0dXJl",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_taken_out_of_any_text(key):
    assert key not in redacted(f"401 Unauthorized: {key} is not valid")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("api_key=hush", "api_key=[redacted]"),
        ('"password": "hush"', '"password": "[redacted]"'),
        ("Authorization: Bearer hushhushhush", "Authorization: Bearer [redacted]"),
        ("MY_PW=hush", "MY_PW=[redacted]"),
        ("a pwd: hush, b", "a pwd: [redacted], b"),
        ("https://me:hush@host/v1", "https://[redacted]@host/v1"),
        ("/home/alice/models/a.onnx", "~/models/a.onnx"),
        ("/Users/alice/a.onnx", "~/a.onnx"),
    ],
)
def test_what_stands_behind_a_secrets_name_is_taken_out(text, kept):
    assert redacted(text) == kept


def test_the_users_own_folder_is_not_named():
    redaction._own.cache_clear()  # pytester gives its sessions another home, also those in this process
    assert str(Path.home()) not in redacted(f"cannot read {Path.home()}/models/a.onnx")


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens 512",
        "latency.p95 at most 80 ms",
        "ValueError: thirteen",
        "onnxruntime 1.32.0",
        "a/b/c.onnx",
    ],
)
def test_ordinary_words_stay(text):
    assert redacted(text) == text


@given(st.text())
def test_what_is_redacted_stays_as_it_is(text):
    once = redacted(text)
    assert redacted(once) == once


def test_fields_named_like_secrets_are_hidden_and_counts_are_not():
    told = {
        "api_key": "hush",
        "tokens": 12,
        "model": {"access_token": "hush", "name": "m"},
        "list": ["api_key=hush"],
    }
    assert redacted_data(told) == {
        "api_key": "[redacted]",
        "tokens": 12,
        "model": {"access_token": "[redacted]", "name": "m"},
        "list": ["api_key=[redacted]"],
    }


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        (["--api-key", "hush"], ["--api-key", "[redacted]"]),
        (["--api-key=hush"], ["--api-key=[redacted]"]),
        (["--hf-token", "hush", "--port"], ["--hf-token", "[redacted]", "--port"]),
        (["--key", "hush"], ["--key", "[redacted]"]),
        (["-key=hush"], ["-key=[redacted]"]),
        (["--auth", "--port"], ["--auth", "--port"]),
        (["--max-tokens", "512"], ["--max-tokens", "512"]),
        (["--tokenizer", "t.json"], ["--tokenizer", "t.json"]),
        (["the api-key", "of"], ["the api-key", "of"]),
    ],
    ids=str,
)
def test_the_value_of_an_option_that_is_named_like_a_secret_is_hidden(option, shown):
    told = redacted_data({"command": ["serve", "m", *option]})
    assert told == {"command": ["serve", "m", *shown]}
    assert redacted_data(told) == told


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("behind", ["", "!", "!?", ":more"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_key_in_base64_is_taken_out_wherever_it_stands_in_what_is_encoded(before, behind, encode):
    key = "Sesam\u00ff\u00fe>?/offne-dich-0123"
    keep_secret("ACME_KEY", key)
    said = encode(f"{before}{key}{behind}".encode()).decode()
    for shown in (quoted(f"no: {said}", 200), redacted(f"no: {said}"), without_keys(f"no: {said}")):
        inside = said[3 + len(before) * 2 : -4 - len(behind) * 2]
        assert len(inside) > 15
        assert inside not in shown
        assert "[redacted]" in shown


def test_a_key_in_base64_is_found_over_lines_and_with_escapes():
    keep_secret("ACME_KEY", "\u00bf\u00bf\u00bf>>>???~~~open-sesame-open-sesame")
    said = base64.b64encode("\u00bf\u00bf\u00bf>>>???~~~open-sesame-open-sesame".encode()).decode()
    assert "/" in said
    broken = f"{said[:10]}\n{said[10:20]}\r\n{said[20:]}"
    for written in (broken, said.replace("/", "\\/"), said.replace("/", "%2F")):
        assert said[12:18] not in quoted(written, 200)


def test_words_that_are_short_are_not_looked_for_in_base64():
    keep_secret("A_KEY", "abcd")
    assert redacted("a YWJj d") == "a YWJj d"


LONG = "K3y/" + "abcdefghij0123456789" * 3


@pytest.mark.parametrize("before", range(60, 130, 7))
def test_a_key_is_taken_out_before_a_text_is_cut(before):
    keep_secret("ACME_KEY", LONG)
    assert "K3y" not in quoted("." * before + " " + LONG, 120)


@pytest.mark.parametrize(
    "written",
    [
        LONG.replace("/", r"\/"),
        LONG.replace("/", r"\\/"),
        LONG.replace("a", r"\u0061"),
        json.dumps(json.dumps(LONG))[3:-3],
        "".join(f"\\u{ord(sign):04X}" for sign in LONG),
        LONG.replace("/", "%2F"),
        LONG[:30] + "\r\n" + LONG[30:],
        LONG[:30] + r"\n" + LONG[30:],
    ],
)
def test_a_key_is_found_where_it_is_written_with_escapes_or_over_two_lines(written):
    keep_secret("ACME_KEY", LONG)
    for text in (quoted(f"wrong key: {written}!", 120), redacted(f"wrong key: {written}!")):
        assert text.replace('"', "").replace("\\", "") == "wrong key: [redacted]!"


@given(st.integers(0, 20_000), st.integers(1, 40))
def test_no_piece_of_a_key_is_left_at_the_end_of_what_is_looked_at(before, times):
    long = "piece-of-a-key-" * 60
    assert "piece" not in quoted(" " * before + (long + " ") * times, 200, also=[long])


def test_a_hostile_text_is_searched_in_no_time():
    keep_secret("ACME_KEY", LONG)
    for text in ("\\" * 100_000, "K" * 100_000, (LONG[:-1] + "!") * 2_000, " \n" * 50_000):
        quoted(text, 200)


@pytest.mark.parametrize("option", ["-phunter2x", "-Phunter2x", "-p!secret", "-p4x$"])
def test_a_password_that_is_glued_to_its_option_is_hidden(option):
    assert without_secret_options(["./v", option, "-n4"]) == ["./v", f"{option[:2]}[redacted]", "-n4"]


@pytest.mark.parametrize(
    "option", ["-p8080", "-p127.0.0.1:80", "-parallel", "-pool=4", "-p", "-pool-size=b2", "--p4x", "-p/a/b4"]
)
def test_an_option_that_begins_alike_stays(option):
    assert without_secret_options([option, "7"]) == [option, "7"]


def test_paths_and_short_values_of_the_environment_stay_in_arguments(monkeypatch, tmp_path):
    monkeypatch.setenv("SOMEWHERE", str(tmp_path))
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("DB_KEY", "abcd")
    told = without_environment([f"{tmp_path}/model", "--fast=true", "--db=abcd", "x"])
    assert told == [f"{tmp_path}/model", "--fast=true", "--db=[redacted]", "x"]


@pytest.mark.parametrize("lost", range(0, 45, 4))
def test_what_a_text_begins_with_may_be_the_end_of_a_key(lost):
    key = "K3y-" + "0123456789" * 4
    told = later_part((key * 3 + " is wrong" + "." * 999 + "all there is to say of it")[lost:], also=[key])
    assert "0123" not in told
    assert told.endswith("all there is to say of it")
