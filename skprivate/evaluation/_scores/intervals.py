# SPDX-License-Identifier: BSD-3-Clause
"""Intervals from noisy counts: the values that a test by noise and sampling does not reject."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from ..._typing import BoolArray, FloatArray
from ...utils._public_module import public_module

# Number of candidate values that are even over the range of a statistic. As many more are at distances from
# the estimate that grow from a millionth of the range, by 4 % a step. The last step is divided again.
_STEPS = 351
_REFINED = 101


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class Estimate:
    """A statistic of released counts, with its interval.

    Attributes
    ----------
    value : float
        The estimate, moved into the range of the statistic; NaN if the released counts have no positive
        denominator.
    lower, upper : float
        Ends of the interval.
    noise_std, sampling_std : float
        Standard deviations of the estimate by the noise and by the choice of rows, estimated from released
        counts; NaN if ``value`` is.
    says_nothing : bool
        Whether the interval is the whole range: there are too few rows, or epsilon is too small, for this
        statistic.

    See Also
    --------
    PrivateEvaluation : Holds estimates of many statistics.

    Notes
    -----
    **Privacy.** It is computed from released counts, which spends no more budget.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skprivate import private_evaluate
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).logistic(size=3000) > 0
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> result = private_evaluate(model, X[500:], y[500:], epsilon=1.0)
    >>> bool(result.auc.lower < result.auc.value < result.auc.upper)
    True
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
        Public number of rows in all cells together. Counts are moved so that they sum to it, which reduces
        the noise of every signed sum.
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
    """Return the reach of an interval in standard deviations: the larger of a normal and a Laplace one."""
    return max(float(ndtri((1 + confidence) / 2)), -math.log1p(-confidence) / math.sqrt(2))


def accepted(
    statistic: Callable[[FloatArray], FloatArray], low: float, high: float, centre: float
) -> tuple[float, float]:
    """Return the ends of the values between low and high whose test statistic is at most 1.

    If an estimate is out of the range, the least statistic of the range is above 0. Then values up to 1 above
    that are taken. So the set is never empty, and holds the set of the test.
    """
    around = (high - low) * np.geomspace(1e-6, 1.0, _STEPS)
    grid = np.concatenate([np.linspace(low, high, _STEPS), centre - around, [centre], centre + around])
    grid = np.unique(np.clip(grid, low, high))
    values = statistic(grid)
    limit = 1.0 + float(values.min())
    found = np.flatnonzero(values <= limit)
    first, last = int(found[0]), int(found[-1])

    def end(outside: int, inside: int) -> float:
        fine = np.linspace(grid[outside], grid[inside], _REFINED)
        return float(fine[max(int(np.argmax(statistic(fine) <= limit)) - 1, 0)])

    return end(first - 1, first) if first else low, end(last + 1, last) if last < len(grid) - 1 else high


def ratio(square: FloatArray, variance: FloatArray, z: float) -> FloatArray:
    """Return a squared deviation in units of the largest that is accepted; 0 / 0 is 0."""
    return square / np.maximum(z**2 * variance, np.where(square > 0, 1e-300, 1.0))


def _finish(
    value: float, ends: tuple[float, float], low: float, high: float, noise: float, sampling: float
) -> Estimate:
    value = value if math.isnan(value) else min(max(value, low), high)
    lower, upper = max(min(ends[0], high), low), min(max(ends[1], low), high)
    nothing = lower <= low and upper >= high
    return Estimate(value, lower, upper, noise, sampling, nothing)


def proportion(
    cells: Cells, chosen: BoolArray, among: BoolArray, z: float, low: float = 0.0, high: float = 1.0
) -> Estimate:
    """Return the share of rows in chosen cells among those in some: Fieller's set, Wilson's variance.

    With another range than 0 to 1, the estimate is without bias and may be outside [0, 1].
    """
    whole = bool(among.all())
    counts = cells.balanced if whole else cells.counts
    hits, n = float(counts[chosen & among].sum()), float(counts[among].sum())
    ones, zeros = int((chosen & among).sum()), int((~chosen & among).sum())
    known = cells.total is not None and whole
    return share(hits, n, (ones, zeros), cells.std, z, known=known, low=low, high=high)


