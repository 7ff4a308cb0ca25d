# SPDX-License-Identifier: BSD-3-Clause
"""A lower bound on epsilon from a mechanism's releases about two neighbours."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, norm

from .._typing import BoolArray, FloatArray
from ..utils import check_probability
from ..utils._public_module import public_module

Statistic = Callable[[NDArray[Any]], FloatArray]

# The numbers that follow are set by hand.
# Number of candidate thresholds of an event: quantiles of the draws that choose it.
_THRESHOLDS = 65
# Share of the standard deviation. Low bits are audited apart: with them every value would be its own event.
_ROUNDING = 1e-6
# Largest number of distinct names of categorical draws.
_MOST_CATEGORIES = 2**16


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class EpsilonAudit:
    """A lower bound on epsilon from the counts of one event on two neighbours; made by `audit_epsilon`.

    Attributes
    ----------
    epsilon : float
        Lower bound on the privacy loss of the pair.
    confidence : float
        Lower bound on the probability that the bound is below the true loss.
    hits : tuple of two ints
        Number of draws with the event, on the data set where it is likelier, and on the other.
    trials : tuple of two ints
        Number of counted draws on either data set.
    predicted : float or None
        Privacy loss of this pair by the mechanism's own proof, or its claim.

    Examples
    --------
    >>> from skprivate.audit import EpsilonAudit
    >>> print(EpsilonAudit(epsilon=1.2, confidence=0.999, hits=(90, 10), trials=(200, 200), predicted=1.5))
    audited at >= 1.2 (confidence 0.999; event seen 90 of 200 and 10 of 200 times), predicted 1.5: consistent
    """

    epsilon: float
    confidence: float
    hits: tuple[int, int]
    trials: tuple[int, int]
    predicted: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the bound does not exceed the predicted loss."""
        return self.predicted is None or self.epsilon <= self.predicted

    def __str__(self) -> str:
        seen = " and ".join(f"{hit} of {n}" for hit, n in zip(self.hits, self.trials, strict=True))
        text = (
            f"audited at >= {self.epsilon:.3g} (confidence {self.confidence:.12g}; event seen {seen} times)"
        )
        if self.predicted is None:
            return text
        verdict = "consistent" if self.passed else "REFUTED"
        return f"{text}, predicted {self.predicted:.4g}: {verdict}"


def epsilon_lower_bound(
    likely: int,
    unlikely: int,
    trials: int | tuple[int, int],
    confidence: float = 0.999,
    delta: float = 0.0,
) -> float:
    """Return the Clopper-Pearson lower bound on epsilon from the counts of one event.

    Parameters
    ----------
    likely, unlikely : int
        Number of draws with the event on either neighbour.
    trials : int or tuple of two ints
        Number of draws.
    confidence : float, default=0.999
        In (0, 1).
    delta : float, default=0.0
        Delta of (epsilon, delta)-differential privacy.

    Returns
    -------
    epsilon : float
        The bound; 0 if nothing is proven.

    Notes
    -----
    P(event) on one data set is at most e^epsilon P(event) on the other, plus delta. Each probability has an
    exact one-sided bound that fails with probability (1 - confidence) / 2. So both hold with `confidence`.

    Examples
    --------
    >>> from skprivate.audit import epsilon_lower_bound
    >>> round(epsilon_lower_bound(500, 50, 1000), 3)
    1.764
    """
    both = (trials, trials) if isinstance(trials, int | np.integer) else trials
    low, high = bounds_of_rates((likely, unlikely), both, confidence)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def gaussian_lower_bound(hits: tuple[int, int], trials: tuple[int, int], confidence: float) -> float:
    """Return a lower bound on mu, the distance of two unit Gaussians, from the counts of one event."""
    low, high = bounds_of_rates(hits, trials, confidence)
    return max(0.0, float(norm.ppf(low) - norm.ppf(high))) if low > 0 and high < 1 else 0.0


def bounds_of_rates(hits: tuple[int, int], trials: tuple[int, int], confidence: float) -> tuple[float, float]:
    """Return Clopper-Pearson bounds below the first probability and above the second, which hold together."""
    if not all(0 <= hit <= n for hit, n in zip(hits, trials, strict=True)):
        raise ValueError("counts of the event must lie between 0 and the number of trials.")
    if not 0 < confidence < 1:
        raise ValueError("confidence must lie in (0, 1).")
    miss = (1 - confidence) / 2
    low = beta.ppf(miss, hits[0], trials[0] - hits[0] + 1) if hits[0] else 0.0
    high = beta.isf(miss, hits[1] + 1, trials[1] - hits[1]) if hits[1] < trials[1] else 1.0
    return float(low), float(high)


