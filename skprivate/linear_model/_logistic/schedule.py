# SPDX-License-Identifier: BSD-3-Clause
"""Noise of a logistic fit with its proofs; standards and schedule from released moments."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np

from ..._typing import CentralRelation, FloatArray, IntArray
from ...noise._mechanisms import FitBudget
from ...rounds._plans.logits import ColumnMomentsPlan, LogitsPlan
from ...rounds._rates import MEAN_SHARE, ClassRates
from ...utils._public_module import public_module
from .._moments.released_moments import NoiseScales, noise_scales, root_above, sensitivity_of_unit


@dataclass(frozen=True, kw_only=True)
class LogisticNeighbours:
    """Neighbouring relation of tables of labelled rows, and the sensitivities of the releases.

    Attributes
    ----------
    relation : {"replace-one", "add-remove"}
    mechanism : {"laplace", "gaussian"}
    n_features, n_labels : int
    in_ball : bool
        Whether the features x' lie in the unit ball of the mechanism's norm; otherwise they lie in the cube.
    rows_per_unit : int
        Rows of one person that count.
    grouped : bool
        Whether the unit is a group: its number of rows is then protected.
    """

    relation: CentralRelation
    mechanism: str
    n_features: int
    n_labels: int
    in_ball: bool = False
    rows_per_unit: int = 1
    grouped: bool = False

    @property
    def n_is_public(self) -> bool:
        """Whether the number of rows is public."""
        return self.relation == "replace-one" and not self.grouped

    def moments_noise(self, n_sums: int, exponent: int, amount: Fraction) -> NoiseScales:
        """Return the noise of sums and squares for `amount` of epsilon, or rho.

        Notes
        -----
        Sums have weight 1, squares c.

        *Gaussian, c = sqrt(2).* For one column of the cube with values a, b let u = |a - b|, v = |a + b|,
        u + v <= 2. The squared change is u^2 (1 + 2 v^2) <= (2 - v)^2 (1 + v^2)^2 = (2 - v (1 - v)^2)^2 <= 4.
        An added or removed row: a^2 + 2 a^4 <= 3. In the ball sums move by 2, and squares, which are not
        negative and add up to 1 at most, by sqrt(2): 4 + 2 * 2 = 8, or 1 + 2 = 3.

        *Laplace, c = 1.* |a - b| + |a^2 - b^2| = u (1 + v) <= (2 - v) (1 + v) <= 9/4, or 2 for one row. In
        the ball 2 + 2 = 4, or 2.

        An absent row changes less than a replaced one, so a person's number of rows is covered.
        """
        gaussian, replaced = self.mechanism == "gaussian", self.relation == "replace-one"
        if gaussian:
            one = Fraction((8 if self.in_ball else 4) if replaced else 3)
        else:
            one = Fraction(4 if self.in_ball else Fraction(9, 4)) if replaced else Fraction(2)
        whole = (1 if self.in_ball else self.n_features) * one
        codes = (np.arange(n_sums) >= self.n_features).astype(np.intp)
        step = Fraction(1, 2**exponent)
        weights = [step**2, 2 * step**4] if gaussian else [step, step**2]
        return self._noise(weights, codes, whole, amount)

    def gradient(self) -> Fraction:
        """Return the L1, or squared L2, sensitivity of the gradient, in units of the rows' radius.

        Notes
        -----
        A row contributes r q', with |q| <= 1 its integers' norm and r its residuals. Two classes: |r| <= 1.
        Several: r = e_y - p, less the effect of rounding. It has one entry in [0, 1], and others that are not
        positive and add up to at least -1: |r|_1 <= 2, |r|_2^2 <= 2. As |r q'| = |r| |q| in both norms, one
        row moves the sums by 1, or by 2 (L1) and 2 (squared L2). A replaced row moves them twice as much,
        squared four times.
        """
        one = 1 if self.n_labels == 2 else 2
        replaced = self.relation == "replace-one"
        return Fraction(one * (1 if not replaced else 4 if self.mechanism == "gaussian" else 2))

    def curvature(self) -> Fraction:
        """Return the L1, or squared L2, sensitivity of all entries of the curvature, by the squared radius.

        Notes
        -----
        A row contributes w q q', with w in [0, 1/4] and |q| <= 1, of norm at most 1/4. This holds for the sum
        of its magnitudes, |q|_1^2 / 4, and the Frobenius norm, |q|_2^2 / 4. Replaced, L1: 1/2. Squared L2:
        for two such matrices A and B, |A - B|^2 = |A|^2 + |B|^2 - 2 tr AB <= 2/16, as tr AB = w v (q . s)^2
        >= 0.
        """
        replaced = 2 if self.relation == "replace-one" else 1
        return replaced * (Fraction(1, 16) if self.mechanism == "gaussian" else Fraction(1, 4))

    def gradient_noise(self, plan: LogitsPlan, amount: Fraction) -> NoiseScales:
        """Return the noise of a gradient for `amount` of epsilon, or rho."""
        step = Fraction(1, 2 ** (plan.rows.exponent + plan.residual_bits))
        weight = step**2 if self.mechanism == "gaussian" else step
        codes = np.zeros(plan.theta.size, dtype=np.intp)
        return self._noise([weight], codes, self.gradient(), amount)

    def curvature_noise(self, plan: LogitsPlan, amount: Fraction) -> "CurvatureNoise":
        """Return the noise of one triangle of a curvature for `amount` of epsilon, or rho."""
        assert plan.coarse is not None
        rows, columns = np.triu_indices(plan.grid.n_features + 1)
        unit = Fraction(1, 2 ** (2 * plan.coarse[0] + plan.coarse[1]))
        # An entry beside the diagonal counts for two.
        weights = [2 * unit**2, unit**2] if self.mechanism == "gaussian" else [2 * unit, unit]
        codes = (rows == columns).astype(np.intp)
        return CurvatureNoise(plan, self._noise(weights, codes, self.curvature(), amount))

    def gradient_std(self, amount: Fraction) -> float:
        """Return the standard deviation of the noise of a gradient's entry, in units of the radius."""
        return self._std(self.gradient(), amount)

    def curvature_std(self, amount: Fraction) -> float:
        """Return the same for a curvature's entry beside the diagonal, in units of the squared radius."""
        return self._std(self.curvature(), amount) / (sqrt(2) if self.mechanism == "gaussian" else 2)

    def _std(self, one: Fraction, amount: Fraction) -> float:
        whole = self._of_unit(one)
        gaussian = self.mechanism == "gaussian"
        return sqrt(whole / (2 * amount)) if gaussian else sqrt(2) * float(whole / amount)

    def largest_scale(self, least_amount: Fraction) -> int:
        """Return a bound on the scale of the noise of a gradient in units of the radius."""
        whole = self._of_unit(self.gradient())
        gaussian = self.mechanism == "gaussian"
        return root_above(whole / (2 * least_amount)) if gaussian else ceil(whole / least_amount)

    def _noise(self, weights: list[Fraction], codes: Any, one: Fraction, amount: Fraction) -> NoiseScales:
        return noise_scales(self.mechanism, weights, codes, self._of_unit(one), amount)

    def _of_unit(self, one: Fraction) -> Fraction:
        """Return the sensitivity to one unit, given that to one row."""
        return sensitivity_of_unit(one, self.rows_per_unit, squared=self.mechanism == "gaussian")


