# SPDX-License-Identifier: BSD-3-Clause
"""The warning of trees that predict no better than their base rate: when it comes, how often, what it says.

Noise has a fixed seed here, which is not that of the rows.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.collection import TreeCurator
from skprivate.exceptions import UtilityWarning
from skprivate.rounds import fit_rounds

X = np.random.default_rng(0).uniform(size=(20_000, 2))
Y = np.where(X[:, 0] > 0.5, "yes", "no")
BANDS = np.array(["a", "b", "c"])[(3 * X[:, 0]).astype(int)]
PERMUTED = np.random.default_rng(1).permutation(Y)
PUBLIC = np.arange(len(X)) < 100
KINDS = [DPTreeClassifier, LocallyPrivateTreeClassifier]


def tree_of(kind, **parameters):
    options = {"bounds": (0, 1), "classes": ["no", "yes"], "random_state": 7, "max_depth": 3, **parameters}
    return kind(4.0, **options)


def said(fit):
    """Return the warnings of use in a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(one.message) for one in caught if one.category is UtilityWarning]


@pytest.mark.parametrize("is_public", [None, PUBLIC], ids=["no public rows", "public rows"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("labels", "parameters"),
    [
        (Y, {"classes": ["No", "Yes"]}),
        (PERMUTED, {}),
        (BANDS, {"classes": ["A", "B", "C"]}),
        (np.roll(BANDS, 7000), {"classes": ["a", "b", "c"]}),
    ],
)
def test_what_says_nothing_is_heard_of_once(kind, labels, parameters, is_public):
    tree = tree_of(kind, **parameters)
    if is_public is not None and labels[0] not in tree.classes:
        with pytest.raises(ValueError, match="public rows have labels outside classes"):
            tree.fit(X, labels, is_public=is_public)
        return
    found = said(lambda: tree.fit(X, labels, is_public=is_public))
    assert len(found) == 1
    assert found[0].startswith(f"{kind.__name__}: ")
    assert "may predict as well" in found[0] or "a single leaf" in found[0]
    for hint in ("spelling", "bounds", "epsilon"):
        assert hint in found[0]
    assert ("public rows alone" in found[0]) is (is_public is not None)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_a_hundred_times_too_wide_are_heard_of(kind):
    # Rows may choose splits that find their corner of the box, and such a tree is of use.
    found = said(lambda: tree_of(kind, bounds=(0, 100), max_depth=2, split_share=0).fit(X, Y))
    assert len(found) == 1


@pytest.mark.parametrize("is_public", [None, PUBLIC], ids=["no public rows", "public rows"])
@pytest.mark.parametrize(
    "tree",
    [*(tree_of(kind) for kind in KINDS), tree_of(LocallyPrivateTreeClassifier, protect="label")],
    ids=["central", "local", "label"],
)
def test_a_tree_of_use_is_silent(tree, is_public):
    assert said(lambda: tree.fit(X, Y, is_public=is_public)) == []
    bands = clone(tree).set_params(classes=["a", "b", "c"])
    assert said(lambda: bands.fit(X, BANDS, is_public=is_public)) == []


def test_wrong_public_labels_hide_nothing():
    # Of the public labels half are wrong and useless; the private ones tell the leaves apart.
    labels = np.where(PUBLIC, PERMUTED, Y)
    assert said(lambda: tree_of(DPTreeClassifier).fit(X, labels, is_public=PUBLIC)) == []


def test_good_public_labels_do_not_help_private_ones():
    labels = np.where(PUBLIC, Y, PERMUTED)
    assert len(said(lambda: tree_of(DPTreeClassifier).fit(X, labels, is_public=PUBLIC))) == 1


def test_a_single_leaf_is_heard_of():
    constant = np.where(PUBLIC, "no", Y)
    found = said(
        lambda: tree_of(DPTreeClassifier, rule="cart", split_share=0).fit(X, constant, is_public=PUBLIC)
    )
    assert len(found) == 1
    assert "single leaf" in found[0]


def test_post_processing_is_silent():
    with pytest.warns(UtilityWarning):
        tree = tree_of(DPTreeClassifier).fit(X, PERMUTED, is_public=PUBLIC)
    assert said(lambda: tree.repruned(prune=True).repruned(public_weight=0)) == []


def test_an_error_would_lose_the_release():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        tree = tree_of(DPTreeClassifier).fit(X, PERMUTED)
    assert tree.n_reports_ == len(X)
    assert [one.category for one in caught] == [UtilityWarning]
    assert caught[0].filename == __file__


def test_sources_and_curators_warn_once():
    tree = tree_of(DPTreeClassifier)
    assert len(said(lambda: fit_rounds(tree, [(X, PERMUTED)]))) == 1
    assert said(lambda: fit_rounds(tree, [(X, Y)])) == []
    for labels, times in ((Y, 0), (PERMUTED, 1)):
        plan = tree_of(LocallyPrivateTreeClassifier, random_state=None)
        curator = TreeCurator(plan, X[PUBLIC], Y[PUBLIC], n_clients=len(X))
        for reports in curator.specification.randomize_many(X, labels, random_state=5):
            curator.update(reports)
        assert len(said(curator.release)) == times


@pytest.mark.statistical
def test_splits_that_the_rows_chose_do_not_make_useless_trees_silent():
    # Of 62 splits the best looks better than chance in about a third of the draws; the stated rate is .02, so
    # that four of 25 have a probability below 1e-4 for any seed. These are fixed.
    useless = np.random.default_rng(2)
    silent = 0
    for seed in range(25):
        tree = DPTreeClassifier(100.0, bounds=(0, 1), classes=["no", "yes"], max_depth=2, random_state=seed)
        silent += said(lambda tree=tree: tree.fit(X[:4000], useless.permutation(Y[:4000]))) == []
    assert silent <= 3
