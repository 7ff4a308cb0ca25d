# SPDX-License-Identifier: BSD-3-Clause
"""Base rates, models of the public rows alone, and models of all rows without privacy."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .data import Split
from .method import Method, Predictions, said

#: Models of labels and of numbers, by name.
MODELS: dict[str, tuple[Any, Any]] = {
    "forest": (RandomForestClassifier(random_state=0), RandomForestRegressor(random_state=0)),
    "boosting": (
        HistGradientBoostingClassifier(random_state=0),
        HistGradientBoostingRegressor(random_state=0),
    ),
    "logistic": (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        make_pipeline(StandardScaler(), Ridge()),
    ),
}
# Depths among which cross-validation chooses that of a plain tree.
DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
BASE = "base rate, private rows"


def _fitted_to(model: tuple[Any, Any], constant: tuple[Any, Any], kind: str, rows: str) -> Method:
    """A model of some rows, read without privacy; a constant where these have one label only."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        chosen = {"public": split.is_public, "private": ~split.is_public}.get(rows, slice(None))
        X, y = split.X[chosen], split.y[chosen]
        of_numbers = not split.classes
        one = clone((model if len(np.unique(y)) > 1 else constant)[of_numbers])
        yield said(0.0, one, split, split.X_test, lambda: one.fit(X, y))

    of_public = rows == "public"
    return Method(predict, kind, on_public=kind != "ceiling", on_private_alone=not of_public)


def baselines() -> Iterator[tuple[str, Method]]:
    """Yield names and methods."""
    constant = DummyClassifier(strategy="prior"), DummyRegressor()
    yield "base rate, public rows", _fitted_to(constant, constant, "base rate", "public")
    yield BASE, _fitted_to(constant, constant, "base rate", "private")
    for name, model in MODELS.items():
        yield f"{name}, public rows", _fitted_to(model, constant, "public", "public")
    for name, model in MODELS.items():
        yield f"{name}, not private", _fitted_to(model, constant, "ceiling", "all")


def plain_trees() -> Iterator[tuple[str, Method]]:
    """Yield scikit-learn's tree of public rows and of all rows, its depth chosen by cross-validation."""
    constant = DummyClassifier(strategy="prior"), DummyRegressor()
    depths = {"max_depth": DEPTHS}
    kinds = DecisionTreeClassifier(random_state=0), DecisionTreeRegressor(random_state=0)
    tree = GridSearchCV(kinds[0], depths), GridSearchCV(kinds[1], depths)
    yield "tree, public rows", _fitted_to(tree, constant, "public", "public")
    yield "tree, not private", _fitted_to(tree, constant, "ceiling", "all")
