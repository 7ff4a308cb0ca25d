# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a tree, public and private, and the noisy sums of them that are released."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import BoolArray, FloatArray, IntArray
from ..noise import DiscreteLaplaceMechanism
from ..noise._mechanisms import MAX_SCALE
from ..partition import Partition, count_leaves
from ..rounds._plans.cells import Axis
from ..rounds._rows import PreparedRows
from ..utils import check_epsilon
from ..utils._arguments import KEY_BYTES, RowUnits
from ..utils._public_module import public_module

# Validated private and public rows of a tree.

# Copies of a public row with a number: the share of labels among them is the number, to a sixteenth of the
# width. Set by hand.
_COPIES = 16
# Smallest variance, relative to the largest, which keeps divisions finite.
_LEAST_VARIANCE = 1e-6
# Pseudo-rows with the variance of all rows, added to those of the leaves: the same rows chose the leaves so
# that they differ. Set by hand.
_PSEUDO_ROWS = 4
# The golden ratio: its multiples fill the interval evenly, so rounding errors of the rows add up to about 0.
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class PublicVotes:
    """Public rows with labels; a row with a number counts as several copies with labels in this proportion.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of int32 of shape (n,)
        With copies, the number of them that have the second label.
    n_labels : int
    copies : int
        Number of copies of a row.
    shares : ndarray of shape (n,) or None
        The numbers, from 0 at the lower bound to 1 at the upper one; None for labels.
    """

    X: FloatArray
    labels: NDArray[np.int32]
    n_labels: int
    copies: int = 1
    shares: FloatArray | None = None

    @classmethod
    def of_numbers(cls, X: FloatArray, shares: FloatArray) -> Self:
        """Return the copies of public rows with numbers from 0 to 1."""
        shift = (np.arange(len(shares)) * _GOLDEN) % 1.0
        place = (np.arange(_COPIES) + shift[:, np.newaxis]) / _COPIES
        labels = np.count_nonzero(place < shares[:, np.newaxis], axis=1).astype(np.int32)
        return cls(X, labels, 2, _COPIES, shares)

    @property
    def n_rows(self) -> int:
        """Number of public rows."""
        return len(self.labels)

    def within(self, old: NDArray[Any], new: NDArray[Any]) -> "PublicVotes":
        """Return the same numbers as shares of the width between other bounds."""
        if self.shares is None:
            return self
        numbers = (1 - self.shares) * old[0] + self.shares * old[1]
        return PublicVotes.of_numbers(self.X, shares_of(numbers, new))

    def where(self, kept: BoolArray) -> "PublicVotes":
        """Return the votes of some of the rows; `kept` has one value for each row."""
        shares = None if self.shares is None else self.shares[kept]
        return PublicVotes(self.X[kept], self.labels[kept], self.n_labels, self.copies, shares)

    def count(self, partition: Partition) -> IntArray | FloatArray:
        """Return the numbers of public rows by leaf and label; for numbers, sums of shares."""
        counts = np.zeros((partition.n_leaves, self.n_labels), dtype=np.int64)
        if self.shares is None:
            count_leaves(partition.apply(self.X), self.labels, counts)
            return counts
        leaf = partition.apply(self.X)
        upper = np.bincount(leaf, self.shares, partition.n_leaves)
        return np.column_stack([np.bincount(leaf, minlength=partition.n_leaves) - upper, upper])

    def sum_by(self, axis: Axis) -> FloatArray:
        """Return the numbers of public rows by the cells of an axis and label, or sums of shares."""
        rows = PreparedRows(self.X)
        cell = axis.codes(rows)
        if self.shares is None:
            shares = np.eye(self.n_labels)[self.labels]
        else:
            shares = np.column_stack([1 - self.shares, self.shares])
        sums: FloatArray = np.column_stack([np.bincount(cell, one, axis.size) for one in shares.T])
        return sums.ravel()

    @property
    def total_variance(self) -> float | None:
        """Variance of a row's share, relative to that of a label with the same mean: 1 for labels.

        None if there are fewer than two rows.
        """
        if self.shares is None:
            return 1.0
        if len(self.shares) < 2:
            return None
        mean = float(np.mean(self.shares))
        part = float(np.var(self.shares, ddof=1)) / max(mean * (1.0 - mean), 1e-300)
        return float(np.clip(part, _LEAST_VARIANCE, 1.0))

    def row_variance(self, partition: Partition) -> float:
        """Return the variance of a row's share within its leaf, relative to that of a label: 1 for labels.

        A label that is 1 with probability p has the variance p (1 - p). No share from 0 to 1 with the mean p
        has a larger one.
        """
        if self.shares is None or len(self.shares) < 2:
            return 1.0
        leaf = partition.apply(self.X)
        counts = np.bincount(leaf, minlength=partition.n_leaves)
        means = np.bincount(leaf, self.shares, partition.n_leaves) / np.maximum(counts, 1)
        square = float(np.sum((self.shares - means[leaf]) ** 2))
        degrees = len(leaf) - np.count_nonzero(counts)
        whole = _PSEUDO_ROWS * float(np.var(self.shares, ddof=1))
        spread = (square + whole) / (degrees + _PSEUDO_ROWS)
        largest = max(float(np.mean((means * (1.0 - means))[leaf])), 1e-300)
        return float(np.clip(spread / largest, _LEAST_VARIANCE, 1.0))


