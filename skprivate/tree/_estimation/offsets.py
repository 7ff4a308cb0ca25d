# SPDX-License-Identifier: BSD-3-Clause
"""Class probabilities by a public model and an offset in every leaf, estimated from released counts.

Everything here is a function of released or public quantities: it costs no privacy.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...metrics._row_arithmetic import log, row_totals, softmax
from ...utils._posteriors.base_rate import pool_base_rates
from ...utils._public_module import public_module
from .._public_model import LeafModel
from .leaf_counts import LeafCounts
from .probabilities import ClassShares, bounded_shares
from .smoothing import smooth_over_tree

# Standard deviations of two equally probable priors of the slope around what cross-fitting found on public
# rows: private rows are of the same population, or of one in which the model says nothing, or twice as much.
# With the second alone Friedman's function, predicted by boosting, lost .15 in R2 to noise at epsilon .5.
_PRIOR_SLOPE_ERRORS = (0.05, 0.5)
#: Slope below which the model is given up: it explains less than a tenth of what it seems to (2 s - s^2).
LEAST_SLOPE = 0.05
# Standard errors that are taken from the variance of offsets: a model that is right loses more by noise than
# one that is wrong gains.
_CAUTION = 2.0
# Bounds of a mixed prediction.
_LEAST_SHARE = 1e-4
# Proportional fitting of shifts stops by then; it converges at a geometric rate.
_FITTING_STEPS = 100
_FITTED = 1e-10


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class Mixture:
    """Predictions of a model, moved towards the base rate.

    Attributes
    ----------
    slope : float
        How much of the model's differences from its mean is kept, 0 to 1.
    center : ndarray of shape (n_labels,)
        The model's mean over private rows.
    base : ndarray of shape (n_labels,)
        The base rate, which its mean is moved to.
    """

    slope: float
    center: FloatArray
    base: FloatArray

    def of(self, shares: FloatArray) -> FloatArray:
        """Return the mixed probabilities, of the shape of the model's."""
        mixed = np.maximum(self.base + self.slope * (shares - self.center), _LEAST_SHARE)
        return mixed / row_totals(mixed)


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class ModelWithOffsets:
    """Predictions of a public model, moved towards the base rate and shifted in every leaf.

    Attributes
    ----------
    model : LeafModel
    mixture : Mixture
    shifts : ndarray of shape (n_leaves, n_labels)
        Added to the logarithms of the probabilities, which are then normalised.
    """

    model: LeafModel
    mixture: Mixture
    shifts: FloatArray

    def predict(self, X: FloatArray, leaves: NDArray[np.int32]) -> FloatArray:
        """Return class probabilities of rows in these leaves, of shape (n, n_labels)."""
        return _shifted(self.mixture.of(self.model.predict(X, leaves)), self.shifts[leaves])


