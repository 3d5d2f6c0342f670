"""What can go wrong when published results are read, and who has to mend it.

ProcureError
└── MlperfError              the reader: a path, name or question that cannot be used
    └── PublishedScoreError  the suite's author: a published score was used as if it were a measurement
"""

from __future__ import annotations

from pytest_procure.errors import ProcureError


class MlperfError(ProcureError):
    """A path, a selector or a question that published results cannot answer."""


class PublishedScoreError(MlperfError, TypeError):
    """A published score was compared or calculated with; it is context and never evidence."""