@dataclass(kw_only=True)
class TreeRows:
    """Validated rows with the marks of public rows and the persons; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    labels : ndarray of int32 of shape (n_rows,), or None
        Positions in `classes`; a label that is not in them counts as the first. None: the target is a number.
    y : ndarray of float64 of shape (n_rows,), or None
        Numbers, not yet clipped to their bounds, which are the two `classes`.
    public : ndarray of bool of shape (n_rows,)
    units : RowUnits, or None
        The persons of the private rows; None: the unit is the row.
    classes : ndarray of shape (n_labels,)
        The labels, or the bounds of the numbers.
    bounds : tuple of two ndarrays of shape (d,)
    rows_per_unit : int
        Largest number of rows of one person that count; 1 if the unit is the row.
    """

    X: FloatArray
    public: BoolArray
    units: RowUnits | None
    classes: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]
    rows_per_unit: int
    labels: NDArray[np.int32] | None = None
    y: FloatArray | None = None

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return int(np.count_nonzero(self.public))

    @property
    def n_used(self) -> int:
        """Largest number of private rows that can count; it does not depend on the rows of a person."""
        if self.units is None:
            return len(self.public) - self.n_public
        # Not the exact number: it would reveal how many rows one person has.
        return self.units.n_units * self.rows_per_unit

    @cached_property
    def votes(self) -> PublicVotes:
        """The public rows."""
        X = self.X[self.public]
        if self.y is not None:
            return PublicVotes.of_numbers(X, shares_of(self.y[self.public], self.classes))
        assert self.labels is not None
        return PublicVotes(X, self.labels[self.public], len(self.classes))

    def prepare(self, random_bytes: Callable[[int], bytes]) -> PreparedRows:
        """Return all rows, with the numbers of the private ones that count."""
        kept: Any = ~self.public if self.n_public else None
        if self.units is not None:
            chosen = self.units.choose_rows(self.rows_per_unit, random_bytes(KEY_BYTES))
            kept = chosen if kept is None else np.flatnonzero(kept)[chosen]
        return PreparedRows(self.X, y=self.y, labels=self.labels, kept=kept)


def shares_of(y: FloatArray, bounds: NDArray[Any]) -> FloatArray:
    """Return numbers as shares of the width between two bounds, clipped to 0 and 1."""
    low, high = (float(bound) for bound in bounds)
    center, half = low / 2 + high / 2, high / 2 - low / 2
    # Divided before the subtraction: the difference of two bounds may overflow.
    shares = y / half
    shares -= center / half
    shares += 1.0
    shares /= 2
    return np.clip(shares, 0.0, 1.0, out=shares)


