# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of a boosting: noisy counts for the cells, noisy sums of residuals, and the model."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..noise._mechanisms import NoisyMax
from ..rounds._driver import Round, Rounds
from ..rounds._plans.boosting import (
    UNIT,
    AdditiveModel,
    CellGrid,
    ClassLoss,
    CodeCountsPlan,
    CodedFeature,
    CodedRows,
    ColumnResidualsPlan,
    FeatureCodes,
    Loss,
    NumberLoss,
    ResidualsPlan,
    to_units,
)
from ..rounds._plans.cells import CellsPlan, TargetAxis
from ..rounds._plans.probabilities import class_probabilities
from ..rounds._rates import MEAN_SHARE, ClassRates, NoiseShares, class_rate_rounds, shift_rounds, shift_to
from ..rounds._rows import PreparedRows
from ._linear_start import LinearDesign, linear_rounds, linear_share
from ._plan import (
    CHOSEN,
    MEASURED,
    ColumnCells,
    Schedule,
    make_schedule,
    most_steps,
    project,
    share_of_rows,
    share_of_target,
)
from ._shrinkage import (
    CellPrior,
    LearntSpreads,
    StepEvidence,
    base_of_target,
    evidence_of_model,
    residual_variances,
    scores_of_cells,
    step_weights,
)

# Cells of steps, from noisy counts: finer bins for many rows, joined ones for few, random grids.

# Bins are cut into finer ones above this multiple of the rows of a bin, and this multiple of the standard
# deviation of a count.
_HEAVY, _HEAVY_STDS = 2.0, 4.0
# Rows of a finer bin, in standard deviations of a count, and the largest number of finer bins.
_ROWS_OF_A_FINER_BIN, _MOST_FINER = 3.0, 32
# Rows of a cell of the linear part, in standard deviations of a count as for a first bin. And the largest
# number of such cells, with which codes have one byte.
_ROWS_OF_A_CELL, _MOST_CELLS = 3.0, 128
# Least part of a bin's rows in the last bin.
_LAST = 0.35
# Bins are joined until they have this part of the rows that they should have.
_FULL = 0.99
# Part of a column's chance to be in a grid that all columns share equally. 0.1 and 0.3 differ little on 13
# tables.
_ANY_COLUMN = 0.1


