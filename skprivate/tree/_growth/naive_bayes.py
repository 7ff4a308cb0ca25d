# SPDX-License-Identifier: BSD-3-Clause
"""Naive Bayes classifier from noisy histograms of (bin, label), one a column; rows drawn from it.

Everything here is a function of released or public quantities: it costs no privacy.
"""

from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IntArray
from ...partition import ColumnBins, TableCells
from ...utils._posteriors.base_rate import estimate_base_rate
from ...utils._posteriors.truncated_normal import truncated_mean
from ...utils._public_module import public_module

# Prior of how the share of a class varies over the bins of a column: with probability 1/2 not at all; else
# one of these standard deviations, as parts of the largest that a share can have, and one of three shapes.
# They span what the simulations named in `_first_phase` have; an earlier grid of six sizes and four shapes
# gave the same accuracies within their errors of .01.
_SCALES = (0.06, 0.14, 0.3, 0.6)
_CHANGES = 0.5
# One more for levels, which may say the class outright: of 12 levels that did so in nine of ten rows it told
# the class in .74 of the rows, and without it .73 (2,400 reports at epsilon 1), and in .82 and .80 (4,000).
_LARGEST_SCALE = 1.0
# Width, as part of the range, over which a smooth shape varies.
_SMOOTH = 0.4
# Least variance of a share, which keeps its logarithm finite.
_LEAST_VARIANCE = 1e-5


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Class probabilities by a sum over the columns, which are taken as independent within a class.

    Attributes
    ----------
    bins : ColumnBins or TableCells
        The cells of the columns.
    base : ndarray of shape (n_labels,)
        Shares of the classes.
    log_ratios : ndarray of shape (n_columns, n_cells, n_labels)
        Logarithm of a class's share in the cell, over its mean share; 0 in cells that a column does not have.
    marginals : ndarray of shape (n_columns, n_cells)
        Share of the rows in every cell; each column has the sum 1.
    """

    bins: ColumnBins | TableCells
    base: FloatArray
    log_ratios: FloatArray
    marginals: FloatArray

    @property
    def classes_(self) -> IntArray:
        """Positions of the classes."""
        return np.arange(len(self.base))

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return class probabilities, of shape (n, n_labels)."""
        scores = np.tile(np.log(self.base), (len(X), 1))
        for ratios, own in zip(self.log_ratios, self.bins.apply(X).T, strict=True):
            scores += ratios[own]
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: FloatArray = odds / odds.sum(axis=1, keepdims=True)
        return shares

    def draw(self, n_rows: int, seed: int) -> FloatArray:
        """Draw rows from the model, of shape (n_rows, n_columns): the class first, then every column."""
        n_columns = len(self.marginals)
        # Raw words: NumPy keeps a bit generator's stream for good, but not what its methods make of it.
        words = np.random.default_rng(seed).bit_generator.random_raw((n_rows, 1 + 2 * n_columns))
        uniform: FloatArray = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        label = np.searchsorted(np.cumsum(self.base)[:-1], uniform[:, 0], side="right")
        cells = np.empty((n_rows, n_columns), dtype=np.int64)
        for column, size in enumerate(self.bins.sizes):
            shares = self.marginals[column, :size, np.newaxis] * np.exp(self.log_ratios[column, :size])
            ends = np.cumsum(shares / shares.sum(axis=0), axis=0)[:-1]
            cells[:, column] = np.sum(uniform[:, 1 + column, np.newaxis] >= ends.T[label], axis=1)
        return self.bins.rows_within(cells, uniform[:, 1 + n_columns :])


