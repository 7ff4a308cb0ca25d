# SPDX-License-Identifier: BSD-3-Clause
"""Intervals from noisy counts: the values that a test of the noise and of sampling does not reject."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from ..._typing import FloatArray
from ...utils._public_module import public_module

# Candidate values of a statistic: as many evenly over its range as at distances from the estimate that grow
# from a millionth of the range, by 4 % a step; the last step is parted again.
_STEPS = 351
_REFINED = 101


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class Estimate:
    """A statistic of released counts, with its interval.

    Attributes
    ----------
    value : float
        The estimate, moved into the range of the statistic; NaN where the released counts have no positive
        denominator.
    lower, upper : float
        Ends of the interval.
    noise_std, sampling_std : float
        Standard deviations of the estimate by the noise and by the choice of rows, estimated from released
        counts; NaN with ``value``.
    says_nothing : bool
        The interval is the whole range: epsilon or the rows are too few for this statistic.
    """

    value: float
    lower: float
    upper: float
    noise_std: float
    sampling_std: float
    says_nothing: bool = False

    def __str__(self) -> str:
        nothing = " (says nothing)" if self.says_nothing else ""
        return f"{self.value:.4g} [{self.lower:.4g}, {self.upper:.4g}]{nothing}"


@dataclass(frozen=True, eq=False)
class Cells:
    """Noisy counts of rows in cells, with independent noise of one standard deviation.

    Attributes
    ----------
    counts : ndarray of float64
    std : float
    total : int or None
        Public number of rows in all cells together. Counts are moved so that they sum to it, which takes
        from the noise of every signed sum.
    """

    counts: FloatArray
    std: float
    total: int | None = None

    @property
    def balanced(self) -> FloatArray:
        """Counts that sum to the public total."""
        if self.total is None:
            return self.counts
        return self.counts + (self.total - self.counts.sum()) / self.counts.size


def quantile(confidence: float) -> float:
    """Return how many standard deviations an interval reaches: the larger of a normal and a Laplace law's."""
    return max(float(ndtri((1 + confidence) / 2)), -math.log1p(-confidence) / math.sqrt(2))


def accepted(
    statistic: Callable[[FloatArray], FloatArray], low: float, high: float, centre: float
) -> tuple[float, float]:
    """Return the ends of the values between low and high whose test statistic is at most 1.

    Where an estimate is out of the range, the least statistic of the range is above 0, and values are taken
    up to 1 above that: the set is never empty, and holds the one that the test makes.
    """
    around = (high - low) * np.geomspace(1e-6, 1.0, _STEPS)
    grid = np.concatenate([np.linspace(low, high, _STEPS), centre - around, [centre], centre + around])
    grid = np.unique(np.clip(grid, low, high))
    values = statistic(grid)
    limit = 1.0 + float(values.min())
    found = np.flatnonzero(values <= limit)
    first, last = int(found[0]), int(found[-1])
    lower, upper = low, high
    if first:
        fine = np.linspace(grid[first - 1], grid[first], _REFINED)
        lower = float(fine[max(int(np.argmax(statistic(fine) <= limit)) - 1, 0)])
    if last < len(grid) - 1:
        fine = np.linspace(grid[last + 1], grid[last], _REFINED)
        upper = float(fine[max(int(np.argmax(statistic(fine) <= limit)) - 1, 0)])
    return lower, upper


def ratio(square: FloatArray, variance: FloatArray, z: float) -> FloatArray:
    """Return a squared deviation in units of the one that is just accepted; 0 of 0 is 0."""
    return square / np.maximum(z**2 * variance, np.where(square > 0, 1e-300, 1.0))


def _finish(
    value: float, ends: tuple[float, float], low: float, high: float, noise: float, sampling: float
) -> Estimate:
    value = min(max(value, low), high)
    lower, upper = max(min(ends[0], high), low), min(max(ends[1], low), high)
    nothing = lower <= low and upper >= high
    return Estimate(value, lower, upper, noise, sampling, nothing)


def proportion(cells: Cells, chosen: NDArray[np.bool_], among: NDArray[np.bool_], z: float) -> Estimate:
    """Return the share of the rows of some cells that are in chosen ones: Fieller's set with Wilson's variance."""
    whole = bool(among.all())
    counts = cells.balanced if whole else cells.counts
    hits, n = float(counts[chosen & among].sum()), float(counts[among].sum())
    ones, zeros = int((chosen & among).sum()), int((~chosen & among).sum())

    def noise(theta: FloatArray) -> FloatArray:
        variance = (1 - theta) ** 2 * ones + theta**2 * zeros
        if whole and cells.total is not None:
            # The mean of the weights has no noise.
            variance = variance - ((1 - theta) * ones - theta * zeros) ** 2 / (ones + zeros)
        return cells.std**2 * np.maximum(variance, 0.0)

    def sampling(theta: FloatArray) -> FloatArray:
        return max(n, 1.0) * theta * (1 - theta)

    if n <= 0:
        return Estimate(math.nan, 0.0, 1.0, math.nan, math.nan, True)
    at = np.array([min(max(hits / n, 0.0), 1.0)])
    ends = accepted(
        lambda theta: ratio((hits - theta * n) ** 2, noise(theta) + sampling(theta), z), 0.0, 1.0, float(at[0])
    )
    return _finish(
        float(at[0]), ends, 0.0, 1.0, float(np.sqrt(noise(at)[0])) / n, float(np.sqrt(sampling(at)[0])) / n
    )


