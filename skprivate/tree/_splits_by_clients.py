# SPDX-License-Identifier: BSD-3-Clause
"""Splits that a share of the clients chooses: their reports, and a naive Bayes model of these.

Everything here is a function of released or public quantities: it costs no privacy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray, SplitCriterion
from ..base._public_model import predict_shares, tempered
from ..domain._table_domain import ColumnGroup
from ..metrics._probabilities import BaseRate, estimate_base_rate, truncated_mean
from ..noise._mechanisms import Entropy
from ..partition import ColumnBins, Partition, TableCells, build_partition
from ..randomizers import ColumnRandomizer, randomizer_from_dict
from ..utils._json_documents import Fields, pack_integers, unpack_integers
from ..utils._public_module import public_module
from ._public_model import PublicModel

# Naive Bayes classifier from noisy histograms of (bin, label), one for each column, and rows drawn from it.

# Prior of the variation of a class's share over the bins of a column. With probability 1/2 there is none.
# Otherwise it has one of these standard deviations, relative to the largest that a share can have, and one of
# three shapes. They cover the variation in the simulations named below. An earlier grid of six sizes and four
# shapes gave the same accuracies within their errors of 0.01.
_SCALES = (0.06, 0.14, 0.3, 0.6)
_CHANGES = 0.5
# One more for levels, which may determine the class. With 12 levels that did so in nine of ten rows, the
# accuracy was 0.74, and 0.73 without it (2,400 reports at epsilon 1), or 0.82 and 0.80 (4,000 reports).
_LARGEST_SCALE = 1.0
# Width over which a smooth shape varies, as a part of the range. Set by hand.
_SMOOTH = 0.4
# Smallest variance of a share, which keeps its logarithm finite.
_LEAST_VARIANCE = 1e-5


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Class probabilities by a sum over the columns, which are assumed to be independent within a class.

    Attributes
    ----------
    bins : ColumnBins or TableCells
        The cells of the columns.
    base : ndarray of shape (n_labels,)
        Shares of the classes.
    log_ratios : ndarray of shape (n_columns, n_cells, n_labels)
        Logarithm of a class's share in the cell over its mean share; 0 in cells that a column does not have.
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
        return odds / odds.sum(axis=1, keepdims=True)

    def draw(self, n_rows: int, seed: int) -> FloatArray:
        """Draw rows from the model, of shape (n_rows, n_columns): first the class, then every column."""
        n_columns = len(self.marginals)
        # Raw words: NumPy guarantees the stream of a bit generator, but not the results of a generator's
        # methods.
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
    """Return the classifier of noisy histograms, shrunk towards the base rate according to their noise.

    Every column is a Bayesian average over shapes of the share of a class along the bins: constant, linear,
    smooth, or free, each with several sizes. They are weighted by how well they explain the noisy histogram.
    A column that shows only noise stays near the base rate. Levels have no order, so their shape is free.

    Parameters
    ----------
    bins : ColumnBins or TableCells
    estimates : ndarray of shape (n_columns, n_cells, n_labels)
        Unbiased estimates of the numbers of rows; cells that a column does not have are not read.
    n_rows : ndarray of int of shape (n_columns,)
        Number of rows in every histogram.
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
    """Share of the rows in every bin, shrunk towards equal shares as far as noise explains differences."""
    n_bins, n_labels = estimates.shape
    even = 1.0 / n_bins
    noise = n_labels * variance / n_rows**2 + even / n_rows
    difference = estimates.sum(axis=1) / n_rows - even
    kept = max(0.0, 1.0 - n_bins * noise / max(float(np.sum(difference**2)), 1e-300))
    # A bin has at least a fiftieth of an equal share, so that a row in it is possible.
    shares = truncated_mean(even + kept * difference, np.sqrt(kept * noise) + even / 50)
    return shares / shares.sum()


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
    # The columns add up to 0, so one of them follows from the others.
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
    return shares / shares.sum(axis=1, keepdims=True)


