# SPDX-License-Identifier: BSD-3-Clause
"""Cases of estimators: those of ``tests/catalogue.py`` in all settings, accumulators, meta-estimators."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.catalogue import INSTANCES, Instance, arguments

from .names import public
from .record import FIT, PREDICTIONS, SEEDS, STATEMENTS, Case, Recorder, folder

_ROWS, _QUERIES = 240, 20
#: Settings beside the options that an estimator declares; each is tried on all that have its parameters.
CHANGES: tuple[dict[str, Any], ...] = (
    *({"epsilon": epsilon} for epsilon in (0.2, Fraction(1, 3), 20)),
    *({"max_depth": depth} for depth in (1, 6)),
    *({"public_weight": weight} for weight in (0.0, 2.5)),
    *({"prune": True, "rule": rule} for rule in ("max-edge", "cart", "random")),
    *({name: None} for name in ("bounds", "bounds_X", "bounds_y", "classes")),
    {"max_depth": 4, "prune": "paper"},
    {"rule": "cart", "criterion": "entropy", "min_samples_leaf": 3},
    {"rule": "random", "partition_seed": 7, "max_depth": 5},
    {"rule": "cart", "protect": "label"},
    {"mechanism": "gaussian", "delta": 1e-6},
    {"mechanism": "gaussian", "delta": 1e-5, "relation": "add-remove"},
    {"mechanism": "gaussian", "delta": 1e-6, "x_norm": 2.0, "bounds_X": None},
    {"x_norm": 2.0, "bounds_X": None},
    {"scale_bounds": (0.2, 2.0)},
    {"max_iter": 3, "hazard_clip": 2.0},
    {"method": "taylor", "regularization": "trim", "epsilon": 50},
    {"interactions": 3},
    {"max_rows_per_group": 2},
    *({"depth": depth} for depth in (1, 9)),
    {"quasi_identifiers": [0], "depth": 2},
    {"p_lower": 1, "p_upper": 4},
    {"bandwidth": 0.2, "kernel": "laplace"},
    {"n_neighbors": 5, "kernel": "knn"},
    {"refine_to": 3000},
    {"party_sizes": list(range(30, 42))},
    {"eta": 0},
    {"validation_fraction": 0.4},
    {"score_epsilon": 0.5},
    *({"noise_scale": scale} for scale in (5.0, (1.0, 0.1, 0.2), 0)),
    {"step_size": 0.05, "consensus_step": 0.2},
    {"clip_norm": 0.5, "max_iter": 40},
)


def instances(recorder: Recorder) -> None:
    """Fit every instance on several seeds, and one of every class and kind of rows in all its settings."""
    swept = {}
    for name, instance in INSTANCES.items():
        swept.setdefault((type(instance.estimator), instance.target, instance.beside), instance)
        seeded = "random_state" in instance.estimator.get_params(deep=False)
        for seed in (*SEEDS, None) if seeded else (None,):
            level = {0: 2, None: 1}.get(seed, 0) if seeded else 2
            _fit(recorder, name, instance, {"random_state": seed} if seeded else {}, level)
    for (_, target, beside), instance in swept.items():
        known = instance.estimator.get_params(deep=False)
        for label, change in settings(instance.estimator):
            seeded = {"random_state": 0, **change} if "random_state" in known else change
            _fit(recorder, f"{target}, {beside}, {label}", instance, seeded, 0)


def settings(estimator: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every option that the estimator declares, so that a new one is a new case, and `CHANGES`."""
    for name, constraints in sorted(getattr(estimator, "_parameter_constraints", {}).items()):
        for constraint in constraints if isinstance(constraints, list) else ():
            for option in sorted(getattr(constraint, "options", ()), key=str):
                yield f"{name}={option}", {name: option}
    yield from applicable(estimator, CHANGES)