def round_at_random(
    shares: FloatArray, n_levels: int, random_bytes: Callable[[int], bytes]
) -> NDArray[np.int64]:
    """Return one of the levels 0 to n_levels - 1 for every share, whose mean is the share up to 2^-53."""
    place = shares * (n_levels - 1)
    below = place.astype(np.int64)
    # The first 16 bits decide whether a uniform number is below a share; if they are equal, the other bits
    # do.
    place -= below
    place *= 2.0**16
    head, first = place.astype(np.uint16), np.frombuffer(random_bytes(2 * len(shares)), dtype=np.uint16)
    above, tied = first < head, np.flatnonzero(first == head)
    words = np.frombuffer(random_bytes(8 * len(tied)), dtype=np.uint64)
    above[tied] = (words >> np.uint64(11)) * 2.0**-53 < place[tied] - head[tied]
    below += above
    return below


# Leaf counts of a trusted curator, released with exact discrete Laplace noise; cells of numbers.

#: Variance of numbers, relative to the largest within their bounds, if there is no information about it: that
# of a normal distribution with bounds three standard deviations away from its mean.
USUAL_VARIANCE = 1 / 9


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class NumberCells:
    """Cells of a leaf among which a row is divided by its share t of the width.

    Attributes
    ----------
    values : ndarray of shape (n_cells,)
        The sums of the cells times these values add up to the sum of t.
    squares : ndarray of shape (n_cells,)
        The sums of the cells times these values add up to the sum of t^2, or of the squares of the rounded t.
    """

    values: FloatArray
    squares: FloatArray

    @classmethod
    def of_moments(cls) -> Self:
        """Return the cells (1 - t)^2, 2 t (1 - t) and t^2 of a row, whose sum is 1."""
        return cls(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0]))

    @classmethod
    def of_levels(cls, n_levels: int) -> Self:
        """Return the cells of randomly rounded rows: a row is in the cell of its level."""
        levels = np.arange(n_levels) / (n_levels - 1)
        return cls(levels, levels**2)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.values)

    @property
    def contrast(self) -> float:
        """Noise variance of the sum of 2 t - 1, in units of that of a difference of two cells."""
        return float(np.sum((2 * self.values - 1) ** 2)) / 2

    def halves(self, estimates: FloatArray) -> FloatArray:
        """Return the sums of 1 - t and of t, of shape (n_leaves, 2)."""
        return np.column_stack([estimates @ (1 - self.values), estimates @ self.values])


def usual_variance(cells: NumberCells | None, votes: PublicVotes | None) -> float:
    """Return the variance of the target, relative to the largest, from public rows if there are any."""
    if cells is None:
        return 1.0
    found = None if votes is None else votes.total_variance
    return USUAL_VARIANCE if found is None else found


