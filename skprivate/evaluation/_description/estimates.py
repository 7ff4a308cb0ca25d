# SPDX-License-Identifier: BSD-3-Clause
"""Estimates and intervals from the noisy counts of a description."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from ..._typing import FloatArray
from .._counts import NoisyTables

# The noise hides a value if its interval covers so much of what is possible. This is a convention.
_COVERED = 0.9
# Number of means, over the interval of the mean, at which the spread is bounded.
_N_MEANS = 17
# Largest ratio of a density in a bin to that in the next bin: it falls by e^-1.4 a bin at most.
_STEEP = 4.0


@dataclass(frozen=True)
class Estimate:
    """A value of the population, and an interval that counts noise and sampling.

    Attributes
    ----------
    value : float
    lower, upper : float
        Ends of the interval.
    above_noise : bool
        False if the interval covers nine tenths of what is possible, or more: the noise hides the value.
    """

    value: float
    lower: float
    upper: float
    above_noise: bool = True

    @classmethod
    def between(cls, value: float, lower: float, upper: float, least: float, most: float) -> "Estimate":
        """Return an estimate of a value in [least, most], moved into its interval."""
        value = min(max(value, lower), upper)
        above_noise = upper - lower < _COVERED * (most - least)
        return cls(float(value), float(lower), float(upper), bool(above_noise))


def noise_factor(confidence: float, mechanism: str) -> float:
    """Return the number of standard deviations that noise and sampling stay within, with this probability.

    The sum of a normal error and of weighted Laplace noise is a normal mixture. Its tails lie between those
    of the normal and of a single Laplace variable of the same variance. The larger of the two quantiles is
    taken.
    """
    normal = float(ndtri((1 + confidence) / 2))
    return normal if mechanism == "gaussian" else max(normal, math.log(1 / (1 - confidence)) / math.sqrt(2))


@dataclass(frozen=True, eq=False)
class TableCounts:
    """Noisy counts of one table, which add up to the number of rows.

    Attributes
    ----------
    cells : ndarray of float64 of shape (n_cells,)
        The counts, all moved by the same amount so that their sum is the number of rows, which is public or
        estimated from all tables.
    std : float
        Standard deviation of the noise of a count.
    n_variance : float
        Variance of the number of rows; 0 if it is public.
    cluster : int
        Rows of one person that may count. The sampling variance is at most so many times larger.
    mechanism : {"laplace", "gaussian"}
    confidence : float
    """

    cells: FloatArray
    std: float
    n_variance: float
    cluster: int
    mechanism: str
    confidence: float

    @property
    def factor(self) -> float:
        """Standard deviations in half an interval."""
        return noise_factor(self.confidence, self.mechanism)

    def noise(self, first: FloatArray, second: FloatArray) -> float:
        """Return the covariance that the noise gives two weighted sums of the counts."""
        means = first.mean(), second.mean()
        own = float((first - means[0]) @ (second - means[1]))
        return self.std**2 * own + float(means[0] * means[1]) * self.n_variance

    def ratio(
        self, top: FloatArray, bottom: FloatArray, most: float = 1.0, *, factor: float | None = None
    ) -> tuple[float, float, float]:
        """Return a ratio of two weighted sums, and the ends of its interval within [0, most].

        The interval holds every t for which ``top - t bottom`` is within `factor` standard deviations of 0
        (Fieller). It is the union of two: with noise and the sampling that the counts show, and with noise
        alone.
        """
        known = (
            float(self.cells @ top**2),
            -2 * float(self.cells @ (top * bottom)),
            float(self.cells @ bottom**2),
        )
        sums, noise = self._sums(top, bottom)
        (low, high), (least, greatest) = (
            self._solve(*sums, noise, variance, most, factor) for variance in (known, (0.0, 0.0, 0.0))
        )
        return _quotient(*sums), min(low, least), max(high, greatest)

    def share(self, part: FloatArray, whole: FloatArray) -> Estimate:
        """Return the share of the rows of some cells among those of others; both are indicators of cells."""
        (above, below), noise = self._sums(part, whole)
        rows = max(below, 0.0)
        # Binomial variance at the share that is tested (Wilson), and half a row since counts are whole.
        ends = [
            self._solve(above + shift, below, noise, (0.0, rows, -rows), 1.0) for shift in (-0.5, 0.0, 0.5)
        ]
        lower, upper = min(low for low, _ in ends), max(high for _, high in ends)
        return Estimate.between(_quotient(above, below), lower, upper, 0.0, 1.0)

    def _sums(
        self, top: FloatArray, bottom: FloatArray
    ) -> tuple[tuple[float, float], tuple[float, float, float]]:
        """Return two weighted sums A and B, and the noise variance of A - t B by powers of t."""
        noise = self.noise(top, top), -2 * self.noise(top, bottom), self.noise(bottom, bottom)
        return (float(self.cells @ top), float(self.cells @ bottom)), noise

    def _solve(
        self,
        above: float,
        below: float,
        noise: tuple[float, float, float],
        sampling: tuple[float, float, float],
        most: float,
        factor: float | None = None,
    ) -> tuple[float, float]:
        """Return the ends of {t: (A - t B)^2 <= factor^2 V(t)} within [0, most]; V is quadratic in t."""
        squared = (self.factor if factor is None else factor) ** 2
        constant, linear, square = (
            squared * (one + self.cluster * other) for one, other in zip(noise, sampling, strict=True)
        )
        a, b, c = below**2 - square, -2 * above * below - linear, above**2 - constant
        if below <= 0 or a <= 0:
            return 0.0, most
        root = math.sqrt(max(b * b - 4 * a * c, 0.0))
        low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
        return min(max(low, 0.0), most), min(max(high, 0.0), most)


def _quotient(above: float, below: float) -> float:
    return above / below if below > 0 else 0.0


@dataclass(frozen=True, eq=False)
class TreeCounts(TableCounts):
    """Noisy counts of the leaves of a tree and of missing values, estimated from the counts of all levels.

    Attributes
    ----------
    cells : ndarray of float64 of shape (n_leaves + 1,)
        The estimate of least variance whose sums agree: the children of a node add up to it, and the first
        level and the missing values to the number of rows.
    smooth : ndarray of float64 of shape (n_leaves,)
        The same, but differences of the children of a node are shrunk as far as the noise explains them.
    branches : int
    variances : tuple of float
        Variance of the noise of a node by its own subtree, level by level.
    of_missing : float
        Variance of the noise of the number of missing values by their own counts.
    """

    smooth: FloatArray
    branches: int
    variances: tuple[float, ...]
    of_missing: float

    @property
    def _parts(self) -> tuple[float, float]:
        """The share of known values in an error of the number of rows, and the variance of its split."""
        known = self.branches * self.variances[0]
        whole = known + self.of_missing
        return known / whole, known * self.of_missing / whole

    def noise(self, first: FloatArray, second: FloatArray) -> float:
        """Return the covariance that the noise gives two weighted sums of the counts.

        Let W be the mean weight of the leaves below a node, and z_c the estimate by the subtree of c. Then
        sum W_c h_c over the children c of p is W_p h_p plus sum (W_c - W_p) z_c. These sums are uncorrelated.
        """
        found, (one, other) = 0.0, (first[:-1], second[:-1])
        for variance in reversed(self.variances):
            rows, others = one.reshape(-1, self.branches), other.reshape(-1, self.branches)
            one, other = rows.mean(axis=1), others.mean(axis=1)
            found += variance * float(((rows - one[:, None]) * (others - other[:, None])).sum())
        share, split = self._parts
        ends = [(float(mean[0]), float(weights[-1])) for mean, weights in ((one, first), (other, second))]
        (a, b), (c, d) = ends
        whole = (share * a + (1 - share) * b) * (share * c + (1 - share) * d)
        return found + split * (a - b) * (c - d) + whole * self.n_variance

    def below(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the excess of the rows up to every leaf but the last over a share of all, and its noise.

        Up to a share x of the leaves there are x of the known rows. To these, every level adds the first u
        children of a node, less u / branches of them all. Only on the levels above the leaf's is u no whole
        number.
        """
        ends = np.arange(1, len(self.smooth))
        share, split = self._parts
        across = ends / len(self.smooth) - level
        noise = across**2 * (split + share**2 * self.n_variance)
        for depth, variance in enumerate(self.variances, 1):
            u = ends / self.branches ** (len(self.variances) - depth) % self.branches
            noise += variance * (np.floor(u) + (u % 1) ** 2 - u**2 / self.branches)
        leaves = self.cells[:-1]
        return np.cumsum(leaves)[:-1] - level * leaves.sum(), noise


