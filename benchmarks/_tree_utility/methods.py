# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers whose probabilities are compared: private trees, models of public rows alone, and peers."""

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.exceptions import UtilityWarning

from .._peers.beside import beside
from ..figures.trees._accuracy_table import Split
from ..figures.trees._comparison import DPEBM

# Fits and predictions of a split: six fits and a dozen sets of rows.
MOST_KEPT = 40


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a fitted classifier says of the test rows, and whether its fit warned that it learnt nothing."""

    epsilon: float
    proba: NDArray[np.float64]
    labels: NDArray[Any]
    warned: bool = False


Predictions = Iterator[Prediction]


@dataclass(frozen=True, eq=False)
class Method:
    """A way to predictions at several epsilons.

    Attributes
    ----------
    predict : callable
        Takes a split and the epsilons, and yields predictions.
    kind : str
        "central", "local", "label"; "public" for models of public rows, "base rate", and "peer".
    on_public, on_private_alone : bool
        Whether it is run with public rows, and without.
    like : str
        The method that an earlier checkout had in its place; "" stands for itself.
    available : callable
        Whether it can be run here.
    """

    predict: Callable[[Split, Sequence[float]], Predictions]
    kind: str
    on_public: bool = True
    on_private_alone: bool = True
    like: str = ""
    available: Callable[[], bool] = lambda: True

    def runs_at(self, setting: str) -> bool:
        return self.on_private_alone if setting == "0" else self.on_public

    def epsilons(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """Return the epsilons at which it is run: 0 where no private row is read."""
        return (0.0,) if self.kind in ("public", "base rate") else tuple(epsilons)


class FittedOnce(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted to the same rows once, and predicts the same rows once.

    Trees of all epsilons hold the same model of the same public rows.
    """

    _kept: ClassVar[dict[str, Any]] = {}

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        self.rows_ = joblib.hash((X, y))
        self.fitted_ = self._keep(self.rows_, lambda: clone(self.estimator).fit(X, y))
        self.classes_ = self.fitted_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self._keep(joblib.hash((self.rows_, X)), lambda: self.fitted_.predict_proba(X))

    @classmethod
    def _keep(cls, key: str, make: Callable[[], Any]) -> Any:
        if key not in cls._kept:
            cls._kept[key] = make()
        while len(cls._kept) > MOST_KEPT:
            del cls._kept[next(iter(cls._kept))]
        return cls._kept[key]


def _tree(kind: type, name: str, like: str = "", on_private_alone: bool = True, **options: Any) -> Method:
    """Our tree; its noise is that of the operating system."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        is_public = split.is_public if split.is_public.any() else None
        for epsilon in epsilons:
            known = {"bounds": split.bounds, "classes": list(split.classes)}
            tree = clone(kind(epsilon, **known, **options))
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                tree.fit(split.X, split.y, is_public=is_public)
            warned = any(issubclass(one.category, UtilityWarning) for one in heard)
            proba, labels = tree.predict_proba(split.X_test), tree.predict(split.X_test)
            yield Prediction(epsilon, proba, labels, warned)

    def available() -> bool:
        return set(options) <= set(inspect.signature(kind).parameters)

    return Method(predict, name, on_private_alone=on_private_alone, like=like, available=available)


def _widened(model: Any, split: Split) -> NDArray[np.float64]:
    """Return probabilities of all classes from a model that has seen some of them."""
    proba = np.zeros((len(split.X_test), len(split.classes)))
    proba[:, np.searchsorted(split.classes, model.classes_)] = model.predict_proba(split.X_test)
    return proba


def _on_public(model: Any) -> Method:
    """A model of the public rows alone; of their only label, where there is one."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        X, y = split.X[split.is_public], split.y[split.is_public]
        fitted = clone(model if len(np.unique(y)) > 1 else DummyClassifier()).fit(X, y)
        yield Prediction(0.0, _widened(fitted, split), fitted.predict(split.X_test))

    return Method(predict, "public", on_private_alone=False)


