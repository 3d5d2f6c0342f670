"""A language model judges the answers: it decides only as far as people are shown to agree with it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

KEY = "a-plain-word-as-a-key"

CONFTEST = """
    import pytest
    from pytest_procure import Candidate, Dataset
    from pytest_procure.datasets import llm_judge

    LABELS = [(f"good {{i}}", "good", True) for i in range(30)]
    LABELS += [(f"bad {{i}}", "good", False) for i in range(30)]

    def answer(batch):
        return ["good " + text for text in batch]

    def judged(batch):
        return [{judged} for text in batch]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_candidates():
        return [Candidate("offer", backend=answer)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_procure_datasets():
        return {{"letters": lambda: Dataset.from_arrays(
            "letters", inputs=[f"letter {{i}}" for i in range(120)], references=["good"] * 120,
            scorer={{"helpful": llm_judge(judged, "Is {{output}} {{reference}}?", labels={labels})}})}}
"""
TEST = """
    @pytest.mark.bar("quality.helpful", at_least=0.9)
    def test_helps(procure):
        "Is the customer helped?"
        procure.run()
"""
HONEST = "'Yes.' if 'Is good' in text else 'No.'"


def ask(suite, labels="LABELS", judged=HONEST):
    suite.conftest(CONFTEST.format(labels=labels, judged=judged))
    suite.tests(TEST)
    return suite.run("--procure-report")


def test_a_judge_that_people_agree_with_decides_and_the_report_says_how_far(suite):
    ended = ask(suite)
    assert ended.status == 0, ended.text
    assert ended.verdicts == {"test_helps[offer]": "accept"}
    (data,) = ended.record["datasets"]
    assert data["judged"]["quality.helpful"]["right"] == [30, 30]
    html = (ended.folder / "report.html").read_text("utf-8")
    assert "It agreed with people on 30 of 30 that they call right (at least 90" in html


def test_what_the_judge_said_of_each_answer_is_kept(suite):
    ended = ask(suite)
    (file,) = (ended.folder / "outputs").glob("*-judge.jsonl")
    lines = [json.loads(line) for line in file.read_text("ascii").splitlines()]
    assert [line["row"] for line in lines] == list(range(120))
    assert sorted(line.pop("item") for line in lines) == list(range(120))
    assert lines[7] == {"metric": "quality.helpful", "right": True, "row": 7, "said": "Yes."}


def test_without_labels_nothing_rests_on_a_judge(suite):
    ended = ask(suite, labels="()")
    assert ended.status == 1
    assert "held against no labels of people, and nothing rests on a judge alone" in ended.words
    assert ended.verdicts == {"test_helps[offer]": "inconclusive"}
    assert "nothing rests on it" in (ended.folder / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("judged", "labels"),
    [("'Yes.'", "LABELS"), (HONEST, "LABELS[:30]"), (HONEST, "LABELS[20:40]")],
    ids=["always content", "only right ones labelled", "ten of each"],
)
def test_a_judge_that_is_not_shown_to_agree_decides_nothing(suite, judged, labels):
    ended = ask(suite, labels=labels, judged=judged)
    assert ended.status == 1
    assert "it may decide from 80.0% on" in ended.words
    assert ended.verdicts == {"test_helps[offer]": "inconclusive"}


def test_a_judge_that_cannot_be_reached_is_no_verdict_on_the_offer(suite):
    ended = ask(suite, judged="1 / 0")
    assert ended.status == 1
    assert "gave no opinion in 3 attempts: ZeroDivisionError" in ended.words
    assert "accept" not in ended.verdicts.values()
    assert "reject" not in ended.verdicts.values()


def test_one_answer_that_the_judges_endpoint_refuses_does_not_keep_the_rest_from_a_verdict(suite):
    refuses_one = f"1 / 0 if 'letter 7 ' in text else {HONEST}"
    ended = ask(suite, judged=refuses_one)
    assert ended.status == 0, ended.text
    assert ended.verdicts == {"test_helps[offer]": "accept"}
    (data,) = ended.record["datasets"]
    assert data["judged"]["quality.helpful"]["unread"] == 1
    (file,) = (ended.folder / "outputs").glob("*-judge.jsonl")
    (line,) = [each for each in map(json.loads, file.read_text("ascii").splitlines()) if each["item"] == 7]
    assert (line["right"], line["said"]) == (None, "(no opinion: ZeroDivisionError: division by zero)")


def test_opinions_stay_out_where_samples_are_withheld(suite):
    suite.conftest(
        CONFTEST.format(labels="LABELS", judged=HONEST).replace("scorer=", "show_samples=False, scorer=")
    )
    suite.tests(TEST)
    ended = suite.run("--procure-report")
    assert ended.status == 0, ended.text
    assert not list(ended.folder.rglob("*-judge.jsonl"))


def test_a_sealed_judge_is_held_to_its_prompt_and_labels(suite):
    suite.conftest(CONFTEST.format(labels="LABELS", judged=HONEST))
    suite.tests(TEST)
    assert suite.run("--procure-seal").status == 0
    ended = suite.run("--procure-report")
    assert ended.status == 0, ended.text
    suite.conftest(CONFTEST.format(labels="LABELS[1:]", judged=HONEST))
    changed = suite.run("--procure-report", "--procure-out", "second")
    assert changed.status == 1


class Parrot(BaseHTTPRequestHandler):
    """An endpoint that says yes, and repeats the key that it was sent."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        said = f"Yes, said {self.headers['Authorization']}."
        body = json.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told):
        """Quiet."""


def test_a_judges_key_is_in_no_file_that_the_run_wrote(suite, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    with ThreadingHTTPServer(("127.0.0.1", 0), Parrot) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        endpoint = f'OpenAIEndpoint("{url}", model="m", stream=False, key_env="JUDGE_KEY")'
        told = CONFTEST.format(labels="LABELS[:5]", judged=HONEST).replace("judged, ", f"{endpoint}, ")
        suite.conftest(told.replace("Dataset\n", "Dataset, OpenAIEndpoint\n"))
        suite.tests(TEST)
        ended = suite.run("--procure-report")
        server.shutdown()
    (data,) = ended.record["datasets"]
    assert data["judged"]["quality.helpful"]["right"] == [5, 5]
    assert data["judged"]["quality.helpful"]["disclosed"]["key_from"] == "JUDGE_KEY"
    written = [file for file in suite.path.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert not [file.name for file in written if KEY.encode() in file.read_bytes()]
    assert KEY not in ended.text
