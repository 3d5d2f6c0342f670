"""Offers on a GPU, at the top level of a file, so that a process of their own can be given them."""

from pytest_procure.backends import TorchModule


def large():
    """1 GiB of weights."""
    import torch

    return torch.nn.Linear(16_384, 16_384)


LARGE = TorchModule(large, device="cuda:0")
