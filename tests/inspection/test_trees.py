# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a tree: boxes, lines, colours and texts are those of its nodes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from skprivate import (
    DPTreeClassifier,
    DPTreeRegressor,
    LocallyPrivateTreeClassifier,
    LocallyPrivateTreeRegressor,
)
from skprivate.inspection import PrivateTreeDisplay

X = np.random.default_rng(0).uniform(size=(4000, 2))
PUBLIC = np.arange(len(X)) < 100


def fitted(labels=None, **parameters):
    labels = X[:, 0] > 0.5 if labels is None else labels
    options = {"bounds": (0, 1), "max_depth": 3, "random_state": 5, **parameters}
    return LocallyPrivateTreeClassifier(4.0, **options).fit(X, labels, is_public=PUBLIC)


def test_boxes_do_not_overlap_and_parents_lie_above_their_children(axes, boxes_of):
    display = PrivateTreeDisplay.from_estimator(fitted(), ax=axes)
    x0, y0, x1, y1 = boxes_of(display.boxes_).T
    assert len(x0) == 15
    for level in np.unique(y0):
        row = np.flatnonzero(y0 == level)
        order = row[np.argsort(x0[row])]
        assert (x1[order[:-1]] < x0[order[1:]]).all()
    for node, child in enumerate(display.left):
        if child != node:
            assert y0[node] > y1[child] == y1[child + 1]
            assert x0[child] < x0[node] < x0[child + 1]
    assert len(display.lines_.get_segments()) == 14


def test_texts_are_rules_and_estimates_with_their_noise(axes):
    tree = fitted()
    tree.leaf_errors_[0], tree.leaf_sizes_[0] = 0.042, 512.3
    display = PrivateTreeDisplay.from_estimator(tree, ax=axes, decimals=3)
    assert [text.get_text() for text in display.texts_] == list(display.labels)
    first = np.flatnonzero(tree.partition_.leaf_index == 0)[0]
    best = tree.leaf_proba_[0].argmax()
    share = f"{tree.classes_[best]}: {tree.leaf_proba_[0, best]:.3f} +- 0.042"
    assert display.labels[first] == f"{share}\nabout 510 rows"
    root = tree.partition_.feature[0]
    assert display.labels[0].startswith(f"feature_{root} < {tree.partition_.threshold[0]:.3f}\n")


def test_text_that_nobody_can_read_is_left_out(axes):
    deep = fitted(max_depth=8)
    assert PrivateTreeDisplay.from_estimator(deep, ax=axes).texts_ == []
    assert len(PrivateTreeDisplay.from_estimator(deep, ax=axes, fontsize=1).texts_) == 2 * deep.n_leaves_ - 1


def test_a_single_leaf_and_formulas_are_drawn(axes):
    labels = np.where(X[:, 0] > 0.5, "$x^$", "$")
    tree = DPTreeClassifier(4.0, bounds=(0, 1), max_depth=1, random_state=5)
    tree.fit(X, labels, is_public=PUBLIC)
    PrivateTreeDisplay.from_estimator(tree, ax=axes)
    axes.figure.draw_without_rendering()
    display = PrivateTreeDisplay.from_estimator(tree, max_depth=0, ax=Figure().subplots())
    assert (len(display.labels), len(display.lines_.get_segments())) == (1, 0)


@pytest.mark.parametrize("kind", [DPTreeRegressor, LocallyPrivateTreeRegressor])
def test_a_tree_of_numbers_is_coloured_by_its_means(axes, kind):
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    y = 10 * X[:, 0]
    tree = kind(8.0, bounds_X=(0, 1), bounds_y=(0, 10), rule="random", max_depth=2, random_state=1).fit(X, y)
    display = PrivateTreeDisplay.from_estimator(tree, ax=axes)
    leaves = tree.partition_.leaf_index
    np.testing.assert_allclose(display.node_values[leaves >= 0], tree.leaf_values_[leaves[leaves >= 0]])
    sizes = tree.leaf_sizes_
    assert display.node_values[0] == pytest.approx(sizes @ tree.leaf_values_ / sizes.sum())
    ends = tree.leaf_values_.min(), tree.leaf_values_.max()
    np.testing.assert_allclose(display.boxes_.get_clim(), ends)
    np.testing.assert_array_equal(display.boxes_.get_array(), display.node_values)
    assert axes.figure.axes[1].get_ylabel() == "estimated mean of y"
    leaf = int(np.flatnonzero(leaves == 0)[0])
    expected = f"{tree.leaf_values_[0]:.2f} +- {tree.leaf_errors_[0]:.2f}"
    assert display.labels[leaf].splitlines()[0] == expected
    assert axes.get_legend() is None
