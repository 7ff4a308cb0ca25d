# SPDX-License-Identifier: BSD-3-Clause
"""Moments of the rows: weights, sensitivities with proofs, noise, release, and estimates from it.

A row enters as v = (v_0, ..., v_D-1), with v_0 = 1, v_1 = a y', and the rest m x' (see `MomentWeights`). It
adds v_j^2 / 2 to the coefficient of theta_j^2 in (v . theta)^2 / 2, and v_j v_h to that of theta_j theta_h,
each once. For two rows the coefficients differ in L1 by (1/2) sum over all (j, h) of |v_j v_h - v'_j v'_h|.
This is half the entrywise norm of v v' - v' v''. On the grid every entry is a multiple of 2^-k inside the
same bounds, and the integers are 4^k times as large. So are the sensitivities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, isqrt, sqrt
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IndexArray, IntArray, MomentMethod, Regularization
from ...accounting import ReleaseRecord
from ...noise._mechanisms import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, FitBudget
from ...rounds._plans import moments as grids
from ...rounds._rows import on_model_scale
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution

# Weights that divide the noise between the constant, the target and the features.

#: Order of the norm in which each mechanism measures the sensitivity.
NORMS = {"laplace": 1, "gaussian": 2}


@dataclass(frozen=True)
class MomentWeights:
    """Public weights of the entries of z = (1, y', x'): a larger weight means a finer release.

    The proofs are about the row v = (1, target * y', features * x'). Weights do not enter the integers: they
    divide the noise of each moment.

    Attributes
    ----------
    target : int
        Weight a of the target.
    features : int
        Weight m of a feature.
    n_features : int
        d.
    norm_order : {1, 2} or None
        The norm that bounds x' by 1; None: every |x'_j| <= 1.
    """

    target: int
    features: int
    n_features: int
    norm_order: int | None = None

    @property
    def features_l1(self) -> int:
        """Largest sum of |v_j| over the features."""
        return self.features * (1 if self.norm_order == 1 else self.n_features)

    @property
    def squared_l2(self) -> Fraction:
        """Largest squared Euclidean norm of v."""
        share = 1 if self.norm_order is not None else self.n_features
        return Fraction(1 + self.target**2 + share * self.features**2)


def moment_weights(n_features: int, mechanism: str, in_ball: bool) -> MomentWeights:
    """Choose the weights by public facts alone.

    Parameters
    ----------
    n_features : int
        d, at least 1.
    mechanism : {"laplace", "gaussian"}
        Distribution of the noise. It determines the norm, and through it the weights.
    in_ball : bool
        Whether the mechanism's norm of a scaled row of features is at most 1. Otherwise every feature is
        bounded by itself.

    Returns
    -------
    weights : MomentWeights
        Cube: target 2, features 1. L2 ball: 3 and 3. L1 ball: 3 and the smallest integer not below
        2 sqrt(d).

    Notes
    -----
    Let S be the sensitivity, which is about quadratic in a and m. Up to a common factor that the budget sets,
    a product of two features carries the noise S / m^2, one of target and feature S / (a m), and the mean of
    the target S / a. The slopes' error is made of the first two. The second counts more if the slopes are
    small, and if there are many features and each is small.

    *Cube.* S grows with (1 + a + d m)^2 or with 1 + a^2 + d m^2, so the target is one entry among many.
    Doubling its weight costs almost nothing, and it halves the noise that reaches the scale.

    *L2 ball.* S grows with 1 + a^2 + m^2, whatever d is. Equal weights share it evenly. At 3 the constant's
    part of S is a nineteenth, and the intercept stays precise.

    *L1 ball.* Typical features are of size 1 / d there, and the slopes in scaled units grow with sqrt(d).
    Products of features have to be released more finely than those with the target, the more so the larger d.

    On average the squared error is within a tenth of that of the weights that are best in each of 144
    simulated settings. These were d = 3, 10, 30; 10,000 and 100,000 rows; epsilon 0.5 and 2; bounds that fit
    and bounds ten times too wide; independent, correlated and unequal features; strong and weak slopes.

    Examples
    --------
    >>> from skprivate.linear_model._moments.released_moments import moment_weights
    >>> weights = moment_weights(10, "laplace", True)
    >>> weights.target, weights.features
    (3, 7)
    """
    if not in_ball:
        return MomentWeights(2, 1, n_features)
    features = 3 if mechanism == "gaussian" else isqrt(4 * n_features - 1) + 1
    return MomentWeights(3, features, n_features, NORMS[mechanism])


# Sensitivities of the moments, with their proofs.


def l1_moments(weights: MomentWeights, relation: str) -> Fraction:
    """Return the L1 sensitivity of the moments' coefficients to one row.

    Parameters
    ----------
    weights : MomentWeights
    relation : {"replace-one", "add-remove"}
        With "replace-one" a row may also be absent on one side (v = 0), as if the number of rows is
        protected. Then v_0^2 / 2, half of this number, is among the coefficients.

    Returns
    -------
    sensitivity : Fraction
        Before the grid's factor 4^k.

    Notes
    -----
    *Rows in a cube.* Let s = v + v' and t = v - v'. Then v_j v_h - v'_j v'_h = (s_j t_h + t_j s_h) / 2, so
    half the entrywise norm is at most |s|_1 |t|_1 / 2. As |s_j| + |t_j| = 2 max(|v_j|, |v'_j|) is at most
    twice the weight, |s|_1 + |t|_1 <= 2 B with B = 1 + a + d m. The product is at most B^2, and the
    sensitivity is B^2 / 2. An absent row is v = 0, inside the cube, and has the same bound. It is attained if
    s and t can share B equally, that is if a + d m >= 1.

    *One row added or removed.* Half the entrywise norm of v v' is |v|_1^2 / 2 <= B^2 / 2. For features in an
    L1 ball B is 1 + a + m.

    *Features in an L1 ball, replaced.* Here x and x' may have disjoint supports, and s and t cannot share.
    Let |x|_1 <= m, p = |y| and q = |y'|. Half the products of features change by at most m^2, their products
    with the constant by 2 m, those with the target by a m (p + q), the target's with the constant by
    a (p + q), and half its square by a^2 |p^2 - q^2| / 2. For p = 1 >= q the last three add up to
    a (1 + m) (1 + q) + a^2 (1 - q^2) / 2, which is largest at q = min(1, (1 + m) / a). It is attained for
    d >= 2. At q = 0 the sum is m^2 + 2 m + a (1 + m) + a^2 / 2 = (B^2 + m^2 + 2 m - 1) / 2. This is at least
    B^2 / 2 as m >= 1, so absent rows are covered.
    """
    total = Fraction(1 + weights.target + weights.features_l1)
    alone = total**2 / 2
    if relation == "add-remove" or weights.norm_order != 1:
        return alone
    a, m = Fraction(weights.target), Fraction(weights.features)
    q = min(Fraction(1), (1 + m) / a)
    return m**2 + 2 * m + a * (1 + m) * (1 + q) + a**2 * (1 - q**2) / 2


def squared_l2_moments(weights: MomentWeights, relation: str) -> Fraction:
    """Return the squared L2 sensitivity of the moments to one row, mixed products counted twice.

    Parameters
    ----------
    weights : MomentWeights
    relation : {"replace-one", "add-remove"}

    Returns
    -------
    sensitivity : Fraction
        Bound on the squared Frobenius norm of v v' - v' v'', before the grid's factor 16^k.

    Notes
    -----
    |v v' - w w'|_F^2 = |v|^4 + |w|^4 - 2 (v . w)^2 <= 2 R^4, where R^2 = 1 + a^2 + max |m x'|^2 bounds |v|^2.
    It is R^4 if one row is absent. It is attained if two longest rows can be orthogonal: in a ball of two
    dimensions or more if a^2 <= 1 + m^2, and in the cube for suitable d, a, m (such as d even, a = m = 1).
    """
    fourth_power = weights.squared_l2**2
    return fourth_power if relation == "add-remove" else 2 * fourth_power


def square_weights(weights: MomentWeights) -> tuple[Fraction, Fraction]:
    """Return the weight of the square beside the sums of a look: for Laplace noise, and squared for Gaussian.

    It is the largest (nearly, for Gaussian noise) that does not raise the sensitivity to a replaced row.
    """
    return Fraction(1 + weights.features_l1, 2), Fraction(5, 2) * _squared_length(weights)


def l1_look(weights: MomentWeights, relation: str) -> Fraction:
    """Return the L1 sensitivity to one row of the sums of r v and r^2, with |r| <= 1, v = (1, m x').

    Parameters
    ----------
    weights : MomentWeights
        The weight of the target is not used.
    relation : {"replace-one", "add-remove"}
        With "replace-one" a row may also be absent on one side.

    Notes
    -----
    Let B = 1 + max |m x'|_1 and let the square have the weight B / 2. For rows with p = |r| and q = |s|,
    p >= q, the difference is at most (p + q) B + (p^2 - q^2) B / 2 = (p + q) (1 + (p - q) / 2) B. Its
    derivative in q is (1 - q) B >= 0, so it is at most 2 p B <= 2 B. It is attained by r = 1 and -1 at the
    same x'. One row alone: p B + p^2 B / 2 <= 3 B / 2.
    """
    length = Fraction(1 + weights.features_l1)
    return length * (Fraction(3, 2) if relation == "add-remove" else 2)


def squared_l2_look(weights: MomentWeights, relation: str) -> Fraction:
    """Return the squared L2 sensitivity to one row of the sums of r v and r^2, with |r| <= 1, v = (1, m x').

    Notes
    -----
    Let R^2 = 1 + max |m x'|^2 and let the square have the squared weight 5 R^2 / 2. Take rows with p = |r|
    and q = t p, t <= 1. The square of the difference is at most (p + q)^2 R^2 + (p^2 - q^2)^2 5 R^2 / 2, and
    with p <= 1 at most (1 + t)^2 (1 + (1 - t)^2 5 / 2) R^2. This is at most 4 R^2. The difference 4 - (1 +
    t)^2 is (1 - t) (3 + t). And (1 + t)^2 (1 - t) 5 / 2 <= 3 + t, as (1 + t)^2 (1 - t) is largest at t = 1/3,
    where it is 32/27 < 6/5. One row alone: at most R^2 + 5 R^2 / 2.
    """
    square = _squared_length(weights)
    return square * (Fraction(7, 2) if relation == "add-remove" else 4)


def _squared_length(weights: MomentWeights) -> Fraction:
    """Return the largest squared Euclidean norm of (1, m x')."""
    return weights.squared_l2 - weights.target**2


def sensitivity_of_unit(sensitivity: Fraction, rows_per_unit: int, *, squared: bool = False) -> Fraction:
    """Return the sensitivity to all rows of a unit, by the triangle inequality.

    A unit with fewer rows than another has absent ones. So the bound protects its number of rows only if it
    covers an absent row.
    """
    return sensitivity * rows_per_unit ** (2 if squared else 1)


# The integer scales of the discrete noise of a fit.

# Sigmas of weight 1 are multiples of 1 / _ONE in statements: whole numbers would be up to 1 too large.
_ONE = 2**20


@dataclass(frozen=True, eq=False)
class NoiseScales:
    """Scales of the discrete noise of one release.

    Attributes
    ----------
    mechanism : {"laplace", "gaussian"}
        Discrete Laplace noise of scale ``scales``, or discrete Gaussian noise of sigma ``scales``.
    scales : ndarray of int64
        Of the shape of the integers to be released.
    sensitivity : Fraction
        L1, or squared L2, of the weighted integers.
    amount : Fraction
        Amount of epsilon, or rho.
    """

    mechanism: str
    scales: IntArray
    sensitivity: Fraction
    amount: Fraction

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the noise of every integer."""
        values, inverse = np.unique(self.scales, return_inverse=True)
        stds = np.array([sqrt(self._mechanism(int(value)).variance) for value in values])
        return stds[inverse].reshape(self.scales.shape)

    def describe(self, name: str) -> ReleaseRecord:
        """Return the record of the release; its scale is the smallest one of entries of weight 1."""
        draws = len(np.unique(self.scales))
        if self.mechanism == "laplace":
            kind, scale, unit = "discrete Laplace", self.sensitivity / self.amount, "epsilon"
        else:
            kind, unit = "discrete Gaussian", "rho"
            scale = Fraction(root_above(self.sensitivity / (2 * self.amount) * _ONE**2), _ONE)
        shares: dict[str, Any] = {unit: self.amount}
        return ReleaseRecord(
            name=name, mechanism=kind, sensitivity=self.sensitivity, noise_scale=scale, draws=draws, **shares
        )

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the integers with noise."""
        released = np.empty(self.scales.shape, dtype=np.int64)
        for same, mechanism in self._mechanisms:
            released[same] = mechanism.randomize(values[same], entropy)
        return released

    @cached_property
    def _mechanisms(self) -> list[tuple[Any, DiscreteLaplaceMechanism | DiscreteGaussianMechanism]]:
        return [(self.scales == scale, self._mechanism(int(scale))) for scale in np.unique(self.scales)]

    def _mechanism(self, scale: int) -> DiscreteLaplaceMechanism | DiscreteGaussianMechanism:
        if self.mechanism == "laplace":
            return DiscreteLaplaceMechanism.from_scale(scale)
        return DiscreteGaussianMechanism.from_sigma(scale)


def noise_scales(
    mechanism: str, weights: list[Fraction], codes: IndexArray, sensitivity: Fraction, amount: Fraction
) -> NoiseScales:
    """Return the scales, or the sigmas, of discrete noise on integers of different weights.

    Parameters
    ----------
    mechanism : {"laplace", "gaussian"}
    weights : list of Fraction
        c > 0, of every class of integers; for Gaussian noise c^2.
    codes : ndarray of int
        Class of every integer f_i.
    sensitivity : Fraction
        Largest sum of c_i |f_i - f'_i| over neighbours; for Gaussian noise of c_i^2 (f_i - f'_i)^2.
    amount : Fraction
        Epsilon; for Gaussian noise rho.

    Notes
    -----
    *Laplace.* With scales t_i >= sensitivity / (c_i epsilon) the loss is at most
    sum |f_i - f'_i| / t_i <= epsilon sum c_i |f_i - f'_i| / sensitivity <= epsilon.

    *Gaussian.* The divergence of order alpha is at most alpha sum (f_i - f'_i)^2 / (2 sigma_i^2); with
    sigma_i^2 >= sensitivity / (2 rho c_i^2) that is at most alpha rho.
    """
    if mechanism == "laplace":
        scales = [ceil(sensitivity / (weight * amount)) for weight in weights]
    else:
        scales = [root_above(sensitivity / (2 * amount) / weight) for weight in weights]
    if max(scales) >= 2**63:
        raise ValueError("epsilon is too small: the noise does not fit 64-bit integers.")
    return NoiseScales(mechanism, np.array(scales, dtype=np.int64)[codes], sensitivity, amount)


def pair_weights(weights: MomentWeights, mechanism: str, unit: int = 1) -> list[Fraction]:
    """Return the weights of the classes of `pair_codes`: products of two entries, then squares."""
    single = [1, weights.target, weights.features]
    pairs = [Fraction(one * other, unit) for one in single for other in single]
    if mechanism == "laplace":
        return pairs + [pair / 2 for pair in pairs]
    return [2 * pair**2 for pair in pairs] + [pair**2 for pair in pairs]


def pair_codes(rows: IndexArray, columns: IndexArray) -> IndexArray:
    """Return the class of products of two entries: the constant, the target, or a feature (2 and more)."""
    return 3 * np.minimum(rows, 2) + np.minimum(columns, 2) + 9 * (rows == columns)


def mirrored(values: NDArray[Any], size: int) -> FloatArray:
    """Return symmetric matrices with these values on and above the diagonal, of shape (..., size, size)."""
    matrix, (rows, columns) = np.empty((*values.shape[:-1], size, size)), np.triu_indices(size)
    matrix[..., rows, columns] = matrix[..., columns, rows] = values
    return matrix


def room_for(scale: int, n_rows: int, bits: int = 0) -> int:
    """Return the bits left to a grid on which sums of so many rows and bits are exact with this noise."""
    of_block = grids.EXACT.bit_length() - 1 - (grids.BLOCK_ROWS - 1).bit_length()
    of_sums = min(of_block, grids.SUM_BITS - (n_rows - 1).bit_length())
    return min(of_sums - bits, grids.SCALE_BITS - scale.bit_length())


def root_above(square: Fraction) -> int:
    """Return the least integer whose square is at least this number above 0."""
    return isqrt(ceil(square) - 1) + 1


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Neighbouring relation of tables, and the sensitivity of their moments.

    Attributes
    ----------
    weights : MomentWeights
    relation : {"replace-one", "add-remove"}
    rows_per_unit : int
        Rows of one person that count.
    grouped : bool
        Whether the unit is a group: its number of rows is then protected.
    max_weight : Fraction
        Largest weight of a row; other than 1 only in accumulators that take weights.
    """

    weights: MomentWeights
    relation: str = "replace-one"
    rows_per_unit: int = 1
    grouped: bool = False
    max_weight: Fraction | None = None

    @property
    def n_is_public(self) -> bool:
        """Whether the number (or the total weight) of the rows is public."""
        return self.relation == "replace-one" and not self.grouped and self.max_weight is None

    @property
    def l1(self) -> Fraction:
        """L1 sensitivity of the moments' coefficients, before the grid.

        A row of weight w counts as sqrt(w) v. This is a row of the same cube, its constant included, times
        sqrt(max_weight). So the bound for rows that may be absent holds, max_weight times as large.
        """
        one = l1_moments(self.weights, self.relation)
        return sensitivity_of_unit(one * (self.max_weight or 1), self.rows_per_unit)

    @property
    def squared_l2(self) -> Fraction:
        """Squared L2 sensitivity of the moments, before the grid."""
        one = squared_l2_moments(self.weights, self.relation)
        return sensitivity_of_unit(one * (self.max_weight or 1) ** 2, self.rows_per_unit, squared=True)


def largest_scale(neighbours: Neighbours, budget: FitBudget) -> Fraction:
    """Return the largest scale of the noise before the grid, for `choose_exponent`."""
    lightest = min(1, neighbours.weights.target, neighbours.weights.features) ** 2
    if budget.mechanism == "laplace":
        return 2 * neighbours.l1 / (budget.amount * lightest)
    variance = neighbours.squared_l2 / (2 * budget.amount * lightest**2)
    return Fraction(root_above(variance))


# The task of a fit, and the private release of its moments.

# Bounds of scale_ if none are declared, in half-widths of the target. No distribution with a scale beyond 2
# keeps to the bounds of the target, and 1e-3 is 500 times finer than a histogram between them shows.
_SCALE_RANGE = (1e-3, 2.0)
# Limits of declared bounds in half-widths of the target: their squares are floats.
_LEAST, _GREATEST = 1e-100, 1e100


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class MomentRelease:
    """Noisy moments of the scaled rows z = (1, y', x').

    Attributes
    ----------
    matrix : ndarray of shape (D, D)
        Sum of z z', symmetric; ``matrix[0, 0]`` is the number of rows, or a noisy one.
    noise_std : ndarray of shape (D, D)
        Standard deviation of the noise of every entry; 0 if none was added. An entry and its mirror image
        carry the same noise.
    mechanism : {"laplace", "gaussian"}
        Distribution of the noise.
    ends : HistogramRelease or None
        Counts of times within and beyond the bounds of the target, if they were released first.
    check : PredictionCheck or None
        What a check of the predictions released.
    """

    matrix: FloatArray
    noise_std: FloatArray
    mechanism: str
    ends: Any = None
    check: Any = None


@dataclass(frozen=True, eq=False)
class MomentPlan:
    """The moments that are released, and the scales of their noise; `plan_moments` returns one."""

    grid: grids.MomentGrid
    noise: NoiseScales
    rows: IndexArray
    columns: IndexArray
    unit: Fraction  # grid units of one unit of the sum of z z'

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return what is released of the sums: the number of rows, if it is public, and noisy moments."""
        gram = values.reshape(self.grid.size, self.grid.size)
        n_is_public = self.columns[0] > 0
        known = gram[0, 0] if n_is_public else 0
        return np.append(np.int64(known), self.noise.randomize(gram[self.rows, self.columns], entropy))

    def read(self, released: IntArray) -> MomentRelease:
        """Return what was released, in units of the sum of z z'."""
        exact = np.zeros((self.grid.size, self.grid.size))
        exact[0, 0] = released[0]
        matrix = self._mirrored(released[1:].astype(np.float64), exact)
        std = self._mirrored(self.noise.std, np.zeros(exact.shape))
        return MomentRelease(matrix, std, self.noise.mechanism)

    def release(self, gram: IntArray, entropy: Any) -> MomentRelease:
        """Release the moments with noise."""
        return self.read(self.randomize(gram, entropy))

    def _mirrored(self, values: FloatArray, matrix: FloatArray) -> FloatArray:
        matrix[self.rows, self.columns] = values
        matrix[self.columns, self.rows] = values
        return matrix / float(self.unit)


def plan_moments(
    grid: grids.MomentGrid, neighbours: Neighbours, budget: FitBudget, weight_bits: int = 0
) -> MomentPlan:
    """Plan the release of all moments but a public number of rows.

    Parameters
    ----------
    grid : MomentGrid
    neighbours : Neighbours
    budget : FitBudget
    weight_bits : int, default=0
        The rows' weights were rounded to multiples of 2^-weight_bits, and are counted in these units.
    """
    rows, columns = np.triu_indices(grid.size)
    if neighbours.n_is_public:
        rows, columns = rows[1:], columns[1:]
    unit = Fraction(4**grid.exponent * 2**weight_bits)
    # Moments differ in class by the kinds of their factors, and by whether they are squares.
    weights, codes = pair_weights(neighbours.weights, budget.mechanism), pair_codes(rows, columns)
    laplace = budget.mechanism == "laplace"
    sensitivity = neighbours.l1 * unit if laplace else neighbours.squared_l2 * unit**2
    noise = noise_scales(budget.mechanism, weights, codes, sensitivity, budget.amount)
    return MomentPlan(grid, noise, rows, columns, unit)


def make_grid(
    lower: FloatArray,
    upper: FloatArray,
    target: tuple[float, float],
    x_norm: float | None,
    *,
    n_rows: int,
    neighbours: Neighbours,
    budget: FitBudget,
) -> grids.MomentGrid:
    """Return the finest grid on which the sums and the noise of a fit are safe."""
    exponent = grids.choose_exponent(n_rows, largest_scale(neighbours, budget))
    return grids.MomentGrid(
        lower=lower,
        upper=upper,
        target=target,
        exponent=exponent,
        x_norm=x_norm,
        norm_order=neighbours.weights.norm_order,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class FitTask:
    """Everything public about one fit."""

    distribution: ErrorDistribution
    log_target: bool
    bounds: tuple[FloatArray, FloatArray]
    bounds_y: tuple[float, float]  # in the units passed to fit
    neighbours: Neighbours
    budget: FitBudget
    n_units: int | None  # None: protected
    scale_bounds: tuple[float, float] | None  # on the scale of the model
    x_norm: float | None
    leaks: Mapping[str, str] = field(default_factory=dict)  # parameter -> what was read in its place

    @property
    def target(self) -> tuple[float, float]:
        """Bounds of the target on the scale of the model."""
        return on_model_scale(self.bounds_y, self.log_target)

    @property
    def n_rows(self) -> int:
        """Number of rows that the sums on the grid must hold."""
        return self.n_units if self.neighbours.n_is_public and self.n_units is not None else grids.MANY_ROWS

    def grid(self, budget: FitBudget) -> grids.MomentGrid:
        """Return the grid of moments that are released for a part of the budget, or all of it."""
        rows, neighbours = self.n_rows, self.neighbours
        return make_grid(
            *self.bounds, self.target, self.x_norm, n_rows=rows, neighbours=neighbours, budget=budget
        )

    def scale_limits(self, grid: grids.MomentGrid) -> tuple[float, float]:
        """Bounds of the scale in scaled units."""
        if self.scale_bounds is None:
            return _SCALE_RANGE
        scaled = np.clip(np.divide(self.scale_bounds, grid.y_half), _LEAST, _GREATEST)
        return float(scaled[0]), float(scaled[1])


# Closed-form estimates of slopes, intercept and scale from released moments. They are post-processing.

# Below the square of the finest step of the grid. It keeps reciprocals finite.
_SMALLEST = 2.0**-64

REGULARIZATIONS: tuple[Regularization, ...] = get_args(Regularization)
METHODS: tuple[MomentMethod, ...] = get_args(MomentMethod)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class ScaledFit:
    """A model in units of scaled rows, or a stack of models. The location is ``intercept + coef . x'``.

    Attributes
    ----------
    intercept : float or ndarray of shape (n_fits,)
    coef : ndarray of shape (n_features,) or (n_fits, n_features)
    scale : float or ndarray of shape (n_fits,)
        Positive.
    """

    intercept: Any
    coef: FloatArray
    scale: Any


@dataclass(frozen=True, eq=False)
class Line:
    """Least squares: the line, the mean squared residual by the noisy moments, and its expected bias.

    Attributes
    ----------
    intercept, residual, optimism : float or ndarray of shape (n_fits,)
    coef, means : ndarray of shape (n_features,) or (n_fits, n_features)
        Slopes, and means of the features.
    values, inverse : ndarray of the same shape
        Variances along the directions of the features, and their reciprocals after regularisation: 0 for a
        direction that is dropped.
    vectors : ndarray of shape (..., n_features, n_features)
        These directions, as columns.
    """

    intercept: FloatArray
    coef: FloatArray
    residual: FloatArray
    optimism: FloatArray
    means: FloatArray
    values: FloatArray
    inverse: FloatArray
    vectors: FloatArray


def solve_moments(
    release: MomentRelease,
    distribution: ErrorDistribution,
    regularization: str,
    scale_bounds: tuple[float, float],
    method: str = "moments",
) -> ScaledFit:
    """Solve the Fisher-consistent quadratic: least squares, and the scale from the residuals.

    The log density of a standardised error z is replaced by ``-(z - m)**2 / (2 v)``, with m and v the mean
    and the variance of the distribution. Its score and its score for the scale have mean 0 under the model,
    and the estimates are in closed form. The slopes are those of least squares, ``scale**2 = RSS / (n v)``,
    and the location is the regression line minus ``m * scale``.

    The slopes follow the noise, so the noisy RSS about them is too small, even negative. The expected error
    of this is added. The scale is then that of the residuals about the line that is released.

    Parameters
    ----------
    release : MomentRelease
        Its matrix may be a stack of shape (n_fits, D, D), with one noise.
    distribution : ErrorDistribution
    regularization : {"floor", "trim", "zhang", "none"}
        What is done about eigenvalues of the centred features' moments. With s the noise's standard
        deviation, ``L = 2 s sqrt(d)`` is the typical norm of the noise. "floor" raises those below L to L, or
        all to 2 L if all are below L (and d > 1). "trim" drops those below L. "zhang" adds 4 s to the
        diagonal, then drops what is not positive [1]_. "none" does nothing.
    scale_bounds : tuple of two floats
        The scale is clipped to them, in scaled units: noise can make the sum of squares negative.
    method : {"moments", "taylor"}, default="moments"
        "taylor": the scale is that of the paper's truncated likelihood (`taylor_scale`), and the intercept
        that of the regression line.

    Returns
    -------
    fit : ScaledFit
        Finite for every finite matrix.

    References
    ----------
    .. [1] Zhang, Zhang, Xiao, Yang, Winslett: "Functional mechanism: regression analysis under differential
       privacy", VLDB 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._distributions import SEV
    >>> from skprivate.linear_model._moments.released_moments import MomentRelease
    >>> from skprivate.linear_model._moments.released_moments import solve_moments
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 100_000)
    >>> y = 0.1 + 0.4 * x + 0.05 * np.log(rng.exponential(size=x.size))
    >>> rows = np.column_stack([np.ones_like(x), y, x])
    >>> release = MomentRelease(rows.T @ rows, np.zeros((3, 3)), "laplace")
    >>> fit = solve_moments(release, SEV, "floor", (0.001, 1.0))
    >>> fit.coef.round(2), round(float(fit.intercept), 2), round(float(fit.scale), 2)
    (array([0.4]), 0.1, 0.05)
    """
    return scale_of(least_squares(release, regularization), distribution, scale_bounds, method)


def scale_of(
    line: Line, distribution: ErrorDistribution, scale_bounds: tuple[float, float], method: str
) -> ScaledFit:
    """Return the fit of a line, whose scale is that of the residuals about it; see `solve_moments`."""
    if method == "taylor":
        scale = taylor_scale(line.residual, distribution.name, scale_bounds)
        return ScaledFit(line.intercept, line.coef, scale)
    square = line.residual + line.optimism
    low, high = scale_bounds
    scale = np.sqrt(np.clip(square / distribution.variance, low**2, high**2))
    return ScaledFit(line.intercept - distribution.mean * scale, line.coef, scale)


def varying_directions(n_features: int, constant: FloatArray | None) -> FloatArray:
    """Return an orthonormal basis of the directions that are not constant by declaration.

    Parameters
    ----------
    n_features : int
    constant : ndarray of shape (k, n_features) or None
        Orthonormal directions along which the features of all rows are equal, such as levels of a category,
        which add up to one.

    Returns
    -------
    varying : ndarray of shape (n_features - k, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.released_moments import varying_directions
    >>> varying = varying_directions(3, np.sqrt([[0.5, 0.5, 0.0]]))
    >>> varying.shape, bool(np.allclose(varying @ [1.0, 1.0, 0.0], 0.0))
    ((2, 3), True)
    """
    if constant is None:
        return np.eye(n_features)
    return np.asarray(np.linalg.svd(constant)[2][len(constant) :], dtype=np.float64)


def unscale(fit: ScaledFit, grid: grids.MomentGrid) -> tuple[FloatArray, Any, Any]:
    """Return slopes, intercept and scale in the units of X and of the model's target.

    Parameters
    ----------
    fit : ScaledFit
    grid : MomentGrid

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_fits, n_features)
    intercept, scale : float or ndarray of shape (n_fits,)

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.moments import MomentGrid
    >>> from skprivate.linear_model._moments.released_moments import ScaledFit, unscale
    >>> grid = MomentGrid(lower=np.array([0.0]), upper=np.array([10.0]), target=(2.0, 6.0), exponent=20)
    >>> coef, intercept, scale = unscale(ScaledFit(0.5, np.array([0.25]), 0.1), grid)
    >>> coef, float(intercept), scale
    (array([0.1]), 4.5, 0.2)
    """
    coef = fit.coef * (grid.y_half / grid.half)
    intercept = grid.y_center + grid.y_half * fit.intercept - (coef @ grid.center)[()]
    return coef, intercept, grid.y_half * fit.scale


def least_squares(release: MomentRelease, regularization: str) -> Line:
    """Return the regression line of released moments, as `solve_moments` takes it."""
    n = np.maximum(release.matrix[..., 0, 0], 1.0)[..., np.newaxis]
    # No mean product of entries of [-1, 1] is beyond 1: anything beyond is noise.
    moments = np.clip(release.matrix / n[..., np.newaxis], -1.0, 1.0)
    means = moments[..., 0, 1:]
    centred = moments[..., 1:, 1:] - means[..., :, np.newaxis] * means[..., np.newaxis, :]
    target, cross, features = centred[..., 0, 0], centred[..., 0, 1:], centred[..., 1:, 1:]
    mean_target, mean_features = means[..., 0], means[..., 1:]
    if features.ndim > 2 and (features == features[:1]).all():
        # These are replicates of the rows alone: one decomposition serves all of them.
        values, vectors = (np.repeat(part, len(features), axis=0) for part in np.linalg.eigh(features[:1]))
    else:
        values, vectors = np.linalg.eigh(features)
    kept = _regularized(values, release, n, regularization)
    # Error that rounding makes in an eigenvalue that is 0, the subtraction of the means included.
    sizes = np.maximum(np.abs(values), mean_features**2)
    rounding = 4.0 * sizes.shape[-1] * np.finfo(np.float64).eps * np.max(sizes, axis=-1, keepdims=True)
    usable = np.abs(kept) > np.maximum(rounding, _SMALLEST)
    inverse = np.where(usable, 1.0 / np.where(usable, kept, 1.0), 0.0)
    along = np.einsum("...jk,...j->...k", vectors, cross)
    coef = np.einsum("...jk,...k->...j", vectors, inverse * along)
    diagonal = np.einsum("...jk,...k->...j", vectors**2, np.maximum(inverse, 0.0))
    # With noise g = N_xy - N_xx b in the equations of the slopes, these move by S^-1 g, and the residual is
    # too small by 2 g . S^-1 g. The entries of g are assumed to be uncorrelated.
    noise_std = release.noise_std[1:, 2:] / n[..., np.newaxis]
    variance = noise_std[..., 0, :] ** 2 + _times(noise_std[..., 1:, :] ** 2, coef**2)
    optimism = 2.0 * _dot(diagonal, variance)
    residual = target + _dot(coef, _times(features, coef) - 2.0 * cross)
    intercept = mean_target - _dot(coef, mean_features)
    return Line(intercept, coef, residual, optimism, mean_features, values, inverse, vectors)


def _regularized(values: FloatArray, release: MomentRelease, n: FloatArray, rule: str) -> FloatArray:
    """Return eigenvalues after the rule; 0 for a direction that is dropped."""
    level = noise_level(release) / n
    if rule == "floor":
        # If no direction exceeds the noise, larger slopes lose more than they gain. (The level of a single
        # feature is high already.)
        all_below = (values.shape[-1] > 1) & (values.max(axis=-1, keepdims=True) < level)
        return np.maximum(values, np.where(all_below, 2.0 * level, level))
    if rule == "trim":
        return np.where(values < level, 0.0, values)
    if rule == "zhang":
        return np.maximum(values + 4.0 * np.mean(np.diagonal(release.noise_std)[2:]) / n, 0.0)
    return values


_above_diagonal = lru_cache(maxsize=16)(np.triu_indices)


def noise_level(release: MomentRelease) -> float:
    """Return the typical norm of the noise on the features' moments: smaller eigenvalues are mostly noise."""
    noise = release.noise_std[2:, 2:]
    d = len(noise)
    # With one feature there is only the noise of its square.
    single = noise[_above_diagonal(d, 1)] if d > 1 else noise
    return 2.0 * float(np.mean(single)) * float(np.sqrt(d))


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return np.einsum("...jh,...h->...j", matrix, vector)


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.einsum("...j,...j->...", left, right)


# The scale of ``method="taylor"``, the paper's truncated likelihood. It is only for comparison.

# Minus the second derivative of the log density at 0: Algorithms 1 and 2 of the paper, and the normal
# distribution, for which only log q has to be expanded.
_CURVATURE_AT_0 = {"sev": 1.0, "logistic": 0.5, "normal": 1.0}


def taylor_scale(residual: FloatArray, distribution: str, scale_bounds: tuple[float, float]) -> Any:
    """Maximise the log-likelihood truncated at second order around z = 0 and 1 / scale = 1 [1]_.

    With ``q = 1 / scale``, ``p = q * coef`` and ``z = q y - p . x``, the truncated log-likelihood is

        ``n (2 q - q**2 / 2) - (c / 2) sum(z**2)``    + a constant,

    where c is minus the second derivative of the log density at 0. At any q the best p is q times least
    squares. Hence ``q = 2 / (1 + c RSS / n)``, and without noise the scale stays between 1/2 and (1 + c) / 2
    of the target's half-width whatever the data are. The intercept is that of the regression line, so that
    the location of every distribution is at the place of the mean. Unlike `solve_moments`, this is not
    consistent.

    Parameters
    ----------
    residual : ndarray of shape () or (n_fits,)
        RSS / n about the line, in scaled units.
    distribution : {"sev", "logistic", "normal"}
        Name of the distribution of the error.
    scale_bounds : tuple of two floats
        The scale is clipped to them.

    Returns
    -------
    scale : float or ndarray of shape (n_fits,)

    References
    ----------
    .. [1] Sheng, Fang: "Differentially private log-location-scale regression using functional mechanism".

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.released_moments import taylor_scale
    >>> float(taylor_scale(np.array(0.2), "logistic", (0.001, 2.0)))
    0.55
    """
    return np.clip(0.5 * (1.0 + _CURVATURE_AT_0[distribution] * residual), *scale_bounds)