@dataclass(frozen=True, eq=False)
class _Tree:
    """Counts of a tree and of missing values, each by itself, before the number of rows is put in."""

    branches: int
    levels: list[FloatArray]
    variances: list[float]
    missing: float
    of_missing: float

    @classmethod
    def of(cls, tables: Sequence[FloatArray], stds: Sequence[float]) -> "_Tree":
        """Return the counts of nodes, each combined from its own count and the sum of its children."""
        branches = len(tables[0]) - 1
        levels, variances = [tables[-1][:-1]], [stds[-1] ** 2]
        for table, std in zip(tables[-2::-1], stds[-2::-1], strict=True):
            own, sums = 1 / std**2, 1 / (branches * variances[0])
            children = levels[0].reshape(-1, branches).sum(axis=1)
            levels.insert(0, (own * table[:-1] + sums * children) / (own + sums))
            variances.insert(0, 1 / (own + sums))
        precisions = [1 / std**2 for std in stds]
        missing = sum(table[-1] * one for table, one in zip(tables, precisions, strict=True))
        whole = sum(precisions)
        return cls(branches, levels, variances, float(missing) / whole, 1 / whole)

    @property
    def total(self) -> tuple[float, float]:
        """The number of rows by these counts alone, and its variance."""
        return float(self.levels[0].sum()) + self.missing, self.branches * self.variances[0] + self.of_missing

    def counts(self, n: float, facts: tuple[float, float, int, str, float]) -> TreeCounts:
        """Return the counts whose nodes add up to n."""
        total, variance = self.total
        missing = self.missing + (n - total) * self.of_missing / variance
        exact = smooth = np.array([n - missing])
        for nodes, noise in zip(self.levels, self.variances, strict=True):
            rows = nodes.reshape(-1, self.branches)
            apart = rows - rows.mean(axis=1, keepdims=True)
            # James and Stein's factor for a vector of branches - 1 free numbers.
            squares = np.maximum((apart**2).sum(axis=1, keepdims=True), 1e-300)
            kept = np.maximum(1 - (self.branches - 3) * noise / squares, 0.0)
            exact = (exact[:, None] / self.branches + apart).ravel()
            smooth = (smooth[:, None] / self.branches + kept * apart).ravel()
        cells = np.append(exact, missing)
        return TreeCounts(cells, *facts, smooth, self.branches, tuple(self.variances), self.of_missing)


