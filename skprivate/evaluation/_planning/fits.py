# SPDX-License-Identifier: BSD-3-Clause
"""Fits of a plan: copies without a ledger, on rows that were drawn, scored on others."""

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..._config import config_context
from ..._typing import FloatArray
from ...domain import TableDomain
from ...utils import check_bounds, is_frame
from ...utils._compat import safe_indexing
from .worlds import World

#: Rows on which a fit is scored.
N_TEST = 10_000
# Folds of the models of public rows alone.
_FOLDS = 5

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
    # A step of a pipeline; a model inside a private one is reached by a longer name.
    found = [name for name in names if name.endswith("__epsilon")]
    shortest = [name for name in found if name.count("__") == min(one.count("__") for one in found)]
    if len(shortest) != 1:
        raise ValueError(
            f"which parameter of {type(estimator).__name__} takes the epsilon? Give param_name: "
            f"{', '.join(shortest) or 'none of them is named epsilon'}."
        )
    return shortest[0]


def prepare(estimator: Any, domain: Any, target: Any) -> Any:
    """Return a clone without ledgers, with the declarations that the estimator itself lacks."""
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
        # A domain that the estimator holds says the bounds.
        missing = {name: value for name, value in missing.items() if name in ("classes", "bounds_y")}
    return copy.set_params(**{name: value for name, value in missing.items() if value is not None})


def check_domain(domain: Any) -> None:
    """Raise TypeError or ValueError where this is neither a domain nor bounds."""
    if domain is not None and not isinstance(domain, TableDomain | dict):
        if not isinstance(domain, tuple | list) or len(domain) != 2:
            raise TypeError("domain must be a TableDomain, or bounds (lower, upper).")
        check_bounds(domain, max(np.size(domain[0]), np.size(domain[1]), 1))


def run_world(
    estimator: Any,
    param_name: str,
    epsilons: Sequence[float | Fraction],
    world: World,
    n: int,
    n_public: int,
    scorer: Scorer,
    seed: int,
) -> list[float]:
    """Return the score at every epsilon of fits to n rows of a world, on other rows of it.

    With ``n_public`` fits get as many further rows that are marked as public.
    """
    rng = np.random.default_rng(seed)
    X, y = world.draw(n + n_public, rng)
    test, y_test = world.draw(N_TEST, rng)
    options = {}
    if n_public:
        options[_fit_parameter(estimator)] = np.arange(n + n_public) < n_public
    scores = []
    with config_context(allow_seeds=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epsilon in epsilons:
            model = clone(estimator).set_params(**{param_name: epsilon})
            seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
            model.set_params(**{name: int(rng.integers(2**31)) for name in seeds})
            scores.append(float(scorer(model.fit(X, y, **options), test, y_test)))
    return scores


def _fit_parameter(estimator: Any) -> str:
    steps = getattr(estimator, "steps", None)
    return f"{steps[-1][0]}__is_public" if steps else "is_public"


def base_scores(X: Any, y: Any, labels: bool, scorer: Scorer, seed: int) -> tuple[float, float]:
    """Return the score of a constant that knows the rows, and 0."""
    model = DummyClassifier(strategy="prior") if labels else DummyRegressor()
    return float(scorer(model.fit(np.zeros((len(y), 1)), y), np.zeros((len(y), 1)), y)), 0.0


def public_scores(X: FloatArray, y: Any, labels: bool, scorer: Any, seed: int) -> tuple[str, float, float]:
    """Return the best of two models of public rows alone: its name, score, and standard error."""
    splitter: Any = KFold(_FOLDS, shuffle=True, random_state=seed)
    models: dict[str, Any] = {"boosting": HistGradientBoostingRegressor(random_state=0), "ridge": Ridge()}
    if labels:
        smallest = int(np.unique(y, return_counts=True)[1].min())
        splitter = StratifiedKFold(min(_FOLDS, smallest), shuffle=True, random_state=seed)
        models = {
            "boosting": HistGradientBoostingClassifier(random_state=0),
            "logistic regression": LogisticRegression(max_iter=1000),
        }
    known = np.nan_to_num(X)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models.items():
            scores = cross_val_score(make_pipeline(StandardScaler(), model), known, y, cv=splitter, scoring=scorer)
            found.append((name, float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(len(scores)))))
    return max(found, key=lambda one: one[1])
