# SPDX-License-Identifier: BSD-3-Clause
"""Private models of others: trusted curators without public rows, and local trees of numbers with them."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._peers.beside import beside
from .._peers.ebm import DPEBM, DPEBMRegressor
from .._peers.linear import NoisyGradientDescent, ObjectivePerturbation, UnitBall
from .._peers.lpdt import LPDT, REPORTS
from .data import Split
from .method import Method, Prediction, Predictions, said

DELTA = 1e-6
# The grid of LPDT: depths as in its paper and deeper, and the least count of a cell whose reports are read,
# in mean cells. Were it large, the best of the grid would often read no report, and be a tree of public rows.
DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10)
LEAST_COUNTS = (0.0, 0.5, 1.0)
# Draws of its noise by whose mean error a cell of the grid is chosen; one more is what it then says.
DRAWS = 5
# Estimators of diffprivlib: whether they take labels (else numbers), and rows in the unit ball (else bounds).
_THEIRS = {
    "diffprivlib logistic": ("LogisticRegression", True, True),
    "diffprivlib GaussianNB": ("GaussianNB", True, False),
    "diffprivlib tree": ("DecisionTreeClassifier", True, False),
    "diffprivlib forest": ("RandomForestClassifier", True, False),
    "diffprivlib linear": ("LinearRegression", False, False),
}


def _ball(split: Split) -> UnitBall:
    return UnitBall(split.bounds, split.categories, split.logged)


def _additive(split: Split, epsilons: Sequence[float]) -> Predictions:
    """DP-EBM with its own defaults but for delta; two labels, or a number."""
    if len(split.classes) > 2:
        return
    for epsilon in epsilons:
        known = {"categories": split.categories, "bounds": split.bounds, "target_range": split.target_range}
        kind = DPEBM if split.classes else DPEBMRegressor
        model = kind(epsilon, delta=DELTA, **known, random_state=None)
        yield said(
            *(epsilon, model, split, split.X_test),
            lambda model=model: model.fit(split.X, split.y, split.is_public),  # type: ignore[misc]
        )


def _linear(kind: Callable[..., Any]) -> Method:
    """A logistic regression on rows in the unit ball; two labels only."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        if len(split.classes) != 2:
            return
        into = _ball(split)
        X, X_test = into(split.X), into(split.X_test)
        for epsilon in epsilons:
            model = kind(epsilon)
            yield said(epsilon, model, split, X_test, lambda model=model: model.fit(X, split.y))  # type: ignore[misc]

    return Method(predict, "peer", on_public=False)


def _has_diffprivlib() -> bool:
    return bool(os.environ.get("DIFFPRIVLIB_PYTHON"))


def _diffprivlib(name: str, of_labels: bool, in_ball: bool) -> Method:
    """An estimator of diffprivlib, in its environment."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        if bool(split.classes) != of_labels:
            return
        X, X_test = (_ball(split)(rows) if in_ball else rows for rows in (split.X, split.X_test))
        with tempfile.TemporaryDirectory() as folder:
            rows, found = Path(folder, "rows.npz"), Path(folder, "found.npz")
            known = {"lower": split.bounds[0], "upper": split.bounds[1], "classes": split.classes}
            ends = split.target_range or (np.nan, np.nan)
            np.savez(rows, X=X, y=split.y, X_test=X_test, epsilons=epsilons, target_range=ends, **known)
            if beside("predictions", name, str(rows), str(found), capture_output=True) is None:
                raise RuntimeError("diffprivlib did not run")
            with np.load(found) as tables:
                for epsilon, table, seconds in zip(epsilons, tables["found"], tables["seconds"], strict=True):
                    proba = table if of_labels else None
                    labels = table.argmax(axis=1) if of_labels else table
                    yield Prediction(epsilon, proba, labels, seconds=float(seconds))

    return Method(predict, "peer", on_public=False, available=_has_diffprivlib)


def _lpdt(rule: str) -> Method:
    """LPDT with the best of a grid at every epsilon, which favours it.

    The best has the least error on the test rows over some draws of its noise; its figure is that of another.
    """

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        found: dict[float, tuple[float, NDArray[np.float64]]] = {}
        public, private = split.is_public, ~split.is_public
        known = {"bounds": split.bounds, "target_range": split.target_range, "rule": rule}
        for depth in DEPTHS:
            model = LPDT(1.0, max_depth=depth, **known).grow(split.X[public], split.y[public])
            cells, cells_test = model.apply(split.X[private]), model.apply(split.X_test)
            for epsilon, (mechanism, share), least in product(epsilons, REPORTS, LEAST_COUNTS):
                model.set_params(epsilon=epsilon, mechanism=mechanism, share=share)
                model.set_params(least_share=least / len(model.leaves_))
                *tried, kept = (model.collect(cells, split.y[private]).values_ for _ in range(DRAWS + 1))
                error = float(np.mean((np.stack(tried)[:, cells_test] - split.y_test) ** 2))
                if epsilon not in found or error < found[epsilon][0]:
                    found[epsilon] = error, kept[cells_test]
        for epsilon, (_, labels) in found.items():
            yield Prediction(epsilon, None, labels)

    return Method(predict, "peer", on_private_alone=False)


def number_peers() -> Iterator[tuple[str, Method]]:
    """Yield names and methods of peers that are for numbers alone."""
    yield "LPDT, max-edge *", _lpdt("max-edge")
    yield "LPDT, cart *", _lpdt("cart")


def peers() -> Iterator[tuple[str, Method]]:
    """Yield names and methods."""
    yield "DP-EBM (delta 1e-6)", Method(_additive, "peer", on_public=False, available=DPEBM.available)
    yield "noisy gradients (delta 1e-6)", _linear(NoisyGradientDescent)
    yield "objective perturbation", _linear(ObjectivePerturbation)
    yield from ((name, _diffprivlib(*theirs)) for name, theirs in _THEIRS.items())