def table_counts(
    released: NoisyTables, n_levels: Sequence[int], are_trees: Sequence[bool], confidence: float
) -> tuple[Estimate, list[TableCounts]]:
    """Return the number of rows, and the tables with counts that add up to it."""
    noise, stds = released.noise, released.noise.stds
    starts = np.cumsum([0, *n_levels])
    parts = [slice(start, stop) for start, stop in pairwise(starts)]
    trees = [
        _Tree.of(released.tables[part], stds[part]) if is_tree else None
        for part, is_tree in zip(parts, are_trees, strict=True)
    ]
    flat = [released.tables[part][0] for part in parts]
    # Each table's sum estimates n, with a variance in proportion to its cells.
    totals = [
        (float(table.sum()), len(table) * noise.std**2) if tree is None else tree.total
        for table, tree in zip(flat, trees, strict=True)
    ]
    precision = sum(1 / variance for _, variance in totals)
    if released.n_rows is None:
        n, n_variance = sum(total / variance for total, variance in totals) / precision, 1 / precision
    else:
        n, n_variance = float(released.n_rows), 0.0
    reach = noise_factor(confidence, noise.name) * math.sqrt(n_variance)
    facts = noise.std, n_variance, noise.rows_per_unit, noise.name, confidence
    tables = [
        TableCounts(table + (n - table.sum()) / len(table), *facts) if tree is None else tree.counts(n, facts)
        for table, tree in zip(flat, trees, strict=True)
    ]
    n = max(n, 0.0)
    return Estimate(n, max(n - reach, 0.0), n + reach, above_noise=reach < n or not n_variance), tables


