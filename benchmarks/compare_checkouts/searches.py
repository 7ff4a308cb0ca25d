# SPDX-License-Identifier: BSD-3-Clause
"""Cases of private searches, pipelines, splits and scikit-learn's own meta-estimators."""

from typing import Any

import numpy as np
import sklearn
from scipy.stats import randint
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .names import public
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Recorder, folder, sweep

_GRIDS: dict[str, dict[str, list[Any]]] = {
    "depth": {"max_depth": [1, 3]},
    "epsilon": {"epsilon": [0.5, 1.0, 2.0]},
    "post-processing": {"max_depth": [2], "prune": [False, True], "public_weight": [0.0, 1.0]},
}


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(300 + seed).uniform(size=(300, 2))
    return X, (X[:, 0] > 0.5).astype(int)


def _trees() -> dict[str, Any]:
    declared = {"bounds": (0, 1), "classes": [0, 1]}
    return {
        "DPTreeClassifier": public("tree", "DPTreeClassifier")(epsilon=2.0, rule="random", **declared),
        "LocallyPrivateTreeClassifier": public("tree", "LocallyPrivateTreeClassifier")(
            epsilon=4.0, **declared
        ),
    }


def searches(recorder: Recorder) -> None:
    """Search privately over epsilon, depth and post-processing, with public rows and without."""
    changes: dict[str, dict[str, Any]] = {
        "eta": {"eta": 0},
        "held out": {"validation_fraction": 0.4},
        "score's epsilon": {"score_epsilon": 0.5},
    }
    kind = public("model_selection", "PrivateGridSearch")
    for name, tree in _trees().items():
        for label, grid in _GRIDS.items():
            for rows in ("no public rows", "public rows", "public validation", "groups"):
                for seed in (*SEEDS, None):
                    case = f"{name}, {label}, {rows}, seed {seed}"
                    _search(recorder, kind, case, {"estimator": tree, "param_grid": grid}, seed)
    base = {"estimator": _trees()["DPTreeClassifier"], "param_grid": _GRIDS["depth"]}
    for label, parameters in sweep(kind, base, changes):
        _search(recorder, kind, label, parameters, 0)
    kind = public("model_selection", "PrivateRandomizedSearch")
    for seed in (*SEEDS, None):
        drawn = {
            "estimator": _trees()["DPTreeClassifier"],
            "param_distributions": {"max_depth": randint(1, 6)},
        }
        _search(recorder, kind, f"depth, seed {seed}", {**drawn, "n_candidates": 3}, seed)
    _search_of_regressors(recorder)


def _search(recorder: Recorder, kind: Any, label: str, parameters: Any, seed: Any) -> None:
    with recorder.case(kind.__name__, label) as case, folder() as here:
        X, y = _rows(seed or 0)
        search = kind(**{**parameters, "random_state": seed})
        charged = seed is None and "post-processing" in label
        if charged:
            search.set_params(ledger=public("accounting", "PrivacyLedger")(here / "a.ledger", epsilon=1000))
        routed: dict[str, Any] = {}
        if "public" in label and "no public" not in label:
            routed["is_public"] = np.arange(300) < 60
        if "validation" in label and "public" in label:
            routed["is_public_validation"] = (np.arange(300) >= 30) & (np.arange(300) < 60)
        if "groups" in label:
            routed["groups"] = np.arange(300)
        search.fit(X, y, **routed)
        case.estimator(search, X[:25], y[:25])
        if charged:
            case.statement("ledger", search.ledger)


def _search_of_regressors(recorder: Recorder) -> None:
    kind = public("model_selection", "PrivateGridSearch")
    model = public("linear_model", "DPNormalLLSRegressor")(epsilon=5.0, bounds_X=(0, 1), bounds_y=(-3, 3))
    for seed in SEEDS:
        with recorder.case(kind.__name__, f"regressor, seed {seed}") as case:
            X, _ = _rows(seed)
            y = X @ [1.0, -0.5] + 0.1 * np.random.default_rng(seed).normal(size=300)
            grid = {"regularization": ["floor", "none"], "epsilon": [2.0, 5.0]}
            case.estimator(kind(estimator=model, param_grid=grid).fit(X, y), X[:25], y[:25])


def pipelines(recorder: Recorder) -> None:
    """Fit pipelines, column transformers, scikit-learn's search and bagging around private estimators."""
    scaler, wrapped = public("preprocessing", "BoundsScaler"), public("base", "PublicEstimator")
    for seed in SEEDS:
        for name, tree in _trees().items():
            X, y = _rows(seed)
            tree.set_params(random_state=seed)
            columns = ColumnTransformer([("a", scaler((0, 1)), [0]), ("b", StandardScaler(), [1])])
            models = {
                "scaled by bounds": make_pipeline(scaler((0, 1)), tree),
                "scaled by rows": make_pipeline(StandardScaler(), tree),
                "scaled by public rows": make_pipeline(wrapped(StandardScaler().fit(X[:50])), tree),
                "columns": make_pipeline(columns, tree),
                "grid search": GridSearchCV(tree, {"epsilon": [0.5, 2.0], "max_depth": [1, 3]}, cv=3),
                "bagging": BaggingClassifier(tree, n_estimators=3, random_state=seed),
            }
            for label, model in models.items():
                with recorder.case("Pipeline", f"{label}, {name}, seed {seed}") as case:
                    model.fit(X, y)
                    _container(case, model, X, y)


def _container(case: Any, model: Any, X: Any, y: Any) -> None:
    case.put(
        PREDICTIONS, "predicted", [model.predict(X[:30]), model.predict_proba(X[:30]), model.score(X, y)]
    )
    for step in getattr(model, "named_steps", {}).values():
        case.put(FIT, type(step).__name__, step)
    if hasattr(model, "cv_results_"):
        scores = {key: value for key, value in model.cv_results_.items() if "time" not in key}
        case.put(FIT, "scores", scores)
    case.statement("report", public("base", "privacy_report")(model))


def splits(recorder: Recorder) -> None:
    """Split public from private rows, with routing through scikit-learn too."""
    kind = public("model_selection", "PublicPrivateSplit")
    X, y = _rows(0)
    is_public = np.arange(300) < 60
    for cv in (2, 5):
        with recorder.case("PublicPrivateSplit", f"cv={cv}") as case:
            split = kind(cv=cv)
            case.put(PREDICTIONS, "parts", list(split.split(X, y, is_public=is_public)))
            case.put(STATEMENTS, "texts", [repr(split), split.get_n_splits(X, y, is_public=is_public)])
    for seed in SEEDS:
        with recorder.case("PublicPrivateSplit", f"routed, seed {seed}") as case:
            tree = public("tree", "DPTreeClassifier")(bounds=(0, 1), classes=[0, 1], random_state=seed)
            with sklearn.config_context(enable_metadata_routing=True):
                tree.set_fit_request(is_public=True)
                routed = {"is_public": is_public}
                scores = cross_val_score(
                    tree, X, y, cv=kind(cv=3).set_split_request(**{"is_public": True}), params=routed
                )
            case.put(PREDICTIONS, "scores", scores)
