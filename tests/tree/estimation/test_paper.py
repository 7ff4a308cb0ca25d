# SPDX-License-Identifier: BSD-3-Clause
"""The paper's depth and pruning are behind one interface, which says how they differ from the others."""

import ast
from pathlib import Path

import numpy as np
import pytest

import skprivate.tree
from skprivate import DPTreeClassifier
from skprivate.tree._pruning_and_intervals import pruning_method
from skprivate.tree._release import DEEPEST, DepthInputs

FOLDER = Path(skprivate.tree.__file__).parent


def compares_with_paper(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    compared = (node for node in ast.walk(tree) if isinstance(node, ast.Compare))
    return any(
        isinstance(part, ast.Constant) and part.value == "paper"
        for node in compared
        for part in ast.walk(node)
    )


def test_one_file_asks_for_the_paper():
    names = {
        path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py") if compares_with_paper(path)
    }
    assert names == {"_pruning_and_intervals.py"}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    return X, (X[:, 0] > 0.5).astype(int), np.arange(3000) < 300


def test_prune_costs_a_fit_exactly_where_it_changes_the_tree(rows):
    X, y, is_public = rows
    for max_depth in ("auto", 4):
        trees = {
            prune: DPTreeClassifier(
                1.0, max_depth=max_depth, prune=prune, bounds=(0, 1), classes=[0, 1], random_state=0
            ).fit(X, y, is_public=is_public)
            for prune in (False, True, "paper")
        }
        for prune, tree in trees.items():
            other_depth = tree.max_depth_ != trees[False].max_depth_
            assert pruning_method(prune).has_own_depth == (prune == "paper")
            assert (tree.roles_for()["prune"] == "release") == other_depth
            assert tree.__sklearn_tags__().classifier_tags.multi_class == (prune != "paper")


def test_the_paper_is_given_all_inputs(rows):
    X, y, is_public = rows
    tree = DPTreeClassifier(1.0, bounds=(0, 1), classes=[0, 1], random_state=0).fit(X, y, is_public=is_public)

    def depth(**changes):
        known = {"n_rows": 200, "n_public": 20, "epsilon": 1.0, **changes}
        inputs = DepthInputs(
            partition=tree.partition_, rule="max-edge", variance=lambda n_leaves: 1.0, **known
        )
        return pruning_method("paper").choose_depth(inputs)

    # floor(log2(200 + 20^3) / 3), with one input changed at a time.
    assert depth() == 4
    assert depth(n_rows=10**6) == 6
    assert depth(n_public=200) == 7
    assert depth(epsilon=100.0) == 6
    assert depth(n_rows=10**30) == DEEPEST
    with pytest.raises(ValueError, match="Only binary"):
        pruning_method("paper").check_classes(3)
    pruning_method(True).check_classes(3)