@public_module("skprivate.tree")
class NoisyHistogram:
    """Counts by leaf and label, with discrete Laplace noise.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss, > 0 and finite.
    n_cells : int
        Number of leaves.
    n_labels : int
        Number of labels, or of the cells among which a number is divided.
    rows_per_unit : int
        Largest number of rows that one unit of privacy contributes.
    row_total : int, default=1
        Amount that a row adds to the counts of its leaf, all labels together.
    max_weight : float, default=None
        Largest weight of a row. Rows have weights from 0 to this one, and a row of the largest weight adds
        `row_total`. None: all rows add the same.

    Notes
    -----
    **Privacy.** Relation: replace-one. Replacing a row takes at most `row_total` from some counts and adds at
    most as much to others. The counts change by at most ``2 * row_total`` in L1. They change by at most ``2 *
    row_total * rows_per_unit`` if a unit's rows are replaced, and this is attained. The noise is exact
    discrete Laplace noise of scale ``sensitivity / epsilon`` on the integers. The scale is rounded up if it
    has more binary digits than the sampler accepts.
    """

    name = "histogram"
    relation = "replace-one"

    def __init__(
        self,
        epsilon: float | Fraction,
        n_cells: int,
        n_labels: int,
        rows_per_unit: int,
        row_total: int = 1,
        max_weight: float | None = None,
    ) -> None:
        self.n_cells, self.n_labels, self._rows_per_unit = n_cells, n_labels, rows_per_unit
        self._row_total, self._max_weight = row_total, max_weight
        sensitivity = 2 * rows_per_unit * row_total
        scale = least_scale(check_epsilon(epsilon), sensitivity)
        self._mechanism = DiscreteLaplaceMechanism.from_scale(scale, sensitivity)
        self.epsilon = self._mechanism.epsilon
        self.sensitivity = self._mechanism.sensitivity
        self.noise_scale = self._mechanism.scale

    @property
    def weight_variance(self) -> float:
        """Largest variance of a row's part of a weighted sum, in units of its weight and its own variance."""
        return 1.0 if self._max_weight is None else self._max_weight

    @property
    def _unit(self) -> float:
        """Amount that a row of weight 1 adds."""
        return self._row_total / self.weight_variance

    @property
    def total_is_public(self) -> bool:
        """Whether the sum of all exact counts is the public number of rows, times what one row adds."""
        return self._rows_per_unit == 1 and self._max_weight is None

    def describe_noise(self) -> str:
        """Return the noise in a few words."""
        return f"discrete Laplace noise on leaf x {'label counts' if self._row_total == 1 else 'cell sums'}"

    def describe(self) -> str:
        """Return the mechanism in a few words."""
        return f"{self.describe_noise()} (L={self.n_cells})"

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return the noisy counts of rows of these categories."""
        counts = np.bincount(np.asarray(categories), minlength=self.n_cells * self.n_labels)
        return self.randomize(counts.astype(np.int64), random_state)

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return noisy counts, of shape (n_cells, n_labels)."""
        return self._mechanism.randomize(values.reshape(self.n_cells, self.n_labels), entropy)

    def count_rows(self, counts: ArrayLike, n: int) -> int:
        """Return the number of rows in the counts, or their weight: n, or an estimate."""
        if self.total_is_public:
            return n
        largest = n * self.weight_variance
        # Some of a person's rows may be missing, and weights may be arbitrarily small.
        least = n / self._rows_per_unit if self._max_weight is None else 1.0
        return int(np.clip(np.sum(counts) / self._unit, least, max(largest, least)))

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the noisy counts, shifted by one constant so that they add up to n, if that is public."""
        noisy = np.asarray(counts, dtype=np.float64) / self._unit
        # The number of a person's rows that are missing is not public.
        return noisy + (n - noisy.sum()) / noisy.size if self.total_is_public else noisy

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the numbers of rows in the leaves."""
        return self.estimate(counts, n).sum(axis=1)

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of the difference of two labels' estimates in every leaf, for any rows."""
        return np.full(self.n_cells, 2 * self._mechanism.variance / self._unit**2)


def least_scale(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Return nearly the smallest scale that the sampler accepts and that spends no more than epsilon."""
    exact = sensitivity / epsilon
    if exact > MAX_SCALE:
        raise ValueError("epsilon is too small for the sensitivity: the scale of the noise exceeds 2^52.")
    if exact.numerator <= MAX_SCALE and exact.denominator <= MAX_SCALE:
        return exact
    # Rounded up to a fraction with about 50 binary digits in the numerator, and at most 52 in the
    # denominator.
    digits = exact.numerator.bit_length() - exact.denominator.bit_length()
    steps = 2 ** min(max(50 - digits, 0), 52)
    return Fraction(math.ceil(exact * steps), steps)
