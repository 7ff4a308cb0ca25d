# SPDX-License-Identifier: BSD-3-Clause
"""Simulated lifetimes of a fleet that follow a log-location-scale model, censored at the machines' ages."""

from numbers import Real
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Distribution, FloatArray, RandomSource
from ..utils import check_int
from ._random_source import make_random_source

#: Distribution of y -> that of the errors, and whether y is a time, whose logarithm follows the model.
_ERROR_DISTRIBUTIONS = {
    "weibull": ("sev", True),
    "loglogistic": ("logistic", True),
    "lognormal": ("normal", True),
    "sev": ("sev", False),
    "logistic": ("logistic", False),
    "normal": ("normal", False),
}
_SURVIVAL = np.dtype([("event", np.bool_), ("time", np.float64)])


@overload
def make_location_scale(
    n_samples: int = 10_000,
    n_features: int = 5,
    *,
    distribution: Distribution = "weibull",
    scale: float = 0.5,
    coef: ArrayLike | None = None,
    intercept: float = 0.0,
    censoring: float = 0.0,
    structured: bool | None = None,
    return_coef: Literal[False] = False,
    random_state: RandomSource = None,
) -> tuple[FloatArray, NDArray[Any]]: ...


@overload
def make_location_scale(
    n_samples: int = 10_000,
    n_features: int = 5,
    *,
    distribution: Distribution = "weibull",
    scale: float = 0.5,
    coef: ArrayLike | None = None,
    intercept: float = 0.0,
    censoring: float = 0.0,
    structured: bool | None = None,
    return_coef: Literal[True],
    random_state: RandomSource = None,
) -> tuple[FloatArray, NDArray[Any], FloatArray]: ...


@overload
def make_location_scale(
    n_samples: int = 10_000,
    n_features: int = 5,
    *,
    distribution: Distribution = "weibull",
    scale: float = 0.5,
    coef: ArrayLike | None = None,
    intercept: float = 0.0,
    censoring: float = 0.0,
    structured: bool | None = None,
    return_coef: bool = False,
    random_state: RandomSource = None,
) -> tuple[Any, ...]: ...


def make_location_scale(
    n_samples: int = 10_000,
    n_features: int = 5,
    *,
    distribution: Distribution = "weibull",
    scale: float = 0.5,
    coef: ArrayLike | None = None,
    intercept: float = 0.0,
    censoring: float = 0.0,
    structured: bool | None = None,
    return_coef: bool = False,
    random_state: RandomSource = None,
) -> tuple[Any, ...]:
    """Simulate a fleet: features, and lifetimes that follow a log-location-scale model in them.

    Features are uniform on [-1, 1], so ``bounds_X=(-1, 1)`` holds exactly. The model is
    ``intercept + X @ coef + scale * error`` with errors of the standard smallest extreme value, logistic or
    normal distribution; for a life distribution it is the logarithm of the time.

    With `censoring`, machines went into service at an even pace over some years before the data were taken,
    and those still alive are censored at their age: a machine's age is uniform between 0 and the largest one,
    which is set so that the expected share of censored machines is the one asked for.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of machines.
    n_features : int, default=5
        Number of columns.
    distribution : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}, default="weibull"
        Distribution of the lifetimes; the last three are of a target of either sign.
    scale : float, default=0.5
        Scale of the errors, > 0. For Weibull lifetimes its inverse is the shape: 2 by default.
    coef : array-like of shape (n_features,), default=None
        Coefficients. None: drawn at random, with norm 1.
    intercept : float, default=0.0
        The model where all features are 0; for a life distribution the logarithm of a time.
    censoring : float, default=0.0
        Expected share of censored machines, in [0, 1).
    structured : bool, default=None
        Whether y tells events and times. None: if machines are censored.
    return_coef : bool, default=False
        Return the coefficients, too.
    random_state : None, int, RandomState or Generator, default=None
        Makes the rows reproducible.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Lifetimes; for "sev", "logistic" and "normal" the model itself. Structured: records of ``event``
        (bool, True for a failure) and ``time`` (float) in scikit-survival's form, times for all six
        distributions.
    coef : ndarray of shape (n_features,)
        With ``return_coef=True``.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range, or ``structured=False`` with censored machines.

    Examples
    --------
    >>> from skprivate.datasets import make_location_scale
    >>> X, y = make_location_scale(1000, 3, censoring=0.8, random_state=0)
    >>> X.shape, y.dtype.names, bool(0.7 < 1 - y["event"].mean() < 0.9)
    ((1000, 3), ('event', 'time'), True)
    """
    n_samples = check_int(n_samples, "n_samples", least=1)
    n_features = check_int(n_features, "n_features", least=1)
    error_distribution, is_time = _check_model(distribution, scale, intercept)
    structured = _check_censoring(censoring, structured)
    rng = make_random_source(random_state)
    coefficients = _coefficients(coef, n_features, rng)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    y: Any = intercept + X @ coefficients + scale * _errors(error_distribution, n_samples, rng)
    if is_time or structured:
        y = np.exp(y)
    if structured:
        y = _observe(y, censoring, rng)
    return (X, y, coefficients) if return_coef else (X, y)


