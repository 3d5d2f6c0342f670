"""What is on offer, and the help desk's own questions."""

import sys
from importlib.metadata import PackageNotFoundError, version

import faq_models
import pytest
import ticket_models
from faq_stages import (
    Bm25,
    Reranker,
    TokenVectors,
    articles,
    holds_number,
    prompt,
    question_and_found,
    right_article,
)

from pytest_procure import Candidate, Dataset, OpenAIEndpoint, Pipeline, RequestPrice, Served, Stage
from pytest_procure.datasets import recall_at

CAVEATS = (
    "Each question has the one answer that the FAQ gives it; another article that would do counts as wrong.",
    "One question stands in the FAQ twice, with two answers.",
    "MiniLM may have seen the FAQ in its training.",
    "The answering model has 135 million parameters; nothing is said of larger ones.",
)
REQUANTISED = (
    "The answering model was requantised from the Q4_1 file that is shipped, so from an already quantised "
    "file; made of the original weights it may be better."
)


def answering(model):
    """A server of the answering model."""
    return Served(
        [sys.executable, "../ticket_desk/llm_server.py", str(model), "{port}", "1"],
        OpenAIEndpoint(
            "http://127.0.0.1:{port}/v1",
            model="SmolLM2-135M-Instruct",
            options={"max_tokens": 10, "temperature": 0},
        ),
        ready="/health",
        files=[model],
        version=f"xllamacpp {version('xllamacpp')}",
    )


def offer(name, retriever, reranker, model, prices, **stated):
    """One offer: three stages, each with a price of its own."""
    each = [RequestPrice(f"{price} USD", source=f"offer of {name}", date="2026-11-20") for price in prices]
    return Candidate(
        name,
        hardware="one CPU core of the machine that measured",
        backend=Pipeline(
            [
                Stage("retrieve", retriever, price=each[0]),
                Stage("rerank", reranker, takes=question_and_found, price=each[1]),
                Stage("answer", answering(model), takes=prompt, price=each[2]),
            ]
        ),
        **stated,
    )


@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    try:
        ticket_models.shipped()
        faq_models.shipped("tokenizer.json")
        version("xllamacpp"), version("tokenizers")
    except (FileNotFoundError, PackageNotFoundError):
        raise pytest.UsageError(
            f"faq_pipeline needs {faq_models.PACKAGE}, {ticket_models.PACKAGE}, tokenizers and xllamacpp; "
            f"run `{faq_models.INSTALL}`"
        ) from None
    needed = [*map(faq_models.made, faq_models.MADE), *map(ticket_models.made, ticket_models.MADE)]
    if missing := [path for path in needed if not path.is_file()]:
        raise pytest.UsageError(
            f"faq_pipeline: {missing[0].name} is not in {missing[0].parent}; run `python ticket_models.py` "
            "in ticket_desk, and `python faq_models.py` here"
        )
    return [
        offer(
            "pipeline A",
            TokenVectors(),
            Reranker("fp32"),
            ticket_models.made("q8_0"),
            ("0.00001", "0.00003", "0.00012"),
            vendor="Vendor A",
            precision="fp32 and Q8_0",
            notes=REQUANTISED,
        ),
        offer(
            "pipeline B",
            Bm25(),
            Reranker("int8"),
            ticket_models.made("q4_0"),
            ("0.00001", "0.00002", "0.00009"),
            vendor="Vendor B",
            precision="int8 and Q4_0",
            notes=REQUANTISED,
        ),
    ]


@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"python-faq": questions}


def questions():
    asked = [(place, each) for place, each in enumerate(articles()) if "question" in each]
    right = [place for place, _ in asked]
    return Dataset.from_arrays(
        "python-faq",
        inputs=[each["question"] for _, each in asked],
        references=[each["number"] for _, each in asked],
        scorer={"right_article": right_article},
        stages={
            "retrieve": (right, recall_at(30)),
            "rerank": (right, recall_at(1)),
            "answer": ([each["number"] for _, each in asked], holds_number),
        },
        licence="PSF-2.0",
        source="Python 3.11 documentation, as Debian packages it (python3.11-doc)",
        version="3.11.2-6+deb12u9",
        caveats=CAVEATS,
    )
