# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of private trees and their competitors on the private rows of diabetes and census."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

from skprivate.datasets import fetch_census, fetch_diabetes_outcome
from skprivate.model_selection import PublicPrivateSplit

from ..._utility.data import Split
from ..._utility.sources import one_hot_groups
from ._accuracy_table import METHODS, print_table

EPSILONS = (0.5, 2.0, 8.0)
N_SPLITS = 20


def splits(data: Any) -> Iterator[Split]:
    """Yield a fifth of the private rows as test rows, 20 times; public rows always train."""
    X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    y = (y == np.unique(y)[1]).astype(np.int64)
    cv = PublicPrivateSplit(ShuffleSplit(N_SPLITS, test_size=0.2, random_state=0))
    groups = one_hot_groups(data.feature_names)
    for seed, (train, test) in enumerate(cv.split(X, y, is_public=data.is_public)):
        yield Split(X[train], y[train], data.is_public[train], X[test], y[test], seed, categories=groups)


def run() -> None:
    print(f"mean and standard error of {N_SPLITS} splits; * has the best parameters on the test rows")
    for name, fetch in (("diabetes, deduplicated", fetch_diabetes_outcome), ("census", fetch_census)):
        data = fetch()
        n_public = int(data.is_public.sum())
        print(f"{name}: {len(data.target) - n_public} private rows (a fifth tested), {n_public} public rows")
        print_table(splits(data), METHODS, EPSILONS)