@dataclass(frozen=True, eq=False)
class CountedCells:
    """Cells of one feature, and the estimated numbers of rows in them.

    Attributes
    ----------
    feature : CodedFeature
    sizes : ndarray of shape (n_cells,)
        Estimated numbers of rows, above 0. They add up to n.
    """

    feature: CodedFeature
    sizes: FloatArray

    @property
    def n_missing(self) -> int:
        """1 if the last cell is that of missing values, else 0."""
        return int(self.feature.has_missing)

    @property
    def positions(self) -> FloatArray | None:
        """Middle ranks of ordered cells, NaN for the cell of missing values. None: cells have no order."""
        if not self.feature.is_number:
            return None
        sizes = self.sizes[: len(self.sizes) - self.n_missing]
        ranks = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        return np.append(ranks, np.full(self.n_missing, np.nan))


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Released counts of the finest cells of one feature, and the standard deviation of their noise."""

    feature: CodedFeature
    counts: FloatArray
    std: float

    def cells(self, n_rows: float) -> CountedCells:
        """Return the cells with estimated numbers of rows, which add up to the number of all rows."""
        # A level with a count of 0 may still occur.
        least = 1e-9 if self.feature.is_number else 1.0
        return CountedCells(self.feature, posterior_sizes(self.counts, self.std**2, n_rows, least))


def posterior_sizes(counts: FloatArray, variance: float, total: float, least: float = 0.0) -> FloatArray:
    """Return counts that are shrunk toward equal ones, are not below 0, and add up to a total.

    Notes
    -----
    This is James and Stein's estimator, toward the mean.
    """
    mean = counts.mean()
    square = float(np.sum((counts - mean) ** 2))
    kept = max(0.0, 1.0 - (len(counts) - 1) * variance / max(square, 1e-300))
    sizes = np.maximum(mean + kept * (counts - mean), 0.0) + least
    return sizes * (total / sizes.sum()) if sizes.sum() > 0 else np.full(len(sizes), total / len(sizes))


def finer_feature(
    cells: CountedCells, column: ColumnCells, std: float, rows_of_a_bin: float
) -> CodedFeature | None:
    """Return the feature with finer bins for those with many rows; None if there is no such bin."""
    if column.fixed:
        return None
    edges = np.array([column.lower, *cells.feature.thresholds, column.upper])
    sizes = cells.sizes[: len(edges) - 1]
    heavy = np.flatnonzero(sizes > max(_HEAVY * rows_of_a_bin, _HEAVY_STDS * std))
    if not len(heavy):
        return None
    # With a huge epsilon, the noise has no variance.
    parts = np.clip(sizes / max(_ROWS_OF_A_FINER_BIN * std, 1e-300), 2, _MOST_FINER).astype(np.int64)
    thresholds = [cells.feature.thresholds]
    for b in heavy:
        part = np.arange(1, parts[b]) / int(parts[b])
        thresholds.append(edges[b] * (1 - part) + edges[b + 1] * part)
    return replace(cells.feature, thresholds=np.unique(np.concatenate(thresholds)))


def finer_cells(cells: CountedCells, finer: CodedFeature, counts: FloatArray, std: float) -> CountedCells:
    """Return finer cells. The rows of a first cell are divided in proportion to the counts of its parts."""
    owner = np.searchsorted(finer.thresholds, cells.feature.thresholds, side="left") + 1
    parts = np.split(np.arange(finer.n_bins), owner)
    sizes = [
        posterior_sizes(counts[part].astype(np.float64), std**2, cells.sizes[b], 1e-9)
        for b, part in enumerate(parts)
    ]
    return CountedCells(finer, np.concatenate([*sizes, cells.sizes[cells.feature.n_bins :]]))


def joined_cells(cells: CountedCells, column: ColumnCells, std: float, rows_of_a_bin: float) -> CountedCells:
    """Return the cells after bins with few rows are joined with their neighbours."""
    if column.fixed:
        return cells
    n_bins, kept, held, sizes = cells.feature.n_bins, [], 0.0, []
    for b in range(n_bins):
        held += float(cells.sizes[b])
        if held >= _FULL * rows_of_a_bin and b < n_bins - 1:
            kept.append(b)
            sizes.append(held)
            held = 0.0
    if kept and held < max(_LAST * rows_of_a_bin, std):
        kept.pop()
        sizes[-1] += held
    else:
        sizes.append(held)
    feature = replace(cells.feature, thresholds=cells.feature.thresholds[kept])
    missing = cells.sizes[n_bins:]
    found = np.maximum(np.concatenate([sizes, missing]), 1.0)
    return CountedCells(feature, found * (cells.sizes.sum() / found.sum()))


def draw_columns(
    parts: FloatArray | None, together: FloatArray, size: int, rng: np.random.Generator
) -> list[int]:
    """Draw the columns of a grid, in ascending order.

    Parameters
    ----------
    parts : ndarray of shape (n_columns,), or None
        Parts of the columns in the scores so far. Columns are drawn in proportion to them. None, or no part
        above 0: the columns that were least often drawn together.
    together : ndarray of shape (n_columns, n_columns)
        Numbers of draws of each pair together and of each column. This draw is added.
    size : int
    rng : numpy Generator
        Of a public seed.
    """
    n_columns, drawn = len(together), []
    if parts is not None and parts.any():
        chances = (1 - _ANY_COLUMN) * parts / parts.sum() + _ANY_COLUMN / n_columns
        drawn = rng.choice(n_columns, size, replace=False, p=chances).tolist()
    while len(drawn) < size:
        met = together[drawn].sum(axis=0) if drawn else together.diagonal()
        # Any of equal ones.
        met = met + rng.random(n_columns) / 2
        met[drawn] = np.inf
        drawn.append(int(met.argmin()))
    together[np.ix_(drawn, drawn)] += 1
    return sorted(drawn)


def draw_grid(
    cells: Sequence[CountedCells], chosen: Sequence[int], rng: np.random.Generator
) -> tuple[CellGrid, FloatArray]:
    """Draw a grid of two groups in each of some features, and estimate the rows of its cells.

    Parameters
    ----------
    cells : sequence of CountedCells
    chosen : sequence of int
        The features, in ascending order.
    rng : numpy Generator
        Of a public seed.

    Returns
    -------
    grid : CellGrid
    sizes : ndarray of shape (n_cells,)
        Estimated as if features were independent.
    """
    groups = tuple(_split(cells[j], rng) for j in chosen)
    sizes = np.ones(1)
    for j, group in zip(chosen, groups, strict=True):
        shares = np.bincount(group, cells[j].sizes) / cells[j].sizes.sum()
        sizes = (sizes[:, np.newaxis] * shares).ravel()
    return CellGrid(tuple(chosen), groups), sizes * cells[chosen[0]].sizes.sum()


def _split(cells: CountedCells, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw two groups of a feature's cells, both with at least one cell."""
    size = len(cells.sizes)
    n_ordered = size - cells.n_missing
    if cells.feature.is_number and n_ordered > 1:
        groups = np.arange(size) >= rng.integers(1, n_ordered)
        groups[n_ordered:] = rng.random() < 0.5
    else:
        groups = rng.random(size) < 0.5
        if groups.all() or not groups.any():
            groups[rng.integers(size)] ^= True
    return groups.astype(np.int32)


