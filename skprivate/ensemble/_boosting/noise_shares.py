# SPDX-License-Identifier: BSD-3-Clause
"""Discrete noise for a share of the budget, and the sensitivity of what it protects."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, sqrt

from ..._typing import CentralRelation
from ...accounting import ReleaseRecord
from ...noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism
from ...noise._fit_budget import FitBudget
from ...rounds._plans.grid import FINEST, SCALE_BITS

IntegerNoise = DiscreteGaussianMechanism | DiscreteLaplaceMechanism

# Scales of noise are multiples of it: that costs less than 0.1 % of the budget from a scale of 1 on.
_STEP = Fraction(1, 2**10)
# Larger scales are whole numbers.
_COARSE = 2**20


@dataclass(frozen=True)
class Sensitivity:
    """How far the integers move when one row is replaced, or added or removed."""

    l1: int
    squared_l2: int

    @classmethod
    def of_counts(cls, n_tables: int, relation: CentralRelation) -> "Sensitivity":
        """Return that of counts in tables, in each of which a row is counted once."""
        moved = 2 * n_tables if relation == "replace-one" else n_tables
        return cls(moved, moved)

    @classmethod
    def of_residuals(cls, n_outputs: int, relation: CentralRelation) -> "Sensitivity":
        """Return that of sums of residuals by cell, in units of the grid's ``one``."""
        norm = 1 if n_outputs == 1 else 2
        return cls(2 * norm, 4 * norm) if relation == "replace-one" else cls(norm, norm)


@dataclass(frozen=True)
class NoiseShares:
    """The budget of a fit, of which every release gets a share.

    Attributes
    ----------
    budget : FitBudget
    relation : {"replace-one", "add-remove"}
    rows_per_unit : int
        Rows of a person that count, m: all of them may change at once. That is m changes of one row, so that
        the L1 norms of these add up, and so do the L2 norms.
    """

    budget: FitBudget
    relation: CentralRelation
    rows_per_unit: int = 1

    def counts(self, share: Fraction, n_tables: int = 1) -> IntegerNoise:
        """Return the noise of counts in so many tables."""
        return self._noise(share, Sensitivity.of_counts(n_tables, self.relation), 1)

    def describe(self, name: str, noise: IntegerNoise, share: Fraction) -> ReleaseRecord:
        """Return the record of a release that gets a share of the budget."""
        return ReleaseRecord.of(name, noise, share * self.budget.amount)

    def residuals(self, share: Fraction, n_outputs: int, bits: int) -> IntegerNoise:
        """Return the noise of sums of residuals that are multiples of 2^-bits."""
        return self._noise(share, Sensitivity.of_residuals(n_outputs, self.relation), 2**bits)

    def residual_bits(self, share: Fraction, n_outputs: int) -> int:
        """Return the finest grid of residuals for which the noise fits the sampler.

        Raises
        ------
        ValueError
            There is none: epsilon is too small.
        """
        scale = self._scale(share, Sensitivity.of_residuals(n_outputs, self.relation), 1)
        bits = SCALE_BITS - (ceil(scale) - 1).bit_length()
        if bits < 0:
            raise ValueError("epsilon is too small: the noise does not fit 64-bit integers.")
        return min(FINEST, bits)

    @property
    def unit_std(self) -> float:
        """Standard deviation of the noise that the whole budget pays for at a sensitivity of 1."""
        if self.budget.mechanism == "gaussian":
            return sqrt(1 / (2 * self.budget.amount))
        return float(sqrt(2) / self.budget.amount)

    def step_std(self, share: float, n_outputs: int) -> float:
        """Return the standard deviation of the noise of one step that gets a share."""
        moved = Sensitivity.of_residuals(n_outputs, self.relation)
        if self.budget.mechanism == "gaussian":
            return self.unit_std * self.rows_per_unit * sqrt(moved.squared_l2 / share)
        return self.unit_std * self.rows_per_unit * moved.l1 / share

    def _noise(self, share: Fraction, moved: Sensitivity, one: int) -> IntegerNoise:
        scale = self._scale(share, moved, one)
        if self.budget.mechanism == "gaussian":
            squared = moved.squared_l2 * self.rows_per_unit**2 * one**2
            return DiscreteGaussianMechanism.from_sigma(scale, squared)
        return DiscreteLaplaceMechanism.from_scale(scale, moved.l1 * self.rows_per_unit * one)

    def _scale(self, share: Fraction, moved: Sensitivity, one: int) -> Fraction:
        """Return the least scale that a share of the budget pays for, rounded up."""
        amount = self.budget.amount * share
        if self.budget.mechanism == "gaussian":
            square = moved.squared_l2 * self.rows_per_unit**2 * one**2 / (2 * amount * _STEP**2)
            scale = (isqrt(ceil(square) - 1) + 1) * _STEP
        else:
            scale = ceil(moved.l1 * self.rows_per_unit * one / (amount * _STEP)) * _STEP
        # The sampler takes numerators of 52 bits.
        return scale if scale < _COARSE else Fraction(ceil(scale))
