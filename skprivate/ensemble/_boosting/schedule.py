# SPDX-License-Identifier: BSD-3-Clause
"""How a boosting divides its budget: bins, passes, random cells and shares, from public numbers alone.

The constants were chosen on six data sets (two of them simulated, one with 569 rows), for epsilon from 0.5 to
8 and both kinds of noise, and checked on four simulated ones: many columns, waves, binary columns, pairs.
"""

import functools
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2

from .noise_shares import NoiseShares

# Shares of the budget: of the number of rows (add-remove), and of the counts of all features. Finer bins are
# counted with the same noise: they cost as much again where all features have some. With a share of 3 % for
# them, of more noise or of fewer features, tables of many or of skewed columns lose up to 5 points.
_ROWS, _COUNTS = Fraction(2, 100), Fraction(10, 100)
# Share of the base rate: what makes the standard deviation of a label's share so small, within two bounds.
# The upper one is better than 5 and 20 % on three tables of 455 to 2,200 rows at epsilon 0.1 to 2.
_BASE_STD, _LEAST_BASE, _MOST_BASE = 0.01, Fraction(2, 100), Fraction(10, 100)
# Passes over the features; one where a public model has seen them, or where epsilons add up.
_PASSES = 2
# Steps on single features that a strong one needs to be learnt, as one goes from even odds to a probability
# of 0.88 at most; where the noise of so many steps does not matter, few features are passed more often.
_FEWEST_STEPS = 8
# Rows per standard deviation of a step's noise down to which more steps pay, while all of them at most double
# the noise; and further steps of which there are so many rows that the noise does not matter. Most of these.
_ROWS_FOR_STEPS, _ROWS_FOR_MORE, _MOST_GRIDS = 100.0, 400.0, 80
# Rows of a bin, and of random cells, in standard deviations of the noise of a step of sensitivity 1.
_ROWS_OF_A_BIN, _ROWS_OF_A_CELL = 12.0, 8.0
# Rows of a first bin in standard deviations of the noise of a count.
_ROWS_OF_A_FIRST_BIN = 3.0
_FEWEST_BINS, _MOST_BINS = 4, 32
_LEAST_DEPTH, _MOST_DEPTH = 2, 5


@dataclass(frozen=True)
class Schedule:
    """The plan of a fit before rows are counted.

    Attributes
    ----------
    n_bins : int
        First bins of a column of numbers, of equal width.
    rows_of_a_bin : float
        Rows that a bin has at least where bins are joined.
    n_passes : int
        Passes over the features.
    n_grids, depth : int
        Steps on random cells, and the number of splits of each.
    base, counts, steps : Fraction
        Shares of the budget: of the base rate, of the counts of all features, which is the most that those of
        finer bins have, too, and of these and all steps.
    """

    n_bins: int
    rows_of_a_bin: float
    n_passes: int
    n_grids: int
    depth: int
    base: Fraction
    counts: Fraction
    steps: Fraction

    def share_of_a_step(self, n_features: int, n_grids: int, finer: Fraction) -> Fraction:
        """Return the share of a single step, given what finer bins took."""
        return (self.steps - finer) / max(self.n_passes * n_features + n_grids, 1)


def share_of_rows(relation: str) -> Fraction:
    """Return the share of the budget for the number of rows."""
    return _ROWS if relation == "add-remove" else Fraction(0)


def make_schedule(
    n_rows: int,
    n_features: int,
    n_outputs: int,
    noise: NoiseShares,
    *,
    with_model: bool = False,
    n_grids: int | None = None,
) -> Schedule:
    """Return the schedule of a fit.

    Parameters
    ----------
    n_rows : int
        Public, or noisy.
    n_features : int
        Features with more than one cell, that of a public model among them.
    n_outputs : int
        Scores of a row.
    noise : NoiseShares
    with_model : bool
        Whether a public model gives the scores to start from.
    n_grids : int, default=None
        Steps on random cells; None: as many as the rows pay for.
    """
    gaussian = noise.budget.mechanism == "gaussian"
    n_passes = _PASSES if gaussian and not with_model else 1
    base = _share_of_base(n_rows, noise)
    steps = 1 - share_of_rows(noise.relation) - base - _COUNTS
    left = float(steps - _COUNTS)
    most = functools.partial(_most_steps, n_rows, noise.step_std(1.0, n_outputs), left, gaussian)
    affordable = min(_FEWEST_STEPS, most(_ROWS_FOR_MORE)) // max(n_features, 1)
    n_passes = max(n_passes, int(affordable))
    if n_grids is None:
        n_single = n_passes * n_features
        # So many that the noise of all other steps doubles.
        double = 3 * n_single if gaussian else n_single
        room = most(_ROWS_FOR_STEPS) - n_single, most(_ROWS_FOR_MORE) - n_single
        wanted = max(min(double, room[0]), min(_MOST_GRIDS, room[1]))
        n_grids = int(min(max(wanted, 0), _MOST_GRIDS))
    n_grids = n_grids if n_features > 1 else 0
    share = left / max(n_passes * n_features + n_grids, 1)
    std = noise.unit_std * noise.rows_per_unit / (share**0.5 if gaussian else share)
    bins = min(max(n_rows / std / _ROWS_OF_A_BIN, _FEWEST_BINS), _MOST_BINS)
    depth = min(max(log2(max(n_rows / std / _ROWS_OF_A_CELL, 1.0)), _LEAST_DEPTH), _MOST_DEPTH)
    count_std = noise.counts(_COUNTS, max(n_features, 1)).variance ** 0.5
    first = min(max(n_rows / (_ROWS_OF_A_FIRST_BIN * max(count_std, 1e-300)), _FEWEST_BINS), _MOST_BINS)
    return Schedule(
        n_bins=max(min(int(first), n_rows), 1),
        rows_of_a_bin=n_rows / int(bins),
        n_passes=n_passes,
        n_grids=n_grids,
        depth=int(depth),
        base=base,
        counts=_COUNTS,
        steps=steps,
    )


def _share_of_base(n_rows: int, noise: NoiseShares) -> Fraction:
    """Return the share of the budget that the base rate gets."""
    gaussian = noise.budget.mechanism == "gaussian"
    ratio = noise.counts(Fraction(1)).variance ** 0.5 / (_BASE_STD * n_rows)
    wanted = ratio**2 if gaussian else ratio
    return min(max(Fraction(ceil(wanted * 1000), 1000), _LEAST_BASE), _MOST_BASE)


def _most_steps(n_rows: int, std: float, left: float, gaussian: bool, rows: float) -> float:
    """Return how many steps leave so many rows per standard deviation of the noise of each.

    ``std`` is that of one step with the whole budget, of which the steps have the share ``left``.
    """
    ratio = n_rows / (rows * std)
    return left * (ratio**2 if gaussian else ratio)


def most_steps(n_features: int, n_grids: int | None) -> int:
    """Return the largest number of steps that a schedule has for so many features."""
    single = max(_PASSES * n_features, _FEWEST_STEPS)
    return single + (_MOST_GRIDS if n_grids is None else n_grids)
