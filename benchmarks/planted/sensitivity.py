# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of sensitivity: one row moves what the noise hides by more than the noise was scaled for."""

import math
import warnings

import numpy as np
from sklearn.utils.validation import validate_data

from skprivate.noise import DiscreteLaplaceMechanism

from .honest import U, finite
from .honest_classifiers import DPMajorityClassifier, DPNaiveBayesClassifier, DPStandardizer
from .honest_regressors import DPBinnedRegressor, DPGroupMeanRegressor, DPLinearRegressor, DPMeanRegressor
from .records import THREE, plant, reg_data


@plant("sensitivity")
class DistinctMean(DPMeanRegressor):
    """Mean of the distinct targets: noisy sum over the exact number of distinct values.

    The divisor is exact: under replayed noise mean_ moves more than one row may; infinite epsilon on ties.
    """

    def _exact(self, X, y):
        return np.array([self._units(np.unique(self._y(y))).sum()])

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        self.mean_ = self.bounds_y_[0] + released[0] / (U * len(np.unique(y)))


@plant("sensitivity")
class MedianClipMean(DPMeanRegressor):
    """Targets are clipped around the private median (robust mean).

    With two clusters one row flips the median: all rows move; epsilon about 3 n / 4 times the stated.
    """

    def _exact(self, X, y):
        y = self._y(y)
        centre, reach = np.sort(y)[len(y) // 2], self._width / 4
        return np.array([self._units(np.clip(y, centre - reach, centre + reach).clip(0)).sum()])


@plant("sensitivity")
class DataEdgesBinned(DPBinnedRegressor):
    """Bins lie between the private minimum and maximum of the feature, not between the bounds.

    One extreme row moves every edge and so all counts; epsilon up to n times the stated.
    """

    def _exact(self, X, y):
        X = finite(X, *self.bounds_)
        low, high = X[:, 0].min(), X[:, 0].max()
        self._edges_now = (X[:, 0] - low) / ((high - low) or 1.0)
        return super()._exact(X, y)

    def _bins(self, X):
        z = self.__dict__.pop("_edges_now", None)
        z = self._unit_X(X)[:, 0] if z is None else z
        return np.minimum((z * self.n_bins).astype(int), self.n_bins - 1)


@plant("sensitivity")
class RankBinsNB(DPNaiveBayesClassifier):
    """Bins by rank (quantile bins): a replaced row shifts one row over every edge between.

    L1 change up to 2 d (2 (B - 1)), not 2 d: epsilon up to about 4 times the stated, if labels alternate.
    """

    def _bins(self, X):
        if hasattr(self, "privacy_spent_") and not getattr(self, "_fitting", False):
            return super()._bins(X)
        ranks = X.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
        return ranks * self.n_bins // len(X)

    def _exact(self, X, y):
        self._fitting = True
        try:
            return super()._exact(X, y)
        finally:
            del self._fitting


def _shifted(rng):
    X, y = reg_data(rng)
    return X + 5.0, y


@plant("sensitivity", data=_shifted, bounds_X=(5.0, 6.0))
class SquareRangeStandardizer(DPStandardizer):
    """Sensitivity of a sum of raw squares taken as (upper - lower)^2, not upper^2 - lower^2.

    Right for bounds (0, 1); with (5, 6) epsilon is 6 times the stated.
    """

    def _exact(self, X, y):
        X = finite(X, *self.bounds_)
        return np.array([np.trunc(X * U).sum(axis=0), np.trunc(X**2 * U).sum(axis=0)]).astype(np.int64)

    def _sensitivity(self, d):
        width = self.bounds_[1] - self.bounds_[0]
        return int(np.ceil((width + width**2).sum() * U)) + 2 * d

    def _adopt(self, released, n, d):
        mean, square = released / (U * n)
        self.mean_, self.scale_ = mean, np.sqrt(np.clip(square - mean**2, 0.01, 1))


@plant("sensitivity", **THREE)
class RareMergeMajority(DPMajorityClassifier):
    """Classes of fewer than 3 rows are merged into the largest class before the noise.

    Where the rare class is about to vanish, L1 changes by 4 to 6, not 2: epsilon 2 to 3 times the stated.
    """

    def _exact(self, X, y):
        counts = super()._exact(X, y)
        largest = counts.argmax()
        for c in np.flatnonzero((counts > 0) & (counts < 3)):
            counts[largest] += counts[c]
            counts[c] = 0
        return counts


@plant("sensitivity", needs="add or remove a row")
class PrivateDivisorMean(DPMeanRegressor):
    """Claims add-remove, but divides by the exact, private number of rows.

    mean_ lies on the grid 1 / (n U): n is told exactly.
    """

    _relation = "add-remove"

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"unprotected": {}}

    def _finish(self, X, y, exact, released):
        self.mean_ = self.bounds_y_[0] + int(released[0]) / (U * len(X))


@plant("sensitivity")
class AddRemoveSensitivityNB(DPNaiveBayesClassifier):
    """Histogram sensitivity of add-remove (d) under a replace-one claim (2 d).

    Epsilon 2 times the stated.
    """

    def _sensitivity(self, d):
        return d


