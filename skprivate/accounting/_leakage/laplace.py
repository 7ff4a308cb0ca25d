# SPDX-License-Identifier: BSD-3-Clause
"""Leakage of one number with Laplace noise: the largest -log E exp(-rate |X - a|) over a, rounded up."""

import functools
import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from ..._typing import BoolArray, FloatArray
from .channels import minus_log

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
        panels = _join(panels.take(~halved), *_halve(distribution, rate, panels.take(halved)))


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


def _halve(distribution: Any, rate: float, panels: _Panels) -> tuple[_Panels, _Panels]:
    middles = (panels.start + panels.end) / 2
    return (
        _integrate(distribution, rate, panels.start, middles, panels.upper),
        _integrate(distribution, rate, middles, panels.end, panels.upper),
    )


def _integrate(
    distribution: Any, rate: float, start: FloatArray, end: FloatArray, upper: BoolArray
) -> _Panels:
    """Integrate over panels in three ways; `upper` says to which half each of them belongs."""
    first, last = _tail(distribution, start, upper), _tail(distribution, end, upper)
    panels = _Panels(start, end, first, last, upper, *np.zeros((3, len(start))))
    integrals = np.stack(
        [
            _over_quantiles(distribution, rate, panels),
            _over_tails(distribution, rate, panels, _ORDER),
            _over_tails(distribution, rate, panels, _OTHER_ORDER),
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