def _check_model(distribution: Any, scale: Any, intercept: Any) -> tuple[str, bool]:
    if distribution not in _ERROR_DISTRIBUTIONS:
        raise ValueError(
            f"distribution must be one of {', '.join(map(repr, _ERROR_DISTRIBUTIONS))}, got {distribution!r}."
        )
    if not _is_number(scale) or not 0 < scale < np.inf:
        raise ValueError("scale must be a number above 0, and finite.")
    if not _is_number(intercept) or not np.isfinite(intercept):
        raise ValueError("intercept must be a finite number.")
    return _ERROR_DISTRIBUTIONS[distribution]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_censoring(censoring: Any, structured: bool | None) -> bool:
    if not _is_number(censoring) or not 0 <= censoring < 1:
        raise ValueError("censoring must be a share, at least 0 and below 1.")
    if structured is False and censoring > 0:
        raise ValueError("structured=False cannot tell censored machines from others.")
    return censoring > 0 if structured is None else bool(structured)


def _coefficients(coef: Any, n_features: int, rng: Any) -> FloatArray:
    if coef is None:
        direction = rng.normal(size=n_features)
        return direction / np.linalg.norm(direction)
    coefficients = np.array(coef, dtype=np.float64)
    if coefficients.shape != (n_features,) or not np.isfinite(coefficients).all():
        raise ValueError(f"coef must hold {n_features} finite numbers, one per feature.")
    return coefficients


def _errors(distribution: str, size: int, rng: Any) -> FloatArray:
    if distribution == "sev":
        # The logarithm of an exponential time: the Gumbel distribution of minima.
        return np.log(rng.exponential(size=size))
    return rng.logistic(size=size) if distribution == "logistic" else rng.normal(size=size)


def _observe(lifetimes: FloatArray, censoring: float, rng: Any) -> NDArray[Any]:
    """Return events and times of machines of ages uniform between 0 and the oldest age."""
    y = np.empty(len(lifetimes), dtype=_SURVIVAL)
    # In (0, 1], so that no time is 0.
    shares = 1.0 - rng.uniform(size=len(lifetimes))
    ages = shares * _oldest_age(lifetimes, censoring) if censoring > 0 else np.inf
    y["event"] = lifetimes <= ages
    y["time"] = np.minimum(lifetimes, ages)
    return y


def _oldest_age(lifetimes: FloatArray, censoring: float) -> float:
    """Return A such that a uniform age on [0, A] is below the lifetime with the given mean probability."""
    # The probability is min(lifetime / A, 1): its mean falls from 1 to 0 as A grows. Bisection on log A.
    low, high = np.log(lifetimes.min()), np.log(lifetimes.max() / censoring)
    for _ in range(100):
        middle = (low + high) / 2
        share = np.minimum(lifetimes / np.exp(middle), 1.0).mean()
        low, high = (middle, high) if share > censoring else (low, middle)
    return float(np.exp(high))
