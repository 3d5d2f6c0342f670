"""Keys come from the environment: what is written out is refused, and what came from there stands nowhere."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_procure import redaction
from pytest_procure.backends import HttpJson, KServeV2, OpenAIEndpoint
from pytest_procure.backends.endpoints.failure import line
from pytest_procure.backends.endpoints.openai_answers import read_whole, said
from pytest_procure.backends.endpoints.target import Target, secret
from pytest_procure.driver.endpoint import settle
from pytest_procure.errors import DeclarationError, ProvisionError
from pytest_procure.redaction import without_keys

URL = "http://127.0.0.1:9"
WRITTEN = "written-out-0123456789"


def openai(**more):
    return OpenAIEndpoint(URL, model="m", **more)


def kserve(**more):
    return KServeV2(URL, model="m", **more)


def http_json(**more):
    return HttpJson(URL, **more)


ALL = pytest.mark.parametrize("declare", [openai, kserve, http_json])


@ALL
def test_a_key_in_place_of_its_variables_name_is_refused_and_not_quoted(declare):
    with pytest.raises(DeclarationError) as refusal:
        declare(key_env=WRITTEN)
    assert "expected the name of the one that holds the key, as in key_env='VENDOR_KEY'" in str(refusal.value)
    assert WRITTEN not in str(refusal.value)


@ALL
@pytest.mark.parametrize(
    "field", ["X-Api-Key", "Ocp-Apim-Subscription-Key", "X-Auth-Token", "Cookie", "apikey"]
)
def test_a_key_that_is_written_out_in_a_header_field_is_refused_and_not_quoted(declare, field):
    with pytest.raises(DeclarationError) as refusal:
        declare(headers={field: WRITTEN})
    assert f"the header field `{field}`" in str(refusal.value)
    assert f"key_env=NAME, key_header='{field}'" in str(refusal.value)
    assert WRITTEN not in str(refusal.value)


@ALL
def test_one_that_stands_in_the_environment_is_taken_and_stands_in_no_record(declare, monkeypatch):
    monkeypatch.setenv("TEAM_PASS", "team-pass-0123456789")
    declared = declare(headers={"X-Api-Key": "team-pass-0123456789", "X-Team": "procurement"})
    assert "team-pass" not in repr(declared)
    assert without_keys("denied: team-pass-0123456789") == "denied: [redacted]"


@pytest.mark.parametrize(
    ("declare", "what"),
    [
        (lambda body: openai(options=body), "`api_key` in `options` of an OpenAIEndpoint"),
        (lambda body: http_json(template=body | {"q": "$sample"}), "`api_key` in `template` of an HttpJson"),
    ],
)
@pytest.mark.parametrize("body", [{"api_key": WRITTEN}, {"with": [{"api_key": WRITTEN}]}])
def test_a_key_that_is_written_out_in_a_request_s_json_is_refused(declare, what, body):
    with pytest.raises(DeclarationError) as refusal:
        declare(body)
    assert what in str(refusal.value)
    assert WRITTEN not in str(refusal.value)


def test_what_only_sounds_like_a_key_is_taken():
    openai(options={"max_tokens": 4, "stop_token": "</s>", "logit_bias": {"7": -1}})
    http_json(template={"text": "$sample", "secret": "$sample", "tokenizer": "bpe"})
    kserve(headers={"X-Keyboard": "dvorak", "X-Tokens-Left": "many"})


@ALL
@pytest.mark.parametrize("field", ["A\r\nB", "", "Host"])
def test_a_key_goes_into_a_field_that_there_can_be(declare, field):
    with pytest.raises(DeclarationError, match="header field"):
        declare(key_header=field)


def test_a_server_s_refusal_is_quoted_without_the_key_where_an_endpoint_is_asked_as_a_stage(
    mock, monkeypatch
):
    monkeypatch.setenv("MOCK_KEY", "a-key-0123456789")
    mock.behave(echo_every=1)
    loaded = mock.endpoint(key_env="MOCK_KEY")
    with pytest.raises(RuntimeError) as refusal:
        loaded.predict(["hello"])
    assert str(refusal.value) == "HTTP 401: wrong key Bearer [key]"


@ALL
def test_a_key_is_known_from_its_declaration_on(declare, monkeypatch):
    monkeypatch.setenv("EARLY_KEY", "early-key-0123456789")
    declare(key_env="EARLY_KEY")
    assert without_keys("denied: early-key-0123456789") == "denied: [redacted]"


KEY = "K3y" + "abcdefghij0123456789" * 3


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("PADDED_KEY", KEY)
    return secret("PADDED_KEY")


@pytest.mark.parametrize("padding", range(0, 220, 11))
def test_a_server_s_words_are_cut_without_half_a_key(key, padding):
    told = "." * padding + f" key: {key}"
    document = json.dumps({"error": {"message": told}}).encode()
    for body in (document, told.encode(), document[:-1], b'{"detail": ' + document + b"}"):
        assert "K3y" not in said(body)
        assert "K3y" not in read_whole(body, chat=True).text


def test_a_key_is_taken_out_of_an_error_that_is_no_text(key):
    body = json.dumps({"error": {"given": [{"key": '"' + key}], "more": "." * 9000}}).encode()
    assert "K3y" not in said(body)
    assert "K3y" not in said(body[:-1].replace(b"a", b"\\u0061"))


def test_a_load_process_takes_out_all_keys_of_the_session(key, monkeypatch):
    told = json.loads(json.dumps(Target("http", "host", 80, "/", "chat").as_dict()))
    for kept in ("_GIVEN", "_SENT"):
        monkeypatch.setattr(redaction, kept, set())
    Target.of(told)
    assert line("." * 150 + key) == "." * 150 + "[key]"


def test_a_key_in_the_head_of_an_answer_is_not_cut_in_two(key):
    answer = settle.Answer((0, 302, {"location": b"http://host/" + b"." * 170 + key.encode()}, [], [], False))
    assert "K3y" not in answer.fields["location"]


def test_a_server_without_the_model_is_quoted_without_half_a_key(key, tmp_path):
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(401)
            self.end_headers()
            self.wfile.write(b"." * 90 + self.headers["Authorization"].encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        declared = KServeV2(f"http://127.0.0.1:{server.server_port}", model="m", key_env="PADDED_KEY")
        with pytest.raises(ProvisionError) as refusal:
            declared.load(tmp_path)
        server.shutdown()
    assert str(refusal.value).endswith("." * 90 + "Bearer [key]")