# The rounds of a boosting: the query of each step, and the model that grows from the releases.

# Number of bins of the target, which determine the first score of numbers and the limit of residuals.
_TARGET_BINS = 32
# Standard deviations of a count above which a share of the rows counts as known.
_SURE = 3.0
# Least part of the variance of residuals that a model is assumed to leave.
_LEAST_LEFT = 0.1
# Number of simulated rows, and the assumed relative distance of a mean prediction from the rate before it is
# released.
_DRAWS, _SPREAD = 2000, 0.3
# In the variance of a cell's residuals, the mean variance of all residuals has the weight of so many public
# rows. Of 5 and 50, this is better on five of seven tables.
_PRIOR_ROWS = 50.0


@dataclass(frozen=True, eq=False, kw_only=True)
class BoostingTask:
    """Everything public about a fit.

    Attributes
    ----------
    columns : tuple of ColumnCells
        Columns of the table. The last one is that of a public model's score, if there is one.
    loss : ClassLoss or NumberLoss
    noise : NoiseShares
    n_rows : int or None
        Largest number of private rows that count. None: it is protected.
    monotone : tuple of int
        -1, 0 or 1 for every column.
    offsets : tuple of int
        Columns of X with the scores of a public model.
    with_model : bool
        Whether these scores predict the target of the public rows.
    public : ndarray of shape (n_public, n_columns)
        Public rows with labels, and their scores by models that have not seen them.
    n_grids : int or None
        Number of steps on random cells. None: as many as suit the number of rows.
    seed : int
        Public seed of the random cells.
    """

    columns: tuple[ColumnCells, ...]
    loss: Loss
    noise: NoiseShares
    n_rows: int | None
    monotone: tuple[int, ...]
    offsets: tuple[int, ...] = ()
    with_model: bool = False
    public: FloatArray = field(default_factory=lambda: np.zeros((0, 1)))
    n_grids: int | None = None
    seed: int = 0

    @property
    def features(self) -> list[int]:
        """Numbers of the columns with more than one cell, that of a public model first."""
        found = [j for j, column in enumerate(self.columns) if not column.is_constant]
        return found[-1:] + found[:-1] if self.offsets and found else found

    def check_noise(self) -> None:
        """Raise ValueError if the noise of the longest schedule fits no sampler."""
        # Half of a choice's share is less than a step's.
        step = Fraction(1, 10 * max(most_steps(len(self.features), self.n_grids), 1))
        self.noise.residual_bits(step, self.loss.n_outputs)


