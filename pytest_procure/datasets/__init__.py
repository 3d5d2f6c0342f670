"""The buyer's own labelled samples, and the part of them that a test asks about."""

from .dataset import Dataset, StageLabels
from .judge import llm_judge
from .retrieval import ndcg_at, recall_at
from .scorers import Scorer
from .slices import DatasetSlice
from .texts import exact_match, squad

__all__ = [
    "Dataset",
    "DatasetSlice",
    "Scorer",
    "StageLabels",
    "exact_match",
    "llm_judge",
    "ndcg_at",
    "recall_at",
    "squad",
]
