"""Salted items: the same for the same, nothing to guess from, and a root as RFC 6962 defines it."""

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_procure.evidence.items import groups, leaf, root

SALT = b"s" * 32


def by_the_book(leaves):
    """The Merkle tree hash as RFC 6962, section 2.1, writes it."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + by_the_book(leaves[:k]) + by_the_book(leaves[k:])).digest()


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=70))
def test_the_root_is_that_of_rfc_6962(leaves):
    assert root([each.hex() for each in leaves]) == by_the_book(leaves).hex()


def test_the_root_of_nothing_is_that_of_rfc_6962():
    assert root([]) == hashlib.sha256(b"").hexdigest()


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_who_does_not_know_the_salt_cannot_try_an_item_out(item, other):
    assert leaf(SALT, item) == leaf(SALT, item)
    assert leaf(SALT, item) != leaf(b"t" * 32, item)
    assert leaf(SALT, item) != hashlib.sha256(item).hexdigest()
    assert (leaf(SALT, item) == leaf(SALT, other)) == (item == other)


def test_what_a_cluster_is_called_does_not_matter_and_who_is_in_it_does():
    first = groups(SALT, None, np.array([5, 5, 7]))
    assert first == groups(SALT, None, np.array([0, 0, 1]))
    assert first != groups(SALT, None, np.array([0, 1, 1]))


def test_strata_and_clusters_are_told_apart():
    strata = np.array(["a", "b"])
    clusters = np.array([0, 1])
    found = {
        groups(SALT, *each) for each in ((strata, None), (None, clusters), (strata, clusters), (None, None))
    }
    assert len(found) == 4