def mean_value(
    cells: Cells, values: FloatArray, low: float, high: float, z: float, gap: tuple[FloatArray, ...] = ()
) -> Estimate:
    """Return the mean of a value that every cell has; `gap`: how far rounding raised it, at most and typically.

    The variance of sampling is that of the released counts. For a mean further up or down than the estimate
    it holds the rows of the value ``high`` or ``low``, too, that would have to be there: few rows with large
    losses may have been missed.
    """
    counts = cells.balanced
    n, total = float(counts.sum()), float((counts * values).sum())
    squares = float((counts * values**2).sum())
    if n <= 0:
        return Estimate(math.nan, low, high, math.nan, math.nan, True)
    centre = min(max(total / n, low), high)
    known = cells.total is not None
    size, first, second = values.size, float(values.sum()), float((values**2).sum())

    def noise(theta: FloatArray) -> FloatArray:
        if known:
            return np.full_like(theta, cells.std**2 * max(second - first**2 / size, 0.0))
        return cells.std**2 * np.maximum(second - 2 * theta * first + theta**2 * size, 0.0)

    def sampling(theta: FloatArray) -> FloatArray:
        away = theta - centre
        extreme = np.where(away > 0, high - centre, low - centre)
        return np.maximum(squares - 2 * theta * total + theta**2 * n, 0.0) + n * away * extreme

    lower, upper = accepted(
        lambda theta: ratio((total - theta * n) ** 2, noise(theta) + sampling(theta), z), low, high, centre
    )
    at = np.array([centre])
    deviations = (float(np.sqrt(variance(at)[0])) / n for variance in (noise, sampling))
    value = total / n
    if gap:
        most, typical = gap
        share = float((counts * most).sum()) / n + z * cells.std * float(np.linalg.norm(most)) / n
        lower -= min(max(share, 0.0), float(most.max()))
        value -= min(max(float((counts * typical).sum()) / n, 0.0), float(typical.max()))
    return _finish(value, (lower, upper), low, high, *deviations)


def mean_of(estimates: list[Estimate]) -> Estimate:
    """Return the mean of independent estimates of shares, with Zou and Donner's interval."""
    k = len(estimates)
    values = [0.5 if estimate.value != estimate.value else estimate.value for estimate in estimates]
    value = sum(values) / k
    down = math.hypot(*(v - e.lower for v, e in zip(values, estimates, strict=True))) / k
    up = math.hypot(*(e.upper - v for v, e in zip(values, estimates, strict=True))) / k
    noise = math.hypot(*(estimate.noise_std for estimate in estimates)) / k
    sampling = math.hypot(*(estimate.sampling_std for estimate in estimates)) / k
    unknown = any(math.isnan(estimate.value) for estimate in estimates)
    every = all(estimate.says_nothing for estimate in estimates)
    ends = (0.0, 1.0) if every else (value - down, value + up)
    return _finish(math.nan if unknown else value, ends, 0.0, 1.0, noise, sampling)


