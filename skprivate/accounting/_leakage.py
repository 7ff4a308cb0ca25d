# SPDX-License-Identifier: BSD-3-Clause
"""Pointwise maximal leakage of channels, of local privacy, of Laplace noise and of whole runs."""

import functools
import math
import sys
import warnings
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import BoolArray, FloatArray
from ..utils import check_epsilon, check_positive, check_probability

# How far the sum of a row or a prior may be from 1; set by hand, above the rounding of float sums.
TOLERANCE = 1e-9
_MOST_OUTPUTS = 10**7  # entries of a joint channel: 80 MB
# Priors of more values are described by their range.
_MOST_LISTED = 4


def joint_channel(*channels: ArrayLike) -> FloatArray:
    """Return the channel of several releases about one secret, drawn independently given the secret.

    Leakages about one secret do not add up under a fixed prior. The leakage of several releases together is
    the leakage of their joint channel.

    Parameters
    ----------
    *channels : array-like of shape (n_inputs, n_outputs_i)
        At least one; every row sums to 1.

    Returns
    -------
    channel : ndarray of shape (n_inputs, n_outputs_1 * n_outputs_2 * ...)
        The outputs (y_1, y_2, ...) are in C order: the last one changes fastest.

    Raises
    ------
    TypeError, ValueError
        No channel is given, or an argument is not a channel. The channels differ in their number of inputs.
        The joint channel would have more than 10^7 entries.

    See Also
    --------
    pml_from_ldp : A bound for any number of releases with known local epsilons, by their sum.

    Notes
    -----
    **Privacy**: a function of public things alone. Releases that share randomness are not independent given
    the secret. This function does not compute their channel.

    Examples
    --------
    The first release never has the output 0 if the secret is the first value. The second release never has it
    if the secret is the second value. Each leaks at most 0.580 nats. Together they can leave only the third
    value possible, which leaks 2.120 nats.

    >>> from skprivate.accounting import joint_channel, pml_guarantee
    >>> prior = [0.44, 0.44, 0.12]
    >>> first = [[0, 1], [0.5, 0.5], [0.5, 0.5]]
    >>> second = [[0.5, 0.5], [0, 1], [0.5, 0.5]]
    >>> [round(pml_guarantee(channel, prior), 3) for channel in (first, second)]
    [0.58, 0.58]
    >>> round(pml_guarantee(joint_channel(first, second), prior), 3)
    2.12
    """
    if not channels:
        raise ValueError("joint_channel needs at least one channel.")
    joint, *others = (check_channel(channel) for channel in channels)
    for other in others:
        if len(other) != len(joint):
            raise ValueError("channels about one secret must have the same number of inputs.")
        if joint.size * other.shape[1] > _MOST_OUTPUTS:
            raise ValueError("the joint channel would have more than 10^7 entries; use pml_from_ldp.")
        joint = (joint[:, :, None] * other[:, None, :]).reshape(len(joint), -1)
    return joint


def check_channel(channel: ArrayLike) -> FloatArray:
    """Return a matrix of conditional probabilities as float64; rows are inputs and sum to 1."""
    matrix = as_numbers(channel, "channel")
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"channel must have shape (n_inputs, n_outputs), got {matrix.shape}.")
    _check_probabilities(matrix, "every row of channel")
    return matrix