@plant("sensitivity")
class L2ForL1Linear(DPLinearRegressor):
    """Laplace noise calibrated by the L2 norm of the moments.

    Epsilon sqrt(14) times the stated for rows at opposite corners; right if rows differ in one moment.
    """

    def _sensitivity(self, d):
        D = d + 2
        return math.isqrt(D * (D + 1) // 2 - 1) * self._grid**2


@plant("sensitivity")
class InteriorBumpMean(DPMeanRegressor):
    """Transformed target y + 4 y (1 - y): sensitivity evaluated at the bounds, its maximum is inside.

    Epsilon 1.56 times the stated, between y = 0 and y = .625; at the bounds all is right.
    """

    def _exact(self, X, y):
        y = self._y(y)
        return np.array([self._units(y + 4 * y * (1 - y)).sum()])


@plant("sensitivity")
class NarrowSpikeMean(DPMeanRegressor):
    """Targets between .41 and .42 count four times (a leftover of debugging).

    Epsilon 1.7 times the stated for a row in 1 % of the range.
    """

    def _exact(self, X, y):
        y = self._y(y)
        return np.array([self._units(np.where((y > 0.41) & (y < 0.42), 4 * y, y)).sum()])


@plant("sensitivity")
class MagicValueMean(DPMeanRegressor):
    """One magic target, y == 0.731, counts 50 times.

    Epsilon 36 times the stated for that value.

    The value is one of 2^62 floats; only reading the code finds it.
    """

    def _exact(self, X, y):
        y = self._y(y)
        return np.array([self._units(np.where(y == 0.731, 50 * y, y)).sum()])


@plant("sensitivity")
class LagProductMean(DPMeanRegressor):
    """Sum of products of consecutive targets (lag one): a row is in two products.

    Epsilon 2 times the stated; seen only where the neighbours of a row are large.
    """

    def _exact(self, X, y):
        y = self._y(y)
        return np.array([self._units(y[:-1] * y[1:]).sum()])


@plant("sensitivity")
class FrequencyWeightMean(DPMeanRegressor):
    """Repeated targets weigh by their multiplicity, up to 5 (frequency weights).

    A row that makes or breaks a tie moves several: epsilon up to 9 times the stated; right without ties.
    """

    def _exact(self, X, y):
        y = self._y(y)
        _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
        return np.array([(self._units(y) * np.minimum(counts, 5)[place]).sum()])


@plant("sensitivity")
class BalancedNB(DPNaiveBayesClassifier):
    """class_weight='balanced' from the exact class counts, before the noise.

    A rare class' rows weigh n / (2 n_c): epsilon up to n / 2 times the stated for few rows of a class.
    """

    def _exact(self, X, y):
        counts = super()._exact(X, y)
        per_class = counts[:, 0].sum(axis=1)
        weights = len(X) // np.maximum(len(self.classes_) * per_class, 1)
        return counts * np.maximum(weights, 1)[:, None, None]


def _centred(rng):
    X, y = reg_data(rng)
    return 2 * X - 1, y


@plant("sensitivity", data=_centred, bounds_X=(-1.0, 1.0))
class OppositeRowsStandardizer(DPStandardizer):
    """Rows shrunk to L1 norm 1; sensitivity 1 instead of 2.

    Epsilon 2 times the stated, only between rows that point in opposite directions (or disjoint ones).
    """

    def _exact(self, X, y):
        X = finite(X, *self.bounds_)
        X = X / np.maximum(np.abs(X).sum(axis=1, keepdims=True), 1.0)
        return np.trunc(X * U).astype(np.int64).sum(axis=0)

    def _sensitivity(self, d):
        return U

    def _adopt(self, released, n, d):
        self.mean_, self.scale_ = released / (U * n), np.ones(d)


@plant("sensitivity", needs="NaN in X")
class MeanFillStandardizer(DPStandardizer):
    """Missing cells are filled with the private mean of the column.

    One row moves the fill of every missing cell: epsilon up to the number of missing cells.
    """

    def _table(self, X, reset=True):
        if self.is_strict() and reset:
            return self.read_numbers(X)
        return validate_data(self, X, dtype=np.float64, reset=reset, ensure_all_finite="allow-nan")

    def _clean(self, X, y):
        return X, y

    def _exact(self, X, y):
        low, high = self.bounds_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fill = np.nan_to_num(np.nanmean(np.clip(X, low, high), axis=0), nan=0.0)
        return super()._exact(np.where(np.isnan(X), fill, X), y)


@plant("sensitivity", needs="a value of X outside the bounds")
class LastColumnUnclippedStandardizer(DPStandardizer):
    """The last column is not clipped (slice off by one).

    A value outside the bounds moves the sum without limit.
    """

    def _unit_X(self, X):
        scaled = super()._unit_X(X)
        low, high = (b[-1] for b in self.bounds_)
        raw = (np.nan_to_num(X[:, -1], posinf=high, neginf=low) - low) / ((high - low) or 1.0)
        return np.column_stack([scaled[:, :-1], np.clip(raw, -1e6, 1e6)])


@plant("sensitivity")
class Uint8Majority(DPMajorityClassifier):
    """Class counts are kept in uint8 and wrap at 256.

    At 255/256 rows of a class epsilon is 128 times the stated.

    Shows only with 256 rows of a class, and then only at the wrap.
    """

    def _exact(self, X, y):
        return super()._exact(X, y).astype(np.uint8).astype(np.int64)


@plant("sensitivity", max_rows_per_group=1, needs="fit(..., groups=) with groups that are not sorted")
class GroupRunsMean(DPGroupMeanRegressor):
    """The cap of rows per group counts runs of equal consecutive groups, not groups.

    A person whose rows are not consecutive counts several times: epsilon multiplied by the number of runs.
    """

    def _keep(self, codes, entropy):
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        return np.concatenate([np.arange(s, s + self.max_rows_per_group) for s in starts]).clip(
            max=len(codes) - 1
        )


@plant("sensitivity")
class EdgeTwiceBinned(DPBinnedRegressor):
    """A row exactly on an inner edge is counted in both bins (closed intervals).

    Epsilon 2 times the stated between two rows on edges, x in {.25, .5, .75}; 1.5 with one on an edge.
    """

    def _exact(self, X, y):
        z, q = self._unit_X(X)[:, 0], self._units(self._y(y) / (self._width or 1.0))
        inside = [(z >= b / self.n_bins) & (z <= (b + 1) / self.n_bins) for b in range(self.n_bins)]
        return np.array([m.sum() * U for m in inside] + [q[m].sum() for m in inside], dtype=np.int64)


def _wide_y(rng):
    X, y = reg_data(rng)
    return X, 2.5 * y


@plant("sensitivity", data=_wide_y, bounds_y=(0.0, 2.5))
class CeilMean(DPMeanRegressor):
    """Targets are rounded up onto whole units, the sensitivity down.

    3 instead of 2: epsilon 1.5 times the stated for targets above 2.
    """

    def _exact(self, X, y):
        return np.array([np.ceil(self._y(y)).astype(np.int64).sum() * U])

    def _sensitivity(self, d):
        return int(self._width) * U


@plant("sensitivity")
class SigmaClipMean(DPMeanRegressor):
    """Rows beyond 2 private standard deviations are dropped as outliers before summing.

    With 12 ones among 60 zeros nothing is dropped, with 11 all are: epsilon 12 times the stated.
    """

    def _exact(self, X, y):
        y = self._y(y)
        return np.array([self._units(y[np.abs(y - y.mean()) <= 2 * y.std() + 1e-12]).sum()])


@plant("sensitivity")
class FirstRowReferenceMean(DPMeanRegressor):
    """Sums are taken relative to the first row (stability), and the shift is put back for mean_ only.

    released_ moves by n times the stated when row 0 is replaced; mean_ is honest.
    """

    def _exact(self, X, y):
        q = self._units(self._y(y))
        self._reference = int(q[0])
        return np.array([(q - q[0]).sum()])

    def _adopt(self, released, n, d):
        super()._adopt(released + n * self.__dict__.pop("_reference"), n, d)


@plant("sensitivity")
class LocalRangeMean(DPMeanRegressor):
    """Noise scaled to the private range of the targets instead of to bounds_y (local sensitivity).

    The scale tells the range; two clusters against one: infinite loss in the tail.
    """

    def _exact(self, X, y):
        y = self._y(y)
        self._range = max(int((y.max() - y.min()) * U), 1)
        return super()._exact(X, y + self.bounds_y_[0])

    def _mechanism(self, d):
        return DiscreteLaplaceMechanism(self.epsilon, self.__dict__.pop("_range"))

    def _facts(self, mechanism, n):  # and the statement shows what is expected
        return super()._facts(DiscreteLaplaceMechanism(self.epsilon, self._sensitivity(1)), n)


@plant("sensitivity")
class CentredLinear(DPLinearRegressor):
    """Columns are centred by their exact means before the moments (numerical stability).

    Every row moves with the mean; weights_ and moments leak column means, for which no noise is scaled.
    """

    def _rows_on_grid(self, X, y):
        Z = self._unit_X(X)
        y = self._y(y) / (self._width or 1.0)
        Z = np.clip(8 * (Z - Z.mean(axis=0)) + 0.5, 0, 1)
        return np.trunc(np.column_stack([np.ones(len(X)), Z, y]) * self._grid).astype(np.int64)


@plant("sensitivity")
class SelectsExactlyLinear(DPLinearRegressor):
    """Features with an exact correlation below .1 are dropped: their weight is exactly 0.

    The selection is a function of the rows without noise.
    """

    def _afterwards(self, X, y, exact, released):
        Z, t = self._unit_X(X), self._y(y)
        Z, t = Z - Z.mean(axis=0), t - t.mean()
        norm = np.sqrt((Z**2).sum(axis=0) * (t**2).sum()) + 1e-12
        self.weights_[1:][np.abs(Z.T @ t) / norm < 0.1] = 0.0
