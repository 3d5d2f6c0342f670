"""No change of a signed pack passes: any byte of any file, any row, any file as a whole."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from pytest_procure.errors import ProcureError
from pytest_procure.evidence.logs import load
from pytest_procure.verify import verify

FUZZ = settings(max_examples=25)


def paths(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def passes(folder, key):
    """Whether the tampered pack is taken for whole; a refusal to look at it is none."""
    try:
        return verify(folder, keys=[key]).holds
    except ProcureError:
        return False


@pytest.fixture(scope="session")
def tampered(signed, keys):
    """Tamper with a copy, and say whether it passes."""

    def run(change):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(shutil.copytree(signed, Path(made) / "pack"))
            if change(folder) is False:
                reject()
            return passes(folder, keys["buyer"][1])

    return run


def edited(folder, path, edit):
    """Edit the bytes of a file; False where that changes nothing."""
    before = (folder / path).read_bytes()
    after = edit(before)
    (folder / path).write_bytes(after)
    return before != after


def test_the_untouched_pack_passes(tampered):
    assert tampered(lambda folder: None)


@FUZZ
@given(data=st.data())
def test_no_flipped_bit_of_any_file_passes(signed, tampered, data):
    path = data.draw(st.sampled_from(paths(signed)))
    place = data.draw(st.integers(0, (signed / path).stat().st_size - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    flip = lambda old: old[:place] + bytes([old[place] ^ bit]) + old[place + 1 :]  # noqa: E731 - one use
    assert not tampered(lambda folder: edited(folder, path, flip))


@FUZZ
@given(data=st.data())
def test_no_deleted_inserted_or_cut_byte_passes(signed, tampered, data):
    path = data.draw(st.sampled_from(paths(signed)))
    place = data.draw(st.integers(0, (signed / path).stat().st_size - 1))
    edit = data.draw(
        st.sampled_from(
            [
                lambda old: old[:place] + old[place + 1 :],
                lambda old: old[:place] + b" " + old[place:],
                lambda old: old[:place],
                lambda old: old + old[place:],
            ]
        )
    )
    assert not tampered(lambda folder: edited(folder, path, edit))


@FUZZ
@given(data=st.data())
def test_no_swapped_stretch_of_a_file_passes(signed, tampered, data):
    path = data.draw(st.sampled_from(paths(signed)))
    size = (signed / path).stat().st_size
    a, b, c = sorted(data.draw(st.integers(0, size)) for _ in range(3))
    assert not tampered(
        lambda folder: edited(folder, path, lambda old: old[:a] + old[b:c] + old[a:b] + old[c:])
    )


@FUZZ
@given(data=st.data())
def test_no_deleted_exchanged_or_added_file_passes(signed, tampered, data):
    path, other = data.draw(st.permutations(paths(signed)))[:2]

    def delete(folder):
        (folder / path).unlink()

    def exchange(folder):
        one, two = (folder / path).read_bytes(), (folder / other).read_bytes()
        (folder / path).write_bytes(two)
        (folder / other).write_bytes(one)
        return one != two

    def move(folder):
        (folder / path).rename(folder / f"{path}.old")

    def add(folder):
        shutil.copy(folder / path, folder / f"{path}2")

    assert not tampered(data.draw(st.sampled_from([delete, exchange, move, add])))


@FUZZ
@given(data=st.data())
def test_no_dropped_repeated_or_reordered_row_passes(signed, tampered, data):
    path = data.draw(st.sampled_from([path for path in paths(signed) if path.startswith("runs/")]))
    rows = np.array(load(signed / path))
    order = data.draw(
        st.one_of(
            st.permutations(range(len(rows))),
            st.lists(st.integers(0, len(rows) - 1), max_size=len(rows)),
        )
    )
    changed = rows[list(order)]

    def rewrite(folder):
        with (folder / path).open("wb") as file:
            np.lib.format.write_array(file, changed, (1, 0))
        return not np.array_equal(changed, rows)

    assert not tampered(rewrite)


@FUZZ
@given(data=st.data())
def test_a_row_changed_by_somebody_who_makes_the_manifest_anew_is_found_by_what_follows_from_it(
    signed, resealed, data
):
    """Without the key: the digests fit each other again, and the verdict no longer follows from the rows."""
    path = data.draw(st.sampled_from([path for path in paths(signed) if path.startswith("runs/")]))
    rows = np.array(load(signed / path))
    place = data.draw(st.integers(0, len(rows) - 1))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(shutil.copytree(signed, Path(made) / "pack"))
        rows["status"][place] = 0 if rows["status"][place] else 1
        with (folder / path).open("wb") as file:
            np.lib.format.write_array(file, rows, (1, 0))
        resealed(folder)
        assert not verify(folder).holds
