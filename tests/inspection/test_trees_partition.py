# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a tree: rectangles tile the box and have the colours of their leaves."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from skprivate import DPTreeRegressor, LocallyPrivateTreeClassifier
from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain
from skprivate.inspection import PartitionDisplay

LOWER, UPPER = np.array([0.0, -2.0, 10.0]), np.array([1.0, 2.0, 30.0])


def rows(n, d=3, seed=0):
    return np.random.default_rng(seed).uniform(LOWER[:d], UPPER[:d], (n, d))


def cell_of(corners, x, y):
    """Number of the rectangle that holds a point."""
    x0, y0, x1, y1 = corners.T
    found = np.flatnonzero((x0 <= x) & (x < x1) & (y0 <= y) & (y < y1))
    assert len(found) == 1
    return found[0]


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
