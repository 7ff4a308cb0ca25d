# SPDX-License-Identifier: BSD-3-Clause
"""Base rates, models of the public rows alone, and models of all rows without privacy."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn import ensemble, tree
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .data import Split
from .method import Method, Predictions, said

# Depths among which cross-validation chooses that of a plain tree.
DEPTHS = {"max_depth": (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)}
CONSTANT = DummyClassifier(strategy="prior"), DummyRegressor()
#: Models of labels and of numbers, by name.
MODELS: dict[str, tuple[Any, Any]] = {
    "forest": (
        ensemble.RandomForestClassifier(random_state=0),
        ensemble.RandomForestRegressor(random_state=0),
    ),
    "boosting": (
        ensemble.HistGradientBoostingClassifier(random_state=0),
        ensemble.HistGradientBoostingRegressor(random_state=0),
    ),
    "logistic": (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        make_pipeline(StandardScaler(), Ridge()),
    ),
}
TREE = (
    GridSearchCV(tree.DecisionTreeClassifier(random_state=0), DEPTHS),
    GridSearchCV(tree.DecisionTreeRegressor(random_state=0), DEPTHS),
)
BASE = "base rate, private rows"


def _fitted_to(model: tuple[Any, Any], kind: str, rows: str) -> Method:
    """A model of some rows, read without privacy; a constant where these have one label only."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        chosen = {"public": split.is_public, "private": ~split.is_public}.get(rows, slice(None))
        X, y = split.X[chosen], split.y[chosen]
        one = clone((model if len(np.unique(y)) > 1 else CONSTANT)[not split.classes])
        yield said(0.0, one, split, split.X_test, lambda: one.fit(X, y))

    return Method(predict, kind, on_public=kind != "ceiling", on_private_alone=rows != "public")


def baselines() -> Iterator[tuple[str, Method]]:
    """Yield names and methods."""
    yield "base rate, public rows", _fitted_to(CONSTANT, "base rate", "public")
    yield BASE, _fitted_to(CONSTANT, "base rate", "private")
    for name, model in MODELS.items():
        yield f"{name}, public rows", _fitted_to(model, "public", "public")
    for name, model in MODELS.items():
        yield f"{name}, not private", _fitted_to(model, "ceiling", "all")


def plain_trees() -> Iterator[tuple[str, Method]]:
    """Yield scikit-learn's tree of public rows and of all rows, its depth chosen by cross-validation."""
    yield "tree, public rows", _fitted_to(TREE, "public", "public")
    yield "tree, not private", _fitted_to(TREE, "ceiling", "all")