def as_numbers(values: Any, name: str, what: str = "probabilities") -> FloatArray:
    """Return numbers as float64; refuse anything else."""
    try:
        array = np.asarray(values)
        # Fractions are arrays of objects. Text is refused: astype would parse it.
        if array.dtype.kind in "iufO":
            return array.astype(np.float64)
    except TypeError:
        raise TypeError(f"{name} must hold {what}, and nothing else.") from None
    except (ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of {what} that floats can hold.") from None
    raise TypeError(f"{name} must hold {what}, not {array.dtype}.")


def check_prior(prior: ArrayLike, *, shapes: tuple[tuple[int, ...], ...] | None = None) -> FloatArray:
    """Return probabilities as a flat float64 array that sums to 1; `shapes` lists the accepted shapes."""
    array = as_numbers(prior, "prior")
    if shapes is not None and array.shape not in shapes:
        raise ValueError(f"prior must have shape {' or '.join(map(str, shapes))}, got {array.shape}.")
    if shapes is None and (array.ndim != 1 or not array.size):
        raise ValueError(f"prior must be one-dimensional and not empty, got shape {array.shape}.")
    flat = array.reshape(1, -1)
    _check_probabilities(flat, "prior")
    return flat[0] / flat[0].sum()


def on_support(channel: ArrayLike, prior: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the channel's rows of the possible inputs, and the probabilities of these inputs."""
    matrix = check_channel(channel)
    probabilities = check_prior(prior, shapes=((len(matrix),),))
    possible = probabilities > 0
    return matrix[possible], probabilities[possible]


def minus_log(mean: Any, missing: Any) -> FloatArray:
    """Return -log(mean), never below 0, for mean = 1 - missing; both are sums of positive terms.

    If the mean is near 1, `missing` has digits that the mean has lost. If it is near 0, the mean has them.
    """
    mean, missing = np.asarray(mean, dtype=np.float64), np.asarray(missing, dtype=np.float64)
    with np.errstate(divide="ignore"):
        small = -np.log(np.where(missing < 0.5, 1.0, mean))
    return np.maximum(np.where(missing < 0.5, -np.log1p(-np.minimum(missing, 0.5)), small), 0.0)


def describe_prior(probabilities: FloatArray) -> str:
    """Return a finite prior in a few words."""
    possible = np.sort(probabilities[probabilities > 0])[::-1]
    if len(possible) == 1:
        return "one certain value"
    # A prior that sums to 1 up to rounding is still uniform.
    if np.allclose(possible, possible[0], rtol=1e-9, atol=0):
        return f"{len(possible)} equally likely values"
    if len(possible) <= _MOST_LISTED:
        *first, last = (f"{probability:.4g}" for probability in possible)
        return f"{len(possible)} values with probabilities {', '.join(first)} and {last}"
    return f"{len(possible)} values with probabilities from {possible[-1]:.3g} to {possible[0]:.3g}"


def _check_probabilities(rows: FloatArray, name: str) -> None:
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise ValueError(f"{name} must hold probabilities: finite, and at least 0.")
    if np.abs(rows.sum(axis=1) - 1).max() > TOLERANCE:
        raise ValueError(f"{name} must sum to 1 (within 1e-9).")


# Envelope of pointwise maximal leakage: the quantile that holds after any post-processing.

# Rounding error of a sum, relative to its terms: above four units of float64.
_SUM_ERROR = 1e-15
_PRECISION = 1e-11  # of e^eps, relative; set by hand
_MOST_STEPS = 100  # of bisection; about 40 reach the precision


def envelope(ratios: FloatArray, masses: FloatArray, delta: float) -> float:
    """Return the smallest eps with P(l(X -> Z) > eps) <= delta for every post-processing Z of Y, rounded up.

    Parameters
    ----------
    ratios : ndarray of shape (n_inputs, n_outputs)
        P(y | x) / P(y), for possible x and y.
    masses : ndarray of shape (n_outputs,)
        P(y).
    delta : float
        In (0, 1).

    Returns
    -------
    eps : float
        At least the true one, and about 1e-10 above it if the linear programmes are solved.

    Notes
    -----
    Let t = e^eps > 1, let r be the ratios, and let Z be drawn from P(z | y). A z is bad if for some x
    ``sum_y P(z | y) P(y) (r_x(y) - t) > 0``. Assign every bad z to one such x, and let w_x(y) be the sum of
    P(z | y) over the z of x. Then sum_x w_x(y) <= 1, and ``sum_y w_x(y) P(y) (r_x(y) - t) >= 0`` for every x.
    The mass of the bad z is ``sum w_x(y) P(y)``. So it is at most V(t), the largest such sum over all w.
    Therefore V(t) <= delta suffices at t. It is also needed at every t' > t. A w that is feasible at t' is a
    post-processing to one z per x and one z for the rest. All its z of positive mass are bad at t. So the
    infimum of the t with V(t) <= delta is the value sought. It is attained, since P(l > eps) is continuous
    from the right for every Z.

    By duality V(t) is the least of ``D_v(t) = sum_y P(y) max(0, max_x (1 + v_x (r_x(y) - t)))`` over v >= 0.
    Any v proves V <= D_v (weak duality). So the returned value depends on D_v(t) <= delta, computed for the v
    found, and not on the solver's tolerances. Those could only make it less tight.
    """
    low, high = 1.0, float(ratios.max())
    for _ in range(_MOST_STEPS):
        if high <= low * (1 + _PRECISION):
            break
        middle = math.sqrt(low * high)
        weights = _dual_weights(ratios, masses, middle)
        if _dual(weights, ratios, masses, middle) <= delta:
            high = _least_proven(weights, ratios, masses, delta, low, middle)
        else:
            low = middle
            if _dual(weights, ratios, masses, high) <= delta:
                high = _least_proven(weights, ratios, masses, delta, middle, high)
    return math.log(high)


def _dual(weights: FloatArray, ratios: FloatArray, masses: FloatArray, t: float) -> float:
    """Return D_v(t), which no bad mass exceeds, rounded up: the proof holds for a delta of 1e-15 too."""
    sums = 1 + weights[:, None] * (ratios - t)
    sums += _SUM_ERROR * (1 + weights[:, None] * (ratios + t))
    return float(masses @ np.maximum(sums.max(axis=0), 0.0)) * (1 + _SUM_ERROR * len(masses))


def _least_proven(
    weights: FloatArray, ratios: FloatArray, masses: FloatArray, delta: float, low: float, high: float
) -> float:
    """Return the least t of an interval that these weights prove. They must prove its upper end."""
    while high > low * (1 + _PRECISION / 4):
        middle = math.sqrt(low * high)
        if _dual(weights, ratios, masses, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _dual_weights(ratios: FloatArray, masses: FloatArray, t: float) -> FloatArray:
    """Solve the dual programme: least sum of P(y) m_y with m_y >= 1 + v_x (r_x(y) - t), and m, v >= 0."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n_inputs, n_outputs = ratios.shape
    entries = np.arange(n_inputs * n_outputs)
    by_input = coo_array((ratios.ravel() - t, (entries, entries // n_outputs)))
    by_output = coo_array((-np.ones(len(entries)), (entries, n_inputs + entries % n_outputs)))
    shape = (len(entries), n_inputs + n_outputs)
    by_input.resize(shape)
    by_output.resize(shape)
    cost = np.concatenate([np.zeros(n_inputs), masses])
    solved = linprog(cost, A_ub=(by_input + by_output).tocsr(), b_ub=-np.ones(len(entries)), method="highs")
    # Without a solution, the weights are 0. They prove only V <= 1.
    return np.maximum(solved.x[:n_inputs], 0.0) if solved.x is not None else np.zeros(n_inputs)


# Leakage of a query with Laplace noise to every adversary whose prior has a floor.

# Share of a scale by which a value may be rounded: an error of the leakage, beside the rounding of floats.
# Set by hand.
_ROUNDING = Fraction(1, 10**12)


def pml_laplace_query(
    scale: float | Fraction | ArrayLike, values: ArrayLike, p_min: float | Fraction | ArrayLike
) -> float:
    """Return the largest leakage of queries with Laplace noise, over all priors with a floor.

    Parameters
    ----------
    scale : float, Fraction or array-like of shape (n_queries,)
        Scale of the noise, above 0: one number for all queries, or one for each. The noises are independent.
    values : array-like of shape (n_values,) or (n_values, n_queries)
        The answers of the queries for every possible value of the secret, in the units of `scale`. For sums:
        the person's contribution, rounded to a grid if the sums are. For counts of leaves: one 1 a row. Rows
        may be equal.
    p_min : float, Fraction or array-like of shape (n_values,)
        Floor of the prior, above 0: the least probability of every possible value, as one number for all or
        one for each. Floors that add up to 1 leave one prior.

    Returns
    -------
    eps : float
        In nats: the supremum of pointwise maximal leakage over these priors and all outcomes, up to the
        rounding of floats. It is attained. It is below epsilon, the largest distance between two values,
        unless that is 0.

    Raises
    ------
    TypeError, ValueError
        A scale is not above 0. A value is not finite, or is an integer or Fraction that floats cannot hold
        within 1e-12 scales. Shapes do not match. A floor is not above 0. The floors add up to more than 1, so
        that no prior has them.

    See Also
    --------
    pml_from_ldp : The bound for every mechanism with some epsilon, including this one.
    pml_laplace : One number with Laplace noise under one prior, which may be continuous.

    Notes
    -----
    Let ``d(x, a) = sum_i |q_i(x) - q_i(a)| / scale_i`` be the distance between two values of the secret, c_x
    the floors, and f = 1 - sum_x c_x the free mass. The supremum is the largest of

    ``-log(sum_x c_x exp(-d(x, a)) + f exp(-max_x d(x, a)))``

    over the values a. Proof: given an outcome y, let a have the largest P(y | a), and let r_x be
    P(y | x) / P(y | a). Under a prior p the leakage of y is -log sum_x p_x r_x. The sum is linear in p. So it
    is least at a vertex of the set of priors: all values at their floors, and f on the least r_x. By the
    triangle inequality ``r_x >= exp(-d(x, a))``. Equality holds for all x at once at the outcome y = q(a),
    which is most probable under a. So no leakage exceeds the formula, and an outcome q(a) attains it.

    Exact noise on integers (`DiscreteLaplaceMechanism`) leaks the same. The outcomes q(a) are integers if the
    values are, and P(y | x) is proportional to ``exp(-sum_i |y_i - q_i(x)| / scale_i)`` here too.

    The leakage is at most ``pml_from_ldp(epsilon, p_min)``. It reaches this bound if one value is at the
    distance epsilon from all others. Counts of leaves with one value in each are an example. The worst a need
    not be at an end of the range.

    **Privacy**: a function of public things alone. The secret is one person's record. If the other records
    are fixed, or independent of it under the prior, this is an upper bound. It is no bound if they reveal the
    person's record. Several releases about one person are one release of all their queries: stack the
    columns. The leakages of the single releases do not add up. If earlier outcomes choose a query, the
    formula with the largest distances over the choices is an upper bound. So is `pml_from_ldp` of the sum of
    the epsilons.

    Proof: :doc:`/proofs/leakage`.

    Examples
    --------
    A person is in one of four leaves, with a probability of at least 0.05 for each. Counts with noise of
    scale 2 are 1-differentially private:

    >>> import numpy as np
    >>> from skprivate.accounting import pml_from_ldp, pml_laplace_query
    >>> round(pml_laplace_query(2, np.eye(4), 0.05), 3), round(pml_from_ldp(1, 0.05), 3)
    (0.918, 0.918)

    Sums of a person's number and of its square, each with its own noise:

    >>> x = np.linspace(-1, 1, 5)
    >>> sums = np.column_stack([x, x**2])
    >>> round(pml_laplace_query([4, 2], sums, 0.15), 3), round(pml_from_ldp(3 / 4, 0.15), 3)
    (0.525, 0.595)
    """
    points, scales = _points_and_scales(values, scale)
    floors = _floors(p_min, len(points))
    free = max(0.0, 1 - float(floors.sum()))
    worst = 0.0
    for point in points:
        # A distance beyond all floats becomes infinite, and its term 0.
        with np.errstate(over="ignore"):
            distances = (np.abs(points - point) / scales).sum(axis=1)
        farthest = distances.max()
        mean = floors @ np.exp(-distances) + free * np.exp(-farthest)
        missing = -floors @ np.expm1(-distances) - free * np.expm1(-farthest)
        worst = max(worst, min(float(minus_log(mean, missing)), float(farthest)))
    return worst


def _points_and_scales(values: ArrayLike, scale: ArrayLike | Fraction) -> tuple[FloatArray, FloatArray]:
    points = as_numbers(values, "values", "numbers")
    if points.ndim not in (1, 2) or not points.size:
        raise ValueError(
            f"values must have shape (n_values,) or (n_values, n_queries), not empty; got {points.shape}."
        )
    points = points.reshape(len(points), -1)
    if not np.isfinite(points).all():
        raise ValueError("values must be finite.")
    scales = as_numbers(scale, "scale", "numbers")
    if scales.shape not in ((), points.shape[1:]):
        raise ValueError(f"scale must be one number or one of each of {points.shape[1]} queries.")
    if not np.isfinite(scales).all() or not (scales > 0).all():
        raise ValueError("scale must be finite and above 0.")
    _check_rounding(np.asarray(values).reshape(points.shape), points, scales)
    return points, scales


def _check_rounding(values: NDArray[Any], points: FloatArray, scales: FloatArray) -> None:
    """Refuse numbers that change when they become floats: their distances could be too small."""
    if values.dtype.kind == "f":
        return
    widths = np.broadcast_to(scales, points.shape)
    for value, point, width in zip(values.flat, points.flat, widths.flat, strict=True):
        if not isinstance(value, Fraction | Integral):
            continue
        # Integers of numpy would overflow.
        exact = value if isinstance(value, Fraction) else Fraction(int(value))
        if abs(exact - Fraction(float(point))) > _ROUNDING * Fraction(float(width)):
            raise ValueError(
                "values: floats cannot hold one of the numbers within 1e-12 scales. Only distances matter: "
                "subtract one of the values from all."
            )


def _floors(p_min: ArrayLike | Fraction, n_values: int) -> FloatArray:
    """Return the floor of every value, all above 0; a sum that is 1 up to rounding becomes 1."""
    given = as_numbers(p_min, "p_min", "probabilities")
    if given.shape not in ((), (n_values,)):
        raise ValueError(f"p_min must be one number or one of each of {n_values} values.")
    floors = np.broadcast_to(given, n_values)
    if not np.isfinite(floors).all() or not (floors > 0).all():
        raise ValueError("p_min must be finite and above 0.")
    total = float(floors.sum())
    if total > 1 + TOLERANCE:
        raise ValueError(f"p_min: floors of {n_values} values that add up to {total:.6g} leave no prior.")
    return floors / max(1.0, total)


# Leakage of one number with Laplace noise: the largest -log E exp(-rate |X - a|) over a, rounded up.

# The five numbers that follow are set by hand: they cost tightness or time, never the bound.
# Gap of the value, absolute below 1; with the error of the integrals it stays below 1e-9.
_TOLERANCE = 5e-10
# Error of an integral over one panel, relative to the least mean that it is a part of.
_ACCURACY = 1e-12
# Added to the value, absolute below 1: two rules that are nearly exact may have the same error.
_SLACK = 1e-11
# Panels of the first rule; set by hand.
_FIRST_PANELS = 16
# With more panels the current bound is returned: still a bound, with a wider gap.
_MOST_PANELS = 2**15
_ORDER = 16  # of Gauss' rule
# A kink in a panel changes two rules of one order in the same way, and a rule of another order differently.
_OTHER_ORDER = 11


class _Panels(NamedTuple):
    """Intervals of X that cover the support, in order; every field has one entry per panel.

    `first` and `last` are the probabilities at the two ends: P(X <= x) in the lower half of the distribution,
    P(X > x) in the upper half. So each half keeps the digits of its own end. `left` and `right` integrate
    exp(-rate distance) over the panel, with the distance to its upper and to its lower end. `error` bounds
    their error.
    """

    start: FloatArray
    end: FloatArray
    first: FloatArray
    last: FloatArray
    upper: BoolArray
    left: FloatArray
    right: FloatArray
    error: FloatArray

    @property
    def mass(self) -> FloatArray:
        return np.abs(self.last - self.first)

    def take(self, index: Any) -> "_Panels":
        return _Panels(*(field[index] for field in self))


def worst_log_mean(distribution: Any, rate: float) -> tuple[float, float]:
    """Return the largest ``-log E exp(-rate |X - a|)`` over a in the support, rounded up, and its a.

    Parameters
    ----------
    distribution : frozen continuous distribution of scipy.stats
        Of X. Only its `cdf`, `sf`, `ppf`, `isf` and `support` are used.
    rate : float
        In units of 1 / X, at least 0.

    Returns
    -------
    value : float
        At least the supremum over the interval of the support, and at most 1e-9 above it (relative to it, if
        it exceeds 1). The gap may be wider if the rate is above about 10^4 per width of the support, or the
        value hardly changes over a stretch (1e-7, say). Infinite for an unbounded support. If the density has
        gaps, a is searched in them too, and the value is an upper bound.
    where : float
        The a at which it is attained, to the same accuracy of the value; nan if the support is unbounded.

    Notes
    -----
    This is a branch-and-bound search. It assumes nothing about the density, such as log-concavity. Write
    E = A(a) + B(a), the parts of X <= a and of X > a. For s in [0, h] the mass M between a and a + h is at
    most h away from a + s, so

        E(a + s) >= A(a) exp(-rate s) + B(a + h) exp(-rate (h - s)) + M exp(-rate h).

    The first two terms are convex in s. Their least value is ``2 sqrt(A B exp(-rate h))`` inside, or the
    value at an end. The gap of the bound is of second order in h, so that few panels survive each halving. A
    and B are sums over panels of integrals that lie between M exp(-rate h) and M. Each integral is computed
    over probabilities by the quantile function, and over x by the distribution function with rules of two
    orders. Both functions are bounded and monotone; a density need not be. If one rule misses a thin part, a
    spike or a kink, another finds it. Panels are halved until all rules agree. Their differences and 1e-11
    are added. The error of the distribution's own functions remains: 1e-16 in a probability is up to
    1e-16 e^value in the value.
    """
    lower, upper = (float(end) for end in distribution.support())
    if not math.isfinite(lower) or not math.isfinite(upper):
        return math.inf, math.nan
    if rate == 0 or lower == upper:
        return 0.0, lower
    # A concentrated density, or a root search for a quantile of 1e-200, may warn. The value is clipped below.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        value, where = _search(distribution, lower, upper, rate)
    return max(0.0, min(value, rate * (upper - lower))), where


def worst_log_mean_of(values: FloatArray, probabilities: FloatArray, rate: float) -> tuple[float, float]:
    """Return the largest ``-log E exp(-rate |X - a|)`` over the values a of positive probability, and its a.

    Parameters
    ----------
    values, probabilities : ndarray of shape (m,)
        Distribution of X; values may be in any order and repeated.
    rate : float
        At least 0.

    Returns
    -------
    value, where : float
    """
    order = np.argsort(values, kind="stable")
    order = order[probabilities[order] > 0]
    points, masses = values[order], probabilities[order]
    fading = np.exp(-rate * np.diff(points))
    left = _faded_sums(masses, fading)
    right = _faded_sums(masses[::-1], fading[::-1])[::-1]
    worst = int(np.argmin(left + right - masses))
    distances = rate * np.abs(points - points[worst])
    return float(minus_log(masses @ np.exp(-distances), -masses @ np.expm1(-distances))), float(points[worst])


def uniform_log_mean(width: float) -> float:
    """Return ``log(width / (1 - exp(-width)))``: the largest value for X uniform; width is in 1 / rate."""
    if width < 1e-3:
        return width / 2 - width * width / 24  # the next term is below 1e-15
    return math.log(width) - math.log(-math.expm1(-width))


def _faded_sums(terms: FloatArray, fading: FloatArray) -> FloatArray:
    """Return cumulative sums of terms; each term shrinks by a factor from one position to the next."""
    total, sums = float(terms[0]), [float(terms[0])]
    for term, factor in zip(terms[1:].tolist(), fading.tolist(), strict=True):
        total = term + factor * total
        sums.append(total)
    return np.array(sums)


def _search(distribution: Any, lower: float, upper: float, rate: float) -> tuple[float, float]:
    """Halve the panels that may exceed the best end found, or are inaccurate, until none is left."""
    median = float(distribution.ppf(0.5))
    middle = median if lower < median < upper else (lower + upper) / 2
    halves = [np.linspace(*ends, _FIRST_PANELS // 2 + 1) for ends in ((lower, middle), (middle, upper))]
    panels = _join(
        *(
            _integrate(distribution, rate, edges[:-1], edges[1:], np.full(len(edges) - 1, upper_half))
            for edges, upper_half in zip(halves, (False, True), strict=True)
        )
    )
    while True:
        ends, values, bounds = _evaluate(panels, rate)
        worst = int(np.argmax(values))
        best = float(values[worst])
        # E(a) >= exp(-rate |a - x|) E(x): relative to E(a), an error at x is at most error / E(x).
        vague = panels.error > _ACCURACY * np.exp(-np.maximum(values[:-1], values[1:]))
        middles = (panels.start + panels.end) / 2
        divisible = (panels.start < middles) & (middles < panels.end)
        halved = (vague | (bounds > best + _TOLERANCE * max(1.0, best))) & divisible
        if not halved.any() or len(bounds) > _MOST_PANELS:
            return float(bounds.max()) + _SLACK * max(1.0, best), float(ends[worst])
        old, cuts = panels.take(halved), middles[halved]
        panels = _join(
            panels.take(~halved),
            _integrate(distribution, rate, old.start, cuts, old.upper),
            _integrate(distribution, rate, cuts, old.end, old.upper),
        )


def _join(*parts: _Panels) -> _Panels:
    joined = _Panels(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))
    # Two panels start at one point only if one of them is empty.
    return joined.take(np.lexsort((joined.end, joined.start)))


def _evaluate(panels: _Panels, rate: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the ends of the panels, the values there, and upper bounds of the values within the panels."""
    fading = np.exp(-rate * (panels.end - panels.start))
    nothing = np.zeros(1)

    def both(toward_upper: FloatArray, toward_lower: FloatArray) -> tuple[FloatArray, FloatArray]:
        before = _faded_sums(np.concatenate([nothing, toward_upper]), fading)
        after = _faded_sums(np.concatenate([nothing, toward_lower[::-1]]), fading[::-1])[::-1]
        return before, after

    before, after = both(panels.left, panels.right)
    uncertain_before, uncertain_after = both(panels.error, panels.error)
    values = -np.log(before + after)
    least_before = np.maximum(before - uncertain_before, 0.0)[:-1]
    least_after = np.maximum(after - uncertain_after, 0.0)[1:]
    bounds = -np.log(_least(least_before, least_after, fading) + panels.mass * fading)
    return np.append(panels.start, panels.end[-1]), values, bounds


def _least(before: FloatArray, after: FloatArray, fading: FloatArray) -> FloatArray:
    """Least of before exp(-rate s) + after exp(-rate (h - s)) over s in [0, h]; fading = exp(-rate h)."""
    inside = (before * fading <= after) & (after * fading <= before)
    ends = np.minimum(before + after * fading, before * fading + after)
    return np.where(inside, 2 * np.sqrt(before * after * fading), ends)


def _integrate(
    distribution: Any, rate: float, start: FloatArray, end: FloatArray, upper: BoolArray
) -> _Panels:
    """Integrate over panels in three ways; `upper` marks the panels of the upper half."""
    first, last = _tail(distribution, start, upper), _tail(distribution, end, upper)
    panels = _Panels(start, end, first, last, upper, *np.zeros((3, len(start))))
    by_parts = [_over_tails(distribution, rate, panels, order) for order in (_ORDER, _OTHER_ORDER)]
    integrals = np.stack([_over_quantiles(distribution, rate, panels), *by_parts])
    lowest = -np.expm1(-rate * (end - start))
    error = np.minimum(np.ptp(integrals, axis=0).max(axis=0), lowest) * panels.mass
    left, right = np.clip(integrals.min(axis=0), 1 - lowest, 1.0) * panels.mass
    return panels._replace(left=left, right=right, error=error)


def _tail(distribution: Any, x: FloatArray, upper: BoolArray) -> FloatArray:
    return np.where(upper, distribution.sf(x), distribution.cdf(x))


def _over_quantiles(distribution: Any, rate: float, panels: _Panels) -> FloatArray:
    """Return means of exp(-rate distance) to the upper and the lower end, as integrals over probabilities.

    Nodes lie where the mass is: a part that they miss has little mass.
    """
    nodes, weights = _gauss(_ORDER)
    levels = panels.first[:, None] + (panels.last - panels.first)[:, None] * nodes
    upper, values = panels.upper, np.empty_like(levels)
    values[~upper], values[upper] = distribution.ppf(levels[~upper]), distribution.isf(levels[upper])
    low, high = panels.start[:, None], panels.end[:, None]
    # Quantiles are rounded, and may fail: an unknown one counts as far away as possible, which leaks more.
    to_upper = high - np.clip(np.nan_to_num(values, nan=-np.inf), low, high)
    to_lower = np.clip(np.nan_to_num(values, nan=np.inf), low, high) - low
    return np.stack([np.exp(-rate * to_upper) @ weights, np.exp(-rate * to_lower) @ weights])


def _over_tails(distribution: Any, rate: float, panels: _Panels, order: int) -> FloatArray:
    """Return the same means by parts: 1 less an integral over x of rate exp(-rate distance) P(side of x).

    Nodes lie all over the panel: a part that they miss is short.
    """
    nodes, weights = _gauss(order)
    length = panels.end - panels.start
    x = panels.start[:, None] + length[:, None] * nodes
    upper = np.broadcast_to(panels.upper[:, None], x.shape)
    jump = np.where(panels.mass > 0, panels.last - panels.first, 1.0)[:, None]
    below = np.clip((_tail(distribution, x, upper) - panels.first[:, None]) / jump, 0.0, 1.0)
    fading = rate * length[:, None]
    to_upper = np.exp(-fading * (1 - nodes)) * below
    to_lower = np.exp(-fading * nodes) * (1 - below)
    return 1 - rate * length * np.stack([to_upper @ weights, to_lower @ weights])


@functools.cache
def _gauss(order: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of Gauss' rule on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return (nodes + 1) / 2, weights / 2


Kind = Literal["almost_sure", "envelope", "average"]

_NO_TAIL = (
    "kind 'tail', the smallest eps with P(leakage > eps) <= delta, is not closed under post-processing: "
    "merging outputs can raise that probability. Use kind='envelope', which holds after any post-processing."
)
_MOST_VALUES = 10**6  # of a discrete prior: a table of 8 MB


def pointwise_maximal_leakage(channel: ArrayLike, prior: ArrayLike) -> FloatArray:
    """Return the leakage of every output of a finite channel about its input.

    The leakage of y is ``log max_x P(y | x) / P(y)`` over the inputs x of positive probability. Consider the
    best guess about any function of x, even a random one. Its success probability grows by at most the factor
    e^leakage when y is seen.

    Parameters
    ----------
    channel : array-like of shape (n_inputs, n_outputs)
        P(y | x); every row sums to 1.
    prior : array-like of shape (n_inputs,)
        Probabilities of the inputs; sums to 1.

    Returns
    -------
    leakage : ndarray of shape (n_outputs,)
        In nats, from 0 to ``max_information(prior)``; nan where the output has probability 0.

    Raises
    ------
    TypeError, ValueError
        A shape is wrong, an entry is negative or infinite, or a sum is not 1 within 1e-9.

    See Also
    --------
    pml_guarantee : One number for all outputs.
    joint_channel : Several releases about one secret; their leakages do not add up.

    Notes
    -----
    **Privacy**: a function of public things alone. It holds for adversaries with this prior. For another
    prior see `PrivacyGuarantee.under_prior`.

    Proof: :doc:`/proofs/leakage`.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, Pointwise maximal leakage, IEEE Transactions on Information Theory
    2023.

    Examples
    --------
    >>> from skprivate.accounting import pointwise_maximal_leakage
    >>> pointwise_maximal_leakage([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]], [0.5, 0.5]).round(3)
    array([0.47, 0.47,  nan])
    """
    rows, probabilities = on_support(channel, prior)
    largest = rows.max(axis=0)
    # Relative to the largest, so that the terms cannot underflow.
    relative = rows / np.where(largest > 0, largest, 1.0)
    leakage = minus_log(probabilities @ relative, probabilities @ (1 - relative))
    return np.where(largest > 0, leakage, np.nan)


def pml_guarantee(
    channel: ArrayLike, prior: ArrayLike, kind: Kind = "almost_sure", delta: float | Fraction | None = None
) -> float:
    """Return one number for the pointwise maximal leakage of a finite channel.

    Parameters
    ----------
    channel : array-like of shape (n_inputs, n_outputs)
        P(y | x); every row sums to 1.
    prior : array-like of shape (n_inputs,)
        Probabilities of the inputs; sums to 1.
    kind : {"almost_sure", "envelope", "average"}, default="almost_sure"
        "almost_sure": the largest leakage of an output of positive probability. "envelope": the smallest eps
        such that after any post-processing of the output, the leakage exceeds eps with a probability of at
        most delta. "average": the maximal leakage, ``log sum_y max_x P(y | x)`` over the possible x. It is
        the logarithm of the mean of e^leakage.
    delta : float, Fraction or None, default=None
        In (0, 1): required for "envelope", and not accepted otherwise.

    Returns
    -------
    eps : float
        In nats. "envelope": at least the true one, and about 1e-10 above it.

    Raises
    ------
    TypeError, ValueError
        As `pointwise_maximal_leakage`. Also for an unknown kind, and for a delta that is missing, out of
        range or not needed. "tail" is no kind: the smallest eps with P(leakage > eps) <= delta does not
        survive post-processing.

    Notes
    -----
    "almost_sure" is closed under post-processing: the leakage of merged outputs is at most the largest of
    their leakages. "envelope" is the closure of the tail. Proof of its computation: let t = e^eps. Assign
    every output z of a post-processing that leaks more than eps to an x with P(z | x) > t P(z). Let w_x(y) be
    the sum of P(z | y) over the z of x. Then sum_x w_x(y) <= 1, and
    ``sum_y w_x(y) (P(y | x) - t P(y)) >= 0`` for every x. The bad mass is ``sum w_x(y) P(y)``, which is at
    most the value V(t) of that linear programme. Conversely, a feasible w for a larger t is a post-processing
    whose bad mass at eps is its value. So the smallest eps is the infimum of those with V <= delta. It is
    found by bisection. A solution of the dual programme proves the returned value, whatever the solver's
    tolerances.

    **Privacy**: a function of public things alone. The numbers do not add up over releases about one secret:
    see `joint_channel`.

    References
    ----------
    Information leakage envelopes, arXiv 2605.21185. Issa, Wagner, Kamath, An operational approach to
    information leakage, IEEE Transactions on Information Theory 2020, for the average.

    Examples
    --------
    >>> from skprivate.accounting import pml_guarantee
    >>> channel, prior = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], [0.5, 0.5]
    >>> round(pml_guarantee(channel, prior), 3)
    0.575
    >>> round(pml_guarantee(channel, prior, "average"), 3)
    0.531
    >>> round(pml_guarantee(channel, prior, "envelope", delta=0.95), 3)
    0.552
    """
    if kind not in get_args(Kind):
        if str(kind) == "tail":
            raise ValueError(_NO_TAIL)
        raise ValueError(f"kind must be one of {', '.join(map(repr, get_args(Kind)))}.")
    if (kind == "envelope") != (delta is not None):
        raise ValueError("delta belongs to kind='envelope', which needs one.")
    if kind == "average":
        return maximal_leakage(channel, prior)
    if kind == "almost_sure":
        return float(np.nanmax(pointwise_maximal_leakage(channel, prior)))
    level = _open_probability(delta, "delta")
    rows, probabilities = on_support(channel, prior)
    masses = probabilities @ rows
    seen = masses > 0
    return envelope(rows[:, seen] / masses[seen], masses[seen], level)


def maximal_leakage(channel: ArrayLike, prior: ArrayLike | None = None) -> float:
    """Return the maximal leakage of a finite channel, ``log sum_y max_x P(y | x)``.

    Parameters
    ----------
    channel : array-like of shape (n_inputs, n_outputs)
        P(y | x); every row sums to 1.
    prior : array-like of shape (n_inputs,), default=None
        Probabilities of the inputs. It only matters which of them are positive. None: all are.

    Returns
    -------
    leakage : float
        In nats: the average kind of `pml_guarantee`.

    Raises
    ------
    TypeError, ValueError
        As `pointwise_maximal_leakage`.

    Notes
    -----
    **Privacy**: an average over the outputs. A rare output may leak far more; `pml_guarantee` bounds each.

    Examples
    --------
    >>> from skprivate.accounting import maximal_leakage
    >>> round(maximal_leakage([[0.8, 0.2], [0.2, 0.8]]), 3)
    0.47
    """
    rows = check_channel(channel) if prior is None else on_support(channel, prior)[0]
    # Rows sum to 1. Differences to the first row keep the digits of a leakage near 0.
    return float(np.log1p((rows - rows[0]).max(axis=0).sum()))


def max_information(prior: ArrayLike) -> float:
    """Return the most that any release can leak about a secret with this prior: ``log 1 / p_min``.

    Parameters
    ----------
    prior : array-like of shape (n_inputs,)
        Probabilities; p_min is the smallest positive one.

    Returns
    -------
    eps : float
        In nats: the pointwise maximal leakage if the secret itself is released.

    Raises
    ------
    TypeError, ValueError
        The prior does not sum to 1, or holds something other than finite probabilities.

    Notes
    -----
    **Privacy**: a bound for every mechanism, private or not.

    Examples
    --------
    >>> from skprivate.accounting import max_information
    >>> round(max_information([0.7, 0.3, 0.0]), 3)
    1.204
    """
    probabilities = check_prior(prior)
    return max(0.0, -math.log(probabilities[probabilities > 0].min()))


def pml_from_ldp(epsilon: float | Fraction, p_min: float | Fraction) -> float:
    """Return the largest pointwise maximal leakage that local differential privacy allows.

    Parameters
    ----------
    epsilon : float or Fraction
        Epsilon of local differential privacy, at least 0; may be infinite. For several reports about one
        secret, drawn independently given the secret: the sum of their epsilons.
    p_min : float or Fraction
        Smallest positive probability of the prior, in (0, 1].

    Returns
    -------
    eps : float
        ``log(e^epsilon / (1 + p_min (e^epsilon - 1)))`` in nats, at most ``epsilon`` and ``log 1 / p_min``.
        Randomised response attains it.

    Raises
    ------
    TypeError, ValueError
        A number is out of its range.

    Notes
    -----
    Proof: let x attain the largest P(y | x) = a. Then P(y) >= p(x) a + (1 - p(x)) a e^-epsilon. This is least
    for p(x) = p_min. If no other x is possible, p_min = 1.

    **Privacy**: a bound for every mechanism of that epsilon and every prior with that smallest probability.

    Proof: :doc:`/proofs/leakage`.

    Examples
    --------
    >>> from skprivate.accounting import pml_from_ldp
    >>> [round(pml_from_ldp(epsilon, 0.3), 3) for epsilon in (0.5, 1, 8)]
    [0.322, 0.584, 1.203]
    """
    given: Any = epsilon
    is_limit = not isinstance(given, bool) and np.ndim(given) == 0 and given in (0, math.inf)
    nats = float(given if is_limit else check_epsilon(given))
    least = check_share(p_min, "p_min")
    others = float(1 - least)
    mean = float(least) + others * math.exp(-nats)
    # Both terms underflow for probabilities below all floats. Epsilon itself is a bound too.
    return float(minus_log(mean, -others * math.expm1(-nats))) if mean else nats


def pml_laplace(scale: float | Fraction, prior: Any) -> float:
    """Return the pointwise maximal leakage, almost surely, of a number with Laplace noise.

    Parameters
    ----------
    scale : float or Fraction
        Scale of the noise, above 0, in the units of the number. The variance of the noise is ``2 scale^2``.
    prior : tuple or frozen distribution of scipy.stats
        Distribution of the number X. ``(values, probabilities)``: two arrays of one length.
        ``(lower, upper)``: two numbers, X is uniform between them. A frozen distribution may be continuous,
        or discrete on at most 10^6 integers.

    Returns
    -------
    eps : float
        In nats. Exact for values and for the uniform prior. For another continuous prior it is at most 1e-9
        above the truth (relative to it, if it exceeds 1). This needs a scale of at least about 10^-4 of the
        support. Infinite for an unbounded support.

    Raises
    ------
    TypeError, ValueError
        The prior is none of these or does not sum to 1. The scale is not positive, or so small that floats
        cannot hold 1 / scale.

    Notes
    -----
    The leakage of y is ``-log E exp((|y - a| - |y - X|) / scale)`` for the possible value a nearest to y.
    ``|y - X| <= |y - a| + |a - X|``, with equality at y = a. So the largest leakage is the largest
    ``-log E exp(-|X - a| / scale)`` over the possible a. For a log-concave density it is at an end of the
    support. This function does not assume that. For Beta(0.2, 0.2) the largest is inside, and the ends alone
    would give less than half of it. The search covers all a, with a bound on the values between those tried.
    It includes gaps of the density, in which X cannot be: then the result is an upper bound.

    **Privacy**: for noise that is exactly Laplace. Noise on a grid (`DiscreteLaplaceMechanism`) leaks the
    same about values on the grid.

    Proof: :doc:`/proofs/leakage`.

    Examples
    --------
    >>> from scipy import stats
    >>> from skprivate.accounting import pml_laplace
    >>> round(pml_laplace(0.5, ([0, 1], [0.7, 0.3])), 3)
    0.93
    >>> round(pml_laplace(0.5, (0, 1)), 3)  # uniform
    0.839
    >>> round(pml_laplace(0.1, stats.beta(0.2, 0.2)), 3), round(pml_laplace(0.1, stats.beta(5, 5)), 3)
    (2.626, 3.947)
    """
    inverse = 1 / check_positive(scale, "scale")
    if inverse > Fraction(sys.float_info.max):
        raise ValueError("scale is too small: floats cannot hold 1 / scale.")
    rate = float(inverse)
    if hasattr(prior, "ppf"):
        if not np.isfinite(prior.support()).all():
            return math.inf
        return worst_log_mean(prior, rate)[0] if hasattr(prior, "pdf") else _discrete(prior, rate)
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise TypeError("prior must be (values, probabilities), (lower, upper), or a frozen distribution.")
    first, second = (np.asarray(part, dtype=np.float64) for part in prior)
    if not np.isfinite(first).all() or first.ndim > 1 or first.shape != second.shape:
        raise ValueError("prior must hold two finite numbers, or two one-dimensional arrays of one length.")
    if first.ndim:
        return worst_log_mean_of(first, check_prior(prior[1]), rate)[0]
    if not first < second < math.inf:
        raise ValueError("prior: lower must be below upper, and both finite.")
    return uniform_log_mean(rate * float(second - first))


def prior_ratio(counts: ArrayLike, confidence: float | Fraction) -> float:
    """Return a ratio that bounds, with a given confidence, how far a prior may be below its estimate.

    Given n independent draws from an unknown prior P', of which ``counts[x]`` were x, let P be the observed
    frequencies. With this confidence P'(x) >= rho P(x) for all x. Then the leakage under P plus
    ``log 1 / rho`` bounds the leakage under P' (`PrivacyGuarantee.under_prior`).

    Parameters
    ----------
    counts : array-like of int of shape (k,)
        How often every value was seen, all at least 1. P' must be known to have no other value: merge values
        that were never seen with others, and leave out impossible ones.
    confidence : float or Fraction
        In (0, 1).

    Returns
    -------
    rho : float
        In (0, 1].

    Raises
    ------
    TypeError, ValueError
        Counts are not integers of at least 1, or the confidence is out of range.

    Notes
    -----
    Each P'(x) exceeds its one-sided Clopper-Pearson bound L(x) at level (1 - confidence) / k, except with
    that probability. So all of them do, except with probability 1 - confidence, whatever the dependence
    between counts. rho is the least L(x) / P(x).

    **Privacy**: counts of private rows are not public. Take them from public rows, or release them privately
    from part of the budget.

    Proof: :doc:`/proofs/leakage`.

    References
    ----------
    Clopper, Pearson, Biometrika 1934. Estimated priors: arXiv 2509.22428.

    Examples
    --------
    >>> from skprivate.accounting import PrivacyGuarantee, pml_from_ldp, prior_ratio
    >>> counts = [7000, 3000]
    >>> guarantee = PrivacyGuarantee(
    ...     epsilon=pml_from_ldp(1.0, 0.3), status="upper_bound", criterion="pml", subject="your report",
    ...     prior="the frequencies of 10,000 public rows",
    ... )
    >>> print(guarantee.under_prior(prior_ratio(counts, 0.99), confidence=0.99))
    Guarantee: pointwise maximal leakage of your report
      epsilon: 0.624241 nats
      status: estimate: right with confidence 0.99
      prior: at least 0.961 times this one, within its support: the frequencies of 10,000 public rows
    """
    from scipy.special import betaincinv

    seen = np.asarray(counts)
    if seen.ndim != 1 or seen.dtype.kind not in "iu" or not seen.size:
        raise TypeError("counts must be a one-dimensional array of integers.")
    if (seen < 1).any():
        raise ValueError(
            "nothing bounds the probability of a value that was never seen: merge it with others, or leave "
            "it out if it is impossible."
        )
    error = 1 - _open_probability(confidence, "confidence")
    if len(seen) == 1:
        return 1.0
    total = float(seen.sum())
    least = betaincinv(seen.astype(np.float64), total - seen + 1, error / len(seen))
    # The inverse is accurate to about 1e-14. The result is rounded down.
    return float((least * total / seen).min() * (1 - 1e-12))


def _open_probability(value: Any, name: str) -> float:
    number = check_probability(value, name)
    if not number:
        raise ValueError(f"{name} must be above 0 and below 1.")
    return float(number)


def check_share(value: Any, name: str) -> Fraction:
    """Return a number in (0, 1] as the Fraction equal to it."""
    number = check_positive(value, name)
    if number > 1:
        raise ValueError(f"{name} must be above 0 and at most 1.")
    return number


def _discrete(distribution: Any, rate: float) -> float:
    """`pml_laplace` of a frozen distribution on integers."""
    lower, upper = distribution.support()
    if upper - lower >= _MOST_VALUES:
        raise ValueError("prior: a discrete distribution must have at most 10^6 values.")
    values = np.arange(lower, upper + 1, dtype=np.float64)
    return worst_log_mean_of(values, check_prior(distribution.pmf(values)), rate)[0]


# Leakage of a run of some epsilon about one unit, under one prior or all priors with a floor.

_ASSUMED = {"local": "", "label": " over labels (and the units' labels are independent given the features)"}
# A player's broadcasts depend on those of others.
_INDEPENDENT = " (and the {} are independent under it)"


def leakage_of_run(run: Any, prior: ArrayLike | Fraction) -> dict[str, Any]:
    """Return the bound for every mechanism of a run's epsilon, under a prior or all priors with a floor.

    Parameters
    ----------
    run : PrivacySpent
    prior : array-like of shape (n_values,), float or Fraction

    Returns
    -------
    fields : dict
        Fields of a `PrivacyGuarantee`: the bound in nats, the release, the prior and the method.
    """
    if isinstance(prior, Fraction) or np.ndim(prior) == 0:
        p_min = check_share(prior, "prior")
        known = f"any that gives every possible value a probability of at least {float(p_min)!r}"
        largest = pml_from_ldp(math.inf, p_min)
    else:
        probabilities = check_prior(prior)
        p_min = check_share(probabilities[probabilities > 0].min(), "prior")
        known, largest = describe_prior(probabilities), max_information(probabilities)
    bound, method = _bound_of_run(run, p_min, largest)
    if run.unit == "player":
        subject, assumed = "this run", _INDEPENDENT.format("players")
    else:
        subject = "your report" if run.relation == "local" else "this release"
        assumed = _ASSUMED.get(run.relation, _INDEPENDENT.format("units"))
    return {"epsilon": bound, "subject": subject, "prior": known + assumed, "method": method}


def _bound_of_run(run: Any, p_min: Fraction, largest: float) -> tuple[float, str]:
    if not run.private:
        return largest, "log 1 / p_min, the most that the prior allows: the run is not private"
    if run.delta:
        return largest, "log 1 / p_min, the most that the prior allows: delta is above 0"
    # Replacing a unit's value is two steps if the relation adds or removes one.
    steps = 2 if run.relation == "add-remove" else 1
    epsilon = "epsilon" if steps == 1 else f"{steps} epsilon"
    bound = pml_from_ldp(steps * run.epsilon, p_min)
    return min(bound, largest), f"every mechanism of this epsilon: c({epsilon}, p_min)"