@dataclass(frozen=True, eq=False)
class BoostingRelease:
    """The releases, and the model that is made of them.

    Attributes
    ----------
    model : AdditiveModel
    variances : tuple of ndarray of shape (n_cells, n_outputs)
        Variances of the noise in the tables of every feature.
    sizes : tuple of ndarray of shape (n_cells,)
        Estimated numbers of rows of every feature's cells.
    grids : tuple of tuples (CellGrid, weights, stds, sizes)
        Steps on random cells.
    n_rows : int
        Noisy if it is protected.
    n_steps : int
        Number of rounds of residual sums.
    target_counts : ndarray of shape (n_labels,) or (n_bins,)
        Noisy counts of the target.
    target_std : float
        Standard deviation of their noise.
    counted : dict of int to NoisyCounts
        Counts of the columns with more than one cell.
    evidence : tuple of StepEvidence
        Evidence of every step.
    """

    model: AdditiveModel
    variances: tuple[FloatArray, ...]
    sizes: tuple[FloatArray, ...]
    grids: tuple[tuple[CellGrid, FloatArray, FloatArray, FloatArray], ...]
    n_rows: int
    n_steps: int
    target_counts: FloatArray
    target_std: float
    counted: dict[int, NoisyCounts]
    evidence: tuple[StepEvidence, ...]


def boosting_rounds(task: BoostingTask, spent: PrivacySpent) -> Rounds[BoostingRelease]:
    """Yield the rounds of a fit, and return the model. The first round charges the budget of all."""
    n_rows, paid, linear = task.n_rows, [spent], (Fraction(0), 0)
    if n_rows is None:
        share = share_of_rows(task.noise.relation)
        noise = task.noise.counts(share)
        released = yield Round(
            CellsPlan(((),)), noise, paid.pop(), task.noise.describe("number of rows", noise, share)
        )
        n_rows = max(int(released[0]), 1)
    if isinstance(task.loss, ClassLoss):
        spent_before = paid.pop() if paid else None
        # If persons have several rows, the number of rows is not known.
        known_rows = task.n_rows if task.noise.rows_per_unit == 1 else None
        rates = yield from class_rate_rounds(task.noise, task.loss.n_labels, known_rows, spent_before)
        shares, logs, counts, std = rates.rates, np.log(rates.rates), rates.counts, rates.std
        scores = logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()
        if task.offsets:
            scores = _moved_to_rates(task.public[:, list(task.offsets)], rates)
        start = _Start(scores, shares[1:] if len(shares) == 2 else shares, task.loss)
        signal = float(4 * (rates.rates * (1 - rates.rates)).max())
        share = rates.share + MEAN_SHARE
        if not task.offsets and not any(task.monotone):
            declared = [task.columns[j].feature for j in task.features]
            linear = linear_share(task.noise, task.loss, rates.rates, n_rows, declared)
    else:
        share, signal = share_of_target(n_rows, task.noise), 1.0
        noise = task.noise.counts(share)
        plan = CellsPlan(((TargetAxis(task.loss.center, task.loss.half, _TARGET_BINS),),))
        record = task.noise.describe("counts of the target", noise, share)
        released = yield Round(plan, noise, paid.pop() if paid else None, record)
        # With a public model, the clip from its errors is used, unless the range of the target is smaller.
        scores, loss = base_of_target(released, noise.variance, task.loss)
        start = _Start(np.zeros(1) if task.offsets else scores, np.ones(1), loss)
        counts, std = released.astype(np.float64), float(np.sqrt(noise.variance))
    schedule = make_schedule(
        n_rows,
        len(task.features),
        task.loss.n_outputs,
        task.noise,
        share + linear[0],
        signal=signal,
        seen=task.with_model or linear[1] > 0,
        numbers=isinstance(task.loss, NumberLoss),
        n_grids=task.n_grids,
    )
    cells, finer, counted = yield from _counted_cells(task, schedule, n_rows, linear=linear[1] > 0)
    design = None
    if isinstance(task.loss, ClassLoss) and linear[1]:
        sizes = [cell.sizes for cell in cells]
        features = [cell.feature for cell in cells]
        least = _SURE * max(one.std for one in counted.values()) / n_rows
        design = LinearDesign.of_cells(task.noise, task.loss, rates.rates, n_rows, features, sizes, least)
        if len(design.variances) == 1:
            # No column has two cells with rows.
            design, linear = None, (Fraction(0), 0)
    found = yield from _steps(task, schedule, start, cells, finer, counted, design, linear)
    if isinstance(task.loss, ClassLoss):
        model = found["model"]
        drawn = _public_scores(task, model) if task.offsets else _simulated_scores(model, found["sizes"])
        shift = yield from shift_rounds(task.noise, model, drawn, rates, np.full(len(counts), _SPREAD))
        found["model"] = replace(model, base=model.base + to_units(shift))
    return BoostingRelease(**found, n_rows=n_rows, target_counts=counts, target_std=std, counted=counted)


