"""A language model as judge: its opinions, what people say of them, and what it costs to ask."""

import pytest

from pytest_procure import Dataset
from pytest_procure.datasets import llm_judge
from pytest_procure.datasets.judge import ATTEMPTS, yes_or_no
from pytest_procure.errors import DataError, DeclarationError

PROMPT = "Is {output} as good as {reference}? Begin with yes or no."


class Strict:
    """Calls an answer right when it is the reference; remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, batch):
        self.asked += batch
        words = [sample.split() for sample in batch]
        return ["Yes, it is." if said[1] == said[5].rstrip("?") else "No." for said in words]


def test_an_answer_is_right_when_the_judge_calls_it_so():
    judge = llm_judge(Strict(), PROMPT)
    assert judge("red", "red") is True
    assert judge("red", "blue") is False


def test_the_same_answer_is_judged_once():
    model = Strict()
    judge = llm_judge(model, PROMPT)
    assert [judge("red", "red") for _ in range(3)] == [True] * 3
    assert model.asked == ["Is red as good as red? Begin with yes or no."]


def test_agreement_is_counted_apart_for_what_people_call_right_and_wrong():
    judge = llm_judge(
        Strict(), PROMPT, labels=[("a", "a", True), ("a", "b", True), ("a", "c", False), ("d", "d", False)]
    )
    assert judge.found() is None, "it has not been asked yet"
    judge("red", "red")
    found = judge.found()
    assert (found["right"], found["wrong"]) == ([1, 2], [1, 2])
    assert found["opinions"] == 5


def test_braces_in_an_answer_fill_nothing_in():
    model = Strict()
    llm_judge(model, PROMPT)("{reference}", "secret")
    assert model.asked == ["Is {reference} as good as secret? Begin with yes or no."]


def test_a_prompt_may_be_a_function():
    asked = []
    judge = llm_judge(
        lambda batch: asked.extend(batch) or ["yes"], lambda output, reference: [output, reference]
    )
    assert judge("a", "b")
    assert asked == [["a", "b"]]


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("Yes", True),
        ("**No**, because", False),
        ("yes.", True),
        ("Yesterday", None),
        ("", None),
        ("Maybe", None),
    ],
)
def test_an_opinion_is_its_first_word(said, right):
    assert yes_or_no(said) is right


def test_an_opinion_that_cannot_be_read_counts_as_wrong_and_is_counted():
    judge = llm_judge(lambda batch: ["Perhaps."] * len(batch), PROMPT, labels=[("a", "b", False)])
    assert judge("a", "a") is False
    assert judge.found()["unread"] == 2
    assert judge.found()["wrong"] == [0, 1], "not to know is not to agree"


def test_a_judge_that_cannot_be_reached_is_told_after_some_attempts():
    tries = []

    def refuse(batch):
        tries.append(batch)
        raise ConnectionError("refused, key sk-0123456789abcdefghij")

    with pytest.raises(DataError, match="gave no opinion in 3 attempts: ConnectionError: refused") as raised:
        llm_judge(refuse, PROMPT)("a", "b")
    assert len(tries) == 2 * ATTEMPTS, "with another text it is asked as often"
    assert "sk-0123" not in str(raised.value)


def choosy(batch):
    """Judge what is short; a long text is refused, as by an endpoint's limit."""
    if any(len(sample) > 100 for sample in batch):
        raise ValueError("HTTP 400: too long")
    return ["Yes." if "good" in sample else "No." for sample in batch]


@pytest.mark.parametrize("labels", [(), [("good", "g", True), ("bad", "g", False)]], ids=["none", "some"])
def test_an_answer_that_the_judges_endpoint_refuses_counts_as_wrong_and_is_counted(labels):
    judge = llm_judge(choosy, "Is it right? {output}", labels=labels)
    assert judge("good" * 100, "g") is False
    assert judge("good", "g") is True
    assert judge.found()["unread"] == 1
    assert judge.opinion("good" * 100, "g").said == "(no opinion: ValueError: HTTP 400: too long)"


def test_a_judge_that_goes_away_in_the_middle_is_told_and_held_against_no_answer():
    there = [True]

    def judged(batch):
        if not there[0]:
            raise ConnectionError("refused")
        return ["Yes."] * len(batch)

    judge = llm_judge(judged, PROMPT, labels=[("a", "a", True)])
    assert judge("b", "b") is True
    there[0] = False
    with pytest.raises(DataError, match="gave no opinion in 3 attempts"):
        judge("c", "c")
    there[0] = True
    assert judge("c", "c") is True


