"""When answers are read during the window: when little comes, or too much of them waits."""

from __future__ import annotations

from .loop import Loop
from .settle import Settler

#: Answers between two looks up to which there is time to read some.
_CALM = 20


class Leisure:
    """Lets the settler read a little, behind what has arrived and is to be stamped first."""

    def __init__(self, settler: Settler, loop: Loop) -> None:
        self._settler = settler
        self._loop = loop
        self._ended = 0  # answers, at the last look
        self._is_reading = False

    def look(self, ended: int) -> None:
        """Look whether there is time; `ended` answers have come so far."""
        is_calm = ended - self._ended < _CALM
        self._ended = ended
        if not self._is_reading and (is_calm or self._settler.is_full):
            self._read()

    def _read(self) -> None:
        """Read some; more, when too many wait, as soon as what has arrived is stamped."""
        self._is_reading = self._settler.some()
        if self._is_reading:
            self._loop.soon(self._read)
