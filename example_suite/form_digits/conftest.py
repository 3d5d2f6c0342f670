"""What is on offer, and the insurer's own scans."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from pytest_procure import Candidate, Dataset, HourlyPrice, OnnxRuntime, TorchModule

DATA = Path(__file__).parent / "data"

CAVEATS = (
    "The brighter scans are simulated: the clean images, rendered brighter and paler.",
    "The writers of these digits also wrote the training images, so nothing is said about new writers.",
    "The clean and the brighter set are the same 797 images rendered twice, not 1,594 independent ones.",
)


@pytest.hookimpl(optionalhook=True)
def pytest_procure_candidates():
    return [
        Candidate(
            "vendor A",
            vendor="Vendor A",
            precision="fp32",
            hardware="one CPU core of the machine that measured",
            backend=OnnxRuntime("models/vendor-a-fp32.onnx", decode="argmax", threads=1),
            price=HourlyPrice("0.40 USD", utilisation=0.50, source="offer A", date="2026-10-15"),
        ),
        Candidate(
            "vendor B",
            vendor="Vendor B",
            precision="int8",
            hardware="one CPU core of the machine that measured",
            backend=OnnxRuntime("models/vendor-b-int8.onnx", decode="argmax", threads=1),
            price=HourlyPrice("0.25 USD", utilisation=0.50, source="offer B", date="2026-10-15"),
        ),
        Candidate(
            "vendor B recalibrated",
            vendor="Vendor B",
            precision="int8",
            hardware="one CPU core of the machine that measured",
            backend=OnnxRuntime("models/vendor-b-int8-recalibrated.onnx", decode="argmax", threads=1),
            price=HourlyPrice("0.25 USD", utilisation=0.50, source="offer B, round 2", date="2026-11-20"),
            notes="The same int8 network, calibrated half on clean and half on brighter training images.",
        ),
        *(by_torch() if importlib.util.find_spec("torch") else ()),
    ]


def by_torch():
    """Vendor A's network again, run by PyTorch: on offer where torch is installed."""
    # Read when torch is first imported. For small graphs, processes that compile beside this one cost more
    # than they save: each imports torch first.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    for name, compiled in (("vendor A, torch eager", False), ("vendor A, torch.compile", True)):
        yield Candidate(
            name,
            vendor="Vendor A",
            precision="fp32",
            hardware="one CPU core of the machine that measured",
            backend=TorchModule(
                digit_reader,
                state="models/vendor-a-fp32.state.pt",
                compile=compiled,
                threads=1,
                decode="argmax",
            ),
            price=HourlyPrice("0.40 USD", utilisation=0.50, source="offer A", date="2026-10-15"),
        )


def digit_reader():
    from network import DigitReader  # noqa: PLC0415 - it imports torch, which takes seconds

    return DigitReader()


@pytest.hookimpl(optionalhook=True)
def pytest_procure_datasets():
    return {"clean-forms": lambda: scans("clean"), "our-scans": lambda: scans("brighter")}


def scans(rendering):
    grey = np.load(DATA / f"scans-{rendering}.npy")
    labels = np.load(DATA / "labels.npy")
    return Dataset.from_arrays(
        f"form-digits-{rendering}",
        inputs=(grey / np.float32(255))[:, np.newaxis].astype(np.float32),
        references=labels,
        strata=[f"digit {label}" for label in labels],
        licence="CC BY 4.0",
        source="UCI Optical Recognition of Handwritten Digits, test part, by way of scikit-learn",
        version="1",
        caveats=CAVEATS,
    )
