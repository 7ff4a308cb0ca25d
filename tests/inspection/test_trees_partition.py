# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a tree: rectangles tile the box and have the colours of their leaves."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from skprivate import DPTreeRegressor, LocallyPrivateTreeClassifier
from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain
from skprivate.inspection import PartitionDisplay
from skprivate.partition import build_partition

LOWER, UPPER = np.array([0.0, -2.0, 10.0]), np.array([1.0, 2.0, 30.0])


def rows(n, d=3, seed=0):
    return np.random.default_rng(seed).uniform(LOWER[:d], UPPER[:d], (n, d))


def fitted(n_classes=2, d=3, names=None):
    """Stand-in for a fitted tree, with random probabilities."""
    X = rows(400, d)
    rng = np.random.default_rng(1)
    tree = LocallyPrivateTreeClassifier()
    tree.partition_ = build_partition(
        X, rng.integers(0, n_classes, 400), lower=LOWER[:d], upper=UPPER[:d], max_depth=6, n_labels=n_classes
    )
    tree.leaf_proba_ = rng.dirichlet(np.ones(n_classes), tree.partition_.n_leaves)
    tree.classes_ = np.array([f"class {m}" for m in range(n_classes)])
    if names is not None:
        tree.feature_names_in_ = np.array(names, dtype=object)
    return tree


def area(polygon):
    x, y = polygon.T
    return (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2


def cell_of(corners, x, y):
    """Number of the rectangle that holds a point."""
    x0, y0, x1, y1 = corners.T
    found = np.flatnonzero((x0 <= x) & (x < x1) & (y0 <= y) & (y < y1))
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("features", [(0, 1), (1, 0), (2, 0)])
@pytest.mark.parametrize("at", [None, [0.1, 1.9, 11.0], [5.0, -7.0, np.inf]])
def test_the_plane_shows_the_leaves_that_apply_finds(axes, boxes_of, features, at):
    tree = fitted()
    display = PartitionDisplay.from_estimator(tree, features=features, at=at, ax=axes)
    corners = boxes_of(display.patches_)
    grid = rows(300, seed=2)
    third = 3 - sum(features)
    grid[:, third] = (LOWER + UPPER)[third] / 2 if at is None else at[third]
    leaves = [display.leaves[cell_of(corners, *row[list(features)])] for row in grid]
    np.testing.assert_array_equal(leaves, tree.partition_.apply(grid))
    assert len(corners) < tree.partition_.n_leaves
    # No gap, no overlap.
    areas = [area(path.vertices[:4]) for path in display.patches_.get_paths()]
    assert min(areas) > 0
    assert sum(areas) == pytest.approx(np.prod((UPPER - LOWER)[list(features)]))


def test_two_classes_are_coloured_with_the_probability_of_the_second(axes):
    tree = fitted(d=2)
    display = PartitionDisplay.from_estimator(tree, ax=axes, cmap="viridis")
    axes.figure.draw_without_rendering()
    np.testing.assert_allclose(
        display.patches_.get_facecolors(), mpl.colormaps["viridis"](tree.leaf_proba_[:, 1]), atol=1e-12
    )
    bar = axes.figure.axes[1]
    assert bar.get_ylabel() == "estimated P(y = class 1)"
    assert bar.get_ylim() == (0, 1)


@pytest.mark.parametrize(
    ("n_classes", "cmap", "name", "is_spread"),
    [(3, None, "tab10", 0), (4, "Set2", "Set2", 0), (12, None, "gist_rainbow", 1), (3, "hot", "hot", 1)],
)
def test_several_classes_are_coloured_with_the_predicted_one(axes, n_classes, cmap, name, is_spread):
    tree = fitted(n_classes=n_classes, d=2)
    display = PartitionDisplay.from_estimator(tree, ax=axes, cmap=cmap)
    # A continuous map is spread over the classes.
    colours = mpl.colormaps[name](np.linspace(0, 1, n_classes) if is_spread else np.arange(n_classes))
    np.testing.assert_array_equal(display.patches_.get_facecolors(), colours[tree.leaf_proba_.argmax(axis=1)])
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == tree.classes_.tolist()
    np.testing.assert_array_equal([patch.get_facecolor() for patch in legend.get_patches()], colours)
    assert len(axes.figure.axes) == 1


def test_axes_show_the_box_and_the_names(axes):
    tree = fitted(names=["age", "size", "weight"])
    PartitionDisplay.from_estimator(tree, features=("weight", 0), ax=axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("weight", "age")
    assert (axes.get_xlim(), axes.get_ylim()) == ((10, 30), (0, 1))
    plain = Figure().subplots()
    PartitionDisplay.from_estimator(fitted(), ax=plain)
    assert (plain.get_xlabel(), plain.get_ylabel()) == ("feature 0", "feature 1")


@pytest.mark.parametrize("rule", ["cart", "max-edge"])
def test_the_plane_of_declared_columns_shows_the_leaves_of_their_rows(axes, boxes_of, rule):
    domain = TableDomain(
        {
            "age": NumberColumn(0, 100, missing="indicator"),
            "job": CategoricalColumn(["a", "b", "c", "d"], missing="indicator"),
            "size": (0, 1),
        }
    )
    rng = np.random.default_rng(2)
    records = [
        {"age": age if rng.random() < 0.8 else None, "job": job, "size": size}
        for age, job, size in zip(
            rng.uniform(0, 100, 400), rng.choice(["a", "b", "c", "d", None], 400), rng.uniform(size=400),
            strict=True,
        )
    ]  # fmt: skip
    labels = [
        (record["job"] in ("a", "c")) ^ (record["age"] is None or record["age"] > 60) for record in records
    ]
    tree = LocallyPrivateTreeClassifier(8.0, domain=domain, rule=rule, max_depth=5, random_state=0)
    tree.fit(records, labels, is_public=np.arange(400) < 300)
    display = PartitionDisplay.from_estimator(
        tree, features=["age", "job"], at={"age": None, "job": "a", "size": 0.7}, ax=axes
    )
    assert (display.xticks, list(display.yticks)) == (None, ["a", "b", "c", "d", "missing"])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c", "d", "missing"]
    # Ends belong to the upper rectangle, but at the end of the box.
    corners = boxes_of(display.patches_) + [[0, 0, 0, 1e-9]]
    for age in np.linspace(0.3, 99.7, 40):
        for job in ("a", "b", "c", "d", None):
            place = display.yticks[job or "missing"]
            leaf = tree.apply([{"age": age, "job": job, "size": 0.7}])
            assert display.leaves[cell_of(corners, age, place)] == leaf


def test_numbers_are_coloured_between_the_least_and_the_largest_mean(axes):
    X = rows(3000, 2)
    tree = DPTreeRegressor(8.0, bounds_X=(0, 1), bounds_y=(0, 10), rule="random", max_depth=3, random_state=1)
    tree.fit(X, 10 * X[:, 0])
    display = PartitionDisplay.from_estimator(tree, ax=axes)
    np.testing.assert_array_equal(display.patches_.get_array(), tree.leaf_values_[display.leaves])
    assert display.patches_.get_clim() == (tree.leaf_values_.min(), tree.leaf_values_.max())
    assert axes.figure.axes[1].get_ylabel() == "estimated mean of y"
    with pytest.raises(ValueError, match="leaf_values"):
        PartitionDisplay(lower=display.lower, upper=display.upper).plot(Figure().subplots())
