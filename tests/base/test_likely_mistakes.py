# SPDX-License-Identifier: BSD-3-Clause
"""Warnings about likely mistakes after a fit: what they name, how often they come, and when they are silent.

Noise has fixed seeds, so that every outcome here is certain; rates are those of other seeds.
"""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skprivate import (
    DPBoostingClassifier,
    DPLogisticRegression,
    DPTreeClassifier,
    LabelPrivateClassifier,
    LocallyPrivateTreeClassifier,
)
from skprivate.base._likely_mistakes import hardly_any_rows
from skprivate.exceptions import UtilityWarning
from tests.marks import slow

RARE, USELESS, MISSING = "hardly any row has the class", "may predict as well", "nearly all cells of"
CLASSES = ["no", "yes"]
N = 20_000
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 3))
LUCK = np.random.default_rng(1).uniform(size=N)
BOUNDS = {"bounds": (-1, 1), "random_state": 3}

MODELS = {
    "tree": lambda **options: DPTreeClassifier(4.0, max_depth=4, **BOUNDS, **options),
    "local tree": lambda **options: LocallyPrivateTreeClassifier(8.0, max_depth=3, **BOUNDS, **options),
    "boosting": lambda **options: DPBoostingClassifier(4.0, delta=1e-6, **BOUNDS, **options),
    "pure boosting": lambda **options: DPBoostingClassifier(4.0, **BOUNDS, **options),
    "logistic": lambda **options: DPLogisticRegression(4.0, **BOUNDS, **options),
    "label": lambda **options: LabelPrivateClassifier(Ridge(), 4.0, random_state=3, **options),
}


def said(call):
    """Return the messages of `UtilityWarning` in a call; there is one at most."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [str(one.message) for one in caught if one.category is UtilityWarning]
    assert len(found) <= 1
    return "".join(found)


def labels_of(rate):
    """Return labels of which a share of `rate` is "yes", that depend much on the first column."""
    return np.where(2 * rate * (X[:, 0] > 0) > LUCK, "yes", "no")


@pytest.mark.parametrize("name", ["boosting", slow("pure boosting"), slow("label")])
@pytest.mark.parametrize("epsilon", [slow(0.5), 4.0])
def test_labels_without_a_signal_are_told_and_a_signal_is_silent(name, epsilon):
    # Without a signal 99 of 100 fits warn (boosting), or 95 of 100 (label): fewer than 10 of 12 with a
    # probability of .02 at most, for any seeds. These are fixed.
    useless = 0
    for seed in range(12):
        y = np.random.default_rng([7, seed]).permutation(labels_of(0.25))[:4000]
        model = MODELS[name](classes=CLASSES).set_params(epsilon=epsilon, random_state=seed)
        useless += USELESS in said(lambda model=model, y=y: model.fit(X[:4000], y))
        assert said(lambda model=model: model.fit(X[:8000], labels_of(0.25)[:8000])) == ""
    assert useless >= 10


@pytest.mark.parametrize(
    ("counts", "std", "named"),
    [
        ([9_900.0, 100.0], 10.0, False),  # no longer 0
        ([9_995.0, 5.0], 10.0, True),
        ([1000.0, 0.0], 0.0, True),  # exact
        ([999.0, 1.0], 0.0, False),
        ([9_995.0, 5.0], 100.0, False),  # the noise hides a fiftieth of the rows
    ],
)
def test_a_class_is_named_where_its_count_may_be_zero_and_must_be_small(counts, std, named):
    found = hardly_any_rows(CLASSES, np.array(counts), std) or ""
    assert (f"{RARE} 'yes'." in found) is named


@pytest.mark.statistical
def test_the_stated_rates():
    # 20,000 draws: three standard errors of the rates are .005 and .002.
    noise = np.random.default_rng(0).laplace(scale=1 / np.sqrt(2), size=(20_000, 2))
    empty = [hardly_any_rows(CLASSES, np.array([100.0, 0.0]) + 0.1 * one, 0.1) for one in noise]
    assert np.mean([one is not None for one in empty]) > 0.945
    small = [hardly_any_rows(CLASSES, np.array([95.0, 5.0]) + 10 * one, 10.0) for one in noise]
    assert np.mean([one is not None for one in small]) < 0.012