def share(
    hits: float,
    n: float,
    cells: tuple[int, int],
    std: float,
    z: float,
    *,
    known: bool = False,
    low: float = 0.0,
    high: float = 1.0,
) -> Estimate:
    """Return hits / n of noisy counts, with the numbers of cells of hits and others. `known`: n is exact."""
    ones, zeros = cells
    if n <= 0:
        return Estimate(math.nan, low, high, math.nan, math.nan, True)

    def noise(theta: FloatArray) -> FloatArray:
        variance = (1 - theta) ** 2 * ones + theta**2 * zeros
        if known:
            # The mean of the weights has no noise.
            variance = variance - ((1 - theta) * ones - theta * zeros) ** 2 / (ones + zeros)
        return std**2 * np.maximum(variance, 0.0)

    def sampling(theta: FloatArray) -> FloatArray:
        return max(n, 1.0) * np.maximum(theta * (1 - theta), 0.0)

    at = np.array([min(max(hits / n, low), high)])
    ends = accepted(
        lambda theta: ratio((hits - theta * n) ** 2, noise(theta) + sampling(theta), z),
        low,
        high,
        float(at[0]),
    )
    noise_std, sampling_std = (math.sqrt(float(variance(at)[0])) / n for variance in (noise, sampling))
    return _finish(float(at[0]), ends, low, high, noise_std, sampling_std)


