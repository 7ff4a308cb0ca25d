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

# Copies that stand for a public number: their labels have its share, to a sixteenth of the width.
_COPIES = 16
# Least variance, as a part of the largest, which keeps divisions finite.
_LEAST_VARIANCE = 1e-6
# Rows that vary as all do, beside those of the leaves: these were chosen by the same rows, to differ.
_PSEUDO_ROWS = 4
# The golden ratio: multiples of it fill the interval evenly, so that the rounding of the rows adds up to 0.
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class PublicVotes:
    """Public rows with labels; a row with a number counts as copies, whose labels have its share.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of int32 of shape (n,)
        With copies, how many of them have the second label.
    n_labels : int
    copies : int
        What a row counts as.
    shares : ndarray of shape (n,) or None
        The numbers, from 0 at the lower bound to 1; None of labels.
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
        """Return the votes of some of the rows; `kept` has one place a row."""
        shares = None if self.shares is None else self.shares[kept]
        return PublicVotes(self.X[kept], self.labels[kept], self.n_labels, self.copies, shares)

    def count(self, partition: Partition) -> IntArray | FloatArray:
        """Return the numbers of public rows by leaf and label; of numbers, their shares."""
        counts = np.zeros((partition.n_leaves, self.n_labels), dtype=np.int64)
        if self.shares is None:
            count_leaves(partition.apply(self.X), self.labels, counts)
            return counts
        leaf = partition.apply(self.X)
        upper = np.bincount(leaf, self.shares, partition.n_leaves)
        return np.column_stack([np.bincount(leaf, minlength=partition.n_leaves) - upper, upper])

    def sum_by(self, axis: Axis) -> FloatArray:
        """Return the numbers of public rows by the cells of an axis and label; of numbers, their shares."""
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
        """Variance of a row's share, as a part of that of a label with the same mean: 1 of labels.

        None where there are fewer than two rows.
        """
        if self.shares is None:
            return 1.0
        if len(self.shares) < 2:
            return None
        mean = float(np.mean(self.shares))
        part = float(np.var(self.shares, ddof=1)) / max(mean * (1.0 - mean), 1e-300)
        return float(np.clip(part, _LEAST_VARIANCE, 1.0))

    def row_variance(self, partition: Partition) -> float:
        """Return the variance of a row's share within its leaf, as a part of that of a label: 1 of labels.

        A label that is 1 with probability p has the variance p (1 - p), and no share from 0 to 1 with the
        mean p has more.
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
    """Validated rows, which are public, and whose they are; kept during one fit only.

    Attributes
    ----------
    X : ndarray of shape (n_rows, d)
    labels : ndarray of int32 of shape (n_rows,), or None
        Positions in `classes`; a label outside them counts as the first. None: the target is a number.
    y : ndarray of float64 of shape (n_rows,), or None
        Numbers, not yet clipped to their bounds, which are the two `classes`.
    public : ndarray of bool of shape (n_rows,)
    units : RowUnits, or None
        The persons of the private rows; None: the unit is the row.
    classes : ndarray of shape (n_labels,)
        The labels, or the bounds of the numbers.
    bounds : tuple of two ndarrays of shape (d,)
    rows_per_unit : int
        Rows of one person that count; 1 where the unit is the row.
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
        """Number of private rows that count at most; the same whatever rows a person has."""
        if self.units is None:
            return len(self.public) - self.n_public
        # Not the exact number: one person's rows would show in it.
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
        """Return all rows, of which the private ones count, and of a person so many as may."""
        kept: Any = ~self.public if self.n_public else None
        if self.units is not None:
            chosen = self.units.choose_rows(self.rows_per_unit, random_bytes(KEY_BYTES))
            kept = chosen if kept is None else np.flatnonzero(kept)[chosen]
        return PreparedRows(self.X, y=self.y, labels=self.labels, kept=kept)


def shares_of(y: FloatArray, bounds: NDArray[Any]) -> FloatArray:
    """Return numbers as shares of the width between two bounds, from 0 to 1; those beyond are clipped."""
    low, high = (float(bound) for bound in bounds)
    center, half = low / 2 + high / 2, high / 2 - low / 2
    # Divided first: the difference of two bounds may overflow.
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
    # A uniform number is below a share by its first 16 bits, or where these are the share's by the others.
    place -= below
    place *= 2.0**16
    head, first = place.astype(np.uint16), np.frombuffer(random_bytes(2 * len(shares)), dtype=np.uint16)
    above, tied = first < head, np.flatnonzero(first == head)
    words = np.frombuffer(random_bytes(8 * len(tied)), dtype=np.uint64)
    above[tied] = (words >> np.uint64(11)) * 2.0**-53 < place[tied] - head[tied]
    below += above
    return below


# Leaf counts of a trusted curator, released with exact discrete Laplace noise; cells of numbers.

#: Variance of numbers as a part of the largest within their bounds, where nothing shows it: that of a normal
#: distribution whose bounds are three standard deviations away from its mean.
USUAL_VARIANCE = 1 / 9


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class NumberCells:
    """Cells beside each other in every leaf, among which a row is divided by its share t of the width.

    Attributes
    ----------
    values : ndarray of shape (n_cells,)
        Sums over the cells, times these, are the sum of t.
    squares : ndarray of shape (n_cells,)
        Sums over the cells, times these, are the sum of t^2, or of the square of what t was rounded to.
    """

    values: FloatArray
    squares: FloatArray

    @classmethod
    def of_moments(cls) -> Self:
        """Return the cells (1 - t)^2, 2 t (1 - t) and t^2 of a row, whose sum is 1."""
        return cls(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0]))

    @classmethod
    def of_levels(cls, n_levels: int) -> Self:
        """Return the cells of rows that are in one of them: t was rounded at random to one of the levels."""
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
    """Return the variance of the target as a part of the largest, where only public rows may show it."""
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
        Number of labels, or of the cells that a number is divided among.
    rows_per_unit : int
        Rows that one unit of privacy contributes at most.
    row_total : int, default=1
        What a row adds to the counts of its leaf, all labels together.
    max_weight : float, default=None
        Rows have weights from 0 to this one, and one of the largest weight adds `row_total`; None: all rows
        add the same.

    Notes
    -----
    **Privacy.** Relation: replace-one. Replacing a row takes at most `row_total` from some counts and adds at
    most as much to others: the counts move by at most ``2 * row_total`` in L1, and by ``2 * row_total *
    rows_per_unit`` when a unit's rows are replaced, which is attained. The noise is exact discrete Laplace
    noise of scale ``sensitivity / epsilon`` on the integers, rounded up where that has more binary digits
    than the sampler takes.
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
        """Largest variance of what a row adds to a weighted sum, in units of its weight and a row's own."""
        return 1.0 if self._max_weight is None else self._max_weight

    @property
    def _unit(self) -> float:
        """What a row of weight 1 adds."""
        return self._row_total / self.weight_variance

    @property
    def total_is_public(self) -> bool:
        """Whether the number of rows, times what one adds, is the sum of all counts."""
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
        """Return the number of rows, or their weight, behind the counts: n, or an estimate."""
        if self.total_is_public:
            return n
        largest = n * self.weight_variance
        # Of several rows of a person some may be missing, and weights may be as small as they like.
        least = n / self._rows_per_unit if self._max_weight is None else 1.0
        return int(np.clip(np.sum(counts) / self._unit, least, max(largest, least)))

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the noisy counts, all moved by the same amount to the number of rows, where it is public."""
        noisy = np.asarray(counts, dtype=np.float64) / self._unit
        # Of several rows of a person some may be missing, which is not public.
        return noisy + (n - noisy.sum()) / noisy.size if self.total_is_public else noisy

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the numbers of rows in the leaves."""
        return self.estimate(counts, n).sum(axis=1)

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of the difference of two labels' estimates in every leaf, whatever the rows."""
        return np.full(self.n_cells, 2 * self._mechanism.variance / self._unit**2)


def least_scale(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Return the least scale that the sampler takes and that spends no more than epsilon, nearly."""
    exact = sensitivity / epsilon
    if exact > MAX_SCALE:
        raise ValueError("epsilon is too small for the sensitivity: the scale of the noise passes 2^52.")
    if exact.numerator <= MAX_SCALE and exact.denominator <= MAX_SCALE:
        return exact
    # Up to a fraction with about 50 binary digits above, and no more than 52 below.
    digits = exact.numerator.bit_length() - exact.denominator.bit_length()
    steps = 2 ** min(max(50 - digits, 0), 52)
    return Fraction(math.ceil(exact * steps), steps)