def estimate_offsets(
    counts: LeafCounts, model: LeafModel, plain: ClassShares, ancestors: NDArray[np.int32]
) -> tuple[ClassShares, ModelWithOffsets] | None:
    """Return class probabilities of the leaves by a public model with offsets; None where the model is wrong.

    The model's differences from its mean are kept by a slope: the regression, over the leaves, of released
    shares on the model's means, under a normal prior around the slope that cross-fitting found on public
    rows. What the released shares differ by from that is the offset of a leaf, smoothed over the tree by
    empirical Bayes (`smooth_over_tree`) with its noise, the sampling of the leaf's rows, and the error of the
    model's mean.

    Parameters
    ----------
    counts : LeafCounts
        Only the private estimates are used: public rows are in the model.
    model : LeafModel
    plain : ClassShares
        What the leaves say without the model; its base rate is used.
    ancestors : ndarray of int32 of shape (max_depth + 1, n_leaves)

    Returns
    -------
    shares : ClassShares
        Probabilities of the leaves: means over their rows.
    offsets : ModelWithOffsets
        Predicts rows.
    """
    rate = plain.base if model.base is None else pool_base_rates(plain.base, model.base)
    base = rate.shares
    totals, cells, rows = counts.label_totals(), counts.label_totals().sum(axis=1), counts.cell_sizes
    noise = 0.5 * counts.n_rows * counts.variance
    per_label = float(np.mean((1 - base) ** 2 + (len(base) - 1) * base**2))
    even = float(np.mean(base * (1 - base)))
    unknown = counts.row_variance / (rows + 2.0) ** 2
    variance = (per_label * noise + counts.row_variance * even * rows) / rows**2 + unknown
    deviations = (totals - base * cells[:, np.newaxis]) / rows[:, np.newaxis]
    # Of private rows, as the leaves' sizes tell: features may be distributed otherwise among public rows.
    center = np.average(model.means, axis=0, weights=rows)
    slope, slope_variance = estimate_model_slope(deviations, variance, model, center)
    if slope < LEAST_SLOPE:
        return None
    mix = Mixture(slope, center, base)
    means = mix.of(model.means)
    offsets = (totals - means * cells[:, np.newaxis]) / rows[:, np.newaxis]
    sampling = counts.row_variance * np.mean(means * (1 - means), axis=1)
    variance = (per_label * noise + sampling * rows) / rows**2 + slope**2 * model.variances
    variance += unknown
    largest = counts.total_variance * even
    smooth, variances = smooth_over_tree(ancestors, offsets, variance, rows, largest, _CAUTION)
    variances += unknown + slope_variance * np.mean((model.means - center) ** 2, axis=1)
    found, errors = bounded_shares(means + smooth, variances, rate)
    mixed = mix.of(model.shares)
    shifts = _fit_shifts(mixed, model.weights, model.leaf, means, found)
    return ClassShares(found, errors, rate), ModelWithOffsets(model, mix, shifts)


def estimate_model_slope(
    deviations: FloatArray, variance: FloatArray, model: LeafModel, center: FloatArray
) -> tuple[float, float]:
    """Return how much of the model's differences private rows show, from 0 to 1.

    Parameters
    ----------
    deviations : ndarray of shape (n_leaves, n_labels)
        Released shares, less the base rate.
    variance : ndarray of shape (n_leaves,)
    model : LeafModel
    center : ndarray of shape (n_labels,)
        The model's mean over private rows.

    Returns
    -------
    slope, variance : float
    """
    differences = model.means - center
    precision = float(np.sum(differences**2 / variance[:, np.newaxis]))
    product = float(np.sum(differences * deviations / variance[:, np.newaxis]))
    # Of each prior: the posterior, and how probable it makes what was released.
    spread = np.array(_PRIOR_SLOPE_ERRORS) ** 2
    variances = spread / (1.0 + precision * spread)
    means = variances * (product + model.slope / spread)
    surprise = (product - precision * model.slope) ** 2 * spread / (1.0 + precision * spread)
    evidence = 0.5 * surprise - 0.5 * np.log1p(precision * spread)
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    slope = float(weights @ means)
    return float(np.clip(slope, 0.0, 1.0)), float(weights @ (variances + means**2) - slope**2)


def _shifted(shares: FloatArray, shifts: FloatArray) -> FloatArray:
    return softmax(log(shares) + shifts)


def _fit_shifts(
    shares: FloatArray, weights: FloatArray, leaf: NDArray[np.int32], means: FloatArray, wanted: FloatArray
) -> FloatArray:
    """Return the shifts under which the mean prediction in every leaf is the wanted one."""
    n_leaves, n_labels = wanted.shape
    total = np.bincount(leaf, weights, n_leaves)
    some = total > 0
    # A leaf without any row: its mean stands for them.
    shifts = np.where(some[:, np.newaxis], 0.0, np.log(wanted / means))
    for _ in range(_FITTING_STEPS):
        predicted = weights[:, np.newaxis] * _shifted(shares, shifts[leaf])
        sums = np.column_stack([np.bincount(leaf, predicted[:, m], n_leaves) for m in range(n_labels)])
        step = np.zeros_like(shifts)
        step[some] = np.log(wanted[some] * total[some, np.newaxis] / sums[some])
        shifts += step
        if np.abs(step).max() < _FITTED:
            break
    return shifts
