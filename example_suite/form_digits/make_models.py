"""Make the form digits example: two sets of scans, three ONNX models, one file of torch weights.

    python example_suite/form_digits/make_models.py            # train anew and write everything
    python example_suite/form_digits/make_models.py --check    # evaluate what is committed, write nothing

Making needs `requirements-training.txt`; `--check` needs numpy and onnxruntime. Either way the script ends
with the number of scans that each model reads right, and exits 1 when a file is not the recorded one or a
count would no longer give the verdict that the example tells of.
"""

import argparse
import hashlib
import json
import platform
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort

if TYPE_CHECKING:
    from network import DigitReader

HERE = Path(__file__).resolve().parent
MODELS = HERE / "models"
DATA = HERE / "data"
DIGESTS = HERE / "digests.json"
STATE = MODELS / "vendor-a-fp32.state.pt"

SEED = 1
TRAIN_IMAGES = 1000
CALIBRATION_IMAGES = 256
NOISE_SD = 3.0  # grey levels
B_INPUT_TOP = 196  # the brightest grey level of the calibration scans, and so the end of B's input range
EPOCHS = 40
BATCH = 64
PEAK_LEARNING_RATE = 2e-3
WEIGHT_DECAY = 1e-2
TORCH_THREADS = 2  # another number rounds differently and trains another network


@dataclass(frozen=True)
class Rendering:
    """How a scanner shows a form, in grey levels of 0 to 255."""

    paper: int
    contrast: int  # how much darker than the paper full ink is


CLEAN = Rendering(paper=184, contrast=140)
BRIGHTER = Rendering(paper=250, contrast=90)
SETS = {"clean": (CLEAN, 50 + SEED), "brighter": (BRIGHTER, 99 + SEED)}  # name: rendering, noise seed
CALIBRATION_NOISE_SEED = 7
AUGMENTATION_SEED = SEED + 1000

# At a bar of 0.95 over 797 scans (one-sided 95 % Clopper-Pearson): at most 29 errors are accepted, 51 or more
# are rejected, anything between is inconclusive.
MOST_ERRORS_ACCEPTED = 29
FEWEST_ERRORS_REJECTED = 51
REJECTED = ("vendor-b-int8", "brighter")
MODEL_NAMES = ("vendor-a-fp32", "vendor-b-int8", "vendor-b-int8-recalibrated")

Counts = dict[str, dict[str, int]]  # model name -> set name -> scans read right


# Scans


def load_ink() -> tuple[np.ndarray, np.ndarray]:
    """Read the handwritten digits: ink `(1797, 8, 8)` float64 in 0 to 1, and labels `(1797,)` uint8."""
    from sklearn.datasets import load_digits  # noqa: PLC0415  --check runs without it

    digits = load_digits()
    return digits.images / 16, digits.target.astype(np.uint8)


def split() -> tuple[np.ndarray, np.ndarray]:
    """Draw which images train and which test (indices)."""
    order = np.random.default_rng(SEED).permutation(1797)
    return order[:TRAIN_IMAGES], order[TRAIN_IMAGES:]