@dataclass(frozen=True, eq=False)
class CurvatureNoise:
    """Noise on one triangle of the curvature; the gradient beside it is not released."""

    plan: LogitsPlan
    scales: NoiseScales

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the noisy integers of the triangle."""
        _, matrix = self.plan.split(values)
        assert matrix is not None
        return self.scales.randomize(matrix[np.triu_indices(len(matrix))], entropy)


# A column is divided by this power of its variance: 1/2 spends the noise evenly over all columns, 0 on those
# that vary most. Between 1/4 and 1/2 log losses differ by 1 %, on the tables on which it was chosen
# (`schedule`). Tables with skewed and with binary columns alone had no part in the choice.
_POWER = 0.375
# Least variance: that of bounds 1000 times too wide.
_LEAST_VARIANCE = 1e-6
# Squared radius over the mean of squared norms: rows beyond it count less.
_ROOM = 1.5
# Mean of |z| over the root of the mean of z^2: 0.8 for normal columns, 1 for evenly divided binary ones.
_MEAN_MAGNITUDE = 0.9


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Standards:
    """How columns are standardised, by released values.

    Attributes
    ----------
    n_rows : float
        Number of rows, or its estimate.
    rates : ndarray of shape (n_labels,)
        Base rates of the classes, above 0.
    center, scale : ndarray of shape (n_features,)
        In the cube or the ball of the grid.
    variances : ndarray of shape (n_features + 1,)
        Of the standardised columns, the constant's 1 first.
    radius : float
    center_std : float
        Standard deviation of the noise of a centre.
    """

    n_rows: float
    rates: FloatArray
    center: FloatArray
    scale: FloatArray
    variances: FloatArray
    radius: float
    center_std: float


def read_standards(
    plan: ColumnMomentsPlan, noise: NoiseScales, released: Any, known: ClassRates, mechanism: str
) -> Standards:
    """Return the standards that follow from released moments."""
    d, n, unit = plan.grid.n_features, known.n_rows, 2.0**plan.grid.exponent
    values, std = released.astype(np.float64), noise.std
    means, mean_error = values[:d] / unit / n, float(std[0]) / unit / n
    squares, square_error = values[d:] / unit**2 / n, float(std[-1]) / unit**2 / n
    center = np.clip(means, -1.0, 1.0)
    # A variance below the one that noise alone makes is not known.
    least = np.maximum(np.hypot(square_error, 2 * np.abs(center) * mean_error), _LEAST_VARIANCE)
    variance = np.clip(squares - center**2, np.minimum(least, 1.0), 1.0)
    scale = variance**_POWER
    variances = np.append(1.0, variance / scale**2)
    if mechanism == "gaussian":
        radius = sqrt(_ROOM * variances.sum())
    else:
        radius = sqrt(_ROOM) * (1.0 + _MEAN_MAGNITUDE * np.sqrt(variances[1:]).sum())
    return Standards(n, known.rates, center, scale, variances, float(radius), mean_error)


# All constants here were chosen by log losses. The tables were Adult, census columns, cancer, diabetes,
# digits, three and six classes, rare classes, and collinear, constant and irrelevant columns. Only skewed and
# binary columns had no part in the choice and checked it. Not every constant was varied by itself.
#: Share of the budget for the standards, and for the curvature if it is released.
MOMENTS_SHARE = Fraction(8, 100)
CURVATURE_SHARE = Fraction(1, 10)
# Number of rounds if the signal is as strong as the noise (it grows with the root of their ratio), and its
# bounds. Laplace noise does not average out over rounds, Gaussian noise does.
_ROUNDS = {"gaussian": (12.0, 32, 64), "laplace": (2.0, 4, 24)}
# Share of the rounds that only lead near the estimate, and their budget as a part of that of another round.
_LEADING = 0.25
_LEADING_AMOUNT = {"gaussian": Fraction(3, 10), "laplace": Fraction(1)}
# Noise of the curvature, over the mean of its diagonal, beyond which it does not justify its share.
_CURVATURE_NOISE = 0.25
#: Momentum of the steps.
MOMENTUM = 0.5
# The step is that of a single column over max(1, this times the root of the number of columns). Columns that
# move together add up their curvatures.
_TOGETHER = {"gaussian": 0.5, "laplace": 0.25}
# Largest mean square that noise alone may have in logits during the rounds: beyond it probabilities saturate.
_LOGIT_NOISE = 0.25
# The ridge raises curvatures to this many times the root of the number of columns times the noise of their
# gradient, if they are below. With 4 / _LOGIT_NOISE under the root, it would be 4, so that rounds forget
# their start by exp(-4); 3 was as good. In any case the ridge is this many times that noise.
_CURVATURE_ABOVE_NOISE = 3.0
_RIDGE = 0.2


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class Schedule:
    """Rounds, steps and ridge, in units of a mean over rows.

    Attributes
    ----------
    amounts : tuple of Fraction
        Amount of epsilon, or rho, for every round.
    n_leading : int
        Number of first rounds, which are not averaged.
    curvature_amount : Fraction
        Amount for the curvature; 0: it is not released.
    weights : ndarray
        Weights of the rounds that are averaged; they add up to 1.
    noise : float
        Standard deviation of an entry of their averaged gradient.
    curvature : float
        Curvature of a logit per unit of a column's variance.
    ridge, damping : float
        A step is the gradient over their sum. Rounds that show steeper curvatures make the damping larger.
    """

    amounts: tuple[Fraction, ...]
    n_leading: int
    curvature_amount: Fraction
    weights: FloatArray
    noise: float
    curvature: float
    ridge: float
    damping: float


def make_schedule(
    standards: Standards, neighbours: LogisticNeighbours, budget: FitBudget, rates_share: Fraction
) -> Schedule:
    """Return the schedule of a fit. Its amounts, and those of all other releases, add up to the budget."""
    mechanism, n_labels = budget.mechanism, neighbours.n_labels
    left = (1 - MOMENTS_SHARE - MEAN_SHARE - rates_share) * budget.amount
    columns = len(standards.variances)
    mean_variance = float(standards.variances.mean())
    each = standards.rates * (1 - standards.rates)
    if n_labels == 2:
        # The curvature at the base rate is an upper bound of the mean, but not of that of every direction.
        steepest = typical = min(0.25, 2 * float(each[0]))
    else:
        steepest, typical = min(0.5, 2 * float(each.max())), float(each.mean())
    signal = typical * mean_variance
    root = sqrt(columns * mean_variance)
    whole = noise_of(standards, neighbours, left)
    curvature_amount = _curvature_amount(standards, neighbours, budget, typical)
    left -= curvature_amount
    factor, fewest, most = _ROUNDS[mechanism]
    n_rounds = int(np.clip(round(factor * sqrt(signal / (root * whole))), fewest, most))
    n_leading = max(1, int(_LEADING * n_rounds))
    shares = [_LEADING_AMOUNT[mechanism]] * n_leading + [Fraction(1)] * (n_rounds - n_leading)
    part = left / sum(shares)
    amounts = tuple(part * share for share in shares)
    weights = np.full(n_rounds - n_leading, 1.0 / (n_rounds - n_leading))
    one = noise_of(standards, neighbours, amounts[-1])
    noise = one / sqrt(n_rounds - n_leading)
    ridge = max(_CURVATURE_ABOVE_NOISE * root * noise - signal, 0.0) + _RIDGE * sqrt(columns) * noise
    damping = max(
        steepest * mean_variance * max(1.0, _TOGETHER[mechanism] * sqrt(columns)),
        (1 - MOMENTUM) * root**2 * one**2 / (_LOGIT_NOISE * (signal + ridge)),
    )
    return Schedule(amounts, n_leading, curvature_amount, weights, noise, typical, ridge, damping)


def noise_of(standards: Standards, neighbours: LogisticNeighbours, amount: Fraction) -> float:
    """Return the standard deviation of an entry of a mean gradient for an amount."""
    return neighbours.gradient_std(amount) * standards.radius / standards.n_rows


def _curvature_amount(
    standards: Standards, neighbours: LogisticNeighbours, budget: FitBudget, typical: float
) -> Fraction:
    """Return the amount for the curvature: 0 if its noise would hide it, or with several classes."""
    amount = CURVATURE_SHARE * budget.amount
    if neighbours.n_labels > 2:
        return Fraction(0)
    std = neighbours.curvature_std(amount) * standards.radius**2 / standards.n_rows
    # Noise of a symmetric matrix is about twice the root of its size in the direction in which it is largest.
    largest = 2 * sqrt(len(standards.variances)) * std
    return amount if largest < _CURVATURE_NOISE * typical * float(standards.variances.mean()) else Fraction(0)
