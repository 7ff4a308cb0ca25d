# SPDX-License-Identifier: BSD-3-Clause
"""Cases of trees and of regressions on life data, accumulators included."""

from fractions import Fraction
from typing import Any

import numpy as np

from .names import public
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Recorder, folder, sweep

# Extensions of a base that the options of single parameters do not reach.
_TREE_CHANGES: dict[str, dict[str, Any]] = {
    **{f"epsilon={epsilon}": {"epsilon": epsilon} for epsilon in (0.1, Fraction(1, 3), 4)},
    **{f"max_depth={depth}": {"max_depth": depth} for depth in (1, 6)},
    **{f"public_weight={weight}": {"public_weight": weight} for weight in (0.0, 2.5)},
    **{f"rule={rule}, pruned": {"rule": rule, "prune": True} for rule in ("max-edge", "cart", "random")},
    "pruned": {"prune": True},
    "pruned as printed": {"prune": "paper", "max_depth": 4},
    "cart on entropy": {"rule": "cart", "criterion": "entropy", "min_samples_leaf": 3},
    "seed of the partition": {"rule": "random", "partition_seed": 7, "max_depth": 5},
    "bounds not declared": {"bounds": None},
    "classes not declared": {"classes": None},
    "nothing declared": {"bounds": None, "classes": None},
    "cart on labels alone": {"rule": "cart", "protect": "label"},
}
_MODEL_CHANGES: dict[str, dict[str, Any]] = {
    **{f"epsilon={epsilon}": {"epsilon": epsilon} for epsilon in (0.2, Fraction(1, 3), 20)},
    "gaussian": {"mechanism": "gaussian", "delta": 1e-6},
    "gaussian on the unit ball": {"mechanism": "gaussian", "delta": 1e-6, "x_norm": 2.0, "bounds_X": None},
    "unit ball": {"x_norm": 2.0, "bounds_X": None},
    "scale bounds": {"scale_bounds": (0.2, 2.0)},
    "add-remove, gaussian": {"relation": "add-remove", "mechanism": "gaussian", "delta": 1e-5},
    "rounds": {"max_iter": 3},
    "clip": {"hazard_clip": 2.0},
    "taylor, trimmed": {"method": "taylor", "regularization": "trim", "epsilon": 50},
    "bounds not declared": {"bounds_X": None, "bounds_y": None},
}


def trees(recorder: Recorder) -> None:
    """Fit both trees, with and without public rows, groups and a ledger, on two and three classes."""
    for name in ("LocallyPrivateTreeClassifier", "DPTreeClassifier"):
        kind = public("tree", name)
        base = {"epsilon": 2.0, "bounds": (0, 1), "classes": [0, 1]}
        changes = {
            key: change for key, change in _TREE_CHANGES.items() if "protect" not in change or "Local" in name
        }
        for label, parameters in sweep(kind, base, changes):
            for rows in ("public rows", "no public rows"):
                _fit_tree(recorder, name, f"{label}, {rows}", parameters, 2)
        three = {**base, "classes": [0, 1, 2]}
        for label, parameters in sweep(kind, three, {"pruned": {"prune": True, "max_depth": 3}}):
            _fit_tree(recorder, name, f"{label}, public rows, three classes", parameters, 3)
        for rows in (1,) if "Local" in name else (1, 3):
            grouped = {**base, "max_rows_per_group": rows}
            _fit_tree(recorder, name, f"public rows, groups of {rows}", grouped, 2)
        _repruned(recorder, name, kind, base)


