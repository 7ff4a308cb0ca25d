# SPDX-License-Identifier: BSD-3-Clause
"""Trees of declared tables: levels, missing cells, numbers, through fits, predictions, pickles and texts."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.domain import BooleanColumn, CategoricalColumn, NumberColumn, TableDomain
from skprivate.partition import build_partition
from skprivate.preprocessing import DomainEncoder
from skprivate.tree import LeafCountAccumulator, export_text
from skprivate.tree._release import slope_of_public_rows
from skprivate.tree._rows import PublicVotes

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


@pytest.mark.parametrize("rule", ["max-edge", "cart"])
@pytest.mark.parametrize("mechanism", ["native", "one-hot"])
def test_one_split_by_levels_finds_what_one_hot_columns_do_not(rule, mechanism):
    # 12 levels of no order, of which four have the other label: the best classifier is right in .9.
    rng = np.random.default_rng(3)
    job = rng.integers(12, size=24000)
    y = (rng.random(24000) < np.where(np.isin(job, [1, 4, 6, 9]), 0.9, 0.1)).astype(int)
    table, fit = {"job": np.array(LEVELS)[job]}, slice(4000)
    domain, seen = TableDomain({"job": LEVELS}), {"job": table["job"][fit]}
    tree = LocallyPrivateTreeClassifier(classes=[0, 1], rule=rule, random_state=4)
    if mechanism == "native":
        tree.set_params(domain=domain).fit(seen, y[fit], is_public=np.arange(4000) < 300)
        assert tree.score({"job": table["job"][4000:]}, y[4000:]) > 0.88
        assert set(tree.partition_.levels_left(0)[[1, 4, 6, 9]]) != set(
            tree.partition_.levels_left(0)[[0, 2, 3]]
        )
    else:
        X = domain.encode(table)
        tree.set_params(bounds=(0, 1)).fit(X[fit], y[fit], is_public=np.arange(4000) < 300)
        assert tree.score(X[4000:], y[4000:]) < 0.86


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("rule", ["max-edge", "cart", "random"])
@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("share", ["auto", 0])
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
def test_containers_of_the_same_table_get_the_same_tree(kind):
    reference = fitted(kind).predict_proba(FRAME)
    frame = FRAME.assign(job=pd.Categorical(FRAME["job"], categories=LEVELS[::-1]))
    records = FRAME.astype(object).where(FRAME.notna(), None).to_dict("records")
    for table in (frame, records, FRAME[["size", "age", "job", "married"]]):
        tree = kind(4.0, domain=DOMAIN, classes=[0, 1], random_state=7, split_share=0)
        tree.fit(table, Y, is_public=PUBLIC)
        np.testing.assert_array_equal(tree.predict_proba(table), reference)


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("rule", ["max-edge", "cart"])
def test_the_order_of_declared_levels_does_not_matter_to_public_splits(kind, rule):
    turned = TableDomain(
        {**DOMAIN.columns, "job": CategoricalColumn(LEVELS[5:] + LEVELS[:5], missing="indicator")}
    )
    np.testing.assert_array_equal(
        fitted(kind, rule=rule).predict_proba(FRAME),
        fitted(kind, domain=turned, rule=rule).predict_proba(FRAME),
    )


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
@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("age", "fifty", "column 'age' holds a value that is no finite number"),
        ("job", "pilot", "column 'job' holds a value that is none of the declared levels"),
        ("married", "maybe", "column 'married' holds a value that is neither true nor false"),
        ("size", None, "column 'size' holds a missing value"),
    ],
)
def test_cells_that_are_no_values_are_refused_by_name_of_their_column(kind, column, cell, message):
    bad = FRAME.astype(object).copy()
    bad.loc[1234, column] = cell
    tree = kind(4.0, domain=DOMAIN, classes=[0, 1])
    with pytest.raises(ValueError, match=message) as caught:
        tree.fit(bad, Y, is_public=PUBLIC)
    assert "fifty" not in str(caught.value)
    assert "pilot" not in str(caught.value)
    with pytest.raises(ValueError, match=message):
        fitted(kind).predict(bad)


@pytest.mark.parametrize("levels", [["a", "b", "a"], ["a", 1], [], ["a", None]])
def test_declarations_that_contradict_themselves_are_refused(levels):
    with pytest.raises((TypeError, ValueError), match="column 'job': "):
        TableDomain({"job": levels})


@pytest.mark.parametrize("kind", TREES)
def test_pickles_copies_and_other_pruning_keep_the_columns(kind):
    tree = fitted(kind, rule="cart")
    reference = tree.predict_proba(FRAME)
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert again.partition_ == tree.partition_
        np.testing.assert_array_equal(again.predict_proba(FRAME), reference)
        assert export_text(again) == export_text(tree)
    assert tree.repruned(prune=True).predict_proba(FRAME).shape == reference.shape


def test_one_column_a_level_is_still_to_be_had():
    pipeline = make_pipeline(DomainEncoder(DOMAIN), DPTreeClassifier(bounds=(0, 100), classes=[0, 1]))
    pipeline.fit(FRAME, Y)
    assert pipeline[-1].partition_.derived is None
    assert pipeline[-1].feature_importances_.shape == (len(DOMAIN.encoded_names),)


def test_places_are_fitted_anew_on_every_fold():
    # Thirty levels that say nothing: places that saw the held-out labels would seem to be confirmed by them.
    rng = np.random.default_rng(11)
    domain = TableDomain({"job": [f"l{level}" for level in range(30)]})
    X = domain.encode({"job": [f"l{level}" for level in rng.integers(30, size=150)]})
    labels = rng.integers(2, size=150).astype(np.int32)

    def grow(rows, marks, derived=None):
        fit = (X, labels) if derived else (rows, marks)
        return build_partition(
            *fit, lower=[0] * 30, upper=[1] * 30, max_depth=2, rule="cart", groups=domain.groups
        )

    votes = PublicVotes(X, labels, 2)
    honest = slope_of_public_rows(grow, votes, 2)
    leaking = slope_of_public_rows(lambda rows, marks: grow(rows, marks, True), votes, 2)
    assert honest < 0.5 < leaking


def test_counts_of_batches_are_those_of_a_fit():
    tree = DPTreeClassifier(4.0, domain=DOMAIN, classes=[0, 1], rule="cart", max_depth=3)
    public = FRAME[PUBLIC], Y[PUBLIC]
    private = FRAME[~PUBLIC].reset_index(drop=True), Y[~PUBLIC]
    counts = LeafCountAccumulator(tree, n_rows=5700, public=public)
    for part in range(3):
        here = np.arange(part * 1900, (part + 1) * 1900)
        counts.update(private[0].iloc[here], private[1][here], batch_id=str(part))
    released = counts.release(tree, public=public)
    plain = fitted(DPTreeClassifier, rule="cart", max_depth=3)
    assert released.partition_ == plain.partition_
    # Noise of scale 1/2 at epsilon 4, on counts: 40 is beyond e^-79 for each of at most 16 of them.
    exact = np.zeros_like(released.report_counts_)
    np.add.at(exact.reshape(-1), 2 * released.partition_.apply(DOMAIN.encode(private[0])) + private[1], 1)
    assert abs(released.report_counts_ - exact).max() <= 40
    json.dumps(released.partition_.to_dict())