def mean_and_std(counts: TreeCounts) -> tuple[Estimate, Estimate]:
    """Return mean and standard deviation of numbers that were rounded to a grid of [0, 1]."""
    points, known = _grid(counts)
    mean, lower, upper = counts.ratio(points, known)
    # Half of the error is for the mean, and half for the spread about any mean in its interval.
    factor = noise_factor((1 + counts.confidence) / 2, counts.mechanism)
    _, first, last = counts.ratio(points, known, factor=factor)
    spreads = [
        counts.ratio(((points - about) * known) ** 2, known, factor=factor)[1:]
        for about in np.linspace(first, last, _N_MEANS)
    ]
    # Rounding between points at a distance h adds between 0 and h^2 / 4, on average some h^2 / 6.
    rounding = 1.0 / (len(points) - 2) ** 2
    low = math.sqrt(max(min(low for low, _ in spreads) - rounding / 4, 0.0))
    high = math.sqrt(min(max(high for _, high in spreads), 0.25))
    about = min(max(mean, 0.0), 1.0)
    variance = counts.ratio(((points - about) * known) ** 2, known)[0] - rounding / 6
    return (
        Estimate.between(mean, lower, upper, 0.0, 1.0),
        Estimate.between(math.sqrt(max(variance, 0.0)), low, high, 0.0, 0.5),
    )


def quantile(counts: TreeCounts, level: float) -> Estimate:
    """Return a quantile of numbers that were rounded to a grid of [0, 1].

    With G the distribution of the rounded numbers and F that of the numbers, F(g_i) <= G(g_i) <= F(g_{i+1}-).
    So a quantile lies above g_i if G(g_i) < level, and not above g_{i+1} if G(g_i) >= level. From either
    bound inwards, points are passed as long as a test rejects them. So an end is wrong only if the test at
    one fixed point is wrong.
    """
    points, _ = _grid(counts)
    last = len(points) - 2
    rows = max(float(counts.cells[:-1].sum()), 0.0)
    distances, noise = counts.below(level)
    reach = counts.factor * np.sqrt(noise + counts.cluster * rows * level * (1 - level)) + 0.5
    below, above = distances < -reach, distances > reach
    n_below = last if below.all() else int(np.argmin(below))
    inwards = above[: last - 1][::-1]
    n_above = last - 1 if inwards.all() else int(np.argmin(inwards))
    lower = points[n_below - 1] if n_below else 0.0
    upper = max(points[last - n_above], lower)
    return Estimate.between(_interpolate(counts.smooth, level), lower, upper, 0.0, 1.0)


def _grid(counts: TableCounts) -> tuple[FloatArray, FloatArray]:
    """Return the points of the grid, 0 for the cell of missing values, and 1 for cells that are points."""
    n_points = len(counts.cells) - 1
    points, known = np.zeros(n_points + 1), np.ones(n_points + 1)
    points[:-1], known[-1] = np.arange(n_points) / (n_points - 1), 0.0
    return points, known


