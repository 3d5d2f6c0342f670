"""A pack of each kind of test, signed, and made once: verifying leaves it as it is."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import packs

from pytest_procure.evidence import attestations


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Key files of the buyer and of a vendor: (secret, public) each."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("buyer", "vendor"):
        attestations.generate(folder / name)
    return {name: (folder / name, folder / f"{name}.pub") for name in ("buyer", "vendor")}


@pytest.fixture(scope="session")
def signed(tmp_path_factory, keys):
    """A pack of all kinds of tests, signed by the buyer. Nobody may change it."""
    folder = packs.write(tmp_path_factory.mktemp("signed") / "pack", *packs.BARS)
    attestations.sign(folder, attestations.private_key(keys["buyer"][0]), first=True)
    return folder


@pytest.fixture
def copied(signed, tmp_path):
    """A copy of the signed pack, to tamper with."""
    return Path(shutil.copytree(signed, tmp_path / "pack"))


@pytest.fixture
def written(tmp_path):
    """Write packs of chosen tests: `written("a", "quality")`."""

    def write(name, *kinds, **more):
        return packs.write(tmp_path / name, *kinds, **more)

    return write


@pytest.fixture(scope="session")
def resealed():
    """Write a tampered pack's manifest anew, as somebody who can write files would."""
    from pytest_procure.evidence import manifest, pack

    def reseal(folder):
        shutil.rmtree(folder / manifest.OUTSIDE, ignore_errors=True)
        (folder / manifest.MANIFEST).unlink()
        pack.put(folder / manifest.MANIFEST, manifest.manifest(folder))

    return reseal
