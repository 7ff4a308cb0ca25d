# SPDX-License-Identifier: BSD-3-Clause
"""Leakage of Laplace noise: on one number under one prior, on queries under all priors with a floor."""

import functools
import math
import warnings
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import BoolArray, FloatArray
from .channels import TOLERANCE, as_numbers, minus_log

# Leakage of a query with Laplace noise to every adversary whose prior has a floor.

_ROUNDING = Fraction(1, 10**12)  # of a scale: what the leakage may be off by, beside the rounding of floats


def pml_laplace_query(
    scale: float | Fraction | ArrayLike, values: ArrayLike, p_min: float | Fraction | ArrayLike
) -> float:
    """Return the largest leakage of queries with Laplace noise, over all priors with a floor.

    Parameters
    ----------
    scale : float, Fraction or array-like of shape (n_queries,)
        Of the noise of every query, or of each, above 0. Noises are independent.
    values : array-like of shape (n_values,) or (n_values, n_queries)
        What the queries return for every possible value of the secret, in the units of `scale`: of sums, what
        the person adds to them, rounded to a grid if the sums are; of counts of leaves, one 1. Rows may be
        equal.
    p_min : float, Fraction or array-like of shape (n_values,)
        Floor of the prior: the least probability of every possible value, or of each, above 0. Floors that
        add up to 1 leave one prior.

    Returns
    -------
    eps : float
        In nats: the supremum of pointwise maximal leakage over these priors and all outcomes, to the rounding
        of floats. It is attained. It is below epsilon, the largest distance of two values, unless that is 0.

    Raises
    ------
    TypeError, ValueError
        A scale is not above 0, a value is not finite or is an integer or Fraction that floats cannot hold
        within 1e-12 scales, shapes do not fit, a floor is not above 0, or no prior has these floors: they add
        up to more than 1.

    See Also
    --------
    pml_from_ldp : The bound for every mechanism of some epsilon, this one among them.
    pml_laplace : One number with Laplace noise under one prior, continuous ones among them.

    Notes
    -----
    Let ``d(x, a) = sum_i |q_i(x) - q_i(a)| / scale_i`` be the distance of two values of the secret, c_x the
    floors, and f = 1 - sum_x c_x what they leave free. The supremum is the largest of

    ``-log(sum_x c_x exp(-d(x, a)) + f exp(-max_x d(x, a)))``

    over the values a. Proof: given an outcome y let a have the largest P(y | a), and let r_x be
    P(y | x) / P(y | a). Under a prior p the leakage of y is -log sum_x p_x r_x. The sum is linear in p, so it
    is least at a vertex of the priors: all at their floors, and f on the least r_x. By the triangle
    inequality ``r_x >= exp(-d(x, a))``, with equality for all x at once at the outcome y = q(a), which is
    most probable under a. So nothing exceeds the formula, and an outcome q(a) attains it.

    They are integers if the values are: exact noise on integers (`DiscreteLaplaceMechanism`), whose P(y | x)
    is proportional to ``exp(-sum_i |y_i - q_i(x)| / scale_i)`` as well, leaks the same.

    It is at most ``pml_from_ldp(epsilon, p_min)``, and as much if one value is at the distance epsilon of all
    others: counts of leaves, one value in each. The worst a need not be at an end of the range.

    **Privacy**: a function of public things alone. The secret is one person's record. The others' records are
    fixed, or independent of it under the prior: then this is an upper bound. It says nothing if they reveal
    the person's. Several releases about one person are one release of all their queries: stack the columns;
    the leakages of each do not add up. Where earlier outcomes choose a query, the formula with the largest
    distances over the choices is an upper bound, and so is `pml_from_ldp` of the sum of epsilons.

    Proof: :doc:`/proofs/leakage`.

    Examples
    --------
    A person is in one of four leaves, in each with a probability of at least .05. Counts with noise of scale
    2 are 1-differentially private:

    >>> import numpy as np
    >>> from skprivate.accounting import pml_from_ldp, pml_laplace_query
    >>> round(pml_laplace_query(2, np.eye(4), 0.05), 3), round(pml_from_ldp(1, 0.05), 3)
    (0.918, 0.918)

    Sums of a person's number and of its square, with noises of their own:

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
        # A distance beyond all floats is infinite, and its value of probability 0.
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
    """Refuse numbers that conversion to floats moves: their distances would be too small."""
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
    """Return the floor of every value, all above 0; those of 1 within rounding add up to 1."""
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

# Of the value, absolute below 1; with the error of the integrals it stays below 1e-9.
_TOLERANCE = 5e-10
# Of an integral over one panel, relative to the least mean that it is a part of.
_ACCURACY = 1e-12
# Added to the value, absolute below 1: rules that are nearly exact may err alike.
_SLACK = 1e-11
_FIRST_PANELS = 16
# Beyond these the bound is returned as it stands: still a bound, with a wider gap.
_MOST_PANELS = 2**15
_ORDER = 16  # of Gauss' rule
# A kink in a panel moves two rules of one order alike, and another order otherwise.
_OTHER_ORDER = 11


class _Panels(NamedTuple):
    """Intervals of X that cover the support, in order; every field has one entry per panel.

    `first` and `last` are the probabilities at the two ends, P(X <= x) in the lower half of the distribution
    and P(X > x) in the upper one: each half keeps the digits of its own end. `left` and `right` integrate
    exp(-rate distance) over the panel, with the distance to its upper and to its lower end; `error` is what
    they may be off.
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
        At least the supremum over the interval of the support, and at most 1e-9 above it (relative to it,
        where it exceeds 1); the gap may be wider above a rate of about 10^4 per width of the support, and
        where the value hardly changes over a stretch (1e-7, say). Infinite for an unbounded support. For a
        density with gaps a is searched in them too: an upper bound then.
    where : float
        Where it is attained, to the same accuracy of the value; nan if the support is unbounded.

    Notes
    -----
    Nothing is assumed of the density, log-concavity in particular: a branch-and-bound search. Write
    E = A(a) + B(a), the parts of X <= a and of X > a. For s in [0, h] the mass M between a and a + h is at
    most h away from a + s, so

        E(a + s) >= A(a) exp(-rate s) + B(a + h) exp(-rate (h - s)) + M exp(-rate h).

    The first two terms are convex in s with the least value ``2 sqrt(A B exp(-rate h))`` inside, or an end's.
    What the bound misses is of second order in h: a few panels survive each halving. A and B are sums over
    panels of integrals that lie between M exp(-rate h) and M. Each is computed over probabilities by the
    quantile function and over x by the distribution function, both bounded and monotone where a density need
    not be, the latter by rules of two orders: what one overlooks, a thin part, a spike or a kink, another
    sees. Panels are halved until all agree, and their differences and 1e-11 are added. The digits of the
    distribution's own functions remain: an error of 1e-16 in a probability is one of up to 1e-16 e^value in
    the value.
    """
    lower, upper = (float(end) for end in distribution.support())
    if not math.isfinite(lower) or not math.isfinite(upper):
        return math.inf, math.nan
    if rate == 0 or lower == upper:
        return 0.0, lower
    # A density that concentrates, or a root search for a quantile of 1e-200, may warn: clipped below.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        value, where = _search(distribution, lower, upper, rate)
    return max(0.0, min(value, rate * (upper - lower))), where


def worst_log_mean_of(values: FloatArray, probabilities: FloatArray, rate: float) -> tuple[float, float]:
    """Return the largest ``-log E exp(-rate |X - a|)`` over the values a of positive probability, and its a.

    Parameters
    ----------
    values, probabilities : ndarray of shape (m,)
        Of X; values may be in any order and repeated.
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
    """Return ``log(width / (1 - exp(-width)))``: the same for X uniform on rate times an interval."""
    if width < 1e-3:
        return width / 2 - width * width / 24  # the next term is below 1e-15
    return math.log(width) - math.log(-math.expm1(-width))


