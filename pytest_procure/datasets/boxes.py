"""Scores of boxes in pictures: intersection over union, and mean average precision by torchmetrics.

A box is (x1, y1, x2, y2) with x1 <= x2 and y1 <= y2. For `mean_average_precision` an output is a mapping of
`boxes` (m, 4), `scores` (m,) and `labels` (m,) of whole numbers, a reference one of `boxes` and `labels`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError

_EMPTY: dict[str, Any] = {"boxes": [], "scores": [], "labels": []}


def iou(output: Any, reference: Any) -> float:
    """Intersection over union of one box and the right one; 0 for an answer that is no box."""
    expected = _box(reference)
    if expected is None:
        raise DataError("the reference is no box; expected (x1, y1, x2, y2)")
    said = _box(output)
    if said is None:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # a box may be said to be larger than numbers go
        return _shared_part(said, expected)


def _shared_part(said: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    low, high = np.maximum(said[:2], expected[:2]), np.minimum(said[2:], expected[2:])
    shared = float(np.prod(np.clip(high - low, 0.0, None)))
    union = _area(said) + _area(expected) - shared
    if not np.isfinite(union):
        return 0.0
    return shared / union if union > 0 else float(np.array_equal(said, expected))


def mean_average_precision(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """COCO's mAP (IoU 0.50 to 0.95) of all answers, by torchmetrics (extra `[vision]`).

    A failed request, or an answer that is no such mapping, found nothing. Raises `DataError` without a box in
    the references.
    """
    try:
        torch: Any = importlib.import_module("torch")
        detection: Any = importlib.import_module("torchmetrics.detection")  # an extra
        metric = detection.MeanAveragePrecision(iou_type="bbox")
    except ImportError as error:  # torchmetrics itself asks for pycocotools only when the metric is made
        raise DataError(
            "mAP needs torchmetrics with pycocotools, which is not installed; "
            f"run `pip install 'pytest-procure[vision]'` ({str(error)[:80]})"
        ) from None
    expected = [_found(reference, scored=False) for reference in references]
    if any(each is None for each in expected):
        raise DataError("a reference is no mapping of `boxes` (x1, y1, x2, y2) and whole `labels`")

    def tensors(found: Mapping[str, Any]) -> dict[str, Any]:
        return {name: torch.tensor(column) for name, column in found.items()}

    said = [_found(output, scored=True) or _arrays(_EMPTY, scored=True) for output in outputs]
    metric.update([tensors(each) for each in said], [tensors(each) for each in expected if each is not None])
    value = float(metric.compute()["map"])
    if value < 0:  # its way to say that there is nothing to find
        raise DataError("no reference holds a box; mAP needs one")
    return value


def _box(value: Any) -> NDArray[np.float64] | None:
    try:
        box = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    if box.shape != (4,) or not np.isfinite(box).all() or (box[:2] > box[2:]).any():
        return None
    return box


def _area(box: NDArray[np.float64]) -> float:
    return float(np.prod(box[2:] - box[:2]))


def _found(value: Any, *, scored: bool) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        return None
    try:
        return _arrays(value, scored=scored)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def _arrays(value: Mapping[str, Any], *, scored: bool) -> dict[str, Any]:
    boxes = np.asarray(value["boxes"], dtype=np.float32).reshape(-1, 4)
    labels = _whole(value["labels"])
    found: dict[str, Any] = {"boxes": boxes, "labels": labels}
    if scored:
        found["scores"] = np.asarray(value["scores"], dtype=np.float32).reshape(-1)
    if any(len(column) != len(boxes) for column in found.values()):
        raise ValueError("columns of different length")
    if not all(np.isfinite(column).all() for column in found.values()):
        raise ValueError("a box or a score that is none")
    return found


def _whole(values: Any) -> NDArray[np.int64]:
    """Labels as whole numbers, `(m,)`. Raises `ValueError` where one is none, or does not fit."""
    given = np.asarray(values).reshape(-1)
    if given.size and given.dtype.kind not in "biuf":
        raise ValueError("a label that is no number")
    if (given.dtype.kind == "u" and (given > np.iinfo(np.int64).max).any()) or not np.isfinite(given).all():
        raise ValueError("a label that does not fit")
    labels = given.astype(np.int64)
    if not np.array_equal(labels, given):
        raise ValueError("a label that is no whole number")
    return labels
