# SPDX-License-Identifier: BSD-3-Clause
"""Noisy moments of the rows: their release, and slopes, intercept and scale from them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from ..._typing import FloatArray, IndexArray, IntArray, MomentMethod, Regularization
from ...noise._mechanisms import FitBudget
from ...rounds._plans.moments import MomentGrid, choose_exponent
from ...utils._public_module import public_module
from .._distributions import ErrorDistribution
from .._noise_scales import (
    MomentWeights,
    NoiseScales,
    gaussian_scales,
    l1_moments,
    laplace_scales,
    root_above,
    sensitivity_of_unit,
    squared_l2_moments,
)

# The plan and the private release of the moments of an uncensored fit.


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class MomentRelease:
    """Noisy moments of the scaled rows z = (1, y', x').

    Attributes
    ----------
    matrix : ndarray of shape (D, D)
        Sum of z z', symmetric; ``matrix[0, 0]`` is the number of rows, or a noisy one.
    noise_std : ndarray of shape (D, D)
        Standard deviation of the noise of every entry; 0 where none was added. An entry and its mirror image
        carry the same noise.
    mechanism : {"laplace", "gaussian"}
        Distribution of the noise.
    ends : HistogramRelease or None
        Counts of times within and beyond the bounds of the target, where they were released first.
    """

    matrix: FloatArray
    noise_std: FloatArray
    mechanism: str
    ends: Any = None


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

        A row of weight w counts as sqrt(w) v. That is a row of the same cube, its constant included, times
        sqrt(max_weight); so the bound for rows that may be absent holds, max_weight times as large.
        """
        one = l1_moments(self.weights, self.relation)
        return sensitivity_of_unit(one * (self.max_weight or 1), self.rows_per_unit)

    @property
    def squared_l2(self) -> Fraction:
        """Squared L2 sensitivity of the moments, before the grid."""
        one = squared_l2_moments(self.weights, self.relation)
        return sensitivity_of_unit(one * (self.max_weight or 1) ** 2, self.rows_per_unit, squared=True)