def audit_epsilon(
    here: ArrayLike,
    there: ArrayLike,
    *,
    predicted: Any = None,
    event: Callable[[NDArray[Any]], BoolArray] | None = None,
    categorical: bool = False,
    confidence: float = 0.999,
    delta: float = 0.0,
) -> EpsilonAudit:
    """Return a lower bound on epsilon from many independent releases about two neighbouring data sets.

    The first third of the draws chooses the event; the others count it. Numbers are rounded to 1e-6 of their
    spread, so that the audit is about the scale of the noise. Audit their `low_bits` separately.

    Parameters
    ----------
    here, there : array-like of shape (n_trials,) or (n_trials, n_values)
        One row for each independent release about either data set. For a local mechanism every user's report
        in one call is a trial.
    predicted : float or Fraction, default=None
        Privacy loss of exactly this pair by the mechanism's proof. The claimed epsilon is a weaker test: if
        the pair uses half of the budget, noise of half the scale passes.
    event : callable, default=None
        Takes draws and returns a bool for each. Choose it before the draws, and likelier on `here`; then all
        draws count. None: the best threshold on the likeliest direction, chosen on the first third of the
        draws.
    categorical : bool, default=False
        For one value per draw: whether numbers are names, as in randomised response, not amounts.
    confidence : float, default=0.999
        Confidence of the bound. A right mechanism fails with a probability of at most 1 - confidence.
    delta : float, default=0.0
        Delta of (epsilon, delta)-differential privacy.

    Returns
    -------
    audit : EpsilonAudit
        Its ``epsilon`` is the bound; ``passed`` compares it with `predicted`.

    Raises
    ------
    TypeError, ValueError
        There are too few draws, shapes do not match, draws are not finite, the event does not return one bool
        per draw, or a number is out of its range.

    See Also
    --------
    sensitivity_fuzz : Finds too little noise of skprivate's mechanisms in less than a second.

    Notes
    -----
    If a draw has several values, each value is clipped between its means on the two data sets. The values are
    added up in units of their spread. For additive Laplace noise of one scale this is the log of the
    likelihood ratio, so no event is better.

    The following holds for an event of probability 1/2, confidence 99.9 % and power 95 %. Near epsilon 1.5,
    noise of half the scale shows with 333 trials on either side, and noise 1.25 times too small with 2,914.
    At epsilon 0.1 it takes 10,692 and 143,871.

    **Privacy**: use data sets made for this purpose: an audit of private rows releases them as often as there
    are trials. A low bound proves nothing. A high bound proves too little noise.

    References
    ----------
    Z. Ding, Y. Wang, G. Wang, D. Zhang, D. Kifer, "Detecting violations of differential privacy", CCS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.audit import audit_epsilon
    >>> from skprivate.noise import DiscreteLaplaceMechanism
    >>> mechanism = DiscreteLaplaceMechanism(1.5, sensitivity=300)
    >>> here, there = (mechanism.randomize(np.full(20000, value), 0) for value in (300, 0))
    >>> audit = audit_epsilon(here, there, predicted=1.5)
    >>> audit.passed, audit.epsilon > 1.2
    (True, True)
    """
    _check_options(predicted, event, delta)
    first, second = _as_draws(here), _as_draws(there)
    if first.shape[1:] != second.shape[1:]:
        raise ValueError("here and there must hold draws of the same shape.")
    if event is None:
        part = len(first) // 3, len(second) // 3
        event, swap = choose_event(
            first[: part[0]], second[: part[1]], categorical=categorical, confidence=confidence, delta=delta
        )
        first, second = first[part[0] :], second[part[1] :]
        first, second = (second, first) if swap else (first, second)
    hits = _count(event, first), _count(event, second)
    trials = len(first), len(second)
    return EpsilonAudit(
        epsilon=epsilon_lower_bound(*hits, trials, confidence, delta),
        confidence=confidence,
        hits=hits,
        trials=trials,
        predicted=None if predicted is None else float(predicted),
    )


def low_bits(values: ArrayLike) -> FloatArray:
    """Return the exponent of the lowest bit that is set in every float; it leaks if noise is a float.

    Parameters
    ----------
    values : array-like of float

    Returns
    -------
    exponents : ndarray of float64
        e for an odd multiple of 2^e; 1024 for 0, which has no bit.

    Examples
    --------
    >>> from skprivate.audit import low_bits
    >>> low_bits([0.75, 6.0, 1 + 2.0**-52])
    array([ -2.,   1., -52.])
    """
    fraction, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    lowest = np.bitwise_and(mantissa, -mantissa)
    zeros = np.frexp(lowest.astype(np.float64))[1] - 1
    return np.where(mantissa == 0, 1024.0, exponent - 53 + zeros).astype(np.float64)