def _moved_to_rates(drawn: FloatArray, known: ClassRates) -> FloatArray:
    """Return the scores that move a public model from the public rates to the private ones.

    Public rates differ from private ones by their sampling error, or by more if noise does not explain it.
    """
    shares, rates = class_probabilities(drawn), known.rates
    means, off = shares.mean(axis=0), rates - shares.mean(axis=0)
    noise = (known.std / known.n_rows) ** 2
    signal = np.maximum(means * (1 - means) / len(drawn), off**2 - noise)
    return shift_to(drawn, np.maximum(means + off * signal / (signal + noise), 0.0))


def _public_scores(task: BoostingTask, model: AdditiveModel) -> FloatArray:
    """Return the scores of the public rows."""
    return CodedRows(PreparedRows(task.public)).scores(model).astype(np.float64) * UNIT


def _simulated_scores(model: AdditiveModel, sizes: Sequence[FloatArray]) -> FloatArray:
    """Return scores of simulated rows, as if columns were independent."""
    rng = np.random.default_rng(0)
    codes = [rng.choice(len(one), size=_DRAWS, p=one / one.sum()) for one in sizes]
    return model.scores(np.zeros((_DRAWS, 1)), np.array(codes, dtype=np.uint16)).astype(np.float64) * UNIT


@dataclass(frozen=True, eq=False)
class _Start:
    """Start of the steps: the scores of all rows, shares of the labels, and the loss."""

    scores: FloatArray
    shares: FloatArray
    loss: Loss

    @property
    def clip(self) -> float | None:
        """Largest residual of numbers."""
        return self.loss.clip if isinstance(self.loss, NumberLoss) else None


def _counted_cells(
    task: BoostingTask, schedule: Schedule, n_rows: int, linear: bool
) -> Rounds[tuple[list[CountedCells], Fraction, dict[int, NoisyCounts]]]:
    """Yield the counts of all features and of finer bins; return cells, the latter's share, and counts."""
    codes = FeatureCodes(tuple(column.with_bins(schedule.n_bins) for column in task.columns))
    cells = [
        CountedCells(feature, np.full(feature.size, n_rows / feature.size)) for feature in codes.features
    ]
    counted: dict[int, NoisyCounts] = {}
    if not task.features or schedule.n_choices:
        return cells, Fraction(0), counted
    released, std = yield from _counts(task, codes, task.features, schedule.counts)
    for j, counts in zip(task.features, released, strict=True):
        counted[j] = NoisyCounts(codes.features[j], counts, std)
        cells[j] = counted[j].cells(n_rows)
    rows_of_a_bin, share = schedule.rows_of_a_bin, Fraction(0)
    found = {j: finer_feature(cells[j], task.columns[j], std, rows_of_a_bin) for j in task.features}
    finer = {j: feature for j, feature in found.items() if feature is not None}
    if finer:
        # The noise is the same as before.
        share = schedule.counts * len(finer) / len(task.features)
        codes = FeatureCodes(tuple(finer.get(j, cell.feature) for j, cell in enumerate(cells)))
        released, finer_std = yield from _counts(task, codes, list(finer), share)
        for (j, feature), counts in zip(finer.items(), released, strict=True):
            cells[j] = finer_cells(cells[j], feature, counts, finer_std)
            counted[j] = NoisyCounts(feature, counts, finer_std)
    if linear:
        # Lines and curves have few parameters for any number of cells. Steps join these cells further.
        rows_of_a_bin = min(max(_ROWS_OF_A_CELL * std, n_rows / _MOST_CELLS), rows_of_a_bin)
    for j in task.features:
        cells[j] = joined_cells(cells[j], task.columns[j], std, rows_of_a_bin)
    return cells, share, counted