def _tree_rows(seed: int, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(100 + seed)
    X = rng.uniform(size=(260, 3))
    score = X[:, 0] + 0.3 * X[:, 1] + 0.1 * rng.normal(size=260)
    return X, np.digitize(score, np.linspace(0.5, 0.8, n_classes - 1)), np.arange(260) < 60


def _fit_tree(recorder: Recorder, name: str, label: str, parameters: Any, n_classes: int) -> None:
    for seed in (*SEEDS, None):
        with recorder.case(name, f"{label}, seed {seed}") as case, folder() as here:
            X, y, is_public = _tree_rows(seed or 0, n_classes)
            model = public("tree", name)(**{**parameters, "random_state": seed})
            charged = seed is None and label.startswith(("base", "groups"))
            if charged:
                model.set_params(ledger=public("accounting", "PrivacyLedger")(here / "a.ledger", epsilon=100))
            routed = {"is_public": is_public} if label.count("no public rows") == 0 else {}
            if "groups" in label:
                routed["groups"] = np.arange(260) // 2
            model.fit(X, y, **routed)
            case.estimator(
                model, np.random.default_rng(9).uniform(-0.2, 1.2, size=(40, 3)), np.arange(40) % 2
            )
            if charged:
                case.statement("ledger", model.ledger)
                case.put(STATEMENTS, "ledger, exported", model.ledger.to_json())


def _repruned(recorder: Recorder, name: str, kind: Any, base: Any) -> None:
    with recorder.case(name, "repruned") as case:
        X, y, is_public = _tree_rows(0, 2)
        model = kind(**{**base, "max_depth": 4, "random_state": 0}).fit(X, y, is_public=is_public)
        for prune in (False, True, "paper"):
            for weight in ("auto", 0.5):
                again = model.repruned(prune=prune, public_weight=weight)
                case.put(PREDICTIONS, f"{prune} {weight}", again.predict_proba(X[:40]))


def regressions(recorder: Recorder) -> None:
    """Fit every regressor on complete and censored targets, of rows and of groups."""
    names = ("DPSEVRegressor", "DPLogisticLLSRegressor", "DPNormalLLSRegressor")
    for name in ("DPLogLocationScaleRegressor", *names):
        kind = public("linear_model", name)
        base = {"epsilon": 8.0, "bounds_X": (-1, 1), "bounds_y": (0.01, 100.0)}
        if name in names:
            base["bounds_y"] = (-5.0, 5.0)
        # Presets share everything but the distribution.
        seeds = (*SEEDS, None) if name not in names else (0, None)
        for label, parameters in sweep(kind, base, _MODEL_CHANGES):
            for target in ("complete", "censored"):
                _fit_model(recorder, name, f"{label}, {target}", parameters, seeds)
        for rows in (1, 2):
            for target in ("complete", "censored"):
                grouped = {**base, "max_rows_per_group": rows}
                _fit_model(recorder, name, f"groups of {rows}, {target}", grouped, seeds)


def _life_rows(seed: int, name: str, label: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(200 + seed)
    X = rng.uniform(-1, 1, size=(240, 2))
    y = X @ [1.0, -0.5] + 0.4 * np.log(rng.exponential(size=240))
    if "censored" not in label:
        return X, (y if "LogLocation" not in name or _is_linear(label) else np.exp(y))
    event = rng.uniform(size=240) < 0.7
    return X, np.array(list(zip(event, np.exp(y), strict=True)), dtype=[("event", bool), ("time", float)])


def _is_linear(label: str) -> bool:
    return any(f"={name}," in label for name in ("sev", "logistic", "normal"))


def _fit_model(recorder: Recorder, name: str, label: str, parameters: Any, seeds: Any) -> None:
    for seed in seeds:
        with recorder.case(name, f"{label}, seed {seed}") as case, folder() as here:
            X, y = _life_rows(seed or 0, name, label)
            if "censored" in label and parameters["bounds_y"] is not None:
                parameters = {**parameters, "bounds_y": (0.01, 100.0)}
            model = public("linear_model", name)(**{**parameters, "random_state": seed})
            if _is_linear(label) and "complete" in label:
                model.set_params(bounds_y=(-5.0, 5.0))
            charged = seed is None and label.startswith(("base", "groups"))
            if charged:
                model.set_params(ledger=public("accounting", "PrivacyLedger")(here / "a.ledger", 1000, 1e-3))
            model.fit(X, y, **({"groups": np.arange(240) // 2} if "groups" in label else {}))
            case.estimator(model, np.random.default_rng(9).uniform(-1.2, 1.2, size=(12, 2)))
            case.attempt(PREDICTIONS, "score", lambda model=model, X=X, y=y: model.score(X, y))
            if charged:
                case.statement("ledger", model.ledger)


def accumulators(recorder: Recorder) -> None:
    """Feed, merge, save, load and release moments."""
    kind = public("linear_model", "MomentAccumulator")
    changes = {
        **{f"distribution={name}": {"distribution": name} for name in ("lognormal", "sev", "normal")},
        "gaussian": {"mechanism": "gaussian"},
        "unit ball": {"x_norm": 1.5, "bounds_X": None},
        "weights": {"max_sample_weight": 2},
        "groups": {"max_rows_per_group": 2},
        "names": {"feature_names": ["a", "b"], "target": "t"},
    }
    base = {"bounds_X": (-1, 1), "bounds_y": (0.01, 100.0), "max_rows": 1000}
    for label, parameters in sweep(kind, base, changes):
        for seed in (*SEEDS, None):
            with recorder.case("MomentAccumulator", f"{label}, seed {seed}") as case:
                _accumulate(case, kind, label, parameters, seed)


def _accumulate(case: Any, kind: Any, label: str, parameters: Any, seed: Any) -> None:
    linear = parameters.get("distribution") in ("sev", "normal")
    if linear:
        parameters = {**parameters, "bounds_y": (-5.0, 5.0)}
    parts = []
    for part in range(3):
        X, y = _life_rows(10 * part + (seed or 0), "LogLocation", "normal," if linear else "")
        X, y = X[:100], (np.log(y[:100]) if linear else y[:100])
        routed = {"sample_weight": np.arange(100) % 3 * 0.5} if label == "weights" else {}
        moments = kind(**parameters).update(X, y, batch_id=f"day {part}", **routed)
        parts.append(kind.from_bytes(moments.to_bytes()))
    whole = parts[0].merge(parts[1]).merge(parts[2])
    case.put(FIT, "bytes", whole.to_bytes())
    case.put(FIT, "batches", whole.batch_ids)
    case.put(STATEMENTS, "repr", repr(whole))
    case.attempt(STATEMENTS, "merged with itself", lambda: whole.merge(parts[1]))
    case.attempt(STATEMENTS, "same batch again", lambda: whole.update(X, y, batch_id="day 1"))
    settings: dict[str, Any] = {"epsilon": 5.0, "random_state": seed}
    if parameters.get("mechanism") == "gaussian":
        settings |= {"mechanism": "gaussian", "delta": 1e-6}
    name = parameters.get("distribution", "weibull")
    model = public("linear_model", "DPLogLocationScaleRegressor")(**{"distribution": name, **settings})
    case.estimator(whole.release(model), X[:10])
    case.put(STATEMENTS, "released", [whole.released, repr(whole)])
    case.attempt(STATEMENTS, "released twice", lambda: whole.release(model))
    case.attempt(STATEMENTS, "bytes afterwards", whole.to_bytes)