def _faded_sums(terms: FloatArray, fading: FloatArray) -> FloatArray:
    """Sums of the terms so far, each of which fades by a factor from one position to the next."""
    total, sums = float(terms[0]), [float(terms[0])]
    for term, factor in zip(terms[1:].tolist(), fading.tolist(), strict=True):
        total = term + factor * total
        sums.append(total)
    return np.array(sums)


def _search(distribution: Any, lower: float, upper: float, rate: float) -> tuple[float, float]:
    """Branch and bound: halve the panels that may hold more than the best end found, and the inaccurate."""
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
        # E at a is at least exp(-rate |a - x|) times E at x: an error at x is at most error / E(x) of E(a).
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


def _integrate(law: Any, rate: float, start: FloatArray, end: FloatArray, upper: BoolArray) -> _Panels:
    """Integrate over panels in three ways; `upper` says to which half each of them belongs."""
    first, last = _tail(law, start, upper), _tail(law, end, upper)
    panels = _Panels(start, end, first, last, upper, *np.zeros((3, len(start))))
    integrals = np.stack(
        [
            _over_quantiles(law, rate, panels),
            _over_tails(law, rate, panels, _ORDER),
            _over_tails(law, rate, panels, _OTHER_ORDER),
        ]
    )
    lowest = -np.expm1(-rate * (end - start))
    error = np.minimum(np.ptp(integrals, axis=0).max(axis=0), lowest) * panels.mass
    left, right = np.clip(integrals.min(axis=0), 1 - lowest, 1.0) * panels.mass
    return panels._replace(left=left, right=right, error=error)


def _tail(distribution: Any, x: FloatArray, upper: BoolArray) -> FloatArray:
    return np.where(upper, distribution.sf(x), distribution.cdf(x))


def _over_quantiles(distribution: Any, rate: float, panels: _Panels) -> FloatArray:
    """Means of exp(-rate distance) to the upper and to the lower end, as integrals over probabilities.

    Nodes lie where the mass is: what they miss is a part of little mass.
    """
    nodes, weights = _gauss(_ORDER)
    levels = panels.first[:, None] + (panels.last - panels.first)[:, None] * nodes
    upper, values = panels.upper, np.empty_like(levels)
    values[~upper], values[upper] = distribution.ppf(levels[~upper]), distribution.isf(levels[upper])
    low, high = panels.start[:, None], panels.end[:, None]
    # Quantiles are rounded, and may fail: what is unknown counts as far as it can be, and leaks more.
    to_upper = high - np.clip(np.nan_to_num(values, nan=-np.inf), low, high)
    to_lower = np.clip(np.nan_to_num(values, nan=np.inf), low, high) - low
    return np.stack([np.exp(-rate * to_upper) @ weights, np.exp(-rate * to_lower) @ weights])


def _over_tails(distribution: Any, rate: float, panels: _Panels, order: int) -> FloatArray:
    """The same by parts, as 1 less an integral over x of rate exp(-rate distance) P(that side of x).

    Nodes lie all over the panel: what they miss is a part of little length.
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
    """Nodes and weights of Gauss' rule on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return (nodes + 1) / 2, weights / 2
