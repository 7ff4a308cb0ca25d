# SPDX-License-Identifier: BSD-3-Clause
"""Noise of the releases of a logistic fit, with the proofs of their sensitivities."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np

from ..._typing import IntArray
from ...rounds._plans._logits.logits import LogitsPlan
from .._moments.noise_scale import NoiseScales, gaussian_scales, laplace_scales, root_above
from .._moments.sensitivity import sensitivity_of_unit


@dataclass(frozen=True, kw_only=True)
class LogisticNeighbours:
    """Neighbouring relation of tables of labelled rows, and the sensitivities of what is released.

    Attributes
    ----------
    relation : {"replace-one", "add-remove"}
    mechanism : {"laplace", "gaussian"}
    n_features, n_labels : int
    in_ball : bool
        Whether the features x' lie in the unit ball of the mechanism's norm; else in the cube.
    rows_per_unit : int
        Rows of one person that count.
    grouped : bool
        Whether the unit is a group: its number of rows is then protected.
    """

    relation: str
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

    @property
    def count_weight(self) -> int:
        """Weight of a count against a sum, squared for Gaussian noise: counts take a fifth of the budget."""
        return max(1, (1 if self.in_ball else self.n_features) // (2 if self.mechanism == "gaussian" else 4))

    def moments_noise(self, n_sums: int, exponent: int, amount: Fraction) -> NoiseScales:
        """Return the noise of counts, sums and squares for `amount` of epsilon, or rho.

        Notes
        -----
        Counts have weight g, sums 1, squares c. A row is in one count: g for a row that comes or goes, and g
        twice for one that is replaced, in two counts.

        *Gaussian, g = sqrt(count_weight), c = sqrt(2).* For one column of the cube with values a, b let
        u = |a - b|, v = |a + b|, u + v <= 2. The squared change is u^2 (1 + 2 v^2) <= (2 - v)^2 (1 + v^2)^2
        = (2 - v (1 - v)^2)^2 <= 4. A row that comes or goes: a^2 + 2 a^4 <= 3. In the ball sums move by 2 and
        squares, which are not negative and add up to 1 at most, by sqrt(2): 4 + 2 * 2 = 8, or 1 + 2 = 3.

        *Laplace, g = count_weight, c = 1.* |a - b| + |a^2 - b^2| = u (1 + v) <= (2 - v) (1 + v) <= 9/4, or 2
        for one row. In the ball 2 + 2 = 4, or 2.

        An absent row changes less than a replaced one, so that a person's number of rows is covered.
        """
        gaussian, replaced = self.mechanism == "gaussian", self.relation == "replace-one"
        share = 1 if self.in_ball else self.n_features
        if gaussian:
            one = Fraction((8 if self.in_ball else 4) if replaced else 3)
        else:
            one = Fraction(4 if self.in_ball else Fraction(9, 4)) if replaced else Fraction(2)
        whole = share * one + (2 if replaced else 1) * self.count_weight
        codes = np.zeros(n_sums, dtype=np.intp)
        codes[self.n_labels :] = 1
        codes[self.n_labels + self.n_features :] = 2
        step = Fraction(1, 2**exponent)
        if gaussian:
            return self._noise([Fraction(self.count_weight), step**2, 2 * step**4], codes, whole, amount)
        return self._noise([Fraction(self.count_weight), step, step**2], codes, whole, amount)

    def gradient(self) -> Fraction:
        """L1, or squared L2 sensitivity of the gradient, in units of the rows' radius.

        Notes
        -----
        A row contributes r q', with |q| <= 1 its integers' norm and r its residuals. Two classes: |r| <= 1.
        Several: r = e_y - p, less what rounding takes, with one entry in [0, 1] and others that are not
        positive and add up to -1 at least: |r|_1 <= 2, |r|_2^2 <= 2. As |r q'| = |r| |q| in both norms, one
        row moves the sums by 1, or by 2 (L1) and 2 (squared L2); a replaced one by twice as much, squared
        four times.
        """
        one = 1 if self.n_labels == 2 else 2
        replaced = self.relation == "replace-one"
        return Fraction(one * (1 if not replaced else 4 if self.mechanism == "gaussian" else 2))

    def curvature(self) -> Fraction:
        """L1, or squared L2 sensitivity of all entries of the curvature, in units of the squared radius.

        Notes
        -----
        A row contributes w q q', with w in [0, 1/4] and |q| <= 1, of norm 1/4 at most: both the sum of its
        magnitudes, |q|_1^2 / 4, and the Frobenius norm, |q|_2^2 / 4. Replaced, L1: 1/2. Squared L2: for two
        such matrices A and B, |A - B|^2 = |A|^2 + |B|^2 - 2 tr AB <= 2/16, as tr AB = w v (q . s)^2 >= 0.
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
        if plan.coarse is None:
            raise ValueError("the plan has no curvature.")
        rows, columns = np.triu_indices(plan.grid.n_features + 1)
        unit = Fraction(1, 2 ** (2 * plan.coarse[0] + plan.coarse[1]))
        # An entry beside the diagonal stands for two.
        weights = [2 * unit**2, unit**2] if self.mechanism == "gaussian" else [2 * unit, unit]
        codes = (rows == columns).astype(np.intp)
        return CurvatureNoise(plan, self._noise(weights, codes, self.curvature(), amount))

    def gradient_std(self, amount: Fraction) -> float:
        """Return the standard deviation of the noise of a gradient's entry, in units of the radius."""
        return self._std(self.gradient(), amount)

    def curvature_std(self, amount: Fraction) -> float:
        """Return that of an entry of the curvature beside the diagonal, in units of the squared radius."""
        return self._std(self.curvature(), amount) / (sqrt(2) if self.mechanism == "gaussian" else 2)

    def _std(self, one: Fraction, amount: Fraction) -> float:
        gaussian = self.mechanism == "gaussian"
        whole = sensitivity_of_unit(one, self.rows_per_unit, squared=gaussian)
        return sqrt(whole / (2 * amount)) if gaussian else sqrt(2) * float(whole / amount)

    def largest_scale(self, least_amount: Fraction) -> int:
        """Return a bound on the scale of the noise of a gradient in units of the radius."""
        gaussian = self.mechanism == "gaussian"
        whole = sensitivity_of_unit(self.gradient(), self.rows_per_unit, squared=gaussian)
        return root_above(whole / (2 * least_amount)) if gaussian else ceil(whole / least_amount)

    def _noise(self, weights: list[Fraction], codes: Any, one: Fraction, amount: Fraction) -> NoiseScales:
        gaussian = self.mechanism == "gaussian"
        whole = sensitivity_of_unit(one, self.rows_per_unit, squared=gaussian)
        return (gaussian_scales if gaussian else laplace_scales)(weights, codes, whole, amount)


@dataclass(frozen=True, eq=False)
class CurvatureNoise:
    """Noise on one triangle of the curvature; the gradient beside it is not released."""

    plan: LogitsPlan
    scales: NoiseScales

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the noisy integers of the triangle."""
        _, matrix = self.plan.split(values)
        if matrix is None:
            raise ValueError("the sums hold no curvature.")
        return self.scales.randomize(matrix[np.triu_indices(len(matrix))], entropy)
