# SPDX-License-Identifier: BSD-3-Clause
"""Class probabilities of the leaves: released counts, weight of public rows, and smoothing over the tree.

Everything here is a function of released or public quantities: smoothing costs no privacy.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..metrics._probabilities import BaseRate, estimate_base_rate, truncated_mean
from ._release import ReleaseMechanism, TreeDesign
from ._rows import NoisyHistogram, NumberCells
from ._score_kernels import fill_spreads

# Counts of the leaves: released estimates of private rows, their variance, and public rows.

# Numbers of public rows, or for numbers sums of shares.
Counts = IntArray | FloatArray

# Smallest variance: external counts may be exact, and the choice of a depth divides by the variance.
_LEAST_VARIANCE = 1e-100


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Released and public information about every leaf, or about nodes of several leaves.

    Nothing else about private rows is in it.

    Attributes
    ----------
    label_estimates : ndarray of shape (n_leaves, n_labels)
        Unbiased estimates of the private rows by leaf and label, up to a constant for each leaf. From signed
        sums W they are the columns -W/2 and W/2.
    n_rows : int
        Number of private rows in the tree.
    public_counts : ndarray of shape (n_leaves, n_labels)
        Public rows by leaf and label.
    variance : ndarray of shape (n_leaves,)
        Variance of one row's report about the difference of two labels in the leaf, averaged over the pairs
        of labels. The variance of the estimates is ``n_rows`` times as large.
    cell_sizes : ndarray of shape (n_leaves,)
        Estimated numbers of private rows in the leaf, all positive.
    cell_estimates : ndarray of shape (n_leaves,), or None
        Unbiased estimates of the numbers of private rows in the leaf. None: the release does not contain
        them, and private rows are assumed to have the same distribution over the leaves as public rows.
    public_slope : float
        From `slope_of_public_rows`.
    row_variance, public_row_variance : float
        Variance of the share of a private, or a public, row in its leaf, relative to that of a label, p (1 -
        p). It is 1 for labels, and less for numbers that are not rounded to the ends of their width.
    total_variance : float
        The same for all private rows together, without random rounding of numbers.
    """

    label_estimates: FloatArray
    n_rows: int
    public_counts: Counts
    variance: FloatArray
    cell_sizes: FloatArray
    cell_estimates: FloatArray | None = None
    public_slope: float = 1.0
    row_variance: float = 1.0
    public_row_variance: float = 1.0
    total_variance: float = 1.0

    @classmethod
    def of(
        cls,
        label_estimates: FloatArray,
        n_rows: int,
        public_counts: Counts,
        variance: float | FloatArray,
        cell_estimates: FloatArray | None = None,
        **facts: float,
    ) -> Self:
        """Return the counts of leaves, with cell sizes computed from the other attributes."""
        variances = np.full(len(label_estimates), variance, dtype=np.float64)
        sizes = estimate_sizes(public_counts, n_rows, cell_estimates, variances)
        return cls(label_estimates, n_rows, public_counts, variances, sizes, cell_estimates, **facts)

    @classmethod
    def from_release(cls, design: TreeDesign, counts: IntArray, n_rows: int) -> Self:
        """Return the counts that a design's mechanism released about n_rows private rows."""
        mechanism = design.randomizer
        if isinstance(mechanism, NoisyHistogram):
            n_rows = mechanism.count_rows(counts, n_rows)
        released = mechanism.estimate(counts, n_rows)
        if released.ndim == 1:
            released = np.column_stack([-released / 2, released / 2])
        elif design.cells is not None:
            released = design.cells.halves(released)
        return cls.of(
            released,
            n_rows,
            design.public_counts,
            variance_per_row(mechanism, n_rows, design.cells),
            mechanism.estimate_cells(counts, n_rows),
            public_slope=design.public_slope,
            row_variance=mechanism.weight_variance if isinstance(mechanism, NoisyHistogram) else 1.0,
            public_row_variance=design.public_row_variance,
            total_variance=design.public_total_variance,
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.label_estimates.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.label_estimates.shape[1]

    @property
    def n_public(self) -> int:
        """Number of public rows in the tree."""
        return round(float(self.public_counts.sum()))

    @property
    def drift_unit(self) -> float:
        """Unit of a drift, the variance of all rows, relative to the sampling variance of a private row."""
        return self.total_variance / self.row_variance

    @property
    def public_noise(self) -> float:
        """Sampling variance of a public row, relative to that of a private one."""
        return self.public_row_variance / self.row_variance

    @property
    def public_rows(self) -> Counts:
        """Number of public rows in every leaf."""
        return self.public_counts.sum(axis=1)

    @cached_property
    def shares(self) -> FloatArray:
        """Estimated share of the private rows in every leaf; see `estimate_shares`."""
        return estimate_shares(self.public_counts, self.n_rows, self.cell_estimates, self.variance)

    @cached_property
    def contrasts(self) -> "_LabelContrasts":
        """Private and public label contrasts on one scale."""
        return _LabelContrasts.of(self)

    @cached_property
    def slope_and_drift(self) -> tuple[float, float]:
        """From `estimate_slope` and `estimate_drift`, with at least one public row."""
        slope = estimate_slope(self)
        return slope, estimate_drift(self, slope=max(slope, _LEAST_SLOPE))

    def label_totals(self) -> FloatArray:
        """Return estimates of the private rows by leaf and label, with the constant of every leaf.

        The constant follows from the released number of rows in the leaf, or from the estimated one.
        """
        cells = self.cell_sizes if self.cell_estimates is None else self.cell_estimates
        missing = cells - self.label_estimates.sum(axis=1)
        return self.label_estimates + missing[:, np.newaxis] / self.n_labels

    def aggregate(self, node: NDArray[np.int32]) -> "LeafCounts":
        """Return the counts of nodes, the sums over their leaves; ``node[i]`` is the node of leaf i."""
        cells = self.cell_estimates
        return replace(
            self,
            label_estimates=_sum_by_node(node, self.label_estimates),
            public_counts=_sum_by_node(node, self.public_counts),
            variance=_sum_by_node(node, self.variance),
            cell_sizes=_sum_by_node(node, self.cell_sizes),
            cell_estimates=None if cells is None else _sum_by_node(node, cells),
        )


def estimate_shares(
    public_counts: Counts,
    n_rows: int = 0,
    cell_estimates: FloatArray | None = None,
    variance: FloatArray | None = None,
) -> FloatArray:
    """Return the share of rows like the private ones in every leaf.

    The shares of the public rows, with one pseudo-row for each leaf. If there are unbiased estimates of the
    cells, the shares are moved towards these as far as their noise and sampling allow (James-Stein). P(X) may
    therefore differ from that of the public rows.

    Parameters
    ----------
    public_counts, n_rows, cell_estimates, variance
        As in `LeafCounts`; `n_rows` and `variance` are used with `cell_estimates`.

    Returns
    -------
    shares : ndarray of shape (n_leaves,)
        Positive, with sum 1.
    """
    moved = _moved_shares(public_counts, n_rows, cell_estimates, variance, 1.0)
    return moved / moved.sum()


def estimate_sizes(
    public_counts: Counts, n_rows: int, cell_estimates: FloatArray | None, variance: FloatArray
) -> FloatArray:
    """Return estimated numbers of the private rows in every leaf, all positive.

    As `estimate_shares`, but for the private rows themselves: only noise is an error, and sampling is not.
    """
    return n_rows * _moved_shares(public_counts, n_rows, cell_estimates, variance, 0.0)


def _moved_shares(
    public_counts: Counts,
    n_rows: int,
    cell_estimates: FloatArray | None,
    variance: FloatArray | None,
    sampling: float,
) -> FloatArray:
    """Shares of public rows, moved towards the released ones; none is 0, and they need not add up to 1."""
    per_leaf = public_counts.sum(axis=1)
    shares: FloatArray = (per_leaf + 1.0) / (per_leaf.sum() + len(per_leaf))
    if cell_estimates is None or variance is None or n_rows == 0:
        return shares
    difference = cell_estimates / n_rows - shares
    # A label's estimate has half the variance of a difference; a cell is the sum of its labels.
    per_row = 0.5 * public_counts.shape[1] * float(variance.sum())
    noise = (per_row + sampling) / n_rows
    # Not more than the squared shares themselves: larger estimates are noise.
    spread = min(max(float(np.sum(difference**2)) - noise, 0.0), float(np.sum(shares**2)))
    trust = spread / max(spread + noise, 1e-300)
    return np.maximum(shares + trust * difference, 1.0 / (n_rows + len(cell_estimates)))


def variance_per_row(mechanism: ReleaseMechanism, n_rows: int, cells: NumberCells | None = None) -> float:
    """Variance, for each private row, of the difference of two labels' estimates in a leaf; above 0.

    For numbers, of the sum of twice their shares of the width, less 1.
    """
    n_rows = max(n_rows, 1)
    contrast = 1.0 if cells is None else cells.contrast
    return max(contrast * float(mechanism.variance(n_rows)[0]) / n_rows, _LEAST_VARIANCE)


def _sum_by_node(node: IntArray | NDArray[np.int32], values: Counts) -> FloatArray:
    """Sums over the leaves of every node; one column for each label if there are several."""
    if values.ndim == 1:
        return np.bincount(node, values).astype(np.float64)
    return np.column_stack([np.bincount(node, column) for column in values.T])


# Variance of numbers, in total and within leaves, from released sums of their squares.

# Smallest value of both, which keeps divisions finite: a standard deviation of a thousandth of the largest.
_LEAST = 1e-6


def with_variances(
    counts: LeafCounts, design: TreeDesign, released: IntArray, shares: FloatArray | None = None
) -> LeafCounts:
    """Return the counts with the variances of numbers that follow from the release.

    The variance of all numbers is that of a label, p (1 - p), times a factor R. The mean variance within
    leaves is that of labels with the leaves' means, times a factor r. R follows from the sums of the numbers
    and of their squares over all leaves. r follows from R and the variance of the leaves' means.

    Parameters
    ----------
    counts : LeafCounts
    design : TreeDesign
    released : ndarray
        The release of the design's randomizer.
    shares : ndarray of shape (n_leaves,), default=None
        Means of the leaves, as shares of the width. None: they are not known yet, and r is R.

    Returns
    -------
    counts : LeafCounts
        Unchanged if a release has two cells: numbers are then rounded to the ends of their width, and only
        public rows show their variance.
    """
    cells = design.cells
    if cells is None or cells.n_cells == 2 or counts.n_rows == 0:
        return counts
    estimates = design.randomizer.estimate(released, counts.n_rows)
    noise = counts.n_rows * float(counts.variance.sum()) / (2 * cells.contrast)
    mean, whole = _total_part(cells, estimates, counts.n_rows, noise, counts.total_variance)
    within = whole
    if shares is not None:
        weights = counts.shares
        between = float(weights @ (shares - mean) ** 2)
        left = whole * mean * (1 - mean) - between
        within = left / max(float(weights @ (shares * (1 - shares))), 1e-300)
    # The variance within leaves is not estimated below a hundredth of R, because of noise. Set by hand.
    least = max(_LEAST, whole / 100)
    # The counts of a release already have the factor of weights.
    varied = counts.row_variance * float(np.clip(within, least, 1.0))
    return replace(counts, total_variance=whole, row_variance=varied)


def _total_part(
    cells: NumberCells, estimates: FloatArray, n_rows: int, noise: float, usual: float
) -> tuple[float, float]:
    """Return the mean, and the variance relative to the largest; `noise` is the variance of a cell's sum.

    The posterior mean under a normal prior around the usual value, or around that of public rows, with a
    standard deviation of the same size.
    """
    sums = estimates.sum(axis=0)
    mean = float(np.clip(sums @ cells.values / n_rows, 1e-3, 1 - 1e-3))
    largest = mean * (1 - mean)
    found = float(sums @ cells.squares / n_rows) - mean**2
    error = np.sqrt(noise * np.sum((cells.squares - 2 * mean * cells.values) ** 2)) / n_rows
    own, prior = 1 / max((error / largest) ** 2, 1e-18), 1 / usual**2
    center = (own * found / largest + prior * usual) / (own + prior)
    part = truncated_mean(np.array([center]), float((own + prior) ** -0.5))
    return mean, float(np.clip(part[0], _LEAST, 1.0))


# Weight of public rows relative to private ones, from the distance of their labels to the released estimates.

# These are evaluated in benchmarks/figures/trees/depth_and_weight.py. Smallest estimate of the drift, the
# mean squared difference of public labels from private ones, in units of the variance of one row.
LEAST_DRIFT = 0.003
# Below this slope public labels contain no information, and get no weight.
_LEAST_SLOPE = 1e-3
# Largest estimate of the slope.
_LARGEST_SLOPE = 10.0
# Number of standard errors from which the release contradicts the public rows of a leaf: 3 in 1,000 by
# chance.
_CONTRADICTION = 3.0
# Mean of the exponential prior of the drift, which matters if noise hides the drift. Of 0.05, 0.1 and 0.3 it
# was the best if public labels are right, and no worse if they are permuted, which the slope shows first.
_PRIOR_DRIFT = 0.05


def choose_weight(counts: LeafCounts) -> FloatArray:
    """Return the weight of a public row relative to a private one, for every leaf.

    Slope and drift between public and private labels are estimated from the same release. The variance of the
    public sum of a leaf grows with the drift. The weight is the ratio of the precisions, times the slope.
    Misleading public rows lose their weight.

    Parameters
    ----------
    counts : LeafCounts

    Returns
    -------
    weight : ndarray of shape (n_leaves,)
        0 everywhere without public rows.
    """
    if counts.n_public == 0:
        return np.zeros(counts.n_leaves)
    slope, drift = counts.slope_and_drift
    sampling = counts.row_variance * 2 / counts.n_labels
    precision = 1.0 + counts.variance / (sampling * counts.shares)
    # A leaf without public rows needs no weight; with a slope of 0 all weights are 0.
    spread = slope**2 * counts.public_noise + counts.drift_unit * drift * np.maximum(counts.public_rows, 1)
    spread = spread + _contradictions(counts, slope)
    return slope * precision / spread


def _contradictions(counts: LeafCounts, slope: float) -> FloatArray:
    """Return what contradictions add to the variance of a leaf's public rows, in units of a private row's.

    If a leaf's private and public labels differ by more than three standard errors, the squared excess is
    added.
    """
    found = counts.contrasts
    distance = np.sum((found.private - slope * found.public) ** 2, axis=1)
    explained = _CONTRADICTION**2 * (found.private_error + slope**2 * found.public_error)
    per_row = found.public_error / max(counts.public_row_variance, 1e-300) * counts.row_variance
    return np.maximum(distance - explained, 0.0) / np.maximum(per_row, 1e-300)


def estimate_public_drift(counts: LeafCounts) -> float:
    """Return the drift of public labels, in units of labels before the slope.

    Parameters
    ----------
    counts : LeafCounts

    Returns
    -------
    drift : float
        A mean square in units of the variance of one row's label; 0 without public rows.
    """
    if not counts.n_public:
        return 0.0
    slope, drift = counts.slope_and_drift
    return drift / max(slope, _LEAST_SLOPE) ** 2


def estimate_slope(counts: LeafCounts) -> float:
    """Return the slope of private on public labels, 0 to 10, by moments.

    The regression of private on public contrasts, corrected for the public sampling error, and shrunk towards
    1 according to the noise of the release (a prior of variance 1). Public labels that follow the same rule
    with more or less noise than the private ones are more useful than their distance suggests.

    Parameters
    ----------
    counts : LeafCounts
        With at least one public row.

    Returns
    -------
    slope : float
        That of the public rows if nothing can be estimated.
    """
    if counts.n_rows == 0:
        return counts.public_slope
    contrasts = counts.contrasts
    signal = float(np.sum(contrasts.public**2) - np.sum(contrasts.public_error))
    if signal <= 0:
        return counts.public_slope
    product = float(np.sum(contrasts.private * contrasts.public))
    # Variance of the product: the noise of one factor times the square of the other.
    private_signal = max(float(np.sum(contrasts.private**2) - np.sum(contrasts.private_error)), 0.0)
    noise = float(np.mean(contrasts.private_error) * np.sum(contrasts.public**2))
    noise += float(np.mean(contrasts.public_error)) * private_signal
    slope = (signal * product + counts.public_slope * noise) / (signal**2 + noise)
    return float(np.clip(slope, 0.0, _LARGEST_SLOPE))


def estimate_drift(counts: LeafCounts, *, slope: float = 1.0) -> float:
    """Return the drift: the mean squared difference of public labels, times a slope, and private ones.

    The posterior mean, between 0 and 1, of `measure_drift`'s normal estimate under an exponential prior of
    mean 0.05. If noise hides the drift, public labels are neither trusted nor dropped.

    Parameters
    ----------
    counts : LeafCounts
        With at least one public row.
    slope : float, default=1.0
        As from `estimate_slope`.

    Returns
    -------
    drift : float
        From 0.003 to 1.
    """
    if counts.n_rows == 0:
        return LEAST_DRIFT
    drift, error = measure_drift(counts, slope=slope)
    posterior = truncated_mean(np.array([drift - error**2 / _PRIOR_DRIFT]), max(error, LEAST_DRIFT))
    return float(np.clip(posterior[0], LEAST_DRIFT, 1.0))


def measure_drift(counts: LeafCounts, *, slope: float = 1.0) -> tuple[float, float]:
    """Return the unbiased estimate of the drift, by moments, and its standard error if there is no drift.

    The squared differences of the sums, minus the part of noise and sampling, in units of the variance of a
    single row's label.

    Parameters
    ----------
    counts : LeafCounts
        With at least one public and one private row.
    slope : float, default=1.0
        As from `estimate_slope`.

    Returns
    -------
    drift, error : float
    """
    contrasts = counts.contrasts
    distance = float(np.sum((contrasts.private - slope * contrasts.public) ** 2))
    explained = contrasts.private_error + slope**2 * contrasts.public_error
    error = math.sqrt(2 * np.sum(explained**2))
    return (distance - float(np.sum(explained))) / contrasts.unit, error / contrasts.unit


@dataclass(frozen=True)
class _LabelContrasts:
    """Private and public label contrasts on one scale: public counts are scaled up to n_rows.

    Squares are those of differences from a leaf's mean, times 2 / (M - 1): an average over the pairs of M
    labels.

    Attributes
    ----------
    private, public : ndarray of shape (n_leaves, n_labels)
    private_error, public_error : ndarray of shape (n_leaves,)
        Expected squares of noise and sampling.
    unit : float
        Contribution of a drift of 1 to the sum of squares.
    """

    private: FloatArray
    public: FloatArray
    private_error: FloatArray
    public_error: FloatArray
    unit: float

    @classmethod
    def of(cls, counts: LeafCounts) -> "_LabelContrasts":
        estimates, public_counts, n_rows = counts.label_estimates, counts.public_counts, counts.n_rows
        sampling = 2 / counts.n_labels
        shares = counts.shares
        public_rows = public_counts.sum() * estimate_shares(public_counts)
        ratio = n_rows * shares / public_rows
        scale = math.sqrt(2 / (counts.n_labels - 1))
        return cls(
            private=scale * (estimates - estimates.mean(axis=1, keepdims=True)),
            public=scale * ratio[:, np.newaxis] * (public_counts - public_counts.mean(axis=1, keepdims=True)),
            private_error=n_rows * (counts.variance + counts.row_variance * sampling * shares),
            public_error=counts.public_row_variance * sampling * ratio**2 * public_rows,
            unit=counts.total_variance * sampling * float(np.sum((n_rows * shares) ** 2)),
        )


# Smoothing of noisy values over a tree: each node's value is its parent's plus a deviation.

# Variances of deviations that are compared, in units of the largest possible one.
_SPREADS = 0.5 ** np.arange(13)
_LOG_SPREADS = np.log(_SPREADS)
# Probabilities of the variance of a deviation (columns), given the usual one of its level (rows): within a
# level some cells are at the border of two regions, and most are not. It is log-normal, with a standard
# deviation of a factor of 4. The factor was chosen among 1, 3, 4, 7 and 20 on 520 drawn problems, together
# with the median of `_log_prior_of_spreads`, for accuracy and log loss, and tested on other tables.
_LOCAL = np.exp(-((_LOG_SPREADS - _LOG_SPREADS[:, np.newaxis]) ** 2) / (2 * math.log(4) ** 2))
_LOCAL /= _LOCAL.sum(axis=1, keepdims=True)


def smooth_over_tree(
    ancestors: NDArray[np.int32] | None,
    values: FloatArray,
    variance: FloatArray,
    largest: float,
    n_features: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean and variance of the leaves' values, given noisy values.

    The model: the root is 0, and a child differs from its parent by a normal deviation. The variance of the
    deviation is drawn around a usual one of the level, which is drawn around a guess from the number of
    features. An only child equals its parent. From the leaves to the root, the variances are set to their
    posterior means, given the differences of siblings. The posterior of the values is exact given these
    variances. It needs one pass up and one down.

    Parameters
    ----------
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves), or None
        From `leaf_ancestors`: no node has more than two children, and siblings are adjacent. None: all leaves
        are children of the root.
    values : ndarray of shape (n_leaves, n_columns)
        Noisy values, whose sum over the columns is 0. Every column is smoothed separately, with the same
        variances.
    variance : ndarray of shape (n_leaves,)
        Noise variance of a leaf's values, a positive mean over the columns.
    largest : float
        Largest possible variance of the deviations: larger estimates are noise.
    n_features : float
        Number of features among which the splits are divided.

    Returns
    -------
    mean : ndarray of shape (n_leaves, n_columns)
    variance : ndarray of shape (n_leaves,)
    """
    prior = _log_prior_of_spreads(n_features)
    if ancestors is None:
        spread = _spreads(values, variance, 1.0, largest, prior)
        kept = spread / (spread + variance)
        return kept[:, np.newaxis] * values, kept * variance
    mean, noise = values, variance
    messages = []
    for below, above in itertools.pairwise(ancestors[::-1]):
        parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
        parent[below] = above
        first = np.flatnonzero(parent[1:] == parent[:-1])
        spread = np.zeros(len(parent))
        spread[first] = spread[first + 1] = _spreads(
            mean[first] - mean[first + 1], noise[first] + noise[first + 1], 2.0, largest, prior
        )
        messages.append((parent, mean, noise, spread))
        precision = 1.0 / (noise + spread)
        total = np.bincount(parent, precision)
        mean = _sum_by_node(parent, mean * precision[:, np.newaxis]) / total[:, np.newaxis]
        noise = 1.0 / total
    mean, noise = np.zeros_like(mean), np.zeros_like(noise)
    for parent, own, own_noise, spread in reversed(messages):
        # The child's own data have no weight if children do not differ.
        kept = spread / (own_noise + spread)
        mean = kept[:, np.newaxis] * own + (1.0 - kept)[:, np.newaxis] * mean[parent]
        noise = kept * own_noise + (1.0 - kept) ** 2 * noise[parent]
    return mean, noise


def _log_prior_of_spreads(n_features: float) -> FloatArray:
    """Return the logarithms of the prior of a level's usual variance, up to a constant.

    The more features d a function has, the less a split of one of them explains, by an unknown amount. The
    prior is therefore log-normal, with the median ``d^-2`` in units of the largest variance, and the variance
    ``log d`` of the logarithm. Fewer than 2 features count as 2.
    """
    log_features = math.log(max(n_features, 2.0))
    return -((_LOG_SPREADS + 2 * log_features) ** 2) / (2 * log_features)


def _spreads(
    differences: FloatArray, noise: FloatArray, n_deviations: float, largest: float, prior: FloatArray
) -> FloatArray:
    """Posterior means of the variance of a deviation, from noisy differences of n_deviations of them."""
    # Columns add up to 0, so one of them is not free, and the others vary more than the mean over all.
    n_rows, n_columns = differences.shape
    squares = np.einsum("ij,ij->i", differences, differences) / n_columns
    scratch, out = np.empty((2, n_rows, len(_SPREADS))), np.empty(n_rows)
    spreads = np.multiply(n_deviations * largest, _SPREADS, dtype=np.float64)
    fill_spreads(squares, noise, 0.5 * (n_columns - 1), spreads, _LOCAL, prior, scratch[0], scratch[1], out)
    return out / n_deviations


# Class probabilities of the leaves, from released estimates and weighted public rows.

# The sampling variance of a leaf depends on its probabilities: first those of the base rate, then those of
# the first result. A third pass changed no probability by more than 0.01 in 200 drawn trees.
_PASSES = 2


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Estimated class probabilities.

    Attributes
    ----------
    probabilities : ndarray of shape (n_leaves, n_labels)
        Above 0; every row adds up to 1.
    errors : ndarray of shape (n_leaves,)
        Standard deviation of a probability after smoothing, due to noise and sampling; a mean over the
        labels.
    base : BaseRate
        The probabilities of the whole tree.
    """

    probabilities: FloatArray
    errors: FloatArray
    base: BaseRate


def estimate_shares_of_classes(
    counts: LeafCounts,
    weight: FloatArray,
    ancestors: NDArray[np.int32] | None,
    n_features: float,
    drift: float = 0.0,
) -> ClassShares:
    """Return the class probabilities of every leaf, shrunk towards those of its ancestors by their noise.

    A leaf's share of a class deviates from the base rate by ``(T_m - b_m sum T) / S``. T are the released
    estimates and the weighted public rows by label, b is the base rate, and S the number of rows of the leaf.
    Apart from S in the denominator, this is unbiased for any noise, and its variance is known. The deviations
    are smoothed over the tree (`smooth_over_tree`). The probability is the mean of the posterior, a normal
    distribution within [0, 1]: none is 0 or 1.

    Parameters
    ----------
    counts : LeafCounts
    weight : ndarray of shape (n_leaves,)
        Weight of a public row.
    ancestors, n_features
        As in `smooth_over_tree`; None shrinks towards the base rate alone.
    drift : float, default=0.0
        From `estimate_drift`: error of public labels.

    Returns
    -------
    shares : ClassShares
    """
    totals = counts.label_totals() + weight[:, np.newaxis] * counts.public_counts
    rows = counts.cell_sizes + weight * counts.public_rows
    noise = 0.5 * counts.n_rows * counts.variance
    rate = estimate_base_rate(
        counts.label_totals().sum(axis=0),
        counts.n_rows,
        0.5 * counts.n_rows * float(counts.variance.sum()),
        # Public rows without a weight are not used for the base rate either.
        counts.public_counts.sum(axis=0) if weight.any() else None,
        counts.total_variance,
    )
    base = rate.shares
    deviations = (totals - base * totals.sum(axis=1, keepdims=True)) / rows[:, np.newaxis]
    # The mean over private rows that remains is noise, and the error of the base rate.
    deviations -= np.average(deviations, axis=0, weights=counts.cell_sizes)
    # Factor of the noise for independent counts by label; a mean over the labels.
    per_label = float(np.mean((1 - base) ** 2 + (len(base) - 1) * base**2))
    drift = counts.drift_unit * drift
    public = weight**2 * (counts.public_noise * counts.public_rows + drift * counts.public_rows**2)
    # Among probabilities with this mean, those that are 0 or 1 vary most; means of numbers vary less than
    # numbers.
    even = float(np.mean(base * (1 - base)))
    largest, sampling = counts.total_variance * even, np.full(len(rows), counts.row_variance * even)
    unknown = counts.row_variance / (rows + 2.0) ** 2
    for _ in range(_PASSES):
        variance = (per_label * noise + sampling * (counts.cell_sizes + public)) / rows**2
        variance += unknown
        means, variances = smooth_over_tree(ancestors, deviations, variance, largest, n_features)
        found, errors = bounded_shares(base + means, variances + unknown, rate)
        sampling = counts.row_variance * np.mean(found * (1 - found), axis=1)
    return ClassShares(found, errors, rate)


def bounded_shares(
    centers: FloatArray, variances: FloatArray, base: BaseRate
) -> tuple[FloatArray, FloatArray]:
    """Return probabilities from normal estimates, and their standard deviations.

    Parameters
    ----------
    centers : ndarray of shape (n_leaves, n_labels)
        Estimates of the shares.
    variances : ndarray of shape (n_leaves,)
        Variances of their differences from the base rate, a mean over the labels: rare classes differ by
        less.
    base : BaseRate
        Its own variance is added.

    Returns
    -------
    probabilities : ndarray of shape (n_leaves, n_labels)
        Above 0; every row adds to 1.
    errors : ndarray of shape (n_leaves,)
        A mean over the labels.
    """
    spread = base.shares * (1 - base.shares)
    squares = variances[:, np.newaxis] * spread / spread.mean() + base.variances
    found = truncated_mean(centers, np.sqrt(squares))
    return found / found.sum(axis=1, keepdims=True), np.sqrt(squares.mean(axis=1))