def mean_value(
    cells: Cells, values: FloatArray, low: float, high: float, z: float, gap: tuple[FloatArray, ...] = ()
) -> Estimate:
    """Return the mean of a value that every cell has; `gap`: its rise by rounding, at most and typically.

    The variance of sampling is that of the released counts. A larger (smaller) mean than the estimate would
    need further rows of the value ``high`` (``low``), and the variance includes them. A sample may have
    missed a few rows with large losses.
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
    """Return the mean of independent estimates of shares, with Zou and Donner's interval.

    The estimates are without bias and may be outside [0, 1]: moved into the range, their errors would not
    average out.
    """
    k = len(estimates)
    if any(math.isnan(estimate.value) or estimate.says_nothing for estimate in estimates):
        lower = sum(max(estimate.lower, 0.0) for estimate in estimates) / k
        upper = sum(min(estimate.upper, 1.0) for estimate in estimates) / k
        return _finish(math.nan, (lower, upper), 0.0, 1.0, math.nan, math.nan)
    value = sum(estimate.value for estimate in estimates) / k
    down = math.hypot(*(estimate.value - estimate.lower for estimate in estimates)) / k
    up = math.hypot(*(estimate.upper - estimate.value for estimate in estimates)) / k
    noise = math.hypot(*(estimate.noise_std for estimate in estimates)) / k
    sampling = math.hypot(*(estimate.sampling_std for estimate in estimates)) / k
    return _finish(value, (value - down, value + up), 0.0, 1.0, noise, sampling)


# Share of pairs in one interval above which their unknown order is no longer neglected. Scores that spread
# over the grid have less: B intervals that are equally full have 1 / B.
_CROWD = 0.25
# Factor by which log odds may rise more steeply within such an interval than the calibration slope allows.
_STEEPER = 2.0


def area_under_curve(
    counts: FloatArray, nodes: FloatArray, std: float, z: float, *, declared: bool = False
) -> tuple[Estimate, bool]:
    """Return the AUC of noisy counts of shape (2, n_nodes): negatives, positives; and whether scores crowd.

    Nodes come in pairs, the ends of an interval. The order of two rows in different intervals is known. Two
    rows in one interval, at shares u and v of it, count as 1/2 + (r - s): r and s are 1 for a row that was
    rounded to the upper end, else 0. The mean is 1/2 + u - v. This is the mean of 1 (u > v) if the densities
    within the interval are straight lines, and 1/2 if all scores are equal. Neither is certain, so the
    interval of the result is widened by the mean of r - s over all pairs.

    If more than a quarter of all pairs are in one interval, this is not enough, unless the ends of the
    intervals were declared. Then the interval reaches to the worst and the best order. If log odds rise by at
    most h over an interval of scores, the ratio of the two densities rises by at most e^h. Then the share of
    pairs in the right order is at most 1/2 + tanh(h / 4) / 2. The rise h comes from the interval of the
    calibration slope, times a factor. Without such an interval, every order is possible.

    With p and q the counts of positives and negatives and S = s - theta, p'S q has the mean 0 at the AUC.
    The variance by noise is std^2 (|S q|^2 + |S'p|^2) + std^4 |S|^2. Noisy counts overstate it by
    2 std^4 |S|^2. The variance of sampling is the larger of DeLong's and of Hanley and McNeil's.
    """
    negatives, positives = counts
    place, side = np.divmod(np.arange(counts.shape[1]), 2)
    same = place[:, None] == place
    inside = same * (side[:, None] - side)
    wins = np.where(same, 0.5, place[:, None] > place) + inside
    p, q, m = float(positives.sum()), float(negatives.sum()), counts.shape[1]
    a, b = wins @ negatives, wins.T @ positives
    total = float(positives @ a)
    rows, columns, squares = wins.sum(axis=1), wins.sum(axis=0), (wins**2)
    r2, c2, all2, all1 = squares.sum(axis=1), squares.sum(axis=0), squares.sum(), wins.sum()
    v = std**2

    def noise(t: FloatArray) -> FloatArray:
        own = (a @ a - 2 * t * q * a.sum() + t**2 * q**2 * m) + (
            b @ b - 2 * t * p * b.sum() + t**2 * p**2 * m
        )
        cross = v * (all2 - 2 * t * all1 + t**2 * m * m)
        return v * np.maximum(own - cross, cross)

    def sampling(t: FloatArray) -> FloatArray:
        of_p = (
            positives @ (a**2 - v * r2) - 2 * t * (positives @ (a * q - v * rows)) + t**2 * p * (q**2 - v * m)
        )
        of_q = (
            negatives @ (b**2 - v * c2)
            - 2 * t * (negatives @ (b * p - v * columns))
            + t**2 * q * (p**2 - v * m)
        )
        n1, n0 = max(p, 1.0), max(q, 1.0)
        spread = t * (1 - t) + (n1 - 1) * (t / (2 - t) - t**2) + (n0 - 1) * (2 * t**2 / (1 + t) - t**2)
        return np.maximum(of_p + of_q, n1 * n0 * spread)

    if p <= 0 or q <= 0:
        return Estimate(math.nan, 0.0, 1.0, math.nan, math.nan, True), False
    at = np.array([min(max(total / (p * q), 0.0), 1.0)])
    lower, upper = accepted(
        lambda t: ratio((total - t * p * q) ** 2, noise(t) + sampling(t), z), 0.0, 1.0, float(at[0])
    )
    shared = min(max(float(positives @ same @ negatives) / (p * q), 0.0), 1.0)
    moved = float(positives @ inside @ negatives) / (p * q)
    crowded = shared > _CROWD and not declared
    down = up = abs(moved)
    if crowded:
        slope, width = recalibration_slope(counts, nodes, std, z, weighted=True), np.diff(logit(nodes))[::2]
        pairs = np.maximum(counts.reshape(2, -1, 2).sum(axis=2).prod(axis=0) / (p * q), 0.0)
        steepest = (_STEEPER * max(0.0, end) for end in (-slope.lower, slope.upper))
        wrong, right = (float(pairs @ np.tanh(steep * width / 4)) / 2 for steep in steepest)
        down, up = min(wrong, shared / 2) + moved, min(right, shared / 2) - moved
    ends = (lower - max(down, 0.0), upper + max(up, 0.0))
    noise_std, sampling_std = (math.sqrt(float(variance(at)[0])) / (p * q) for variance in (noise, sampling))
    return _finish(float(at[0]), ends, 0.0, 1.0, noise_std, sampling_std), crowded


# Slopes that are tried: in fine steps from 0 to 4, and in coarse steps beyond.
_SLOPES = np.concatenate(
    [np.linspace(-2, 0, 20, endpoint=False), np.linspace(0, 4, 201), np.geomspace(4.1, 20, 40)]
)
# Halvings of the range of intercepts: each is then known within 3e-8 of the range.
_HALVINGS = 25
# Places within an interval over which a mean is taken.
_WITHIN = (np.arange(4) + 0.5) / 4


def recalibration_slope(
    counts: FloatArray, nodes: FloatArray, std: float, z: float, *, weighted: bool = False
) -> Estimate:
    """Return the slope of a logistic regression of the label on the log odds of the score, at nodes.

    For every slope, the intercept solves its own estimating equation. Then the efficient equation of the
    slope is a signed sum of counts with the mean 0 at the slope. Its variance by noise is known. That by
    sampling is a sandwich, or the one that the regression expects if that is larger. The ends of the trial
    range, -2 and 20, represent anything beyond.

    Rounding keeps the mean of the scores, but not that of a curved function of them. So values at the two
    nodes of an interval are moved to have the mean of the curve over it, as if scores were evenly spread
    there. Otherwise the noise of rounding would weaken the slope. The interval is widened by that move.

    `weighted`: an interval of scores counts with the share of its information that the noise leaves. This
    gives the slope where the rows are, without the noise of empty intervals far away. It is not the slope of
    the regression unless log odds are a straight line.
    """
    negatives, positives = counts
    x = logit(nodes)
    rows = np.maximum(negatives + positives, 0.0)
    n, events = float((negatives + positives).sum()), float(positives.sum())
    low, high = float(_SLOPES[0]), float(_SLOPES[-1])
    nothing = Estimate(math.nan, low, high, math.nan, math.nan, True)
    if not 0 < events < n or not rows.any():
        return nothing
    below, above = nodes[::2, None], nodes[1::2, None]
    inside = logit(below + (above - below) * _WITHIN).ravel()

    def smooth(at_nodes: FloatArray, at_points: FloatArray) -> FloatArray:
        """Return values at nodes, moved so that chords have the means of the curve over their intervals."""
        chords = at_nodes.reshape(len(at_nodes), -1, 2).mean(axis=2)
        means = at_points.reshape(len(at_points), -1, len(_WITHIN)).mean(axis=2)
        return at_nodes + np.repeat(means - chords, 2, axis=1)

    def intercepts(slopes: FloatArray, kept: FloatArray) -> FloatArray:
        return _intercepts(
            lambda shift: (
                smooth(expit(shift + slopes * x), expit(shift + slopes * inside))
                @ (kept * (negatives + positives))
            ),
            50.0 + np.abs(slopes) * float(np.abs(x).max()),
            float(kept @ positives),
        )

    kept = np.ones(len(x))
    if weighted:
        kept = _information(counts, expit(intercepts(np.ones((1, 1)), kept)[0] + x), std)
        if float(kept @ positives) <= 0 or float(kept @ negatives) <= 0:
            return nothing
    slopes = _SLOPES[:, None]
    start = intercepts(slopes, kept)
    mean = expit(start + slopes * x)
    weight = kept * rows * mean * (1 - mean)
    heavy = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    aside = x - (weight * x).sum(axis=1, keepdims=True) / heavy
    of_positives, of_negatives = kept * aside * (1 - mean), -kept * aside * mean
    beside = inside - (x[0] - aside[:, :1])
    g = smooth(aside, beside) @ (kept * positives)
    g -= smooth(aside * mean, beside * expit(start + slopes * inside)) @ (kept * (negatives + positives))
    noise = std**2 * (of_positives**2 + of_negatives**2).sum(axis=1)
    sampling = np.maximum(
        of_positives**2 @ positives + of_negatives**2 @ negatives, (kept * aside**2 * weight).sum(axis=1)
    )
    statistic = ratio(g**2, noise + sampling, z)
    lower, upper = _crossings(statistic, 1.0 + float(statistic.min()))
    roots = np.flatnonzero((g[:-1] > 0) & (g[1:] <= 0))
    if not len(roots):
        return nothing
    k = int(roots[np.argmin(statistic[roots])])
    step = float(_SLOPES[k + 1] - _SLOPES[k])
    steep = float(g[k] - g[k + 1]) / step
    value = float(_SLOPES[k] + g[k] / steep)
    # The move of the values at nodes assumes evenly filled intervals. Rows in the middle of an interval have
    # 3/2 of the move of evenly spread rows, and rows at its ends have none.
    moved = float(g[k] - of_positives[k] @ positives - of_negatives[k] @ negatives) / steep
    lower, upper = lower - max(moved, -moved / 2), upper + max(moved / 2, -moved)
    return _finish(
        value, (lower, upper), low, high, math.sqrt(noise[k]) / steep, math.sqrt(sampling[k]) / steep
    )


def _information(counts: FloatArray, mean: FloatArray, std: float) -> FloatArray:
    """Return for every node the share of the information in its interval that the noise leaves.

    The residual of a node with n rows of mean m has the variance n m (1 - m) by sampling, and
    std^2 ((1 - m)^2 + m^2) by noise. The number of rows is that of the likelier class, over an interval and
    its neighbours. Weights that depend on the noise of a residual would be correlated with it.
    """
    likelier = np.where(mean < 0.5, counts[0] / (1 - mean), counts[1] / mean)
    rows = np.convolve(likelier.reshape(-1, 2).sum(axis=1), [0.25, 0.5, 0.25], mode="same")
    spread = (mean * (1 - mean)).reshape(-1, 2).mean(axis=1)
    known = np.maximum(rows, 0.0) * spread
    kept: FloatArray = known / (known + 2 * std**2 * (1 - 2 * spread))
    return np.repeat(kept, 2)


def _intercepts(expected: Callable[[FloatArray], FloatArray], reach: FloatArray, events: float) -> FloatArray:
    """Return the intercept of every slope: there, the expected number of events is the counted one."""
    left, right = -reach, reach
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        above = expected(middle)[:, None] > events
        left, right = np.where(above, left, middle), np.where(above, middle, right)
    return (left + right) / 2


def _crossings(statistic: FloatArray, limit: float) -> tuple[float, float]:
    """Return the range of slopes whose statistic is at most the limit, by lines between those tried."""
    found = np.flatnonzero(statistic <= limit)
    ends = []
    for inside, outside in ((int(found[0]), int(found[0]) - 1), (int(found[-1]), int(found[-1]) + 1)):
        if not 0 <= outside < len(_SLOPES):
            ends.append(float(_SLOPES[inside]))
            continue
        part = (limit - statistic[inside]) / (statistic[outside] - statistic[inside])
        ends.append(float(_SLOPES[inside] + part * (_SLOPES[outside] - _SLOPES[inside])))
    return ends[0], ends[1]
