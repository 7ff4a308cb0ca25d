# SPDX-License-Identifier: BSD-3-Clause
"""What all trees do: a curator's statement, noise and persons; and fits to declared tables."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import skprivate
from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier, PrivacyLedger
from skprivate.datasets import make_posterior_drift
from skprivate.domain import BooleanColumn, CategoricalColumn, NumberColumn, TableDomain
from skprivate.exceptions import BudgetExceededError
from skprivate.tree import export_text

X, LABELS, IS_PUBLIC = make_posterior_drift(4000, 200, random_state=0)
BINARY = {"bounds": (0.0, 1.0), "classes": [0, 1]}


class TestCurator:
    def test_what_is_claimed(self):
        spent = DPTreeClassifier(Fraction(1, 2), **BINARY).fit(X, LABELS, is_public=IS_PUBLIC).privacy_spent_
        assert (spent.epsilon, spent.relation, spent.deployment) == (Fraction(1, 2), "replace-one", "curator")
        assert (spent.sensitivity, spent.noise_scale, spent.private) == (2, 4, True)
        assert spent.unprotected["private rows"] == 4000
        assert spent.public_inputs == ("public rows with their labels", "bounds", "classes")
        assert DPTreeClassifier(**BINARY).fit(X, LABELS).privacy_spent_.public_inputs == ("bounds", "classes")

    def test_groups_multiply_the_sensitivity(self):
        groups = np.repeat(np.arange(1050), 4)
        tree = DPTreeClassifier(1.0, max_rows_per_group=3, **BINARY)
        tree.fit(X, LABELS, is_public=IS_PUBLIC, groups=groups)
        spent = tree.privacy_spent_
        assert (spent.sensitivity, spent.unit, spent.max_rows_per_unit) == (6, "group", 3)
        assert tree.n_reports_ == spent.unprotected["private rows"] == 3000
        without = DPTreeClassifier(1.0, max_rows_per_group=3, **BINARY).fit(X, LABELS, is_public=IS_PUBLIC)
        assert (without.privacy_spent_.sensitivity, without.privacy_spent_.unit) == (2, "row")

    def test_how_many_rows_a_person_has_shows_nowhere(self):
        groups, fewer = np.repeat(np.arange(1050), 4), np.repeat(np.arange(1050), 4)
        # A person has one row instead of four, and somebody else has more than count anyway.
        person = np.flatnonzero(groups == groups[~IS_PUBLIC][0])
        fewer[person[1:]] = groups[~IS_PUBLIC][-1]
        tree = DPTreeClassifier(1.0, max_rows_per_group=3, **BINARY)
        told = []
        for persons in (groups, fewer):
            tree.fit(X, LABELS, is_public=IS_PUBLIC, groups=persons)
            told.append((tree.n_reports_, tree.max_depth_, tree.privacy_spent_))
        assert told[0] == told[1]
        assert told[0][0] == 3000

    def test_noise_is_fresh_and_added_to_every_count(self):
        X, y, public = make_posterior_drift(400, 100, random_state=0)
        trees = (DPTreeClassifier(0.5, max_depth=4, random_state=seed, **BINARY) for seed in range(200))
        runs = [tree.set_params(split_share=0).fit(X, y, is_public=public) for tree in trees]
        counts = np.array([run.report_counts_ for run in runs])
        leaves = runs[0].apply(X[~public])
        exact = np.bincount(2 * leaves + y[~public], minlength=2 * runs[0].n_leaves_).reshape(-1, 2)
        # A count has half the variance of a difference.
        variance = runs[0].randomizer_.variance(400)[0] / 2
        # 32 means and variances at 6 standard errors of a Laplace draw. Seeded: sums of squares of such draws
        # pass 6 standard errors far more often than normal ones.
        assert np.abs(counts.mean(axis=0) - exact).max() < 6 * np.sqrt(variance / 200)
        assert np.abs(counts.var(axis=0) / variance - 1).max() < 6 * np.sqrt(5 / 200)

    def test_unseeded_fits_differ(self):
        # 16 draws of scale 4 agree twice with a probability below 1e-12.
        tree = DPTreeClassifier(0.5, max_depth=4, **BINARY)
        counts = [tree.fit(X, LABELS, is_public=IS_PUBLIC).report_counts_ for _ in range(2)]
        assert (counts[0] != counts[1]).any()

    def test_ledger(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        tree = DPTreeClassifier(0.75, ledger=ledger, **BINARY)
        tree.fit(X, LABELS, is_public=IS_PUBLIC)
        with pytest.raises(BudgetExceededError):
            tree.fit(X, LABELS, is_public=IS_PUBLIC)
        (entry,) = ledger.entries()
        assert (entry.estimator, entry.relation) == ("DPTreeClassifier", "replace-one")


# Declared tables

LEVELS = [f"l{level}" for level in range(12)]
FLIPPED = ["l1", "l4", "l6", "l9"]
DOMAIN = TableDomain(
    {
        "job": CategoricalColumn(LEVELS, missing="indicator"),
        "age": NumberColumn(0, 100, missing="indicator"),
        "married": BooleanColumn(missing="indicator"),
        "size": (0, 1),
    }
)
TREES = [DPTreeClassifier, LocallyPrivateTreeClassifier]


def draw(n, seed, holes=0.15):
    """A frame with holes, and labels that follow the job and whether the age is missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "job": rng.choice(LEVELS, size=n),
            "age": rng.uniform(-5, 105, size=n),
            "married": rng.choice([True, False], size=n).astype(object),
            "size": rng.uniform(size=n),
        }
    )
    for name in ("job", "age", "married"):
        frame.loc[rng.random(n) < holes, name] = None
    likely = np.where(frame["job"].isin(FLIPPED) ^ frame["age"].isna(), 0.9, 0.1)
    return frame, (rng.random(n) < likely).astype(int)


