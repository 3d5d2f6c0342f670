"""The digit reader that both vendors offer: a small convolutional network."""

from torch import nn


class DigitReader(nn.Sequential):
    """Scans `(n, 1, 8, 8)` float32, white paper = 1, to one score per digit `(n, 10)`.

    No batch norm: nothing in the network adapts to the brightness of a batch.
    """

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(64, 64, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64 * 4 * 4, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )
