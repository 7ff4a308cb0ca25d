# SPDX-License-Identifier: BSD-3-Clause
"""What one number with Laplace noise leaks: the largest -log E exp(-rate |X - a|) over a, with its error."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._channels import minus_log

FloatArray = NDArray[np.float64]

# Of the value, absolute below 1; with the error of the quadrature it stays below 1e-9.
_TOLERANCE = 2e-10
_FIRST_INTERVALS = 16
# Beyond these the bound is returned as it stands: still a bound, with a wider gap.
_MOST_INTERVALS = 2**15
_POINTS_AT_ONCE = 512
# Of the double-exponential rule: its nodes come within 1e-270 of an end of the interval.
_RANGE = 6.0
_NODES = (192, 768, 3072)


class _Sides(NamedTuple):
    """At every point a: E exp(-rate |X - a|) over X <= a and over X > a, and P(X <= a)."""

    at: FloatArray
    left: FloatArray
    right: FloatArray
    below: FloatArray

    def take(self, index: Any) -> "_Sides":
        return _Sides(*(field[index] for field in self))

    def values(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return -np.log(self.left + self.right)


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
        At least the supremum over the interval of the support, at most 1e-9 above it (relative to it, where
        it exceeds 1) for quantile functions that are smooth inside; else the error estimate of the quadrature
        may add more. Infinite for an unbounded support. For a density with gaps a is searched in them too: an
        upper bound then.
    where : float
        Where it is attained, to the same accuracy of the value; nan if the support is unbounded.

    Notes
    -----
    Nothing is assumed of the density, log-concavity in particular: a branch-and-bound search. Write
    E = A(a) + B(a), the parts of X <= a and of X > a. For s in [0, h] the mass M between a and a + h is at
    most h away from a + s, so

        E(a + s) >= A(a) exp(-rate s) + B(a + h) exp(-rate (h - s)) + M exp(-rate h).

    The first two terms are convex in s with the least value ``2 sqrt(A B exp(-rate h))`` inside, or an end's.
    What the bound misses is of second order in h: a few intervals survive each halving. The search is certain
    up to the error of the integrals, which is estimated by the same rule with twice the nodes and added.
    """
    lower, upper = (float(end) for end in distribution.support())
    if not math.isfinite(lower) or not math.isfinite(upper):
        return math.inf, math.nan
    if rate == 0 or lower == upper:
        return 0.0, lower
    largest = rate * (upper - lower)
    for n_nodes in _NODES:
        value, where = _search(distribution, lower, upper, rate, n_nodes)
        if math.isinf(value):  # the mean underflows
            return largest, where
        error = _quadrature_error(distribution, np.linspace(lower, upper, 9), rate, n_nodes)
        if error <= _TOLERANCE:
            break
    return max(0.0, min(value + _TOLERANCE * max(1.0, value) + error, largest)), where


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
    fading = np.exp(-rate * np.diff(points)).tolist()
    left = _faded_sums(masses.tolist(), fading)
    right = _faded_sums(masses[::-1].tolist(), fading[::-1])[::-1]
    worst = int(np.argmin(left + right - masses))
    distances = rate * np.abs(points - points[worst])
    return float(minus_log(masses @ np.exp(-distances), -masses @ np.expm1(-distances))), float(points[worst])


def uniform_log_mean(width: float) -> float:
    """Return ``log(width / (1 - exp(-width)))``: the same for X uniform on rate times an interval."""
    if width < 1e-3:
        return width / 2 - width * width / 24  # the next term is below 1e-15
    return math.log(width) - math.log(-math.expm1(-width))


def _faded_sums(masses: list[float], fading: list[float]) -> FloatArray:
    sums = [masses[0]]
    for mass, factor in zip(masses[1:], fading, strict=True):
        sums.append(mass + factor * sums[-1])
    return np.array(sums)


def _search(distribution: Any, lower: float, upper: float, rate: float, n_nodes: int) -> tuple[float, float]:
    """Branch and bound over intervals, all of one length at a time."""
    points = _sides(distribution, np.linspace(lower, upper, _FIRST_INTERVALS + 1), rate, n_nodes)
    starts, ends = points.take(slice(None, -1)), points.take(slice(1, None))
    best, where = _best(points)
    while len(starts.at) <= _MOST_INTERVALS:
        bounds = _bounds(starts, ends, rate)
        open_ = bounds > best + _TOLERANCE * max(1.0, best)
        if not open_.any():
            return best, where
        starts, ends, bounds = starts.take(open_), ends.take(open_), bounds[open_]
        middles = _sides(distribution, (starts.at + ends.at) / 2, rate, n_nodes)
        best, where = max((best, where), _best(middles))
        starts, ends = _join(starts, middles), _join(middles, ends)
    return float(_bounds(starts, ends, rate).max(initial=best)), where


def _best(points: _Sides) -> tuple[float, float]:
    values = points.values()
    worst = int(np.argmax(values))
    return float(values[worst]), float(points.at[worst])


def _join(first: _Sides, second: _Sides) -> _Sides:
    return _Sides(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _bounds(starts: _Sides, ends: _Sides, rate: float) -> FloatArray:
    """Upper bounds of the value in intervals: the inequality of `worst_log_mean`."""
    fade = np.exp(-rate * (ends.at - starts.at))
    before, after = starts.left, ends.right
    inside = (before * fade <= after) & (after * fade <= before)
    least = np.where(
        inside, 2 * np.sqrt(before * after * fade), np.minimum(before + after * fade, before * fade + after)
    )
    between = np.maximum(ends.below - starts.below, 0.0)
    with np.errstate(divide="ignore"):
        return -np.log(least + between * fade)


def _sides(distribution: Any, points: FloatArray, rate: float, n_nodes: int) -> _Sides:
    parts = [
        _sides_at(distribution, points[i : i + _POINTS_AT_ONCE], rate, n_nodes)
        for i in range(0, len(points), _POINTS_AT_ONCE)
    ]
    return _Sides(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def _sides_at(distribution: Any, points: FloatArray, rate: float, n_nodes: int) -> _Sides:
    """Integrate over probabilities, each half of them from its own end of the support.

    The quantile function is bounded where a density need not be, and the two halves keep the digits of both
    ends. An integrand has no kink inside (0, F(a)) and (F(a), 1): the rule takes kinks at ends of intervals.
    """
    # Rules and quantiles underflow on purpose.
    with np.errstate(all="ignore"):
        below, above = distribution.cdf(points), distribution.sf(points)
        low = [_piece(distribution.ppf, *ends, points, rate, n_nodes) for ends in _halves(below)]
        high = [_piece(distribution.isf, *ends, points, rate, n_nodes) for ends in _halves(above)]
    return _Sides(points, low[0] + high[1], low[1] + high[0], below)


def _halves(split: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    inner = np.minimum(split, 0.5)
    return [(np.zeros_like(inner), inner), (inner, np.full_like(inner, 0.5))]


def _piece(
    quantile: Any, start: FloatArray, end: FloatArray, points: FloatArray, rate: float, n_nodes: int
) -> FloatArray:
    """Integrals of exp(-rate |quantile(u) - a|) over u from start to end, one per point a."""
    near_start, near_end, weights = _rule(n_nodes)
    length = (end - start)[:, None]
    nodes = np.where(near_start < 0.5, start[:, None] + length * near_start, end[:, None] - length * near_end)
    distances = np.abs(quantile(nodes) - points[:, None])
    # A quantile that could not be computed counts as infinitely far: the leakage only grows.
    integrand = np.exp(-rate * np.nan_to_num(distances, nan=np.inf, posinf=np.inf))
    return (integrand @ weights) * length[:, 0]


def _rule(n_nodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes of the double-exponential rule on (0, 1), as distances from either end, and weights."""
    steps = np.linspace(-_RANGE, _RANGE, n_nodes + 1)
    stretch = math.pi * np.sinh(steps)
    near_start, near_end = 1 / (1 + np.exp(-stretch)), 1 / (1 + np.exp(stretch))
    weights = steps[1] - steps[0]
    return near_start, near_end, weights * math.pi * np.cosh(steps) * near_start * near_end


def _quadrature_error(distribution: Any, points: FloatArray, rate: float, n_nodes: int) -> float:
    """Largest difference from the rule with twice the nodes; the coarser one errs about so much."""
    coarse = _sides(distribution, points, rate, n_nodes).values()
    fine = _sides(distribution, points, rate, 2 * n_nodes).values()
    return float(np.abs(coarse - fine).max())