@dataclass(frozen=True, eq=False)
class MomentPlan:
    """The moments that are released, and the scales of their noise; `plan_moments` returns one."""

    grid: MomentGrid
    noise: NoiseScales
    rows: IndexArray
    columns: IndexArray
    unit: Fraction  # grid units of one unit of the sum of z z'

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return what is released of the sums: the number of rows where it is public, and noisy moments."""
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


def largest_scale(neighbours: Neighbours, budget: FitBudget) -> Fraction:
    """Return the largest scale of the noise before the grid, as `choose_exponent` takes it."""
    lightest = min(1, neighbours.weights.target, neighbours.weights.features) ** 2
    if budget.mechanism == "laplace":
        return 2 * neighbours.l1 / (budget.amount * lightest)
    variance = neighbours.squared_l2 / (2 * budget.amount * lightest**2)
    return Fraction(root_above(variance))


def plan_moments(
    grid: MomentGrid, neighbours: Neighbours, budget: FitBudget, weight_bits: int = 0
) -> MomentPlan:
    """Plan the release of all moments but a public number of rows.

    Parameters
    ----------
    grid : MomentGrid
    neighbours : Neighbours
    budget : FitBudget
    weight_bits : int, default=0
        The rows' weights were rounded to multiples of 2^-weight_bits, and are counted in these.
    """
    rows, columns = np.triu_indices(grid.size)
    if neighbours.n_is_public:
        rows, columns = rows[1:], columns[1:]
    unit = Fraction(4**grid.exponent * 2**weight_bits)
    # Classes of moments: by what is multiplied, and whether it is a square.
    kinds = np.minimum(np.arange(grid.size), 2)
    codes = 3 * kinds[rows] + kinds[columns] + 9 * (rows == columns)
    single = [1, neighbours.weights.target, neighbours.weights.features]
    pairs = [Fraction(one * other) for one in single for other in single]
    if budget.mechanism == "laplace":
        weights = pairs + [pair / 2 for pair in pairs]
        noise = laplace_scales(weights, codes, neighbours.l1 * unit, budget.amount)
    else:
        squares = [2 * pair**2 for pair in pairs] + [pair**2 for pair in pairs]
        noise = gaussian_scales(squares, codes, neighbours.squared_l2 * unit**2, budget.amount)
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
) -> MomentGrid:
    """Return the finest grid on which the sums and the noise of a fit are safe."""
    exponent = choose_exponent(n_rows, largest_scale(neighbours, budget))
    return MomentGrid(
        lower=lower,
        upper=upper,
        target=target,
        exponent=exponent,
        x_norm=x_norm,
        norm_order=neighbours.weights.norm_order,
    )


# Closed-form estimates of slopes, intercept and scale from released moments; post-processing.

REGULARIZATIONS: tuple[Regularization, ...] = get_args(Regularization)
METHODS: tuple[MomentMethod, ...] = get_args(MomentMethod)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class ScaledFit:
    """A model in the units of the scaled rows, or a stack of them; the location is ``intercept + coef . x'``.

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
        Variances along the directions of the features, and their reciprocals after regularisation: 0 where a
        direction is dropped.
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
    and the estimates are in closed form: the slopes are those of least squares, ``scale**2 = RSS / (n v)``,
    and the location is the regression line minus ``m * scale``.

    The slopes follow the noise, so that the noisy RSS about them is too small, even negative; what this is
    expected to make is added. The scale then is that of the residuals about the line that is released.

    Parameters
    ----------
    release : MomentRelease
        Its matrix may be a stack of shape (n_fits, D, D), with one noise.
    distribution : ErrorDistribution
    regularization : {"floor", "trim", "zhang", "none"}
        About eigenvalues of the centred features' moments, where s is the noise's standard deviation and
        ``L = 2 s sqrt(d)`` the typical norm of the noise: raise those below L to L, or all to 2 L where all
        are below L (and d > 1); drop those below L; add 4 s to the diagonal, then drop what is not positive
        [1]_; or nothing.
    scale_bounds : tuple of two floats
        The scale is clipped to them, in scaled units; noise can make the sum of squares negative.
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


def unscale(fit: ScaledFit, grid: MomentGrid) -> tuple[FloatArray, Any, Any]:
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
    moments = _CentredMoments.of(release.matrix / n[..., np.newaxis])
    values, vectors = np.linalg.eigh(moments.features)
    kept = _regularized(values, release, n, regularization)
    usable = np.abs(kept) > moments.rounding(values)
    inverse = np.where(usable, 1.0 / np.where(usable, kept, 1.0), 0.0)
    along = np.einsum("...jk,...j->...k", vectors, moments.cross)
    coef = np.einsum("...jk,...k->...j", vectors, inverse * along)
    diagonal = np.einsum("...jk,...k->...j", vectors**2, np.maximum(inverse, 0.0))
    optimism = _optimism(coef, diagonal, release.noise_std[1:, 2:] / n[..., np.newaxis])
    residual = moments.target + _dot(coef, _times(moments.features, coef) - 2.0 * moments.cross)
    intercept = moments.mean_target - _dot(coef, moments.mean_features)
    return Line(intercept, coef, residual, optimism, moments.mean_features, values, inverse, vectors)


def _optimism(coef: FloatArray, inverse: FloatArray, noise_std: FloatArray) -> FloatArray:
    """Return by how much the noisy residual about the fitted line is expected to be too small.

    With noise g = N_xy - N_xx b in the equations of the slopes, these move by S^-1 g, and the noise in the
    residual falls by 2 g . S^-1 g; `inverse` is the diagonal of S^-1, and the entries of g are taken to be
    uncorrelated.
    """
    variance = noise_std[..., 0, :] ** 2 + _times(noise_std[..., 1:, :] ** 2, coef**2)
    return 2.0 * _dot(inverse, variance)


