# SPDX-License-Identifier: BSD-3-Clause
"""Simulated data: a location-scale model, parties, and posterior drift."""

from numbers import Real
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._typing import Distribution, FloatArray, RandomSource
from ..utils import check_int


def make_random_source(random_state: Any) -> Any:
    """Return a Generator as it is, and a RandomState for anything else that scikit-learn takes."""
    return random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)


#: Distribution of y -> that of the errors, and whether y is a time, whose logarithm follows the model.
_ERROR_DISTRIBUTIONS = {
    "weibull": ("sev", True),
    "loglogistic": ("logistic", True),
    "lognormal": ("normal", True),
    "sev": ("sev", False),
    "logistic": ("logistic", False),
    "normal": ("normal", False),
}
# Fields of scikit-survival's targets.
_SURVIVAL = np.dtype([("event", np.bool_), ("time", np.float64)])


class _Model(TypedDict, total=False):
    distribution: Distribution
    scale: float
    coef: ArrayLike | None
    intercept: float
    censoring: float
    structured: bool | None
    random_state: RandomSource


@overload
def make_location_scale(
    n_samples: int = 10_000,
    n_features: int = 5,
    *,
    return_coef: Literal[False] = False,
    **more: Unpack[_Model],
) -> tuple[FloatArray, NDArray[Any]]: ...


@overload
def make_location_scale(
    n_samples: int = 10_000, n_features: int = 5, *, return_coef: Literal[True], **more: Unpack[_Model]
) -> tuple[FloatArray, NDArray[Any], FloatArray]: ...


@overload
def make_location_scale(
    n_samples: int = 10_000, n_features: int = 5, *, return_coef: bool = False, **more: Unpack[_Model]
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
    ``intercept + X @ coef + scale * error``. Errors have the standard smallest extreme value, logistic or
    normal distribution. For a life distribution the model is the logarithm of the time.

    With ``censoring``, machines went into service at an even pace over some years before the data were taken.
    Those still alive are censored at their age. A machine's age is uniform between 0 and the largest one,
    which is set so that the expected share of censored machines is ``censoring``.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of machines.
    n_features : int, default=5
        Number of columns.
    distribution : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}, default="weibull"
        Distribution of the lifetimes. The last three are of a target of either sign.
    scale : float, default=0.5
        Scale of the errors, > 0. For Weibull lifetimes its inverse is the shape: 2 by default.
    coef : array-like of shape (n_features,), default=None
        Coefficients. None: drawn at random, with norm 1.
    intercept : float, default=0.0
        The model at features of 0; for a life distribution the logarithm of a time.
    censoring : float, default=0.0
        Expected share of censored machines, in [0, 1).
    structured : bool, default=None
        Whether y holds events and times. None: if machines are censored.
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
    if not _is_number(censoring) or not 0 <= censoring < 1:
        raise ValueError("censoring must be a share, at least 0 and below 1.")
    if structured is False and censoring > 0:
        raise ValueError("structured=False cannot mark which machines are censored.")
    structured = censoring > 0 if structured is None else bool(structured)
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


