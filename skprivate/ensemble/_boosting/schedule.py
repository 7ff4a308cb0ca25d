# SPDX-License-Identifier: BSD-3-Clause
"""How a boosting divides its budget: bins, passes, random cells and shares, from public numbers alone."""

from dataclasses import dataclass
from fractions import Fraction
from math import log2

from .noise_shares import NoiseShares

# Shares of the budget. Of all: the noisy number of rows (add-remove), the base rate, counts of all features,
# and counts of random cells, where there are some.
_ROWS, _BASE, _COUNTS, _GRID_COUNTS = Fraction(1, 100), Fraction(2, 100), Fraction(8, 100), Fraction(4, 100)
# Passes over the features; one where a public model has seen them.
_PASSES, _PASSES_WITH_MODEL = 2, 1
# Rows per noise that pay for one grid of random cells, and the most of these.
_SNR_OF_A_GRID, _MOST_GRIDS = 300.0, 40
# Rows of a bin, and of a random cell, in standard deviations of the noise of a step.
_ROWS_OF_A_BIN, _ROWS_OF_A_CELL = 12.0, 8.0
_FEWEST_BINS, _MOST_BINS = 4, 32
_LEAST_DEPTH, _MOST_DEPTH = 2, 5


@dataclass(frozen=True)
class Schedule:
    """The plan of a fit: what is released, and for which shares of the budget.

    Attributes
    ----------
    n_bins : int
        Bins of a column of numbers.
    n_passes : int
        Passes over the features.
    n_grids, depth : int
        Steps on random cells, and the number of splits of each.
    base, counts, grid_counts, step : Fraction
        Shares of the budget: of the base rate, of the counts of all features, of those of random cells, and of
        every single step.
    """

    n_bins: int
    n_passes: int
    n_grids: int
    depth: int
    base: Fraction
    counts: Fraction
    grid_counts: Fraction
    step: Fraction


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
    snr = n_rows / noise.unit_std
    if n_grids is None:
        n_grids = int(min(snr / _SNR_OF_A_GRID, _MOST_GRIDS))
    n_grids = n_grids if n_features > 1 else 0
    n_passes = _PASSES_WITH_MODEL if with_model else _PASSES
    base = Fraction(0) if with_model else _BASE
    grid_counts = _GRID_COUNTS if n_grids else Fraction(0)
    n_steps = n_passes * n_features + n_grids
    rest = 1 - share_of_rows(noise.relation) - base - _COUNTS - grid_counts
    step = rest / max(n_steps, 1)
    std = noise.step_std(float(step), n_outputs)
    bins = min(max(n_rows / std / _ROWS_OF_A_BIN, _FEWEST_BINS), _MOST_BINS)
    depth = min(max(log2(max(n_rows / std / _ROWS_OF_A_CELL, 1.0)), _LEAST_DEPTH), _MOST_DEPTH)
    return Schedule(
        n_bins=max(min(int(bins), n_rows), 1),
        n_passes=n_passes,
        n_grids=n_grids,
        depth=int(depth),
        base=base,
        counts=_COUNTS,
        grid_counts=grid_counts,
        step=step,
    )


def most_steps(n_features: int, n_grids: int | None) -> int:
    """Return the largest number of steps that a schedule has for so many features."""
    return _PASSES * n_features + (_MOST_GRIDS if n_grids is None else n_grids)
