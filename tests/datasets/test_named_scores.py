import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_procure.datasets import Dataset, exact_match, ndcg_at, recall_at, squad
from pytest_procure.datasets.boxes import iou, mean_average_precision
from pytest_procure.datasets.classes import macro_f1, micro_f1
from pytest_procure.datasets.retrieval import reciprocal_rank
from pytest_procure.datasets.texts import (
    bleu,
    chrf,
    edit_distance,
    rouge_l,
    squad_f1,
    token_f1,
    word_error_rate,
    words,
)
from pytest_procure.errors import DataError, DeclarationError

invariant = settings(derandomize=True, max_examples=80)


def test_exact_match_looks_past_case_white_space_and_a_full_stop():
    assert exact_match()("The  Eiffel\nTower. ", "the eiffel tower")
    assert exact_match()("Cafe\u0301", "CAF\u00c9")
    assert not exact_match(None)("The Eiffel Tower", "the eiffel tower")
    assert exact_match(str.strip)(" a ", ["b", "a"])


#: Pairs that mean something else.
DIFFERENT = [
    ("", "A"), ("the", "A"), ("...", "A"), ("5", "-5"), ("15", "1.5"), ("1250", "12.50"), ("C", "C++"),
    ("3<5", "3>5"), ("a", "the"), ("$5", "%5"), ("10:30", "1030"), ("x\u00b2", "x2"), ("5!", "5"),
    (".5", "5"), ("\U0001f44d", "\U0001f44e"), ("!!!", "\u2705"), ("\u0915\u093f", "\u0915\u0940"),
    ("100", "1 00"), ("!", "?"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*DIFFERENT, *((b, a) for a, b in DIFFERENT)])
def test_texts_that_mean_something_else_are_different(one, other):
    assert not exact_match()(one, other)
    assert token_f1(one, other) < 1
    assert rouge_l(one, other) < 1


#: Texts that the word error rate takes for one: it hears no exclamation mark.
HEARD_ALIKE = {("5!", "5"), ("!", "?")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(each for each in DIFFERENT if each not in HEARD_ALIKE),
        ("\u22125", "5"), ("\u20135", "5"), ("- 5", "5"), ("-$5", "$5"), ("-.5", ".5"), ("5%", "5"),
        ("1939-1945", "19391945"), ("+5", "5"), ("C#", "C"), ("a/b", "ab"), ("2*3", "23"),
    ],
)  # fmt: skip
def test_words_of_another_meaning_are_errors(one, other):
    assert word_error_rate([f"x {other}"], [f"x {one}"]) > 0
    assert word_error_rate([f"x {one}"], [f"x {other}"]) > 0


def test_the_minus_sign_and_the_hyphen_that_is_typed_for_it_are_one():
    for score in (exact_match(), token_f1, rouge_l):
        assert score("\u22125", "-5") == score("-5", "\u22125") == 1
        assert score("\u22125", "5") < 1
    assert word_error_rate(["\u22125 \u20136", "- 5"], ["-5 -6", "-5"]) == 0


def test_the_word_error_rate_hears_no_punctuation_of_prose():
    said = ["\u00abYes,\u00bb she said \u2014 (it\u2019s 5.)", "well-known, isn't it?", "\u4f60\u597d\u3002"]
    assert word_error_rate(said, ["yes she said its 5", "wellknown isnt it", "\u4f60\u597d"]) == 0


def test_what_ends_a_clause_costs_no_score():
    assert token_f1("Yes, it is!", "yes it is") == rouge_l("Yes, it is!", "yes it is") == 1.0


def test_squads_normalisation_is_there_under_its_own_name():
    assert exact_match(squad)("The  Eiffel Tower!", "eiffel tower")
    assert squad_f1("the red fox", "a red fox") == 1.0


@pytest.mark.parametrize("score", [exact_match(squad), squad_f1])
def test_what_squads_normalisation_leaves_nothing_of_is_no_reference(score):
    assert not score("", "A")
    assert not score("the", "A")
    assert score("", "")
    assert score("the", " ")


@invariant
@given(st.text(), st.text())
def test_one_list_of_words_is_one_text_but_for_case_space_and_ends_of_clauses(one, other):
    assert rouge_l(one, one) == token_f1(one, one) == 1.0
    if rouge_l(one, other) == 1.0:
        assert words(one) == words(other)