def choose_event(
    here: NDArray[Any], there: NDArray[Any], *, categorical: bool, confidence: float, delta: float
) -> tuple[Callable[[NDArray[Any]], BoolArray], bool]:
    """Return the event with the greatest bound on these draws, and whether it is likelier on `there`."""
    statistic = _by_category(here, there) if categorical else _by_direction(here, there)
    likely, unlikely = statistic(here), statistic(there)
    sizes = len(here), len(there)
    best = (-1.0, math.inf, False, False)
    for threshold in np.unique(np.quantile(np.r_[likely, unlikely], np.linspace(0, 1, _THRESHOLDS))):
        for below in (False, True):
            hits = [int(_passes(values, threshold, below).sum()) for values in (likely, unlikely)]
            for swap in (False, True):
                a, b = (1, 0) if swap else (0, 1)
                bound = epsilon_lower_bound(hits[a], hits[b], (sizes[a], sizes[b]), confidence, delta)
                best = max(best, (bound, float(threshold), below, swap))
    _, threshold, below, swap = best
    return (lambda draws: _passes(statistic(draws), threshold, below)), swap


def _passes(statistic: FloatArray, threshold: float, below: bool) -> BoolArray:
    return statistic <= threshold if below else statistic >= threshold


def _by_direction(here: NDArray[Any], there: NDArray[Any]) -> Statistic:
    """Return the sum of values clipped between their means, in units of their spread."""
    one, other = (np.asarray(draws, dtype=np.float64) for draws in (here, there))
    spread = np.std(np.concatenate([one, other]), axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    if one.ndim == 1:
        return lambda draws: np.round(np.asarray(draws, dtype=np.float64) / unit / _ROUNDING) * _ROUNDING
    means = one.mean(axis=0), other.mean(axis=0)
    low, high = np.minimum(*means), np.maximum(*means)
    # A value that hardly differs between the data sets only adds noise to the sum.
    clear = high - low > 4 * spread * math.sqrt(1 / len(one) + 1 / len(other))
    weight = np.sign(means[0] - means[1]) * (clear if clear.any() else 1.0) / unit

    def statistic(draws: NDArray[Any]) -> FloatArray:
        clipped = np.clip(np.asarray(draws, dtype=np.float64), low, high)
        return np.asarray(np.round(((clipped - low) * weight).sum(axis=1) / _ROUNDING) * _ROUNDING)

    return statistic


def _by_category(here: NDArray[Any], there: NDArray[Any]) -> Statistic:
    """Return the log of the ratio of frequencies of every name, 0 for names that were not seen."""
    names, inverse = np.unique(np.concatenate([here, there]), return_inverse=True)
    if here.ndim != 1 or len(names) > _MOST_CATEGORIES:
        raise ValueError("categorical draws must be one name each, with at most 65,536 different names.")
    counts = [np.bincount(part, minlength=len(names)) + 0.5 for part in np.split(inverse, [len(here)])]
    ratios = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())

    def statistic(draws: NDArray[Any]) -> FloatArray:
        place = np.minimum(np.searchsorted(names, draws), len(names) - 1)
        return np.where(names[place] == draws, ratios[place], 0.0)

    return statistic


def _check_options(predicted: Any, event: Any, delta: Any) -> None:
    if predicted is not None and not isinstance(predicted, Real):
        raise TypeError(f"predicted must be a number or None, not {type(predicted).__name__}.")
    if predicted is not None and not float(predicted) >= 0:
        raise ValueError("predicted must be at least 0.")
    if event is not None and not callable(event):
        raise TypeError(f"event must be callable or None, not {type(event).__name__}.")
    check_probability(delta, "delta")


def _count(event: Callable[[NDArray[Any]], Any], draws: NDArray[Any]) -> int:
    happened = np.asarray(event(draws))
    if happened.dtype.kind != "b" or happened.shape != (len(draws),):
        raise ValueError("event must return one bool for each draw.")
    return int(happened.sum())


def _as_draws(draws: ArrayLike) -> NDArray[Any]:
    array = np.asarray(draws)
    if array.dtype.kind not in "biuf" or array.ndim == 0 or len(array) < 3:
        raise ValueError("draws must be numbers, of at least three releases.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("draws must be finite.")
    return array if array.ndim == 1 else array.reshape(len(array), -1)
