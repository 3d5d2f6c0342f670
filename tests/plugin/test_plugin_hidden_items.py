"""What a pack tells of the buyer's items: of a sealed suite, nothing that a guess could be tried on."""

import hashlib
import json

import numpy as np
import pytest
from sealed_suite import READS, seal, spec

from pytest_procure.datasets.digests import item_digests, slice_digest
from pytest_procure.evidence.items import salted

ITEMS, LABELS = np.arange(400), np.arange(400) % 10


def guesses():
    """What somebody can make who guesses every item of the data right: digests of the items, and of all."""
    plain = list(item_digests(ITEMS, LABELS))
    return [each.hex().encode() for each in plain] + [slice_digest(ITEMS, LABELS).encode()]


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_guessed_item_is_found_in_any_file_of_a_sealed_pack(sealed):
    ended = sealed.run("--procure-report")
    held = b"\n".join(files(ended.folder).values())
    assert not [guess for guess in guesses() if guess in held or bytes.fromhex(guess.decode()) in held]


def test_the_pack_of_a_suite_that_is_not_sealed_shows_whether_a_guess_is_among_the_items(suite):
    suite.offers(good=1.0)
    suite.tests(READS)
    ended = suite.run("--procure-report")
    (path,) = (ended.folder / "slices").iterdir()
    assert all(guess in path.read_bytes() for guess in guesses()[:-1])
    assert slice_digest(ITEMS, LABELS).startswith(path.stem)


def test_the_packs_items_are_the_specs_so_one_that_is_disputed_can_be_shown(sealed):
    ended = sealed.run("--procure-report")
    (path,) = (ended.folder / "slices").iterdir()
    (known,) = spec(sealed)["datasets"].values()
    assert [each.decode() for each in np.load(path)["sha256"]] == known["items"]
    salt = bytes.fromhex((sealed.path / ".procure" / "salt").read_text().strip())
    assert salted(salt, next(item_digests(ITEMS, LABELS))).hex() == known["items"][0]
    (run,) = ended.results["test_reads[good]"]["runs"]
    told = hashlib.sha256(b"".join(bytes.fromhex(each) for each in known["items"])).hexdigest()
    assert run["slice"]["digest"] == told


def test_a_suite_whose_salt_is_lost_publishes_no_plain_digests_either(sealed):
    (sealed.path / ".procure" / "salt").unlink()
    ended = sealed.run("--procure-report")
    assert ended.record["outcome"]["accepted"] is False
    held = b"\n".join(files(ended.folder).values())
    assert not [guess for guess in guesses() if guess in held]


@pytest.mark.parametrize("seal_it", [True, False], ids=["sealed", "not sealed"])
def test_samples_that_a_candidate_changes_are_noticed(suite, seal_it):
    suite.conftest("""
        def answer(inputs):
            data.inputs.flags.writeable = True
            data.inputs[:] = 0
            return answers(1.0)(inputs)
        data = numbers()
        def pytest_procure_candidates():
            return [Candidate("good", backend=answer)]
        def pytest_procure_datasets():
            return {"numbers": data}
    """)
    suite.tests(READS)
    if seal_it:
        seal(suite)
    ended = suite.run("--procure-report")
    assert "were changed during the run" in ended.words
    assert json.loads((ended.folder / "verdict.json").read_text())["outcome"]["accepted"] is False