def _interpolate(leaves: FloatArray, level: float) -> float:
    """Return a quantile of counts that are spread evenly over the bins around their points.

    The half bin at a bound may hold more than the density of its neighbours explains. The rest is on the
    bound.
    """
    target = level * float(leaves.sum())
    if not target > 0:
        return 0.5
    reached = np.append(0.0, np.cumsum(leaves))
    # Noise can make sums fall. Take the middle of the greatest sum up to a leaf and the least from there.
    rising = (np.maximum.accumulate(reached) + np.minimum.accumulate(reached[::-1])[::-1]) / 2
    if target <= _at_bound(leaves):
        return 0.0
    if leaves.sum() - target <= _at_bound(leaves[::-1]):
        return 1.0
    ends = np.clip((np.arange(len(leaves) + 1) - 0.5) / (len(leaves) - 1), 0.0, 1.0)
    return float(np.interp(target, rising, ends))


def _at_bound(leaves: FloatArray) -> float:
    first, second, third = np.maximum(leaves[:3], 0.0).tolist()
    steep = min(max(second / max(third, 1e-300), 1.0), _STEEP)
    return float(first - second / 2 * steep)


def survival_curve(counts: TableCounts, cells: slice, n_bins: int) -> list[Estimate]:
    """Return the shares that survive the end of every interval, of the group with these cells.

    If d of R rows at risk in an interval have the event and c are censored, the hazard lies between d / R
    (censored at the end) and d / (R - c) (at the beginning). Each end of the curve's interval takes one of
    the two. Its error by noise and sampling comes from its linear terms. If the rows at risk are not above
    the noise, the lower end is 0 and the upper end stays, from that interval on.
    """
    group = counts.cells[cells]
    events, censored = group[:n_bins], group[n_bins : 2 * n_bins]
    at_risk = (events + censored)[::-1].cumsum()[::-1] + group[-1]
    found: list[Estimate] = []
    late_end, early_end = (_Product(counts, cells, n_bins, early) for early in (False, True))
    for i in range(n_bins):
        before = found[-1] if found else Estimate(1.0, 1.0, 1.0)
        late, early = (
            late_end.step(i, events[i], at_risk[i]),
            early_end.step(i, events[i], at_risk[i] - censored[i]),
        )
        if late is None or early is None:
            found += [Estimate.between(before.value, 0.0, before.upper, 0.0, 1.0)] * (n_bins - i)
            break
        lower = min(max(early[0] - early[1], 0.0), 1.0)
        upper = max(min(late[0] + late[1], 1.0), 0.0)
        middle = math.sqrt(max(late[0], 0.0) * max(early[0], 0.0))
        found.append(Estimate.between(middle, lower, max(lower, upper), 0.0, 1.0))
    return found


class _Product:
    """A product of 1 - events / risk over intervals, and the weights of its linear terms."""

    def __init__(self, counts: TableCounts, cells: slice, n_bins: int, early: bool) -> None:
        self._counts, self._cells, self._n_bins, self._early = counts, cells, n_bins, early
        self._weights = np.zeros(len(counts.cells))
        self._value = 1.0

    def step(self, i: int, events: float, risk: float) -> tuple[float, float] | None:
        """Take one more interval; return the product and half its interval, None if the noise hides it."""
        counts, n_bins, start = self._counts, self._n_bins, self._cells.start
        at_risk = np.zeros(len(counts.cells))
        at_risk[start + i : start + n_bins] = 1.0
        at_risk[start + n_bins + i + self._early : self._cells.stop] = 1.0
        # Twice the reach: with fewer rows at risk the linear terms are poor.
        least = 2 * counts.factor * math.sqrt(counts.noise(at_risk, at_risk)) + 1
        if risk <= least:
            return None
        # Counts below 0 are kept. If they were cut off, the errors of many intervals would not cancel.
        hazard = events / risk
        event = np.zeros(len(counts.cells))
        event[start + i] = 1.0
        # The derivative of the product by every count.
        self._weights = (1 - hazard) * self._weights + self._value * (hazard * at_risk - event) / risk
        self._value *= 1 - hazard
        sampled = counts.cluster * float(np.maximum(counts.cells, 0.0) @ self._weights**2)
        variance = counts.noise(self._weights, self._weights) + sampled
        return self._value, counts.factor * math.sqrt(variance)