def make_parties(
    n_samples: int = 10_000,
    n_parties: int = 20,
    *,
    n_features: int = 5,
    noise: float = 0.1,
    random_state: RandomSource = None,
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Simulate parties whose rows follow one regression function: the collaborative prediction paper's toy.

    X is uniform on the unit cube, so ``bounds=(0, 1)`` holds exactly, and y is f(x) plus normal noise, with
    ``|x|`` the Euclidean norm and ::

        f(x) = max(0, 1 - |x|)^5 (1 + 5 |x|) + |x|^2 / 5

    All parties but the last have between 0.8 and 1 times ``n_samples / n_parties`` rows, and each such number
    is equally likely. The last party, the largest, has the rest. Rows of all parties are in random order.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of rows of all parties together, at least `n_parties`.
    n_parties : int, default=20
        Number of parties, at least 1.
    n_features : int, default=5
        Number of columns, at least 1.
    noise : float, default=0.1
        Standard deviation of the noise, at least 0. With 0, y is f(x), as a test of predictions needs.
    random_state : None, int, RandomState or Generator, default=None
        Makes the rows reproducible; X and the parties do not depend on `noise`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    sites : ndarray of int of shape (n_samples,)
        The party of every row, from 0 to ``n_parties - 1``.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    References
    ----------
    Lin, Liu, Wang, Striking the perfect balance: preserving privacy while boosting utility in collaborative
    medical prediction platforms, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.datasets import make_parties
    >>> X, y, sites = make_parties(1000, 4, random_state=0)
    >>> X.shape, bool(np.bincount(sites).argmax() == 3)
    ((1000, 5), True)
    >>> queries, truth, _ = make_parties(100, 1, noise=0, random_state=1)
    >>> queries.shape, truth.shape
    ((100, 5), (100,))
    """
    n_parties = check_int(n_parties, "n_parties", least=1)
    n_samples = check_int(n_samples, "n_samples", least=n_parties)
    n_features = check_int(n_features, "n_features", least=1)
    if not _is_number(noise) or not 0 <= noise < np.inf:
        raise ValueError("noise must be a number of at least 0, and finite.")
    rng = make_random_source(random_state)
    X = rng.uniform(size=(n_samples, n_features))
    sites = rng.permutation(np.repeat(np.arange(n_parties), _sizes(n_samples, n_parties, rng)))
    norm = np.sqrt(np.square(X).sum(axis=1))
    y = np.maximum(0.0, 1.0 - norm) ** 5 * (1.0 + 5.0 * norm) + norm**2 / 5.0
    if noise > 0:
        y += rng.normal(scale=noise, size=n_samples)
    return X, y, sites


def _sizes(n_samples: int, n_parties: int, rng: Any) -> NDArray[np.intp]:
    most = n_samples // n_parties
    # If the share is small, no whole number of rows may be between 0.8 and 1 times the share.
    least = min(-(-4 * n_samples // (5 * n_parties)), most)
    # Not integers() nor randint(): a Generator has only the first, a RandomState only the second.
    drawn = least + (rng.uniform(size=n_parties - 1) * (most - least + 1)).astype(np.intp)
    return np.append(drawn, n_samples - drawn.sum())


# Ways in which public labels differ from private ones.
_DRIFTS = ("power", "flipped", "unrelated")


def make_posterior_drift(
    n_private: int = 10_000,
    n_public: int = 1_000,
    *,
    n_features: int = 2,
    gamma: float = 1.0,
    drift: Literal["power", "flipped", "unrelated"] = "power",
    random_state: RandomSource = None,
) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.bool_]]:
    """Simulate private and public rows with the same P(X) but another P(Y | X).

    X is uniform on the unit cube. Private labels follow the rule of the LPCT paper's simulation in the first
    two features (as in its authors' code, as the printed formula exceeds 1)::

        eta = .5 + .4 s (|1.5 x1 - .5| |1.5 x2 - .5| max(0, 1 - |2 x2 - 1|))^.1,
        s = sign(x1 - 1/3) sign(x2 - 1/3)

    and the best possible accuracy is about 0.786.

    Parameters
    ----------
    n_private, n_public : int, default=10000, 1000
        Number of private and of public rows.
    n_features : int, default=2
        Number of columns, at least 2; the others have no effect.
    gamma : float, default=1.0
        With drift "power": public labels follow ``.5 + .4 sign(eta - .5) (|eta - .5| / .4)^gamma``. Above 1
        they are noisier than private ones, below 1 cleaner.
    drift : {"power", "flipped", "unrelated"}, default="power"
        "flipped": public labels follow 1 - eta if x1 < 1/3. "unrelated": they are fair coins.
    random_state : None, int, RandomState or Generator, default=None
        Makes the rows reproducible.

    Returns
    -------
    X : ndarray of shape (n_private + n_public, n_features)
        Private rows first.
    y : ndarray of int of shape (n_private + n_public,)
    is_public : ndarray of bool of shape (n_private + n_public,)

    Examples
    --------
    >>> from skprivate.datasets import make_posterior_drift
    >>> X, y, is_public = make_posterior_drift(1000, 50, gamma=0.5, random_state=0)
    >>> X.shape, int(is_public.sum())
    ((1050, 2), 50)
    """
    n_private = check_int(n_private, "n_private", least=0)
    n_public = check_int(n_public, "n_public", least=0)
    n_features = check_int(n_features, "n_features", least=2)
    if not 0 < gamma < np.inf:
        raise ValueError("gamma must be greater than 0 and finite.")
    if drift not in _DRIFTS:
        raise ValueError(f"drift must be one of {_DRIFTS}, got {drift!r}.")
    rng = make_random_source(random_state)
    n_samples = n_private + n_public
    is_public = np.arange(n_samples) >= n_private
    X = rng.uniform(size=(n_samples, n_features))
    eta = posterior(X)
    eta[is_public] = _drifted(eta[is_public], X[is_public], gamma, drift)
    y = (rng.uniform(size=n_samples) < eta).astype(np.int64)
    return X, y, is_public


def posterior(X: FloatArray) -> FloatArray:
    """Return the probability of label 1 of a private row with these features."""
    first, second = X[:, 0], X[:, 1]
    side = np.sign(first - 1 / 3) * np.sign(second - 1 / 3)
    hill = np.abs(1.5 * first - 0.5) * np.abs(1.5 * second - 0.5) * np.maximum(0, 1 - np.abs(2 * second - 1))
    return 0.5 + 0.4 * side * hill**0.1


def _drifted(eta: FloatArray, X: FloatArray, gamma: float, drift: str) -> FloatArray:
    if drift == "unrelated":
        return np.full(len(eta), 0.5)
    if drift == "flipped":
        return np.where(X[:, 0] < 1 / 3, 1.0 - eta, eta)
    return 0.5 + 0.4 * np.sign(eta - 0.5) * (np.abs(eta - 0.5) / 0.4) ** gamma
