# SPDX-License-Identifier: BSD-3-Clause
"""Fits of a plan: copies without a ledger, on drawn rows, scored on other rows."""

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ..._config import config_context
from ..._typing import FloatArray
from ...domain import TableDomain
from ...noise._mechanisms import warn_of_large_delta
from ...utils import check_bounds, check_probability
from ...utils._compat import safe_indexing
from .populations import PublicRows, World, splitter

#: Rows on which a fit is scored.
N_TEST = 10_000
# Folds of models of public rows alone.
_FOLDS = 5
# An epsilon at which the noise of every estimator of the suite is negligible.
_HARDLY_ANY_NOISE = 1e6

Scorer = Callable[..., float]


def epsilon_of(estimator: Any, param_name: str | None) -> str:
    """Return the name of the parameter that takes the epsilon."""
    names = estimator.get_params()
    if param_name is not None:
        if param_name not in names:
            raise ValueError(f"{type(estimator).__name__} has no parameter {param_name!r}.")
        return param_name
    if "epsilon" in names:
        return "epsilon"
    # A step of a pipeline. A model inside a private step has a longer name.
    found = [name for name in names if name.endswith("__epsilon")]
    shortest = [name for name in found if name.count("__") == min(one.count("__") for one in found)]
    if len(shortest) != 1:
        raise ValueError(
            f"which parameter of {type(estimator).__name__} takes the epsilon? Give param_name: "
            f"{', '.join(shortest) or 'none of them is named epsilon'}."
        )
    return shortest[0]


def warn_of_planned_delta(estimator: Any, param_name: str, n: int) -> None:
    """Warn if the delta beside this epsilon is a weak guarantee for n rows, and n will be public."""
    given, prefix = estimator.get_params(), param_name.removesuffix("epsilon")
    if given.get(f"{prefix}relation") != "add-remove":
        warn_of_large_delta(check_probability(given.get(f"{prefix}delta") or 0, "delta"), n)


def prepare(estimator: Any, domain: Any, target: Any) -> Any:
    """Return a clone without ledgers, with the declarations that the estimator itself lacks."""
    if domain is not None and not isinstance(domain, TableDomain | dict):
        if not isinstance(domain, tuple | list) or len(domain) != 2:
            raise TypeError("domain must be a TableDomain, or bounds (lower, upper).")
        check_bounds(domain, max(np.size(domain[0]), np.size(domain[1]), 1))
    copy = clone(estimator)
    names = copy.get_params()
    copy.set_params(**{name: None for name in names if name.split("__")[-1] == "ledger"})
    given = {"classes": target, "bounds_y": target}
    bounds = domain
    if isinstance(domain, TableDomain):
        given["domain"] = domain
        bounds = None if "domain" in names else domain.bounds
    given |= {"bounds": bounds, "bounds_X": bounds}
    missing = {name: value for name, value in given.items() if name in names and names[name] is None}
    if names.get("domain") is not None:
        # A domain of the estimator declares the bounds.
        missing = {name: value for name, value in missing.items() if name in ("classes", "bounds_y")}
    return copy.set_params(**{name: value for name, value in missing.items() if value is not None})