# Below the square of the finest step of the grid; keeps reciprocals finite.
_SMALLEST = 2.0**-64


@dataclass(frozen=True, eq=False)
class _CentredMoments:
    """Second moments per row about the means; leading axes are a stack of releases."""

    mean_target: FloatArray
    mean_features: FloatArray
    target: FloatArray
    cross: FloatArray
    features: FloatArray

    @classmethod
    def of(cls, moments: FloatArray) -> "_CentredMoments":
        # No mean product of entries of [-1, 1] is beyond 1: what is beyond is noise.
        moments = np.clip(moments, -1.0, 1.0)
        means = moments[..., 0, 1:]
        centred = moments[..., 1:, 1:] - means[..., :, np.newaxis] * means[..., np.newaxis, :]
        target, cross, features = centred[..., 0, 0], centred[..., 0, 1:], centred[..., 1:, 1:]
        return cls(means[..., 0], means[..., 1:], target, cross, features)

    def rounding(self, eigenvalues: FloatArray) -> FloatArray:
        """Return how far rounding moves an eigenvalue that is 0, the subtraction of the means included."""
        sizes = np.maximum(np.abs(eigenvalues), self.mean_features**2)
        largest = np.max(sizes, axis=-1, keepdims=True)
        return np.maximum(4.0 * sizes.shape[-1] * np.finfo(np.float64).eps * largest, _SMALLEST)


def _regularized(values: FloatArray, release: MomentRelease, n: FloatArray, rule: str) -> FloatArray:
    """Eigenvalues after the rule; 0 for a direction that is dropped."""
    level = noise_level(release) / n
    if rule == "floor":
        # Where no direction exceeds the noise, larger slopes lose more than they gain. (The level of a single
        # feature is high already.)
        all_below = (values.shape[-1] > 1) & (values.max(axis=-1, keepdims=True) < level)
        return np.maximum(values, np.where(all_below, 2.0 * level, level))
    if rule == "trim":
        return np.where(values < level, 0.0, values)
    if rule == "zhang":
        return np.maximum(values + 4.0 * np.mean(np.diagonal(release.noise_std)[2:]) / n, 0.0)
    return values


def noise_level(release: MomentRelease) -> float:
    """Return the typical norm of the noise on the features' moments: smaller eigenvalues are mostly noise."""
    noise = release.noise_std[2:, 2:]
    d = len(noise)
    # Of one feature there is the noise of its square only.
    single = noise[np.triu_indices(d, 1)] if d > 1 else noise
    return 2.0 * float(np.mean(single)) * float(np.sqrt(d))


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return np.einsum("...jh,...h->...j", matrix, vector)


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.einsum("...j,...j->...", left, right)


# The scale of ``method="taylor"``, the paper's truncated likelihood; it is here for comparison only.

# Minus the second derivative of the log density at 0; Algorithms 1 and 2 of the paper, and the normal
# distribution, of which only log q has to be expanded.
_CURVATURE_AT_0 = {"sev": 1.0, "logistic": 0.5, "normal": 1.0}


def taylor_scale(residual: FloatArray, distribution: str, scale_bounds: tuple[float, float]) -> Any:
    """Maximise the log-likelihood truncated at second order around z = 0 and 1 / scale = 1 [1]_.

    With ``q = 1 / scale``, ``p = q * coef`` and ``z = q y - p . x``, the truncated log-likelihood is

        ``n (2 q - q**2 / 2) - (c / 2) sum(z**2)``    + a constant,

    where c is minus the second derivative of the log density at 0. At any q the best p is q times least
    squares; hence ``q = 2 / (1 + c RSS / n)``, and without noise the scale stays between 1/2 and (1 + c) / 2
    of the target's half-width whatever the data are. The intercept is that of the regression line, so that
    the location of every distribution is where the mean should be: unlike `solve_moments`, this is not
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
