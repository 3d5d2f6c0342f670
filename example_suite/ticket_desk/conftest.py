"""What is on offer, and the desk's own tickets."""

import sys
from importlib.metadata import PackageNotFoundError, version

import pytest
from ticket_models import INSTALL, PACKAGE, cache_folder, made, shipped
from tickets import is_exact, is_well_formed, messages, read

from pytest_procure import Candidate, Dataset, OpenAIEndpoint, Served, TokenPrice

CAVEATS = (
    "The tickets are written by a generator, in English, and each names one number.",
    "One model of 135 million parameters stands for all three offers; nothing is said of larger ones.",
)
REQUANTISED = (
    "Its weights were requantised from the Q4_1 file that is shipped, so from an already quantised file; "
    "made of the original weights they may be better."
)


def served(model):
    """A server of a model file, asked as a chat that answers token by token."""
    return Served(
        [sys.executable, "llm_server.py", str(model), "{port}", "1"],  # one thread; the other core measures
        OpenAIEndpoint(
            "http://127.0.0.1:{port}/v1",
            model="SmolLM2-135M-Instruct",
            options={"max_tokens": 12, "temperature": 0},
        ),
        ready="/health",
        files=[model],
        version=f"xllamacpp {version('xllamacpp')}",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    try:
        models = {"as shipped": shipped(), "Q8_0": made("q8_0"), "Q4_0": made("q4_0")}
        version("xllamacpp")
    except (FileNotFoundError, PackageNotFoundError):
        raise pytest.UsageError(f"ticket_desk needs {PACKAGE} and xllamacpp; run `{INSTALL}`") from None
    missing = [path.name for path in models.values() if not path.is_file()]
    if missing:
        raise pytest.UsageError(
            f"ticket_desk: {missing[0]} is not in {cache_folder()}; run `python ticket_models.py` there"
        )
    prices = {"as shipped": ("0.10", "0.40"), "Q8_0": ("0.14", "0.56"), "Q4_0": ("0.07", "0.28")}
    return [
        Candidate(
            name,
            vendor=f"Vendor {letter}",
            precision="Q4_1" if name == "as shipped" else name,
            hardware="one CPU core of the machine that measured",
            backend=served(models[name]),
            price=TokenPrice(
                input=f"{prices[name][0]} USD",
                output=f"{prices[name][1]} USD",
                source=f"offer {letter}",
                date="2026-11-20",
            ),
            notes="" if name == "as shipped" else REQUANTISED,
        )
        for letter, name in zip("ABC", models, strict=True)
    ]


@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"tickets": tickets}


def tickets():
    known = read()
    return Dataset.from_arrays(
        "desk-tickets",
        inputs=[messages(each["ticket"]) for each in known],
        references=[each["number"] for each in known],
        strata=[each["kind"] for each in known],
        scorer={"exact": is_exact, "well_formed": is_well_formed, "accepted": is_exact},
        licence="Apache-2.0",
        source="tickets.py, seed 7",
        version="1",
        caveats=CAVEATS,
    )
