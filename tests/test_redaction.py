"""Secrets, and who ran where, are in no record."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure import redaction
from pytest_procure.redaction import redacted, redacted_data

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