def run_world(
    estimator: Any,
    param_name: str,
    epsilons: Sequence[float | Fraction],
    world: World,
    n: int,
    n_public: int,
    scorer: Scorer,
    seed: int,
    *,
    alone: Any = None,
    in_fit: bool = False,
) -> tuple[list[float], float, float]:
    """Score fits to n rows of a world on other rows of it.

    Parameters
    ----------
    estimator, param_name, epsilons, scorer
        As in the plan. The estimator has no ledger.
    world : World
    n, n_public : int
        Numbers of private and of public rows.
    seed : int
    alone : estimator, default=None
        It is fitted to the public rows alone; None: no such fit.
    in_fit : bool, default=False
        Whether the fits get the public rows as well.

    Returns
    -------
    scores : list of float
        One for each epsilon.
    score_alone : float
        Score of the model of public rows alone; NaN without them.
    score_quiet : float
        Score of the estimator with hardly any noise, fitted to all public rows except one fold.
    """
    rng = np.random.default_rng(seed)
    X, y = world.draw(n + n_public, rng)
    test, y_test = world.draw(N_TEST, rng)
    score_alone, score_quiet, scores, options = float("nan"), float("nan"), [], {}
    is_public = np.arange(n + n_public) < n_public
    if in_fit:
        steps = getattr(estimator, "steps", None)
        options[f"{steps[-1][0]}__is_public" if steps else "is_public"] = is_public
    with config_context(allow_seeds=True), warnings.catch_warnings(action="ignore"):
        if alone is not None:
            score_alone = float(scorer(alone.fit(safe_indexing(X, is_public), y[is_public]), test, y_test))
            few = np.arange(n + n_public) < n_public * (_FOLDS - 1) // _FOLDS
            quiet = quieten(estimator, param_name, int(rng.integers(2**31)))
            score_quiet = float(scorer(quiet.fit(safe_indexing(X, few), y[few]), test, y_test))
        if n_public and not in_fit:
            X, y = safe_indexing(X, ~is_public), y[~is_public]
        for epsilon in epsilons:
            model = _with_epsilon(estimator, param_name, epsilon, int(rng.integers(2**31)))
            scores.append(float(scorer(model.fit(X, y, **options), test, y_test)))
    return scores, score_alone, score_quiet


def _with_epsilon(estimator: Any, param_name: str, epsilon: float | Fraction, seed: int) -> Any:
    """Return a clone with an epsilon, and with seeds for all of its parts."""
    model = clone(estimator).set_params(**{param_name: epsilon})
    seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeds, seed))


def quieten(estimator: Any, param_name: str, seed: int) -> Any:
    """Return a clone with hardly any noise."""
    return _with_epsilon(estimator, param_name, _HARDLY_ANY_NOISE, seed)


def cross_validate_quiet(
    estimator: Any, param_name: str, X: Any, y: Any, labels: bool, scorer: Any, seed: int
) -> FloatArray:
    """Return the scores of the estimator with hardly any noise, on each fold of the public rows."""
    with config_context(allow_seeds=True), warnings.catch_warnings(action="ignore"):
        quiet = quieten(estimator, param_name, seed)
        folds = splitter(y, labels, _FOLDS, seed)
        scores: FloatArray = cross_val_score(quiet, X, y, cv=folds, scoring=scorer)
    return scores


def base_score(y: Any, labels: bool, scorer: Scorer) -> float:
    """Return the score of the best constant for these targets."""
    model = DummyClassifier(strategy="prior") if labels else DummyRegressor()
    rows = np.zeros((len(y), 1))
    return float(scorer(model.fit(rows, y), rows, y))


class PublicModel(NamedTuple):
    """A model of public rows alone: its name, the model, its score and the standard error; or none."""

    name: str | None = None
    model: Any = None
    score: Any = None
    error: float | None = None


def public_model(known: PublicRows, labels: bool, scorer: Scorer, seed: int) -> PublicModel:
    """Return the better of two models of public rows alone."""
    models: dict[str, Any] = {"boosting": HistGradientBoostingRegressor(random_state=0), "ridge": Ridge()}
    if labels:
        models = {
            "boosting": HistGradientBoostingClassifier(random_state=0),
            "logistic regression": LogisticRegression(max_iter=1000),
        }
    found = []
    with warnings.catch_warnings(action="ignore"):
        for name, model in models.items():
            steps = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), model)
            folds = splitter(known.y, labels, _FOLDS, seed)
            scores = cross_val_score(steps, known.table.encoded, known.y, cv=folds, scoring=scorer)
            whole = make_pipeline(FunctionTransformer(known.table.encode), steps)
            error = float(scores.std(ddof=1) / np.sqrt(len(scores)))
            found.append(PublicModel(name, whole, float(scores.mean()), error))
    return max(found, key=lambda one: one.score)