def _counts(
    task: BoostingTask, codes: FeatureCodes, features: list[int], share: Fraction
) -> Rounds[tuple[list[FloatArray], float]]:
    """Yield the counts of some features; return those of each, and the standard deviation of the noise."""
    plan = CodeCountsPlan(codes, tuple(CellGrid.of_feature(j, codes.sizes[j]) for j in features))
    noise = task.noise.counts(share, len(features))
    released = yield Round(plan, noise, release=task.noise.describe("counts of cells", noise, share))
    return [counts.astype(np.float64) for counts in plan.by_grid(released)], float(np.sqrt(noise.variance))


def _steps(
    task: BoostingTask,
    schedule: Schedule,
    start: _Start,
    cells: list[CountedCells],
    finer: Fraction,
    counted: dict[int, NoisyCounts],
    design: LinearDesign | None,
    linear: tuple[Fraction, int],
) -> Rounds[dict[str, Any]]:
    """Yield the steps on single features and on random cells; return their fields of `BoostingRelease`."""
    joined, grids = list(cells), {j: CellGrid.of_feature(j, len(cells[j].sizes)) for j in task.features}
    rows_of_a_bin = schedule.rows_of_a_bin
    if design is not None:
        for j in task.features:
            joined[j], grids[j] = _joined(j, cells[j], task.columns[j], counted[j].std, rows_of_a_bin)
    active = [j for j in task.features if len(joined[j].sizes) > 1]
    free = [j for j in active if not task.monotone[j]]
    n_grids = schedule.n_grids if free else 0
    sizes = [cell.sizes for cell in cells]
    share = schedule.share_of_a_step(len(active), n_grids, finer)
    step = _Step(task, start, share * MEASURED if schedule.n_choices else share, sizes, [])
    again = _Step(task, start, share * (1 - CHOSEN), sizes, step.evidence)
    codes = FeatureCodes(tuple(cell.feature for cell in cells))
    model = AdditiveModel.constant(codes, start.scores, task.offsets)
    variances = [np.zeros((len(cell.sizes), task.loss.n_outputs)) for cell in cells]
    if design is not None:
        begun = yield from linear_rounds(design, model, *linear)
        model, variances = begun.model, begun.variances
        step.look_at(model)
    grids = {j: grids[j] for j in active}
    # Chosen columns get a prior when they are counted.
    priors = {j: CellPrior(joined[j].sizes, joined[j].positions) for j in active if not schedule.n_choices}
    n_single = (schedule.n_choices or len(active) * schedule.n_passes) if active else 0
    # Expected gain of a further step on a column. It is largest for columns without a step.
    gains, taken = dict.fromkeys(active, np.inf), dict.fromkeys(active, 0)
    for _ in range(n_single):
        j, part = max(gains, key=gains.__getitem__), step
        if schedule.n_choices:
            chosen = yield from _choice(task, share * CHOSEN, model, start.loss, tuple(grids.values()))
            j = active[chosen]
            part = again if j in priors else step
        if j not in priors:
            (counts,), std = yield from _counts(task, codes, [j], share * (1 - CHOSEN - MEASURED))
            counted[j] = NoisyCounts(codes.features[j], counts, std)
            found = counted[j].cells(float(cells[j].sizes.sum()))
            sizes[j] = found.sizes
            joined[j], grids[j] = _joined(j, found, task.columns[j], std, rows_of_a_bin)
            priors[j] = CellPrior(joined[j].sizes, joined[j].positions)
        taken[j] += 1
        weights, stds, gains[j] = yield from part.take(model, grids[j], priors[j], taken[j])
        groups = grids[j].groups[0]
        variances[j] += stds[groups] ** 2
        table = model.tables[j] + to_units(weights[groups])
        if task.monotone[j]:
            table = project(table, sizes[j], task.monotone[j], task.columns[j])
        model = model.with_table(j, table)
    step.look_at(model)
    rng, terms, together = np.random.default_rng(task.seed), [], np.zeros((len(free), len(free)))
    part_of = np.array(
        [_variation(model.tables[j].astype(np.float64) * UNIT, sizes[j], variances[j]) for j in free]
    )
    for number in range(n_grids):
        # Important columns are often correlated, so that the sizes of cells of many of them are wrong.
        by_part, depth = number % 2 == 1, max(schedule.depth - number % 2, 2)
        places = draw_columns(part_of if by_part else None, together, min(depth, len(free)), rng)
        grid, rows = draw_grid(joined, [free[place] for place in places], rng)
        halves = zip(grid.features, grid.groups, strict=True)
        grid = replace(grid, groups=tuple(half[grids[j].groups[0]] for j, half in halves))
        weights, stds, _ = yield from step.take(model, grid, CellPrior(rows, random=True))
        model = model.with_term(grid, to_units(weights))
        terms.append((grid, weights, stds, rows))
        part_of[places] += _variation(weights, rows) / len(places)
    return {
        "model": model,
        "variances": tuple(variances),
        "sizes": tuple(sizes),
        "grids": tuple(terms),
        "n_steps": len(step.evidence) + linear[1],
        "evidence": tuple(step.evidence),
    }


