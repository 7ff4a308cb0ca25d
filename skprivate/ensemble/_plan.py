# SPDX-License-Identifier: BSD-3-Clause
"""What is public about a boosting: declared cells, monotone constraints, shares of the budget, schedule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log2
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from .._typing import FloatArray, IntArray
from ..domain import TableDomain
from ..rounds._plans.boosting import MOST_CELLS, CodedFeature
from ..rounds._rates import NoiseShares

# Columns as they are declared, as cells: bins, levels, and what is missing.

# Cells of booleans where a missing value is written as 0.5.
_WITH_MISSING = (False, "missing", True)


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """One column of the table as it was declared.

    Attributes
    ----------
    name : str
    feature : CodedFeature
        Unless `fixed`, other bins replace its bins when their number is known.
    lower, upper : float
        Bounds of numbers.
    fixed : bool
        Whether the cells are those of `feature` already.
    levels : tuple, or None
        The level of every cell, if cells are levels.
    fill : float, or None
        The number that replaces missing values if they have no cell.
    """

    name: str
    feature: CodedFeature
    lower: float = 0.0
    upper: float = 1.0
    fixed: bool = False
    levels: tuple[Any, ...] | None = None
    fill: float | None = None

    @property
    def is_number(self) -> bool:
        """Whether the cells are bins of numbers."""
        return self.levels is None

    @property
    def place_of_missing(self) -> int | None:
        """The cell of missing values among the levels, or None."""
        return self.levels.index("missing") if self.levels == _WITH_MISSING else None

    @property
    def is_constant(self) -> bool:
        """Whether there is only one cell for any number of bins."""
        if self.fixed:
            return self.feature.size < 2
        return self.lower >= self.upper and self.feature.missing is None

    def with_bins(self, n_bins: int) -> CodedFeature:
        """Return the feature with so many bins of equal width."""
        if self.fixed or self.lower >= self.upper:
            return self.feature
        # A weighted mean of the bounds, as their difference may overflow.
        part = np.arange(1, n_bins) / n_bins
        thresholds = np.unique(self.lower * (1 - part) + self.upper * part)
        return replace(self.feature, thresholds=thresholds)


def columns_of_numbers(
    lower: FloatArray, upper: FloatArray, names: Sequence[str] | None
) -> tuple[ColumnCells, ...]:
    """Return the columns of a table of numbers between bounds."""
    return tuple(
        ColumnCells(
            name=f"x{j}" if names is None else str(names[j]),
            feature=CodedFeature(j, np.empty(0)),
            lower=float(lower[j]),
            upper=float(upper[j]),
        )
        for j in range(len(lower))
    )


def columns_of_domain(domain: TableDomain, *, strict: bool) -> tuple[ColumnCells, ...]:
    """Return the declared columns of a table, whose rows are encoded.

    In strict mode, cells without a valid value count as missing in all columns, and levels have a cell for
    them.
    """
    found, at = [], 0
    for name, column in domain.columns.items():
        width = len(column.suffixes())
        indicator = at + width if column.missing == "indicator" else None
        filled = column.missing == "fill" or (strict and indicator is None)
        found.append(_declared(name, column, at, indicator, filled))
        at += width + (indicator is not None)
    return tuple(found)


def _declared(name: str, column: Any, at: int, indicator: int | None, filled: bool) -> ColumnCells:
    low, high = column.encoded_bounds()
    if column.kind == "categorical" and not column.ordered:
        # Rows without a level are missing.
        no_level = filled and column.fill is None
        feature = CodedFeature.of_levels(at, len(column.levels), indicator, no_level)
        return ColumnCells(name, feature, fixed=True, levels=tuple(column.levels))
    if column.kind == "categorical" or column.kind == "boolean":
        n_levels = len(column.levels) if column.kind == "categorical" else 2
        thresholds: FloatArray = np.arange(1.0, n_levels) - 0.5
        levels: tuple[Any, ...] = tuple(column.levels) if column.kind == "categorical" else (False, True)
        if column.kind == "boolean" and filled and column.fill is None:
            # A missing value is written as 0.5.
            thresholds, levels = np.array([0.25, 0.75]), _WITH_MISSING
        feature = CodedFeature(at, thresholds, missing=indicator)
        return ColumnCells(name, feature, low, high, fixed=True, levels=levels)
    fill = column.fill_value() if filled else None
    return ColumnCells(name, CodedFeature(at, np.empty(0), missing=indicator), low, high, fill=fill)


def check_cells(columns: Sequence[ColumnCells], n_rows: int | None) -> None:
    """Raise an error if a column has more declared cells than there are rows.

    Parameters
    ----------
    columns : sequence of ColumnCells
    n_rows : int or None
        None: not public.
    """
    for column in columns:
        size = column.feature.size if column.fixed else 1
        if size > MOST_CELLS:
            raise ValueError(f"column {column.name!r} has more than {MOST_CELLS} cells.")
        if n_rows is not None and size > n_rows:
            raise ValueError(
                f"column {column.name!r} has more cells than there are rows: {size} declared levels, and "
                f"{n_rows} rows. Declare fewer levels."
            )


# Monotone constraints: their valid values, and the nearest monotone table of weights.


def check_monotone(constraint: Any, columns: Sequence[ColumnCells]) -> tuple[int, ...]:
    """Return -1, 0 or 1 for every column.

    Raises
    ------
    ValueError
        Other values, another number of columns, unknown names, or a column whose cells have no order.
    """
    if constraint is None:
        return (0,) * len(columns)
    names = [column.name for column in columns]
    if isinstance(constraint, Mapping):
        unknown = [name for name in constraint if name not in names]
        if unknown:
            raise ValueError(f"monotonic_cst names a column that X does not have: {unknown[0]!r}.")
        signs = [constraint.get(name, 0) for name in names]
    else:
        signs = list(np.asarray(constraint, dtype=object).ravel())
    if len(signs) != len(columns):
        raise ValueError(f"monotonic_cst must have one value for each of the {len(columns)} columns.")
    if not all(not isinstance(sign, bool) and sign in (-1, 0, 1) for sign in signs):
        raise ValueError("monotonic_cst must hold -1, 0 and 1.")
    for sign, column in zip(signs, columns, strict=True):
        if sign and not column.feature.is_number:
            raise ValueError(f"monotonic_cst: the levels of column {column.name!r} have no order.")
    return tuple(int(sign) for sign in signs)


def project(table: IntArray, sizes: FloatArray, sign: int, column: ColumnCells) -> IntArray:
    """Return the nearest monotone table by weighted least squares; a cell of missing values stays."""
    n_cells = len(table) - (column.feature.missing is not None)
    fitted = isotonic_regression(
        table[:n_cells, 0].astype(np.float64),
        sample_weight=np.maximum(sizes[:n_cells], 1.0),
        increasing=sign > 0,
    )
    projected = table.copy()
    # Rounding is monotone.
    projected[:n_cells, 0] = np.rint(fitted).astype(np.int64)
    return projected


# How a boosting divides its budget: bins, passes, random cells and shares, from public numbers alone. The
# constants were chosen on six data sets, for epsilon from 0.5 to 8 and both kinds of noise. Two of these
# sets are simulated, one has 569 rows. Four simulated sets checked them: many columns, waves, binary
# columns, pairs.

# Shares of the budget for the number of rows (add-remove), and for the counts of all features. Finer bins
# are counted with the same noise. They cost as much again if all features have some. A share of 3 % for
# them, with more noise or fewer features, costs up to 5 points on tables with many or skewed columns.
_ROWS, _COUNTS = Fraction(2, 100), Fraction(10, 100)
# Share for the counts of a target of numbers: the one that makes the standard deviation of a bin's share so
# small, within two bounds. The upper bound is better than 5 and 20 % on three tables of 455 to 2,200 rows at
# epsilon 0.1 to 2.
_BASE_STD, _LEAST_BASE, _MOST_BASE = 0.01, Fraction(2, 100), Fraction(10, 100)
# Passes over the features. There is one if a public model or a linear part has seen them, or if epsilons add
# up.
_PASSES = 2
# Steps on single features that are needed to learn a strong one: a step moves even odds to a probability of
# at most 0.88. If the noise of so many steps does not matter, a few features have more passes.
_FEWEST_STEPS = 8
# Least rows per standard deviation of a step's noise for more steps, as long as all of them at most double
# the noise. The same for further steps, whose noise does not matter with so many rows. The largest number of
# these steps.
_ROWS_FOR_STEPS, _ROWS_FOR_MORE, _MOST_GRIDS = 100.0, 400.0, 80
# Rows of a bin and of random cells, in standard deviations of the noise of a step with sensitivity 1.
_ROWS_OF_A_BIN, _ROWS_OF_A_CELL = 12.0, 8.0
# Rows of a first bin in standard deviations of the noise of a count.
_ROWS_OF_A_FIRST_BIN = 3.0
_FEWEST_BINS, _MOST_BINS = 4, 32
_LEAST_DEPTH, _MOST_DEPTH = 2, 5
# If epsilons add up and there are more columns than useful steps, every step chooses its column. First the
# least rows per standard deviation of a step's noise with which such steps are useful, for labels and for
# numbers. Of 30, 50 and 100, these lose on none of fourteen tables, with effects of few columns or of all.
# Then the shares of a step for the choice of a column and for the sums of residuals. The rest counts rows.
# Last the bins of the columns that can be chosen.
_ROWS_OF_A_CHOICE = (50.0, 100.0)
CHOSEN, MEASURED, _BINS_OF_A_CHOICE = Fraction(3, 10), Fraction(5, 10), 32


@dataclass(frozen=True)
class Schedule:
    """The plan of a fit before rows are counted.

    Attributes
    ----------
    n_bins : int
        First bins of a column of numbers, of equal width.
    rows_of_a_bin : float
        Least rows of a bin after bins are joined.
    n_passes : int
        Passes over the features.
    n_grids, depth : int
        Number of steps on random cells, and of splits in each.
    counts, steps : Fraction
        Shares of the budget: for the counts of all features, and for finer bins and all steps together.
        Finer bins get at most as much as the counts.
    n_choices : int, default=0
        Number of steps on columns that noisy maxima choose, in place of all passes, counts and grids. 0:
        none.
    """

    n_bins: int
    rows_of_a_bin: float
    n_passes: int
    n_grids: int
    depth: int
    counts: Fraction
    steps: Fraction
    n_choices: int = 0

    def share_of_a_step(self, n_features: int, n_grids: int, finer: Fraction) -> Fraction:
        """Return the share of a single step with the choice of its column, given that of finer bins."""
        return (self.steps - finer) / (self.n_choices or max(self.n_passes * n_features + n_grids, 1))


def share_of_rows(relation: str) -> Fraction:
    """Return the share of the budget for the number of rows."""
    return _ROWS if relation == "add-remove" else Fraction(0)


def share_of_target(n_rows: int, noise: NoiseShares) -> Fraction:
    """Return the share of the budget for the counts of numbers by bins."""
    wanted = noise.counts(Fraction(1)).variance ** 0.5 / (_BASE_STD * n_rows)
    wanted = wanted**2 if noise.budget.mechanism == "gaussian" else wanted
    return min(max(Fraction(ceil(wanted * 1000), 1000), _LEAST_BASE), _MOST_BASE)


def make_schedule(
    n_rows: int,
    n_features: int,
    n_outputs: int,
    noise: NoiseShares,
    target: Fraction,
    *,
    signal: float = 1.0,
    seen: bool = False,
    numbers: bool = False,
    n_grids: int | None = None,
) -> Schedule:
    """Return the schedule of a fit.

    Parameters
    ----------
    n_rows : int
        Public, or noisy.
    n_features : int
        Number of features with more than one cell, including that of a public model.
    n_outputs : int
        Scores of a row.
    noise : NoiseShares
    target : Fraction
        Share of the budget for the target: base rates and mean prediction, or counts by bins.
    signal : float, default=1.0
        Variance of the residuals of labels over that of even labels. Steps on rare events learn as much as
        from so many times fewer rows.
    seen : bool
        Whether a public model, or a linear part, has seen the features before the steps.
    numbers : bool
        Whether residuals are of numbers.
    n_grids : int, default=None
        Number of steps on random cells. None: as many as suit the number of rows.
    """
    gaussian = noise.budget.mechanism == "gaussian"
    steps = 1 - share_of_rows(noise.relation) - target - _COUNTS
    left = float(steps - _COUNTS)
    whole_std, n_even = noise.step_std(1.0, n_outputs), n_rows * signal

    def most(rows: float) -> float:
        """Return how many steps leave so many rows per standard deviation of the noise of each."""
        ratio = n_even / (rows * whole_std)
        return left * (ratio**2 if gaussian else ratio)

    rows_of_a_choice = _ROWS_OF_A_CHOICE[numbers]
    chosen = int((left + 2 * float(_COUNTS)) * float(MEASURED) * n_even / (rows_of_a_choice * whole_std))
    if not gaussian and chosen < n_features:
        n_choices = max(chosen, 1)
        std = noise.step_std(float(MEASURED * (steps + _COUNTS)) / n_choices, n_outputs)
        bins = min(max(n_even / std / _ROWS_OF_A_BIN, _FEWEST_BINS), _MOST_BINS)
        return Schedule(
            n_bins=max(min(_BINS_OF_A_CHOICE, n_rows), 1),
            rows_of_a_bin=n_rows / int(bins),
            n_passes=0,
            n_grids=0,
            depth=0,
            counts=Fraction(0),
            steps=steps + _COUNTS,
            n_choices=n_choices,
        )
    affordable = min(_FEWEST_STEPS, most(_ROWS_FOR_MORE)) // max(n_features, 1)
    n_passes = max(_PASSES if gaussian and not seen else 1, int(affordable))
    n_single = n_passes * n_features
    if n_grids is None:
        # With so many, the noise of all other steps doubles.
        double = 3 * n_single if gaussian else n_single
        room = most(_ROWS_FOR_STEPS) - n_single, most(_ROWS_FOR_MORE) - n_single
        wanted_grids = max(min(double, room[0]), min(_MOST_GRIDS, room[1]))
        n_grids = int(min(max(wanted_grids, 0), _MOST_GRIDS))
    n_grids = n_grids if n_features > 1 else 0
    share = left / max(n_single + n_grids, 1)
    std = noise.unit_std * noise.rows_per_unit / (share**0.5 if gaussian else share)
    bins = min(max(n_even / std / _ROWS_OF_A_BIN, _FEWEST_BINS), _MOST_BINS)
    depth = min(max(log2(max(n_even / std / _ROWS_OF_A_CELL, 1.0)), _LEAST_DEPTH), _MOST_DEPTH)
    count_std = noise.counts(_COUNTS, max(n_features, 1)).variance ** 0.5
    first = min(max(n_rows / (_ROWS_OF_A_FIRST_BIN * max(count_std, 1e-300)), _FEWEST_BINS), _MOST_BINS)
    return Schedule(
        n_bins=max(min(int(first), n_rows), 1),
        rows_of_a_bin=n_rows / int(bins),
        n_passes=n_passes,
        n_grids=n_grids,
        depth=int(depth),
        counts=_COUNTS,
        steps=steps,
    )


def most_steps(n_features: int, n_grids: int | None) -> int:
    """Return the largest number of steps that a schedule has for so many features."""
    single = max(_PASSES * n_features, _FEWEST_STEPS)
    return single + (_MOST_GRIDS if n_grids is None else n_grids)
