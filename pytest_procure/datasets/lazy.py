"""Columns whose items are read when they are asked for, so that a dataset may be larger than memory."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pytest_procure.errors import DataError

Indices = NDArray[np.int64]


class Lazy(Sequence[Any], ABC):
    """A column of items that lie elsewhere: in a file, in many, or in a function."""

    @abstractmethod
    def __len__(self) -> int:
        """Count the items."""

    @abstractmethod
    def read(self, place: int) -> Any:
        """Give an item, the same each time. Raises `DataError` when it can no longer be read."""

    def stored(self, place: int) -> bytes | None:
        """What the digest of an item is made of where that is not the item as read: None."""
        del place
        return None

    @overload
    def __getitem__(self, place: int) -> Any: ...

    @overload
    def __getitem__(self, place: slice) -> Selected: ...

    def __getitem__(self, place: int | slice) -> Any:
        """Give an item, or a column of some of them."""
        if isinstance(place, slice):
            return Selected(self, np.arange(len(self), dtype=np.int64)[place])
        at = int(place)
        if not -len(self) <= at < len(self):
            raise IndexError(f"there is no item {at}; there are {len(self)}")
        return self.read(at % len(self))

    def __iter__(self) -> Iterator[Any]:
        """Read one item after the other."""
        return (self.read(place) for place in range(len(self)))


class Selected(Lazy):
    """Some items of a column, `indices` `(n,)` int64."""

    def __init__(self, column: Lazy, indices: Indices) -> None:
        self._column = column
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    def read(self, place: int) -> Any:
        """Read the item that stands at this place of the selection."""
        return self._column.read(int(self._indices[place]))

    def stored(self, place: int) -> bytes | None:
        """The same as in the column it is from."""
        return self._column.stored(int(self._indices[place]))


class Made(Lazy):
    """Items that a function makes of their number; it has to make the same each time."""

    def __init__(self, make: Callable[[int], Any], count: int, dataset: str) -> None:
        self._make = make
        self._count = count
        self._dataset = dataset

    def __len__(self) -> int:
        return self._count

    def read(self, place: int) -> Any:
        """Make the item. What the function raises becomes a `DataError`."""
        try:
            return self._make(place)
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"item {place} of dataset `{self._dataset}` could not be made: "
                f"{type(error).__name__}: {error}"
            ) from error


class Spans(Lazy):
    """Items that are pieces of one file, mapped into memory; `spans` `(n, 2)` int64: first byte and end."""

    def __init__(self, path: Path, spans: Indices, parse: Callable[[bytes, int], Any]) -> None:
        self._path = path
        self._spans = spans
        self._parse = parse
        self._size = path.stat().st_size
        self._data: mmap.mmap | None = None

    def __len__(self) -> int:
        return len(self._spans)

    def read(self, place: int) -> Any:
        """Parse the item's piece again. Raises `DataError` when the file has another length by now."""
        first, end = self._spans[place].tolist()
        if self._data is None:
            with self._path.open("rb") as stream:
                self._data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        # A file that is cut while it is mapped would end the process at the first byte that is gone.
        if self._path.stat().st_size != self._size:
            raise DataError(f"{self._path.name} was changed after it was read; start again")
        return self._parse(self._data[first:end], place)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the map out: another process maps the file itself."""
        return {**self.__dict__, "_data": None}