@pytest.mark.parametrize("output", [None, 3, ["a"], np.array(["a"])])
def test_what_is_no_text_matches_nothing(output):
    assert not exact_match()(output, "a")
    assert token_f1(output, "a") == rouge_l(output, "a") == 0.0


def test_token_f1_is_that_of_the_shared_words():
    assert token_f1("a red fox runs", "red fox sleeps here") == pytest.approx(2 * 2 / (4 + 4))
    assert squad_f1("a red fox runs", "red fox sleeps here") == pytest.approx(2 * 2 / (3 + 4))
    assert token_f1("", "") == 1.0
    assert token_f1("x", ["y", "x"]) == 1.0


def test_rouge_l_is_that_of_the_longest_common_subsequence():
    # Lin (2004), section 3: "police killed the gunman" against "police kill the gunman".
    assert rouge_l("police kill the gunman", "police killed the gunman") == pytest.approx(0.75)
    assert rouge_l("the gunman kill police", "police killed the gunman") == pytest.approx(0.5)


def test_a_reference_that_is_no_text_is_told():
    with pytest.raises(DataError, match="expected a text"):
        exact_match()("a", 3)


def test_the_word_error_rate_counts_all_words_together():
    assert word_error_rate(["a b c", None], ["a x c", "d e"]) == pytest.approx(3 / 5)
    assert word_error_rate(["a b c d e f"], ["a"]) == 5.0


@invariant
@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_the_edit_distance_is_a_distance(one, other):
    distance = edit_distance(one, other)
    assert distance == edit_distance(other, one)
    assert (distance == 0) == (one == other)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))


def test_macro_f1_by_hand():
    # a: precision 2/3, recall 1; b: precision 1, recall 1/2.
    assert macro_f1(["a", "a", "a", "b"], ["a", "a", "b", "b"]) == pytest.approx((0.8 + 2 / 3) / 2)


def test_a_failed_request_lowers_its_class_alone():
    assert macro_f1(["a", None], ["a", "b"]) == 0.5
    assert micro_f1(["a", None], ["a", "b"]) == pytest.approx(2 / 3)


@invariant
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_micro_f1_of_complete_answers_is_accuracy(pairs):
    said, true = zip(*pairs, strict=True)
    right = sum(a == b for a, b in pairs) / len(pairs)
    assert micro_f1(said, np.array(true)) == pytest.approx(right)
    assert 0 <= macro_f1(said, true) <= 1


def test_labels_of_numpy_and_python_are_the_same_class():
    assert macro_f1([np.int64(1), np.array([2])], np.array([1, 2])) == 1.0


def test_recall_reciprocal_rank_and_ndcg_by_hand():
    found = ["d3", "d1", "d9", "d2"]
    assert recall_at(2)(found, ["d1", "d2"]) == 0.5
    assert recall_at(4)(np.array(found), {"d1", "d2"}) == 1.0
    assert reciprocal_rank(found, "d1") == 0.5
    gains = {"d1": 3, "d2": 1}
    expected = (3 / math.log2(3) + 1 / math.log2(5)) / (3 + 1 / math.log2(3))
    assert ndcg_at(10)(found, gains) == pytest.approx(expected)


def test_a_document_that_stands_twice_counts_once():
    assert recall_at(2)(["a", "a", "b"], ["a", "b"]) == 1.0
    assert ndcg_at(3)(["a", "a", "a"], ["a"]) == 1.0


@invariant
@given(st.lists(st.integers(0, 9), max_size=12), st.sets(st.integers(0, 9), min_size=1), st.integers(1, 12))
def test_scores_of_ranked_lists_are_shares(found, relevant, k):
    for score in (recall_at(k), ndcg_at(k), reciprocal_rank):
        assert 0 <= score(found, list(relevant)) <= 1
    assert ndcg_at(10)(sorted(relevant), dict.fromkeys(relevant, 2.0)) == 1.0


def test_what_is_no_list_found_nothing_and_a_reference_without_documents_is_told():
    assert recall_at(3)("d1", "d1") == 0.0
    with pytest.raises(DataError, match="one relevant document or more"):
        recall_at(3)(["a"], [])
    with pytest.raises(DeclarationError, match="expected 1 or more"):
        recall_at(0)


