"""The stages of both pipelines: two ways to retrieve, one to rerank, and what is asked of the last."""

import gzip
import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from faq_models import made, shipped

from pytest_procure import OnnxRuntime

DATA = Path(__file__).resolve().parent / "data"
FOUND = 30  # articles that the first stage hands on
MOST_TOKENS = 256  # of a text that MiniLM reads
SHOWN = 80  # characters of an article that the answering model reads

_WORD = re.compile(r"[a-z0-9_]+")


@cache
def articles():
    """All articles, with `number` and `text`; those of the FAQ with their `question`."""
    lines = gzip.decompress((DATA / "articles.jsonl.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


@cache
def tokenizer():
    """MiniLM's own."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - of the assets: loading a conftest needs none of them

    found = Tokenizer.from_file(str(shipped("tokenizer.json")))
    found.enable_truncation(MOST_TOKENS)
    found.no_padding()
    return found


def best(scores, count):
    """The places of the largest scores, the best first; ties go to the smaller place."""
    return np.argsort(-scores, kind="stable")[:count].tolist()


class Retriever:
    """A way to retrieve that scores every article; loaded once, in this process."""

    device = "cpu"
    releases_gil = False

    def load(self, base):  # noqa: ARG002 - it reads the suite's own files
        self.index([each["text"] for each in articles()])
        return self

    def predict(self, inputs):
        return [best(self.scores(question), FOUND) for question in inputs]

    def close(self):
        pass


class Bm25(Retriever):
    """Okapi BM25 over words (Robertson and Zaragoza 2009)."""

    k1, b = 1.2, 0.75

    def index(self, texts):
        counted = [Counter(_WORD.findall(text.lower())) for text in texts]
        lengths = np.array([each.total() for each in counted])
        holders = defaultdict(list)
        for place, words in enumerate(counted):
            for word in words:
                holders[word].append(place)
        self.count = len(texts)
        self.weights = {}
        for word, places in holders.items():
            rarity = math.log(1 + (len(texts) - len(places) + 0.5) / (len(places) + 0.5))
            times = np.array([counted[place][word] for place in places])
            length = 1 - self.b + self.b * lengths[places] / lengths.mean()
            self.weights[word] = np.array(places), rarity * times * (self.k1 + 1) / (times + self.k1 * length)

    def scores(self, question):
        scores = np.zeros(self.count)
        for word in sorted(set(_WORD.findall(question.lower()))):
            if word in self.weights:
                places, weights = self.weights[word]
                scores[places] += weights
        return scores

    def describe(self):
        return {"runtime": "BM25", "k1": self.k1, "b": self.b, "articles": self.count}


class TokenVectors(Retriever):
    """Means of MiniLM's own token vectors, rare tokens weighing more; no network is run."""

    def index(self, texts):
        from minilm_graph import read_weights  # noqa: PLC0415 - loading a conftest needs none of the assets

        self.vectors = read_weights(shipped("model.safetensors"))["embeddings.word_embeddings.weight"]
        tokens = [self.tokens(text) for text in texts]
        holding = np.bincount(
            np.concatenate([np.unique(each) for each in tokens]), minlength=len(self.vectors)
        )
        self.rarity = np.log((len(texts) + 1) / (holding + 1)).astype(np.float32)
        self.means = np.stack([self.mean(each) for each in tokens])

    def tokens(self, text):
        return np.array(tokenizer().encode(text).ids[1:-1])

    def mean(self, tokens):
        mean = self.rarity[tokens] @ self.vectors[tokens]
        return mean / max(np.linalg.norm(mean), 1e-9)

    def scores(self, question):
        return self.means @ self.mean(self.tokens(question))

    def describe(self):
        return {"runtime": "token vectors", "width": self.means.shape[1], "articles": len(self.means)}


@dataclass(frozen=True)
class Encoder:
    """MiniLM, "fp32" or "int8": a text becomes a direction, `(384,)` float32 of length 1."""

    precision: str
    threads: int = 1

    def load(self, base=DATA):
        model = OnnxRuntime(made(self.precision), decode=_directions, threads=self.threads)
        return LoadedEncoder(model.load(base))


def _directions(states):
    means = states.mean(axis=1)  # one text a call, so nothing is padding
    return means / np.linalg.norm(means, axis=1, keepdims=True)


class LoadedEncoder:
    def __init__(self, model):
        self.model = model

    def embed(self, text):
        tokens = np.array(tokenizer().encode(text).ids)
        asked = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        return self.model.predict([asked])[0]


@dataclass(frozen=True)
class Reranker:
    """Orders the articles found by how near they are to the question, by MiniLM.

    The index was made by MiniLM in fp32 for both offers: only the question is embedded in a run.
    """

    precision: str

    def load(self, base):
        return LoadedReranker(Encoder(self.precision).load(base))


class LoadedReranker:
    device = "cpu"
    releases_gil = False

    def __init__(self, encoder):
        self.encoder = encoder
        self.index = np.load(DATA / "index.npy", allow_pickle=False).astype(np.float32)

    def predict(self, inputs):
        ordered = []
        for question, found in inputs:
            near = self.index[found] @ self.encoder.embed(question)
            ordered.append([found[place] for place in best(near, len(found))])
        return ordered

    def describe(self):
        return self.encoder.model.describe()

    def close(self):
        self.encoder.model.close()


def question_and_found(question, so_far):
    """What the reranker takes."""
    return question, so_far["retrieve"]


SYSTEM = "Give the number of the article. Answer with the number only."
EXAMPLES = (
    ("Article KX-4471: Lists keep their order, sets do not.\nQuestion: Do sets keep their order?", "KX-4471"),
    ("Article PL-0093: Use pip to install packages.\nQuestion: How are packages installed?", "PL-0093"),
    ("Article BW-8205: Use the open function, then read.\nQuestion: How do I read a file?", "BW-8205"),
)
NUMBER = re.compile(r"[A-Z]{2}-\d{4}")


def prompt(question, so_far):
    """What the answering model takes: a chat with three examples, and the best article."""
    article = articles()[so_far["rerank"][0]]
    messages = [{"role": "system", "content": SYSTEM}]
    for asked, answered in EXAMPLES:
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    text = f"Article {article['number']}: {article['text'][:SHOWN]}\nQuestion: {question}"
    return [*messages, {"role": "user", "content": text}]


def right_article(output, reference) -> bool:
    """Whether the customer is given the number of the article that answers the question."""
    return number(output) == reference


def holds_number(output, reference) -> bool:  # noqa: ARG001 - a scorer takes both
    """Whether the answer holds a number of the desk's form, which its software looks up: right or wrong."""
    return number(output) != ""


def number(output) -> str:
    """The first number in an answer; empty where there is none."""
    found = NUMBER.search(output) if isinstance(output, str) else None
    return found[0] if found else ""