def test_a_judge_that_was_away_for_a_moment_is_asked_again():
    fails = ["c"] * ATTEMPTS

    def judged(batch):
        if " c " in batch[0] and fails:
            raise ConnectionError(fails.pop())
        return ["Yes."] * len(batch)

    assert llm_judge(judged, PROMPT, labels=[("a", "a", True)])("c", "c") is True


def test_a_label_that_the_judges_endpoint_refuses_is_told():
    judge = llm_judge(choosy, "Is it right? {output}", labels=[("good", "g", True), ("bad" * 99, "g", False)])
    with pytest.raises(DataError, match="gave no opinion in 3 attempts: ValueError: HTTP 400"):
        judge("good", "g")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"endpoint": 3}, "the judge is 3"),
        ({"prompt": "Is it good?"}, "asks for nothing"),
        ({"prompt": "Is {answer} good?"}, "asks for answer"),
        ({"prompt": "Is {output good?"}, "cannot be filled"),
        ({"labels": [("a", "b", 1)]}, "label 0 of a judge"),
        ({"labels": [("a", True)]}, "label 0 of a judge"),
        ({"agreement": 1}, "`agreement=1`"),
        ({"read": "yes"}, "`read='yes'`"),
    ],
)
def test_a_judge_that_cannot_be_meant_is_refused(wrong, told):
    given = {"endpoint": Strict(), "prompt": PROMPT, **wrong}
    with pytest.raises(DeclarationError, match=told):
        llm_judge(given.pop("endpoint"), given.pop("prompt"), **given)


def test_a_judge_does_not_score_a_stage():
    with pytest.raises(DeclarationError, match="a judge scores the whole"):
        Dataset.from_arrays(
            "d", inputs=[1], references=["a"], stages={"s": (["a"], llm_judge(Strict(), PROMPT))}
        )


def test_what_is_disclosed_of_a_judge_is_the_same_before_and_after_it_was_asked():
    judge = llm_judge(Strict(), PROMPT, labels=[("a", "a", True)])
    before = judge.describe()
    judge("a", "b")
    assert judge.describe() == before
    assert before["prompt"] == PROMPT
    assert before["labels"] == 1


def test_what_is_disclosed_of_a_judges_backend_holds_no_secret():
    class Telling:
        """A backend that tells with which key it was started."""

        device, releases_gil = "cpu", True

        def load(self, base):
            return self

        def predict(self, batch):
            return ["Yes."] * len(batch)

        def describe(self):
            return {"command": ["serve", "--api-key", "hush"], "password": "hush", "runtime": "r"}

        def close(self):
            """Nothing to release."""

    judge = llm_judge(Telling(), PROMPT)
    judge("a", "a")
    told = judge.found()["disclosed"]
    hidden = "[redacted]"
    assert told == {"command": ["serve", "--api-key", hidden], "password": hidden, "runtime": "r"}


@pytest.mark.parametrize("answer", [{1: "a", "b": 2}, 3], ids=["no JSON", "no text"])
def test_an_answer_of_which_no_prompt_can_be_made_counts_as_wrong_and_is_counted(answer):
    judge = llm_judge(lambda batch: ["Yes."] * len(batch), lambda output, reference: output + reference)
    assert judge("a", "b") is True
    assert judge(answer, "b") is False
    assert judge.found()["unread"] == 1


def test_a_prompt_that_cannot_be_made_of_what_is_right_is_the_suites_mistake():
    with pytest.raises(TypeError):
        llm_judge(lambda batch: ["Yes."] * len(batch), lambda output, reference: output["a"])("a", "b")


def test_an_opinion_that_read_raises_on_counts_as_wrong():
    judge = llm_judge(lambda batch: ["Perhaps."] * len(batch), PROMPT, read={"Yes.": True}.__getitem__)
    assert judge("a", "b") is False
    assert judge.found()["unread"] == 1


def test_a_label_that_is_given_again_counts_once():
    judge = llm_judge(Strict(), PROMPT, labels=[("a", "a", True)] * 14 + [("a", "b", False)] * 14)
    judge("a", "a")
    assert (judge.found()["right"], judge.found()["wrong"]) == ([1, 1], [1, 1])
