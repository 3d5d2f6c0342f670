"""The buyer's own labelled samples, and the part of them that a test asks about."""

from .dataset import Dataset
from .scorers import Scorer
from .slices import DatasetSlice

__all__ = ["Dataset", "DatasetSlice", "Scorer"]