def _base_rate(of_public: bool) -> Method:
    """Shares of the labels among the public or the private training rows, read without privacy."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        rows = split.is_public == of_public
        model = DummyClassifier(strategy="prior").fit(split.X[rows], split.y[rows])
        yield Prediction(0.0, _widened(model, split), model.predict(split.X_test))

    return Method(predict, "base rate", on_private_alone=not of_public)


def _boosted(split: Split, epsilons: Sequence[float]) -> Predictions:
    """DP-EBM with its own defaults but for delta = 1e-6; two labels only."""
    if len(split.classes) > 2:
        return
    for epsilon in epsilons:
        known = {"categories": split.categories, "bounds": split.bounds}
        model = DPEBM(epsilon, delta=1e-6, **known, random_state=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(split.X, split.y, split.is_public)
        yield Prediction(epsilon, _widened(model, split), model.predict(split.X_test))


def _diffprivlib(name: str) -> Method:
    """A classifier of diffprivlib, in its environment."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        with tempfile.TemporaryDirectory() as folder:
            rows, found = Path(folder, "rows.npz"), Path(folder, "found.npz")
            np.savez(
                rows,
                **{"X": split.X, "y": split.y, "X_test": split.X_test, "epsilons": epsilons},
                **{"lower": split.bounds[0], "upper": split.bounds[1], "classes": split.classes},
            )
            if beside("probabilities", name, str(rows), str(found), capture_output=True) is None:
                return
            with np.load(found) as tables:
                for epsilon, proba in zip(epsilons, tables["proba"], strict=True):
                    yield Prediction(epsilon, proba, proba.argmax(axis=1))

    return Method(predict, "peer", on_public=False, available=lambda: "DIFFPRIVLIB_PYTHON" in os.environ)


# The same alone and inside a tree: what the tree adds shows.
_FOREST = RandomForestClassifier(random_state=0)
_LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
_RULES = ("max-edge", "cart")
_LABEL = {"protect": "label"}


def _trees() -> Iterator[tuple[str, Method]]:
    for rule in _RULES:
        yield f"central, {rule}", _tree(DPTreeClassifier, "central", rule=rule)
    for rule in _RULES:
        yield f"local, {rule}", _tree(LocallyPrivateTreeClassifier, "local", rule=rule)
    for rule in _RULES:
        yield f"label, {rule}", _tree(LocallyPrivateTreeClassifier, "label", rule=rule, **_LABEL)
    for kind, cls, extra in (
        ("central", DPTreeClassifier, {}),
        ("local", LocallyPrivateTreeClassifier, {}),
        ("label", LocallyPrivateTreeClassifier, _LABEL),
    ):
        options = {"rule": "cart", "public_model": FittedOnce(_FOREST), **extra}
        tree = _tree(cls, kind, like=f"{kind}, cart", on_private_alone=False, **options)
        yield f"{kind}, cart, forest inside", tree


BASE = "base rate, private rows"
METHODS: dict[str, Method] = {
    **dict(_trees()),
    "base rate, public rows": _base_rate(of_public=True),
    BASE: _base_rate(of_public=False),
    "forest, public rows": _on_public(_FOREST),
    "boosting, public rows": _on_public(HistGradientBoostingClassifier(random_state=0)),
    "logistic, public rows": _on_public(_LOGISTIC),
    "DP-EBM (delta 1e-6)": Method(_boosted, "peer", on_public=False, available=DPEBM.available),
    "diffprivlib GaussianNB": _diffprivlib("GaussianNB"),
    "diffprivlib tree": _diffprivlib("DecisionTreeClassifier"),
}
NOTE = (
    "central: DPTreeClassifier; local: LocallyPrivateTreeClassifier; label: the same with protect='label'.\n"
    "Models of public rows and base rates read no private row (epsilon 0), but for the base rate of the\n"
    "private training rows, which nobody can publish. Peers are trusted curators without public rows: their\n"
    "figures of that setting are shown in all. DP-EBM takes two labels only, and delta = 1e-6."
)


def chosen_methods() -> dict[str, Method]:
    """Return the methods that can be run here."""
    return {name: method for name, method in METHODS.items() if method.available()}