def scan(ink: np.ndarray, paper: np.ndarray, contrast: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Scan ink `(n, 8, 8)` to grey levels `(n, 8, 8)` uint8; paper, contrast and noise are in grey levels."""
    return np.clip(np.rint(paper - contrast * ink + noise), 0, 255).astype(np.uint8)


def render(ink: np.ndarray, rendering: Rendering, noise_seed: int) -> np.ndarray:
    """Scan all images on one scanner."""
    noise = NOISE_SD * np.random.default_rng(noise_seed).standard_normal(ink.shape)
    return scan(ink, np.asarray(rendering.paper), np.asarray(rendering.contrast), noise)


def as_input(scans: np.ndarray) -> np.ndarray:
    """Turn grey levels `(n, 8, 8)` into the models' input `(n, 1, 8, 8)` float32, white = 1."""
    return scans[:, None].astype(np.float32) / np.float32(255)


def augment(ink: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scan every image on a scanner of its own, half of them moved by up to a pixel in each axis.

    This is what makes the network indifferent to brightness; the quantised one loses that again.
    """
    n = len(ink)
    paper = rng.uniform(0.60, 1.00, (n, 1, 1))
    contrast = np.minimum(rng.uniform(0.25, 0.70, (n, 1, 1)), paper - 0.02)
    noise = rng.uniform(0, 0.03, (n, 1, 1)) * rng.standard_normal(ink.shape)
    moves = np.where(rng.random((n, 1)) < 0.5, rng.integers(-1, 2, (n, 2)), 0)

    rows = 1 + moves[:, :1] + np.arange(8)
    columns = 1 + moves[:, 1:] + np.arange(8)
    padded = np.pad(ink, ((0, 0), (1, 1), (1, 1)))
    moved = padded[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return scan(moved, 255 * paper, 255 * contrast, 255 * noise)


# Models


def train(ink: np.ndarray, labels: np.ndarray) -> "DigitReader":
    """Train the network that both vendors offer."""
    import torch  # noqa: PLC0415  --check runs without it
    from network import DigitReader  # noqa: PLC0415  imports torch

    torch.set_num_threads(TORCH_THREADS)
    torch.manual_seed(SEED)
    rng = np.random.default_rng(AUGMENTATION_SEED)
    reader = DigitReader()
    optimizer = torch.optim.AdamW(reader.parameters(), lr=PEAK_LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * -(-len(ink) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_LEARNING_RATE, total_steps=steps)
    answers = torch.from_numpy(labels.astype(np.int64))
    for _ in range(EPOCHS):
        scans = torch.from_numpy(as_input(augment(ink, rng)))
        for batch in torch.randperm(len(ink)).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(reader(scans[batch]), answers[batch]).backward()
            optimizer.step()
            schedule.step()
    return reader.eval()


def export(reader: "DigitReader", path: Path) -> None:
    """Write the network as ONNX, input `x`, output `y`, any batch size."""
    import torch  # noqa: PLC0415  --check runs without it

    with warnings.catch_warnings():
        # The TorchScript exporter is deprecated, but writes the plain graph that the quantiser expects.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            reader,
            (torch.zeros(1, 1, 8, 8),),
            str(path),
            dynamo=False,
            opset_version=17,
            input_names=["x"],
            output_names=["y"],
            dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
        )


def quantise(fp32: Path, int8: Path, calibration: np.ndarray) -> None:
    """Write the static int8 form of a model, its ranges taken from the calibration scans."""
    from onnxruntime import quantization as q  # noqa: PLC0415  needs onnx, and --check runs without it
    from onnxruntime.quantization.shape_inference import quant_pre_process  # noqa: PLC0415  the same

    class Batches(q.CalibrationDataReader):
        def __init__(self) -> None:
            self.batches: Iterator[np.ndarray] = iter(np.split(as_input(calibration), len(calibration) // 16))

        def get_next(self) -> dict[str, np.ndarray] | None:
            batch = next(self.batches, None)
            return None if batch is None else {"x": batch}

    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder, "prepared.onnx")
        quant_pre_process(str(fp32), str(prepared), skip_symbolic_shape=True)
        q.quantize_static(
            str(prepared),
            str(int8),
            Batches(),
            quant_format=q.QuantFormat.QDQ,
            activation_type=q.QuantType.QUInt8,
            weight_type=q.QuantType.QInt8,
            per_channel=True,
            reduce_range=True,  # 7-bit weights: no 16-bit saturation on processors without VNNI
            calibrate_method=q.CalibrationMethod.MinMax,
        )


def make() -> None:
    """Write data, models and digests."""
    import torch  # noqa: PLC0415  --check runs without it

    MODELS.mkdir(exist_ok=True)
    DATA.mkdir(exist_ok=True)
    ink, labels = load_ink()
    training, test = split()
    for name, (rendering, noise_seed) in SETS.items():
        np.save(DATA / f"scans-{name}.npy", render(ink[test], rendering, noise_seed), allow_pickle=False)
    np.save(DATA / "labels.npy", labels[test], allow_pickle=False)

    reader = train(ink[training], labels[training])
    torch.save(reader.state_dict(), STATE)
    fp32, int8, recalibrated = map(model_path, MODEL_NAMES)
    export(reader, fp32)
    seen = ink[training[:CALIBRATION_IMAGES]]
    clean, brighter = (render(seen, rendering, CALIBRATION_NOISE_SEED) for rendering in (CLEAN, BRIGHTER))
    half = CALIBRATION_IMAGES // 2
    quantise(fp32, int8, clean)
    quantise(fp32, recalibrated, np.concatenate([clean[:half], brighter[half:]]))
    DIGESTS.write_text(json.dumps(describe(), indent=2) + "\n", encoding="utf-8")


# Digests and counts


def model_path(name: str) -> Path:
    return MODELS / f"{name}.onnx"


def digest_files() -> dict[str, dict[str, str | int]]:
    """Digest every file in `models/` and `data/`."""
    paths = sorted(path for folder in (DATA, MODELS) for path in folder.iterdir())
    return {
        path.relative_to(HERE).as_posix(): {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in paths
    }


def read_labels(model: Path, scans: np.ndarray) -> np.ndarray:
    """Read scans `(n, 8, 8)` uint8 with a model: labels `(n,)`."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["y"], {"x": as_input(scans)})
    return scores.argmax(axis=1)


def count_right() -> Counts:
    """Count the scans that each model reads right."""
    labels = np.load(DATA / "labels.npy", allow_pickle=False)
    scans = {name: np.load(DATA / f"scans-{name}.npy", allow_pickle=False) for name in SETS}
    return {
        model: {name: int((read_labels(model_path(model), scans[name]) == labels).sum()) for name in SETS}
        for model in MODEL_NAMES
    }


def describe() -> dict[str, object]:
    """Say what was made, from what, with what."""
    return {
        "files": digest_files(),
        "read_right": count_right(),
        "seed": SEED,
        "split": f"default_rng({SEED}).permutation(1797): the first {TRAIN_IMAGES} train, the other 797 test",
        "rendering": {
            "noise_sd_grey_levels": NOISE_SD,
            **{
                name: {**asdict(rendering), "noise_seed": noise_seed}
                for name, (rendering, noise_seed) in SETS.items()
            },
        },
        "calibration": {
            "noise_seed": CALIBRATION_NOISE_SEED,
            "vendor-b-int8": f"the first {CALIBRATION_IMAGES} training images, rendered clean",
            "vendor-b-int8-recalibrated": "the same images, the first half clean, the rest brighter",
        },
        "training": {
            "epochs": EPOCHS,
            "batch": BATCH,
            "augmentation_seed": AUGMENTATION_SEED,
            "torch_threads": TORCH_THREADS,
        },
        "tools": {
            "python": platform.python_version(),
            **{tool: version(tool) for tool in ("numpy", "onnx", "onnxruntime", "scikit-learn", "torch")},
        },
    }


def print_table(counts: Counts, total: int) -> None:
    print(f"{f'read right, of {total}':<28}" + "".join(f"{name:>14}" for name in SETS))
    for model, by_set in counts.items():
        cells = (f"{right} ({right / total:.3f})" for right in by_set.values())
        print(f"{model:<28}" + "".join(f"{cell:>14}" for cell in cells))


def print_why() -> None:
    """Show that B's input range cuts the brighter scans off, and which digits suffer."""
    labels = np.load(DATA / "labels.npy", allow_pickle=False)
    for name in SETS:
        scans = np.load(DATA / f"scans-{name}.npy", allow_pickle=False)
        print(f"{name} pixels above B's input range of 0..{B_INPUT_TOP}: {(scans > B_INPUT_TOP).mean():.3%}")
    brighter = np.load(DATA / "scans-brighter.npy", allow_pickle=False)
    cut_off = read_labels(model_path("vendor-a-fp32"), np.minimum(brighter, B_INPUT_TOP))
    read = f"{(cut_off == labels).sum()} of {len(labels)} brighter scans"
    print(f"vendor-a-fp32 with its input cut off there: {read}")
    right = read_labels(model_path("vendor-b-int8"), brighter) == labels
    shares = (f"{digit}: {right[labels == digit].mean():.2f}" for digit in range(10))
    print("vendor-b-int8 on brighter scans, share right by digit: " + ", ".join(shares))


def story_breaks(counts: Counts, total: int) -> list[str]:
    """Name each result that would not give the verdict that the example tells of."""
    breaks = []
    for model, by_set in counts.items():
        for name, right in by_set.items():
            errors = total - right
            if (model, name) == REJECTED:
                holds, wanted = (
                    errors >= FEWEST_ERRORS_REJECTED,
                    f"at least {FEWEST_ERRORS_REJECTED} to be rejected",
                )
            else:
                holds, wanted = (
                    errors <= MOST_ERRORS_ACCEPTED,
                    f"at most {MOST_ERRORS_ACCEPTED} to be accepted",
                )
            if not holds:
                breaks.append(
                    f"{model} makes {errors} errors on the {name} scans, the example needs {wanted}"
                )
    return breaks


def file_differences(recorded: dict[str, dict[str, str | int]]) -> list[str]:
    """Name each file that is not the recorded one."""
    found = digest_files()
    return [
        f"{path} is not the file recorded in {DIGESTS.name}; restore it, or make everything anew"
        for path in sorted(recorded.keys() | found.keys())
        if recorded.get(path) != found.get(path)
    ]


def check() -> list[str]:
    """Compare digests, evaluate the models, print the counts; say what is wrong."""
    record = json.loads(DIGESTS.read_text(encoding="utf-8"))
    differences = file_differences(record["files"])
    if differences:
        return differences  # a file that is not ours is not loaded
    counts = count_right()
    total = len(np.load(DATA / "labels.npy", allow_pickle=False))
    print_table(counts, total)
    print_why()
    if counts != record["read_right"]:
        # Nothing wrong by itself: another processor may round a few scans to another label.
        print(f"note: {DIGESTS.name} records {record['read_right']}")
    return story_breaks(counts, total)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Make or check the models and scans of the form digits example."
    )
    parser.add_argument("--check", action="store_true", help="make nothing: check and evaluate what is there")
    if not parser.parse_args().check:
        make()
    problems = check()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