def area_under_curve(counts: FloatArray, nodes: FloatArray, std: float, z: float) -> Estimate:
    """Return the AUC of noisy counts of shape (2, n_nodes): negatives, positives; ties count one half.

    With p and q the counts of positives and negatives and S = s - theta, p'S q has the mean 0 at the AUC.
    The variance by noise is std^2 (|S q|^2 + |S'p|^2) + std^4 |S|^2, of which the noisy counts show too much
    by 2 std^4 |S|^2; the variance of sampling is the larger of DeLong's and of Hanley and McNeil's.
    """
    negatives, positives = counts
    wins = np.where(nodes[:, None] > nodes, 1.0, np.where(nodes[:, None] == nodes, 0.5, 0.0))
    p, q, m = float(positives.sum()), float(negatives.sum()), len(nodes)
    a, b = wins @ negatives, wins.T @ positives
    total = float(positives @ a)
    rows, columns, squares = wins.sum(axis=1), wins.sum(axis=0), (wins**2)
    r2, c2, all2, all1 = squares.sum(axis=1), squares.sum(axis=0), squares.sum(), wins.sum()
    v = std**2

    def noise(t: FloatArray) -> FloatArray:
        own = (a @ a - 2 * t * q * a.sum() + t**2 * q**2 * m) + (b @ b - 2 * t * p * b.sum() + t**2 * p**2 * m)
        cross = v * (all2 - 2 * t * all1 + t**2 * m * m)
        return v * np.maximum(own - cross, cross)

    def sampling(t: FloatArray) -> FloatArray:
        of_p = positives @ (a**2 - v * r2) - 2 * t * (positives @ (a * q - v * rows)) + t**2 * p * (q**2 - v * m)
        of_q = (
            negatives @ (b**2 - v * c2) - 2 * t * (negatives @ (b * p - v * columns)) + t**2 * q * (p**2 - v * m)
        )
        n1, n0 = max(p, 1.0), max(q, 1.0)
        spread = t * (1 - t) + (n1 - 1) * (t / (2 - t) - t**2) + (n0 - 1) * (2 * t**2 / (1 + t) - t**2)
        return np.maximum(of_p + of_q, n1 * n0 * spread)

    if p <= 0 or q <= 0:
        return Estimate(math.nan, 0.0, 1.0, math.nan, math.nan, True)
    at = np.array([min(max(total / (p * q), 0.0), 1.0)])
    ends = accepted(
        lambda t: ratio((total - t * p * q) ** 2, noise(t) + sampling(t), z), 0.0, 1.0, float(at[0])
    )
    noise_std, sampling_std = (math.sqrt(float(variance(at)[0])) / (p * q) for variance in (noise, sampling))
    return _finish(float(at[0]), ends, 0.0, 1.0, noise_std, sampling_std)


# Slopes that are tried: 0 to 4 in fine steps, further out in coarse ones.
_SLOPES = np.concatenate([np.linspace(-2, 0, 40, endpoint=False), np.linspace(0, 4, 801), np.geomspace(4.05, 20, 80)])


def recalibration_slope(counts: FloatArray, nodes: FloatArray, std: float, z: float) -> Estimate:
    """Return the slope of a logistic regression of the label on the log odds of the score, at nodes.

    For every slope the intercept solves its own estimating equation; the efficient equation of the slope is
    then a signed sum of counts with the mean 0 at the slope, and its variance is known from the noise and
    from sampling (a sandwich). The ends of the trial range, -2 and 20, stand for anything beyond.
    """
    negatives, positives = counts
    x = np.log(nodes / (1 - nodes))
    rows = np.maximum(negatives + positives, 0.0)
    n, events = float((negatives + positives).sum()), float(positives.sum())
    low, high = float(_SLOPES[0]), float(_SLOPES[-1])
    nothing = Estimate(math.nan, low, high, math.nan, math.nan, True)
    if not 0 < events < n or not rows.any():
        return nothing
    slope = _SLOPES[:, None]
    left, right = np.full((len(_SLOPES), 1), -200.0), np.full((len(_SLOPES), 1), 200.0)
    for _ in range(40):
        middle = (left + right) / 2
        above = (expit(middle + slope * x) * rows).sum(axis=1, keepdims=True) > events * rows.sum() / n
        left, right = np.where(above, left, middle), np.where(above, middle, right)
    mean = expit((left + right) / 2 + slope * x)
    weight = rows * mean * (1 - mean)
    heavy = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    aside = x - (weight * x).sum(axis=1, keepdims=True) / heavy
    of_positives, of_negatives = aside * (1 - mean), -aside * mean
    g = of_positives @ positives + of_negatives @ negatives
    noise = std**2 * (of_positives**2 + of_negatives**2).sum(axis=1)
    sampling = np.maximum(of_positives**2 @ positives + of_negatives**2 @ negatives, 0.0)
    # What the model of the slope expects: counts of few events may show less.
    sampling = np.maximum(sampling, (aside**2 * weight).sum(axis=1))
    kept = np.flatnonzero(g**2 <= z**2 * (noise + sampling))
    crossing = np.flatnonzero((g[:-1] > 0) & (g[1:] <= 0))
    if not len(crossing):
        return nothing if not len(kept) else Estimate(math.nan, float(_SLOPES[kept[0]]), float(_SLOPES[kept[-1]]), math.nan, math.nan)
    k = int(crossing[np.argmin(np.abs(_SLOPES[crossing] - 1))])
    value = float(_SLOPES[k] + (_SLOPES[k + 1] - _SLOPES[k]) * g[k] / (g[k] - g[k + 1]))
    steep = float((g[k] - g[k + 1]) / (_SLOPES[k + 1] - _SLOPES[k]))
    lower = float(_SLOPES[max(kept[0] - 1, 0)]) if len(kept) else float(_SLOPES[k])
    upper = float(_SLOPES[min(kept[-1] + 1, len(_SLOPES) - 1)]) if len(kept) else float(_SLOPES[k + 1])
    return _finish(value, (lower, upper), low, high, math.sqrt(noise[k]) / steep, math.sqrt(sampling[k]) / steep)