def test_iou_by_hand():
    assert iou([0, 0, 2, 2], [1, 1, 3, 3]) == pytest.approx(1 / 7)
    assert iou([0, 0, 1, 1], [2, 2, 3, 3]) == 0.0
    assert iou([0, 0, 1], [0, 0, 1, 1]) == iou([1, 1, 0, 0], [0, 0, 1, 1]) == iou("box", [0, 0, 1, 1]) == 0.0


def test_names_and_functions_name_their_metric():
    data = Dataset.from_arrays(
        "d", inputs=["a"], references=["a"], scorer={"token_f1": "token_f1", "exact": exact_match(None)}
    )
    assert list(data.scorers) == ["quality.token_f1", "quality.exact"]
    assert list(Dataset.from_arrays("d", inputs=["a"], references=["a"], scorer="rouge_l").scorers) == [
        "quality.rouge_l"
    ]
    assert (
        "quality.recall_at_5"
        in Dataset.from_arrays("d", inputs=["a"], references=["a"], scorer=recall_at(5)).scorers
    )


def test_corpus_metrics_by_name_by_list_and_by_mapping():
    def made(corpus):
        return list(Dataset.from_arrays("d", inputs=["a"], references=["a"], corpus=corpus).corpus)

    assert made("macro_f1") == ["macro_f1"]
    assert made(["wer", "bleu"]) == ["wer", "bleu"]
    assert made({"mine": lambda outputs, references: 1.0, "f1": "macro_f1"}) == ["mine", "f1"]
    with pytest.raises(DeclarationError, match="unknown corpus metric `blue`; did you mean `bleu`"):
        made("blue")


def test_bleu_and_chrf_are_those_of_sacrebleu():
    sacrebleu = pytest.importorskip("sacrebleu")
    said, right = ["the cat sat on the mat", "hello"], ["the cat sat on a mat", "hello there world"]
    assert bleu(said, right) == sacrebleu.corpus_bleu(said, [right]).score
    assert chrf([*said, None], [*right, "x"]) == sacrebleu.corpus_chrf([*said, ""], [[*right, "x"]]).score
    several = [["the cat sat on a mat", "a cat sat on the mat"], "hello there world"]
    assert bleu(said, several) > bleu(said, right)


@pytest.mark.filterwarnings("ignore")
def test_map_finds_what_is_there_and_nothing_in_a_failed_request():
    pytest.importorskip("torchmetrics")
    pytest.importorskip("pycocotools")
    right = [{"boxes": [[0, 0, 10, 10]], "labels": [1]}] * 2
    said = {"boxes": [[0, 0, 10, 10]], "scores": [0.9], "labels": [1]}
    assert mean_average_precision([said, said], right) == pytest.approx(1.0)
    assert mean_average_precision([said, None], right) < 0.6
    assert mean_average_precision(["no boxes", {"boxes": 3}], right) == 0.0
    with pytest.raises(DataError, match="no mapping"):
        mean_average_precision([said], [None])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("label", [2**63, 2**64, 1.9, "1", float("nan"), None])
def test_map_takes_a_label_that_is_no_whole_number_for_no_answer(label):
    pytest.importorskip("torchmetrics")
    pytest.importorskip("pycocotools")
    right = [{"boxes": [[0, 0, 10, 10]], "labels": [1]}]
    assert (
        mean_average_precision([{"boxes": [[0, 0, 10, 10]], "scores": [1], "labels": [label]}], right) == 0.0
    )
    with pytest.raises(DataError, match="whole `labels`"):
        mean_average_precision([None], [{"boxes": [[0, 0, 10, 10]], "labels": [label]}])


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
@pytest.mark.filterwarnings("ignore")
def test_map_takes_a_score_that_is_no_number_for_no_answer(score):
    pytest.importorskip("torchmetrics")
    pytest.importorskip("pycocotools")
    right = [{"boxes": [[0, 0, 10, 10]], "labels": [1]}]
    assert (
        mean_average_precision([{"boxes": [[0, 0, 10, 10]], "scores": [score], "labels": [1]}], right) == 0.0
    )


def test_long_answers_that_differ_at_their_end_are_different_classes():
    assert macro_f1([[0] * 400 + [1]], [[0] * 400 + [2]]) == 0.0