def _covariances(n_bins: int, n_cells: int) -> FloatArray:
    """Covariances of the changes that a column's share may have over its cells, in units of p (1 - p).

    The first `n_bins` cells have an order, in which a linear and a smooth function are likely. The others
    have no order.
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


# First of two phases of a local tree without public rows: some clients' reports shape it, the others fill it.

# The constants below were chosen on three simulations (Friedman's, a linear one, an interaction of binary
# columns) at epsilon 0.2 to 4, and tested on census, diabetes, breast cancer and skewed columns. Share of the
# clients that shape the tree. Of 0.3, 0.5, 0.6 and 0.7, most were within 0.02 of one another; small shares
# lost more at a small epsilon.
FIRST_SHARE = Fraction(3, 5)
# Clients of a column, over the noise of one estimate, below which no reports shape the tree. Below 3 they
# lost up to 0.04 of accuracy if one class is frequent (diabetes at epsilon 0.5, census at 0.25). Above it
# they lost at most 0.02 (xor and census at 0.5), and gained elsewhere (24 and 8 splits).
_LEAST_SIGNAL = 3.0
#: Number of columns up to which halving them in turn is as good. It finds interactions, which reports about
# one column do not show: on the paper's simulation with two columns, two phases lost up to 0.09 of accuracy.
FEW_COLUMNS = 3
# The same ratio for each bin of a column, and the range of the number of bins, a power of two.
_SIGNAL_PER_BIN, _FEWEST_BINS, _MOST_BINS = 8.0, 4, 32
# Variance that a client's own value adds to its bin, so that a large epsilon does not lead to empty bins.
_SAMPLING = 1 / 16
# Number of rows drawn from the model in place of public rows: their sampling error is small beside the noise.
_DRAWN_ROWS = 4000
# Smallest share of the drawn rows in a leaf: 20 rows.
_LEAST_DRAWN_SHARE = 1 / 200
# Number of columns up to which the probabilities of naive Bayes are not tempered. Without tempering, digits
# (64 columns) had a log loss above the base rate's at epsilon 1 and 2. With 4 and 9 columns, census,
# linear50k and breast cancer were within 0.01 of the results without it.
_COLUMNS_IN_FULL = 16
# Number of rows whose reports are drawn together, which limits memory.
_ROWS_AT_ONCE = 2**16


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class FirstPhase:
    """The question to the clients of the first phase, and the sum of their reports.

    Attributes
    ----------
    bins : ColumnBins or TableCells
        The cells of every column; `TableCells` if a domain declares levels or missing cells.
    randomizer : ColumnRandomizer
    n_reports : int
        Number of reports that are planned, or that are in `counts`.
    counts : ndarray of int64 of shape (n_columns, n_categories), or None
        Sum of the reports; None before they have arrived.
    """

    bins: ColumnBins | TableCells
    randomizer: ColumnRandomizer
    n_reports: int
    counts: IntArray | None = None

    @classmethod
    def plan(
        cls,
        epsilon: Fraction,
        share: Any,
        n_clients: int,
        n_labels: int,
        box: tuple[FloatArray, FloatArray],
        groups: Sequence[ColumnGroup] = (),
    ) -> "FirstPhase | None":
        """Return the plan of the first phase; None if all clients should fill the leaves.

        Parameters
        ----------
        epsilon : Fraction
            Privacy loss of a report.
        share : float or "auto"
            Share of the clients in this phase.
        n_clients : int
            Number of clients of both phases.
        n_labels : int
        box : tuple of two ndarrays of shape (n_features,)
            Lower and upper bounds.
        groups : sequence of ColumnGroup, default=()
            Declared columns; if there are none, every column is a number.
        """
        automatic = share == "auto"
        n_first = round(n_clients * (FIRST_SHARE if automatic else Fraction(float(share))))
        if not 0 < n_first < n_clients:
            return None
        declared = any(group.n_levels or group.indicator is not None for group in groups)
        n_columns = len(groups) if declared else len(box[0])
        few = ColumnRandomizer(epsilon, _FEWEST_BINS, n_labels, n_columns=n_columns)
        signal = math.sqrt(n_first / n_columns / (few.client_variance + _SAMPLING))
        if automatic and signal < _LEAST_SIGNAL:
            return None
        n_bins = 2 ** round(math.log2(max(signal / _SIGNAL_PER_BIN, 1.0)))
        n_bins = min(max(n_bins, _FEWEST_BINS), _MOST_BINS)
        bins = TableCells.of(*box, groups, n_bins) if declared else ColumnBins.of(*box, n_bins)
        randomizer = ColumnRandomizer(epsilon, bins.n_leaves, n_labels, n_columns=n_columns)
        return cls(bins, randomizer, n_first)

    def simulate(self, X: FloatArray, labels: NDArray[Any], entropy: Entropy) -> "FirstPhase":
        """Return this phase with the reports of these rows."""
        counts = np.zeros(self.randomizer.counts_shape, dtype=np.int64)
        for start in range(0, len(X), _ROWS_AT_ONCE):
            here = slice(start, start + _ROWS_AT_ONCE)
            bins = self.bins.apply(X[here]).astype(np.int64)
            categories = self.randomizer.n_labels * bins + labels[here, np.newaxis]
            counts += self.randomizer.simulate(categories, entropy)
        return replace(self, counts=counts, n_reports=len(X))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values for `from_dict`."""
        return {
            "bins": self.bins.to_dict(),
            "randomizer": self.randomizer.to_dict(),
            "n_reports": self.n_reports,
            "counts": None if self.counts is None else pack_integers(self.counts),
        }

    @classmethod
    def from_dict(cls, state: Any) -> "FirstPhase":
        """Restore a phase from `to_dict`; ValueError for anything else."""
        fields = Fields(state, ("bins", "randomizer", "n_reports", "counts"), what="the first phase")
        cells = fields.mapping("bins")
        bins = TableCells.from_dict(cells) if "groups" in cells else ColumnBins.from_dict(cells)
        randomizer = randomizer_from_dict(fields.mapping("randomizer"))
        n_reports = fields.integer("n_reports", 1, 2**62)
        if not isinstance(randomizer, ColumnRandomizer):
            raise ValueError("the first phase: its randomizer is not for columns")
        if (randomizer.n_columns, randomizer.n_cells) != (bins.n_columns, bins.n_leaves):
            raise ValueError("the first phase: its randomizer is not for its columns")
        text = fields.maybe(fields.text, "counts")
        counts = None if text is None else unpack_integers(text, randomizer.counts_shape)
        if counts is not None:
            # Refuses counts that are impossible for reports.
            randomizer.estimate(counts, n_reports)
        return cls(bins, randomizer, n_reports, counts)

    def fit_model(self, seed: int) -> PublicModel:
        """Return a naive Bayes model of the reports, with rows drawn from it.

        It is a function of the reports and of public quantities, and may be used like public rows.
        """
        if self.counts is None:
            raise ValueError("the reports of the first phase have not arrived yet.")
        randomizer = self.randomizer
        noise = randomizer.column_variances(self.counts)
        model = fit_naive_bayes(
            self.bins,
            randomizer.estimate(self.counts, self.n_reports),
            randomizer.clients_by_column(self.counts),
            noise,
        )
        X = model.draw(_DRAWN_ROWS, seed)
        positions = np.arange(randomizer.n_labels)
        # Dependent columns are counted several times, so the temperature falls with the number of columns.
        temperature = min(1.0, math.sqrt(_COLUMNS_IN_FULL / randomizer.n_columns))
        shares = tempered(predict_shares(model, X, positions), temperature)
        # Variance of a label's share, from the sums over all bins of all columns.
        labels = 1 - 1 / randomizer.n_labels
        variance = labels * float(noise @ np.array(self.bins.sizes)) / max(self.n_reports, 1) ** 2
        return PublicModel(
            model,
            classes=positions,
            temperature=temperature,
            X=X,
            shares=shares,
            weights=np.ones(len(X)),
            slope=1.0,
            base=BaseRate(model.base, np.full(len(model.base), variance)),
        )

    def grow(self, model: PublicModel, max_depth: int, criterion: SplitCriterion, least: int) -> Partition:
        """Return the partition of the model's rows, by rule "cart"."""
        X, labels = model.soft_rows()
        return build_partition(
            X,
            labels,
            lower=self.bins.lower,
            upper=self.bins.upper,
            max_depth=max_depth,
            n_labels=self.randomizer.n_labels,
            rule="cart",
            criterion=criterion,
            groups=self.bins.groups if isinstance(self.bins, TableCells) else None,
            min_samples_leaf=max(least, math.ceil(len(X) * _LEAST_DRAWN_SHARE)),
        )