def fit_naive_bayes(
    bins: ColumnBins | TableCells, estimates: FloatArray, n_rows: IntArray, variances: FloatArray
) -> NaiveBayes:
    """Return the classifier that noisy histograms suggest, drawn to the base rate as their noise demands.

    Every column is a Bayesian average over shapes of the share of a class along the bins: constant, a line,
    smooth, or free, each with several sizes, weighted by how well they explain the noisy histogram. A column
    that shows nothing but noise stays near the base rate. Levels have no order, so that theirs is free.

    Parameters
    ----------
    bins : ColumnBins or TableCells
    estimates : ndarray of shape (n_columns, n_cells, n_labels)
        Unbiased estimates of the numbers of rows; those of cells that a column does not have are not read.
    n_rows : ndarray of int of shape (n_columns,)
        Rows behind every histogram.
    variances : ndarray of shape (n_columns,)
        Noise variance of an estimate.

    Returns
    -------
    model : NaiveBayes
    """
    sizes = np.array(bins.sizes)
    by_label = sum(own[:size].sum(axis=0) for own, size in zip(estimates, sizes, strict=True))
    base = estimate_base_rate(by_label, int(n_rows.sum()), float(variances @ sizes)).shares
    ratios, marginals = np.zeros(estimates.shape), np.zeros(estimates.shape[:2])
    for column, (n_own, variance, size) in enumerate(zip(n_rows, variances, bins.sizes, strict=True)):
        own = estimates[column, :size]
        marginal = marginals[column, :size] = _marginal(own, max(int(n_own), 1), variance)
        rows = np.maximum(n_own, 1) * marginal
        shares = _shares(own, rows, variance, base, _covariances(bins.bins_in_order(column), size))
        ratios[column, :size] = np.log(shares) - np.log(marginal @ shares)
    return NaiveBayes(bins, base, ratios, marginals)


def _marginal(estimates: FloatArray, n_rows: int, variance: float) -> FloatArray:
    """Share of the rows in every bin, drawn to equal shares as far as noise explains the differences."""
    n_bins, n_labels = estimates.shape
    even = 1.0 / n_bins
    noise = n_labels * variance / n_rows**2 + even / n_rows
    difference = estimates.sum(axis=1) / n_rows - even
    kept = max(0.0, 1.0 - n_bins * noise / max(float(np.sum(difference**2)), 1e-300))
    # A bin keeps a fiftieth of an equal share at least, so that a row in it is possible.
    shares = truncated_mean(even + kept * difference, np.sqrt(kept * noise) + even / 50)
    marginal: FloatArray = shares / shares.sum()
    return marginal


def _shares(
    estimates: FloatArray, rows: FloatArray, variance: float, base: FloatArray, changes: FloatArray
) -> FloatArray:
    """Share of every class in every bin: the mean over the priors, weighted by their evidence."""
    n_labels = len(base)
    sampling = float(np.mean(base * (1 - base)))
    per_label = float(np.mean((1 - base) ** 2 + (n_labels - 1) * base**2))
    deviations = (estimates - base * estimates.sum(axis=1, keepdims=True)) / rows[:, np.newaxis]
    noise = np.diag((variance * per_label + sampling * rows) / rows**2)
    covariances = np.concatenate([np.zeros((1, *noise.shape)), sampling * changes])
    precision = np.linalg.inv(covariances + noise)
    # The columns add to 0: one of them follows from the others.
    free = n_labels - 1
    square = np.einsum("ik,mij,jk->m", deviations, precision, deviations) * free / n_labels
    evidence = -0.5 * square - 0.5 * free * np.linalg.slogdet(covariances + noise)[1]
    evidence += np.log(np.where(np.arange(len(covariances)), _CHANGES / (len(covariances) - 1), 1 - _CHANGES))
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    means = covariances @ precision @ deviations
    spread = np.diagonal(covariances - covariances @ precision @ covariances, axis1=1, axis2=2)
    mean = np.einsum("m,mik->ik", weights, means)
    square = np.einsum("m,mi->i", weights, spread + np.mean(means**2, axis=2)) - np.mean(mean**2, axis=1)
    errors = np.sqrt(np.maximum(square, _LEAST_VARIANCE))
    shares = truncated_mean(base + mean, errors[:, np.newaxis])
    result: FloatArray = shares / shares.sum(axis=1, keepdims=True)
    return result


def _covariances(n_bins: int, n_cells: int) -> FloatArray:
    """Covariances of the changes that a column's share may have over its cells, in units of p (1 - p).

    The first `n_bins` cells stand in an order, in which a line and a smooth function are likely; the others,
    each by itself, in none.
    """
    free = np.eye(n_cells)
    if not n_bins:
        return np.multiply.outer(np.square([*_SCALES, _LARGEST_SCALE]), free)
    place = (np.arange(n_bins) + 0.5) / n_bins
    line, smooth = free.copy(), free.copy()
    product = np.outer(place - 0.5, place - 0.5)
    line[:n_bins, :n_bins] = product / np.mean(np.diag(product))
    smooth[:n_bins, :n_bins] = np.exp(-np.abs(place[:, np.newaxis] - place) / _SMOOTH)
    return np.concatenate([scale**2 * np.stack([line, smooth, free]) for scale in _SCALES])