FRAME, Y = draw(6000, 0)
PUBLIC = np.arange(6000) < 300


def fitted(kind, domain=DOMAIN, public=True, **options):
    options = {"classes": [0, 1], "random_state": 7, "split_share": 0} | options
    return kind(4.0, domain=domain, **options).fit(FRAME, Y, is_public=PUBLIC if public else None)


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("rule", ["max-edge", "cart", "random"])
@pytest.mark.parametrize(("public", "share"), [(True, 0), (False, "auto")])
def test_every_rule_grows_on_levels_and_holes(kind, rule, public, share):
    tree = fitted(kind, public=public, rule=rule, split_share=share)
    fresh, labels = draw(4000, 1, holes=0.3)
    proba = tree.predict_proba(fresh)
    assert np.isfinite(proba).all()
    assert tree.feature_importances_.shape == (4,) == (tree.n_features_in_,)
    assert export_text(tree).count("class: ") == tree.n_leaves_
    np.testing.assert_array_equal(tree.apply(fresh), tree.partition_.apply(DOMAIN.encode(fresh)))
    if public and rule != "random" and share == 0:
        assert tree.score(fresh, labels) > 0.8


@pytest.mark.parametrize("kind", TREES)
def test_in_strict_mode_no_cell_fails_and_garbage_counts_as_missing(kind):
    garbage = FRAME.astype(object).copy()
    holes = garbage.copy()
    for column, values in (
        ("job", ["pilot", 7, "\x00"]),
        ("age", ["old", "1e999x", object()]),
        ("married", ["maybe", 9]),
    ):
        for at, value in enumerate(values):
            # One of each among the public rows, and one among the private ones.
            for row in (at, 1000 + at):
                garbage.loc[row, column] = value
                holes.loc[row, column] = None
    garbage.loc[[5, 1005], "size"], holes.loc[[5, 1005], "size"] = "big", None
    with skprivate.config_context(strict=True):
        trees = []
        for table in (garbage, holes):
            tree = kind(4.0, domain=DOMAIN, classes=[0, 1], split_share=0)
            trees.append(tree.fit(table, Y, is_public=PUBLIC))
        assert trees[0].partition_ == trees[1].partition_
        np.testing.assert_array_equal(trees[0].apply(garbage), trees[0].apply(holes))


@pytest.mark.parametrize("kind", TREES)
def test_pickles_copies_and_other_pruning_keep_the_columns(kind):
    tree = fitted(kind, rule="cart")
    reference = tree.predict_proba(FRAME)
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert again.partition_ == tree.partition_
        np.testing.assert_array_equal(again.predict_proba(FRAME), reference)
        assert export_text(again) == export_text(tree)
    assert tree.repruned(prune=True).predict_proba(FRAME).shape == reference.shape
