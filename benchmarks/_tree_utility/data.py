# SPDX-License-Identifier: BSD-3-Clause
"""Data sets on which trees are compared, and their splits into public, private and test rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from skprivate.datasets import fetch_census, fetch_diabetes_outcome, make_posterior_drift

from ..figures.trees._accuracy_table import Split

#: What is public: the number of rows, and whether their labels are permuted.
SETTINGS = {"500": (500, False), "50": (50, False), "0": (0, False), "500 permuted": (500, True)}


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with labels 0, 1, ...; the mask of those that came as public, which may be none."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    is_public: NDArray[np.bool_]
    categories: tuple[tuple[int, ...], ...] = ()

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Least and greatest value of each column over all rows, which the comparison calls public."""
        lower, upper = self.X.min(axis=0), self.X.max(axis=0)
        return lower, np.where(upper > lower, upper, lower + 1)


def one_hot_groups(names: Any) -> tuple[tuple[int, ...], ...]:
    """Columns named ``feature=value``, grouped by feature."""
    coded = [(i, str(name).split("=")[0]) for i, name in enumerate(names) if "=" in str(name)]
    return tuple(tuple(i for i, _ in group) for _, group in groupby(coded, key=lambda pair: pair[1]))


def _fetched(data: Any) -> LabelledRows:
    X = np.asarray(data.data, dtype=np.float64)
    y = np.unique(data.target, return_inverse=True)[1].astype(np.int64)
    return LabelledRows(X, y, np.asarray(data.is_public), one_hot_groups(data.feature_names))


def _private(X: Any, y: Any, categories: tuple[tuple[int, ...], ...] = ()) -> LabelledRows:
    rows, labels = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64)
    return LabelledRows(rows, labels, np.zeros(len(rows), dtype=bool), categories)


def _linear() -> LabelledRows:
    options = {"n_informative": 6, "n_redundant": 2, "class_sep": 0.8, "random_state": 1}
    return _private(*make_classification(50_000, 10, **options))


def _friedman() -> LabelledRows:
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(100_000, 10))
    score = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return _private(X, score + 2 * rng.normal(size=len(X)) > 14.4)


def _drift() -> LabelledRows:
    return LabelledRows(*make_posterior_drift(10_000, 500, gamma=0.5, random_state=2))


def _skewed() -> LabelledRows:
    """Eight columns with heavy right tails (log-normal), and a label of which about 4 % are 1."""
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(20_000, 8))
    logit = -4.8 + 1.5 * scores[:, 0] + scores[:, 1] + 1.2 * (scores[:, 2] > 1)
    return _private(np.exp(1.5 * scores), rng.uniform(size=len(scores)) < 1 / (1 + np.exp(-logit)))


def _binary() -> LabelledRows:
    """Ten columns of 0 and 1, a factor of six levels as six more; two columns act only together."""
    rng = np.random.default_rng(6)
    bits, level = rng.integers(0, 2, (20_000, 10)), rng.integers(0, 6, 20_000)
    effect = np.array([-0.9, -0.5, 0.0, 0.0, 0.5, 0.9])[level]
    logit = 1.5 * (2 * (bits[:, 0] ^ bits[:, 1]) - 1) + effect + 0.8 * (bits[:, 2] - bits[:, 3])
    X = np.column_stack([bits, level[:, np.newaxis] == np.arange(6)])
    return _private(X, rng.uniform(size=len(X)) < 1 / (1 + np.exp(-logit)), (tuple(range(10, 16)),))


_SOURCES: dict[str, Callable[[], LabelledRows]] = {
    "census": lambda: _fetched(fetch_census()),
    "diabetes": lambda: _fetched(fetch_diabetes_outcome()),
    "cancer": lambda: _private(*load_breast_cancer(return_X_y=True)),
    "digits": lambda: _private(*load_digits(return_X_y=True)),
    "linear50k": _linear,
    "friedman100k": _friedman,
    "drift10k": _drift,
    "skewed20k": _skewed,
    "binary20k": _binary,
}
NAMES = tuple(_SOURCES)
NOTE = (
    "Real: census and diabetes (with public rows of their own), cancer and digits (scikit-learn's).\n"
    "Simulated: linear50k, friedman100k, drift10k (with public rows whose probabilities differ),\n"
    "skewed20k (log-normal columns, 4 % of the labels are 1), binary20k (columns of 0 and 1, an interaction)."
)


@lru_cache(maxsize=2)
def load(name: str) -> LabelledRows:
    """Return a table by its name."""
    return _SOURCES[name]()


@lru_cache(maxsize=1)
def make_split(name: str, setting: str, seed: int) -> Split:
    """Test a fifth of the private rows; train on the others and on the setting's public rows.

    Where a table has public rows, the setting's are drawn from these, and the rest of these is left out. Else
    they are training rows: at most 500, and at most a tenth of the table. Test rows depend on the seed alone.
    """
    data = load(name)
    rng = np.random.default_rng([seed, 7])
    order = rng.permutation(np.flatnonzero(~data.is_public))
    n_test = len(order) // 5
    test, train = order[:n_test], order[n_test:]
    own = rng.permutation(np.flatnonzero(data.is_public))
    offered = own if len(own) else train[: min(500, len(order) // 10)]
    n_public, permuted = SETTINGS[setting]
    public = offered[:n_public]
    private = train if len(own) else np.setdiff1d(train, public)
    rows = np.concatenate([public, private])
    y, is_public = data.y[rows], np.arange(len(rows)) < len(public)
    if permuted:
        y[is_public] = rng.permutation(y[is_public])
    classes = tuple(range(int(data.y.max()) + 1))
    known = {"bounds": data.bounds, "categories": data.categories, "classes": classes}
    return Split(data.X[rows], y, is_public, data.X[test], data.y[test], seed, **known)
