# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of private trees and their competitors on the private rows of diabetes and census.

N_JOBS processes work at it.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

from skprivate.datasets import fetch_census, fetch_diabetes_outcome
from skprivate.exceptions import UtilityWarning
from skprivate.model_selection import PublicPrivateSplit

from ..._utility.data import Split
from ..._utility.sources import one_hot_groups
from ._accuracy_table import METHODS, print_table

#: Tables, epsilons and splits.
DIABETES, CENSUS = ("diabetes, deduplicated", fetch_diabetes_outcome), ("census", fetch_census)
SIZES: dict[bool, Any] = {False: ((DIABETES, CENSUS), (0.5, 2.0, 8.0), 20), True: ((DIABETES,), (2.0,), 2)}


def splits(data: Any, n_splits: int) -> Iterator[Split]:
    """Yield a fifth of the private rows as test rows, so many times; public rows always train."""
    X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    y = (y == np.unique(y)[1]).astype(np.int64)
    cv = PublicPrivateSplit(ShuffleSplit(n_splits, test_size=0.2, random_state=0))
    groups = one_hot_groups(data.feature_names)
    for seed, (train, test) in enumerate(cv.split(X, y, is_public=data.is_public)):
        yield Split(X[train], y[train], data.is_public[train], X[test], y[test], seed, categories=groups)


def run(*, small: bool = False) -> None:
    """Print a table for each data set."""
    tables, epsilons, n_splits = SIZES[small]
    print(f"mean and standard error of {n_splits} splits; * has the best parameters on the test rows")
    for name, fetch in tables:
        data = fetch()
        n_public = int(data.is_public.sum())
        print(f"{name}: {len(data.target) - n_public} private rows (a fifth tested), {n_public} public rows")
        with warnings.catch_warnings():
            # What a warned tree predicts is in the table.
            warnings.simplefilter("ignore", UtilityWarning)
            print_table(list(splits(data, n_splits)), METHODS, epsilons)
