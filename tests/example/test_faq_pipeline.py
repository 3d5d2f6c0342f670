"""The FAQ pipeline's data and stages are what its README says; its servers are tried by `make demo-all`."""

import numpy as np
import pytest
from scipy.stats import binom

from pytest_procure import Dataset, stats


def test_each_article_has_a_number_of_its_own_and_each_question_is_asked_once(faq):
    articles = faq("faq_stages").articles()
    questions = [each["question"] for each in articles if "question" in each]
    assert (len(questions), len(articles)) == (168, 1168)
    assert len(set(questions)) == 167, "one stands in the FAQ twice, with two answers"
    assert len({each["number"] for each in articles}) == 1168
    assert all("question" in each for each in articles[:168])
    shown = {number for _, number in faq("faq_stages").EXAMPLES}
    assert not shown & {each["number"] for each in articles}


def test_the_index_holds_a_direction_for_each_article(faq):
    index = np.load(faq("faq_stages").DATA / "index.npy", allow_pickle=False)
    assert (index.shape, index.dtype) == ((1168, 384), np.float16)
    assert np.abs(np.linalg.norm(index.astype(np.float32), axis=1) - 1).max() < 0.002


def test_bm25_finds_as_often_as_the_readme_says(faq):
    stages = faq("faq_stages")
    bm25 = stages.Bm25().load(None)
    questions = [each["question"] for each in stages.articles()[:168]]
    assert sum(place in found for place, found in enumerate(bm25.predict(questions))) == 141


def test_bm25_weighs_rare_words_more_and_long_texts_less(faq):
    bm25 = faq("faq_stages").Bm25()
    bm25.index(["a lambda", "a list", "a list " + "of words " * 20])
    assert faq("faq_stages").best(bm25.scores("a lambda"), 1) == [0]
    assert faq("faq_stages").best(bm25.scores("list"), 3) == [1, 2, 0]
    assert bm25.scores("unknown").tolist() == [0, 0, 0]


def test_the_answering_model_is_shown_the_best_article_and_its_number(faq):
    stages = faq("faq_stages")
    asked = stages.prompt("Why?", {"retrieve": [5, 7], "rerank": [7, 5]})
    assert asked[-1]["content"].startswith(f"Article {stages.articles()[7]['number']}: ")
    assert asked[-1]["content"].endswith("\nQuestion: Why?")


def test_only_the_right_articles_number_is_right(faq):
    right = faq("faq_stages").right_article
    assert right(" KX-4471\n", "KX-4471")
    assert not right("ZD-7718", "KX-4471")
    assert not right(None, "KX-4471")


def test_the_desk_takes_the_first_number_of_an_answer_and_an_answer_without_one_holds_none(faq):
    stages = faq("faq_stages")
    assert stages.right_article("Article KX-4471: lists, and ZD-7718", "KX-4471")
    assert not stages.right_article("ZD-7718, or KX-4471", "KX-4471")
    assert stages.holds_number("ZD-7718", "KX-4471")
    assert not stages.holds_number("Lists keep their order.", "KX-4471")
    assert not stages.holds_number(None, "KX-4471")


ASKED = 84
#: Of these: the article was among the 30, was on top, the answer held a number, and it was the right one.
COUNTED = {"A": (66, 54, 83, 50), "B": (69, 56, 84, 5)}
BARS = (0.5, 0.3, 0.8, 0.3)
OFFERS = 2  # either of them may be awarded, so each has half of the risk


def test_whatever_is_drawn_from_what_was_counted_is_accepted_almost_always():
    for offer, counted in COUNTED.items():
        for bar, hits in list(zip(BARS, counted, strict=True))[: 4 if offer == "A" else 3]:
            risk = 0.05 / OFFERS
            low = (stats.share_bounds(k, ASKED, confidence=1 - risk).low for k in range(ASKED + 1))
            needed = next(k for k, bound in enumerate(low) if bound >= bar)
            assert binom.sf(needed - 1, ASKED, hits / ASKED) > 0.999, (offer, bar)


def test_whatever_is_drawn_from_what_was_counted_of_pipeline_b_is_rejected_almost_always():
    risk = 0.05 / OFFERS / len(BARS)  # Holm, at its strictest
    high = (stats.share_bounds(k, ASKED, confidence=1 - risk).high for k in range(ASKED))
    most = sum(bound < BARS[-1] for bound in high) - 1
    assert binom.cdf(most, ASKED, COUNTED["B"][-1] / ASKED) > 0.999


def test_the_graph_of_minilm_has_its_inputs_and_hides_padding(faq, tmp_path):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    graph = faq("minilm_graph")
    draw = np.random.default_rng(0)
    onnx.save(graph.build(small(draw)), tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    ids = np.array([[3, 1, 4, 0, 0]])
    whole = dict(
        zip(("input_ids", "attention_mask", "token_type_ids"), (ids, ids * 0 + 1, ids * 0), strict=True)
    )
    padded = session.run(None, whole | {"attention_mask": np.array([[1, 1, 1, 0, 0]])})[0]
    alone = session.run(None, {name: value[:, :3] for name, value in whole.items()})[0]
    assert padded.shape == (1, 5, graph.WIDTH)
    assert np.abs(padded[:, :3] - alone).max() < 1e-4


def small(draw):
    """Weights of the model's shapes, drawn at random; a vocabulary of ten words."""
    width, wide = 384, 1536
    shapes = {
        f"embeddings.{name}_embeddings.weight": (count, width)
        for name, count in (("word", 10), ("token_type", 2), ("position", 16))
    }
    for layer in range(6):
        head = f"encoder.layer.{layer}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= {
                f"{head}.attention.{name}.weight": (width, width),
                f"{head}.attention.{name}.bias": (width,),
            }
        shapes |= {
            f"{head}.intermediate.dense.weight": (wide, width),
            f"{head}.intermediate.dense.bias": (wide,),
        }
        shapes |= {f"{head}.output.dense.weight": (width, wide), f"{head}.output.dense.bias": (width,)}
        for norm in (f"{head}.attention.output.LayerNorm", f"{head}.output.LayerNorm"):
            shapes |= {f"{norm}.weight": (width,), f"{norm}.bias": (width,)}
    shapes |= {"embeddings.LayerNorm.weight": (width,), "embeddings.LayerNorm.bias": (width,)}
    return {name: draw.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}


def test_the_slice_that_is_asked_is_the_one_that_was_counted():
    data = Dataset.from_arrays("d", inputs=list(range(168)), references=list(range(168)))
    assert data.slice(n=84, seed=1).indices[:5].tolist() == [93, 61, 75, 9, 36]