def applicable(estimator: Any, changes: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield those changes whose parameters the estimator has."""
    known = estimator.get_params(deep=False)
    for change in changes:
        if set(change) <= set(known):
            yield ", ".join(f"{name} set to {value}" for name, value in change.items()), change


def _fit(recorder: Recorder, name: str, instance: Instance, change: dict[str, Any], level: int) -> None:
    kind = type(instance.estimator).__name__
    seed = f", seed {change['random_state']}" if "random_state" in change else ""
    with recorder.case(kind, f"{name}{seed}", level) as case, folder() as here:
        model = clone(instance.estimator).set_params(**change)
        given = arguments(instance, _ROWS, 12 if "party_sizes" in model.get_params() else 2)
        charged = level == 1 and "ledger" in model.get_params()
        if charged:
            model.set_params(ledger=public("PrivacyLedger")(here / "a.ledger", epsilon=10**6, delta=1e-2))
        model.fit(**given)
        queries, targets = (
            None if given.get(part) is None else given[part][:_QUERIES] for part in ("X", "y")
        )
        case.estimator(model, queries, targets)
        if charged:
            case.statement("ledger", model.ledger)
        if level == 2:
            _other_ways(case, model, queries)


def _other_ways(case: Case, model: Any, queries: Any) -> None:
    """Note down what only some estimators can do with what they released."""
    if hasattr(model, "repruned"):
        for prune in (False, True, "paper"):
            case.attempt(FIT, f"repruned, {prune}", model.repruned, prune=prune, public_weight=0.5)
    if hasattr(model, "ask"):
        case.attempt(PREDICTIONS, "asked", _ask, case, model, queries)


def _ask(case: Case, model: Any, queries: Any) -> Any:
    sites = [model.site(name) for name in model.sites_]
    case.put(FIT, "announced", [site.announce() for site in sites])
    query = model.ask(queries)
    answers = [site.answer(query) for site in sites]
    case.put(FIT, "messages", [query, *answers])
    case.attempt(STATEMENTS, "one answer missing", model.combine, *answers[1:], query=query)
    return model.combine(*answers, query=query)


def accumulators(recorder: Recorder) -> None:
    """Feed, merge, save, load and release moments."""
    logs = {"bounds_y": (-5.0, 5.0)}
    changes: dict[str, dict[str, Any]] = {
        "base": {},
        **{name: {"distribution": name} for name in ("lognormal", "loglogistic")},
        **{name: {"distribution": name, **logs} for name in ("sev", "normal", "logistic")},
        "gaussian": {"mechanism": "gaussian"},
        "unit ball": {"x_norm": 1.5, "bounds_X": None},
        "weights": {"max_sample_weight": 2},
        "groups": {"max_rows_per_group": 2},
        "names": {"feature_names": ["a", "b"], "target": "t"},
    }
    base = {"bounds_X": (-1, 1), "bounds_y": (0.01, 100.0), "max_rows": 1000}
    for label, change in changes.items():
        for seed in (*SEEDS, None):
            with recorder.case("MomentAccumulator", f"{label}, seed {seed}", 0 if seed else 2) as case:
                _accumulate(case, {**base, **change}, seed)


def _accumulate(case: Case, parameters: dict[str, Any], seed: Any) -> None:
    kind, parts = public("MomentAccumulator"), []
    for part in range(3):
        rng = np.random.default_rng(200 + 10 * part + (seed or 0))
        X = rng.uniform(-1, 1, size=(100, 2))
        y = X @ [1.0, -0.5] + 0.4 * np.log(rng.exponential(size=100))
        y = y if parameters["bounds_y"][0] < 0 else np.exp(y)
        weights = {"sample_weight": np.arange(100) % 3 * 0.5} if "max_sample_weight" in parameters else {}
        moments = kind(**parameters).update(X, y, batch_id=f"day {part}", **weights)
        parts.append(kind.from_bytes(moments.to_bytes()))
    whole = parts[0].merge(parts[1]).merge(parts[2])
    case.put(FIT, "bytes", [whole.to_bytes(), whole.batch_ids])
    case.put(STATEMENTS, "repr", repr(whole))
    case.attempt(STATEMENTS, "merged with itself", whole.merge, parts[1])
    case.attempt(STATEMENTS, "same batch again", whole.update, X, y, batch_id="day 1")
    gaussian = {"mechanism": "gaussian", "delta": 1e-6} if "mechanism" in parameters else {}
    law = parameters.get("distribution", "weibull")
    model = public("DPLogLocationScaleRegressor")(5.0, distribution=law, random_state=seed, **gaussian)
    case.estimator(whole.release(model), X[:10])
    case.put(STATEMENTS, "released", [whole.released, repr(whole)])
    case.attempt(STATEMENTS, "released twice", whole.release, model)
    case.attempt(STATEMENTS, "bytes afterwards", whole.to_bytes)


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(300 + seed).uniform(size=(300, 2))
    return X, (X[:, 0] > 0.5).astype(int)


def _trees(seed: Any) -> dict[str, Any]:
    kinds = {"DPTreeClassifier": {"rule": "random"}, "LocallyPrivateTreeClassifier": {}}
    declared = {"epsilon": 2.0, "bounds": (0, 1), "classes": [0, 1], "random_state": seed}
    return {name: public(name)(**declared, **options) for name, options in kinds.items()}


def searches(recorder: Recorder) -> None:
    """Search over epsilon, depth and post-processing, with public rows and public rows of validation."""
    grids: dict[str, dict[str, list[Any]]] = {
        "epsilon and depth": {"epsilon": [0.5, 1.0], "max_depth": [1, 3]},
        "post-processing": {"max_depth": [2], "prune": [False, True], "public_weight": [0.0, 1.0]},
    }
    parts = {"is_public": slice(30), "is_public_validation": slice(30, 60)}
    for seed in (*SEEDS, None):
        X, y = _rows(seed or 0)
        for name, tree in _trees(None).items():
            for label, grid in grids.items():
                for n_routed in range(3):
                    routed = {key: np.zeros(300, dtype=bool) for key in list(parts)[:n_routed]}
                    for key, mask in routed.items():
                        mask[parts[key]] = True
                    with recorder.case(
                        "PrivateGridSearch", f"{name}, {label}, {[*routed]}, seed {seed}", 0 if seed else 2
                    ) as case:
                        search = public("PrivateGridSearch")(tree, grid, random_state=seed)
                        case.estimator(search.fit(X, y, **routed), X[:25], y[:25])


def containers(recorder: Recorder) -> None:
    """Fit scikit-learn's pipelines, searches and bagging around trees, and split public from private rows."""
    scaler, wrapped = public("BoundsScaler")((0, 1)), public("PublicEstimator")
    for seed in SEEDS:
        X, y = _rows(seed)
        for name, tree in _trees(seed).items():
            columns = ColumnTransformer([("a", scaler, [0]), ("b", StandardScaler(), [1])])
            models = {
                "scaled by bounds": make_pipeline(scaler, tree),
                "scaled by rows": make_pipeline(StandardScaler(), tree),
                "scaled by public rows": make_pipeline(wrapped(StandardScaler().fit(X[:50])), tree),
                "columns": make_pipeline(columns, tree),
                "grid search": GridSearchCV(tree, {"epsilon": [0.5, 2.0], "max_depth": [1, 3]}, cv=3),
                "bagging": BaggingClassifier(tree, n_estimators=3, random_state=seed),
            }
            for label, model in models.items():
                with recorder.case("Pipeline", f"{label}, {name}, seed {seed}") as case:
                    model.fit(X, y)
                    case.put(PREDICTIONS, "predicted", [model.predict_proba(X[:30]), model.score(X, y)])
                    case.put(FIT, "steps", list(getattr(model, "named_steps", {}).values()))
                    scores = getattr(model, "cv_results_", {})
                    case.put(FIT, "scores", {key: scores[key] for key in scores if "time" not in key})
                    case.statement("report", public("privacy_report")(model))
        with recorder.case("PublicPrivateSplit", f"seed {seed}") as case:
            _split(case, _trees(seed)["DPTreeClassifier"], X, y)


def _split(case: Case, tree: Any, X: Any, y: Any) -> None:
    split, routed = public("PublicPrivateSplit")(cv=3), {"is_public": np.arange(300) < 60}
    case.put(PREDICTIONS, "parts", list(split.split(X, y, **routed)))
    case.put(STATEMENTS, "texts", [repr(split), split.get_n_splits(X, y, **routed)])
    with sklearn.config_context(enable_metadata_routing=True):
        cv = split.set_split_request(is_public=True)
        scores = cross_val_score(tree.set_fit_request(is_public=True), X, y, cv=cv, params=routed)
    case.put(PREDICTIONS, "scores", scores)