@public_module("skprivate.tree")
class PlannedLeaves:
    """The reports of the second phase, as statements describe them before the leaves are known.

    Parameters
    ----------
    first : FirstPhase
    mechanism : str
        Parameter of the tree.
    """

    relation = "local"
    sensitivity = noise_scale = None

    def __init__(self, first: FirstPhase, mechanism: str) -> None:
        self.name, self.epsilon = mechanism, first.randomizer.epsilon
        self.epsilon_requested = first.randomizer.epsilon_requested
        self.n_cells, self.n_labels = 1, first.randomizer.n_labels

    def describe(self) -> str:
        """Return a short description of the mechanism."""
        return f"reports of (leaf, label) by mechanism {self.name!r}, on leaves that the first reports shape"

    def simulate(self, categories: Any, random_state: Any = None) -> Any:
        """Raise TypeError: there are no leaves yet."""
        raise TypeError("the leaves follow from the reports of the first phase.")

    estimate = estimate_cells = variance = simulate


def draw_part(n: int, n_first: int, entropy: Entropy) -> tuple[IntArray, IntArray]:
    """Divide the numbers 0 to n - 1 at random, independently of all data, into n_first and the others."""
    keys = np.frombuffer(entropy.random_bytes(8 * n), dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    return np.sort(order[:n_first]), np.sort(order[n_first:])