def _variation(values: FloatArray, sizes: FloatArray, noise: FloatArray | float = 0.0) -> float:
    """Return the variance of scores over the rows of cells, without the variance of their noise."""
    weights = sizes / sizes.sum()
    return float(np.maximum(weights @ ((values - weights @ values) ** 2 - noise), 0.0).sum())


def _joined(
    number: int, cells: CountedCells, column: ColumnCells, std: float, rows_of_a_bin: float
) -> tuple[CountedCells, CellGrid]:
    """Return one feature's bins, joined until they have enough rows, and the grid of the joined bins."""
    joined, group = joined_cells(cells, column, std, rows_of_a_bin), np.arange(len(cells.sizes))
    if len(joined.sizes) < len(cells.sizes):
        group = np.searchsorted(joined.feature.thresholds, cells.feature.thresholds, side="right")
        group = np.concatenate([[0], group, np.full(cells.n_missing, joined.feature.n_bins)])
    return joined, CellGrid((number,), (group.astype(np.int32),))


@dataclass(frozen=True, eq=False)
class _PullOfColumns:
    """The column with the largest total of absolute sums of residuals, by a noisy maximum."""

    plan: ColumnResidualsPlan
    mechanism: Any

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return the number of the grid."""
        pulls = np.array([[np.abs(sums).sum() for sums in self.plan.by_grid(values)]])
        return NoisyMax(self.mechanism).randomize(pulls, entropy)


def _choice(
    task: BoostingTask, share: Fraction, model: AdditiveModel, loss: Loss, grids: tuple[CellGrid, ...]
) -> Rounds[int]:
    """Yield the choice of a grid.

    Notes
    -----
    **Privacy.** A row changes the total of absolute sums by at most the row's L1 norm, up or down. The
    changes are within a range of twice that. The noise is therefore that of sums with half of the share.
    """
    bits = task.noise.residual_bits(share / 2, loss.n_outputs)
    plan = ColumnResidualsPlan(model, loss, grids, bits)
    mechanism = task.noise.residuals(share / 2, loss.n_outputs, bits)
    amount = share * task.noise.budget.amount
    record = ReleaseRecord(name="choice of a column", mechanism="report noisy max", epsilon=amount)
    released = yield Round(plan, _PullOfColumns(plan, mechanism), release=record)
    return int(released[0])


class _Step:
    """A step with one share of the budget, which can be taken many times; keeps the evidence of each."""

    def __init__(
        self,
        task: BoostingTask,
        start: _Start,
        share: Fraction,
        sizes: Sequence[FloatArray],
        evidence: list[StepEvidence],
    ) -> None:
        n_outputs, self.evidence = task.loss.n_outputs, evidence
        self._public = CodedRows(PreparedRows(task.public)) if task.with_model and len(task.public) else None
        # A public model leaves little for the steps, and of unknown size, so that nothing is learned.
        self._learns = isinstance(task.loss, ClassLoss) and not task.offsets
        self._learnt = {random: LearntSpreads() if self._learns else None for random in (False, True)}
        self._left: FloatArray | None = None
        self._start, self._sizes = start, sizes
        self._bits = task.noise.residual_bits(share, n_outputs)
        self._noise = task.noise.residuals(share, n_outputs, self._bits)
        self._record = task.noise.describe("sums of residuals", self._noise, share)
        # The unit of residuals of numbers is the clip.
        self._unit = 2.0**-self._bits * (start.clip or 1.0)
        self._std = float(np.sqrt(self._noise.variance)) * self._unit

    def look_at(self, model: AdditiveModel) -> None:
        """Estimate, by simulated rows, the part of the variance of residuals that a model leaves."""
        if self._learns:
            shares = self._start.shares
            found = class_probabilities(_simulated_scores(model, self._sizes))[:, -len(shares) :]
            left = (found * (1 - found)).mean(axis=0) / (shares * (1 - shares))
            self._left = np.clip(left, _LEAST_LEFT, 1.0)

    def take(
        self, model: AdditiveModel, grid: CellGrid, prior: CellPrior, number: int = 1
    ) -> Rounds[tuple[FloatArray, FloatArray, float]]:
        """Yield the sums of residuals by the cells of a grid; return weights, noise, and a further gain."""
        start = self._start
        plan = ResidualsPlan(model, start.loss, grid, self._bits)
        released = yield Round(plan, self._noise, release=self._record)
        sums = released.reshape(grid.size, -1).astype(np.float64) * self._unit
        known = None if self._public is None else self._information(model, grid)
        learnt = self._learnt[prior.random]
        weights, stds, effect, gain = step_weights(
            sums, self._std, prior, start.shares, start.clip, known, self._left, learnt, number
        )
        variance, step = residual_variances(start.shares, start.clip)
        sampling = np.multiply.outer(np.maximum(prior.sizes, 1e-9), variance)
        scores = scores_of_cells(grid, model.tables, self._sizes) * step
        found = evidence_of_model(sums, self._std, sampling, scores)
        self.evidence.append(StepEvidence(effect, found, self._std**2, float(sampling.mean())))
        return weights, stds, gain

    def _information(self, model: AdditiveModel, grid: CellGrid) -> FloatArray:
        """Return the mean variance of residuals in every cell, by the model and public rows."""
        assert self._public is not None
        shares = class_probabilities(self._public.scores(model).astype(np.float64) * UNIT)
        variances = (shares * (1 - shares))[:, -model.n_outputs :]
        cells = grid.cells(self._public.codes(model.codes))
        rows = np.bincount(cells, minlength=grid.size)[:, np.newaxis]
        sums = np.array([np.bincount(cells, one, grid.size) for one in variances.T]).T
        return (sums + _PRIOR_ROWS * variances.mean(axis=0)) / (rows + _PRIOR_ROWS)
