# SPDX-License-Identifier: BSD-3-Clause
"""The rounds of a boosting: what each step asks of the rows, and the model that grows of what is released."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._typing import FloatArray
from ...accounting import PrivacySpent
from ...rounds._driver import Round, Rounds
from ...rounds._plans._additive.codes import CellGrid
from ...rounds._plans._additive.plans import ClassLoss, CodeCountsPlan, Loss, NumberLoss, ResidualsPlan
from ...rounds._plans._additive.scores import AdditiveModel, to_units
from ...rounds._plans.axes import LabelAxis, TargetAxis
from ...rounds._plans.cells import CellsPlan
from .cells import draw_grid, group_cells
from .columns import ColumnCells, make_codes
from .monotone import project
from .noise_shares import NoiseShares
from .schedule import Schedule, make_schedule, most_steps, share_of_rows
from .shrinkage import StepKind, base_of_labels, base_of_target, step_weights

# Bins of the target that tell where numbers start from, and how far residuals reach.
_TARGET_BINS = 32


@dataclass(frozen=True, eq=False, kw_only=True)
class BoostingTask:
    """Everything public about a fit.

    Attributes
    ----------
    columns : tuple of ColumnCells
        Those of the table; last that of a public model's score, where there is one.
    loss : ClassLoss or NumberLoss
    noise : NoiseShares
    n_rows : int or None
        Private rows that count at most; None: protected.
    monotone : tuple of int
        For every column -1, 0 or 1.
    offsets : tuple of int
        Columns of X that hold the scores of a public model.
    n_grids : int or None
        Steps on random cells; None: as many as the rows pay for.
    seed : int
        Of the random cells.
    """

    columns: tuple[ColumnCells, ...]
    loss: Loss
    noise: NoiseShares
    n_rows: int | None
    monotone: tuple[int, ...]
    offsets: tuple[int, ...] = ()
    n_grids: int | None = None
    seed: int = 0

    @property
    def features(self) -> list[int]:
        """Numbers of the columns that have more than one cell, that of a public model first."""
        found = [j for j, column in enumerate(self.columns) if not column.is_constant]
        return found[-1:] + found[:-1] if self.offsets and found else found

    def check_noise(self) -> None:
        """Raise ValueError where the noise of the longest schedule fits no sampler."""
        step = Fraction(1, 2 * max(most_steps(len(self.features), self.n_grids), 1))
        self.noise.residual_bits(step, self.loss.n_outputs)


@dataclass(frozen=True, eq=False)
class BoostingRelease:
    """What was released, and the model that is made of it.

    Attributes
    ----------
    model : AdditiveModel
    variances : tuple of ndarray of shape (n_cells, n_outputs)
        Of the noise in the tables of every feature.
    counts : tuple of ndarray of shape (n_cells,)
        Noisy numbers of rows of every feature's cells; those of a single cell are not known, and n.
    grids : tuple of tuples (CellGrid, weights, stds, sizes)
        Steps on random cells.
    n_rows : int
        Noisy where it is protected.
    schedule : Schedule
    scale : float
        What scores are multiplied by, and `shift` added: units of y.
    """

    model: AdditiveModel
    variances: tuple[FloatArray, ...]
    counts: tuple[FloatArray, ...]
    grids: tuple[tuple[CellGrid, FloatArray, FloatArray, FloatArray], ...]
    n_rows: int
    schedule: Schedule
    n_steps: int


def boosting_rounds(task: BoostingTask, spent: PrivacySpent) -> Rounds[BoostingRelease]:
    """Yield the rounds of a fit, and return the model; the first one pays for all of them."""
    paid: PrivacySpent | None = spent
    n_rows = task.n_rows
    if n_rows is None:
        released = yield Round(CellsPlan(((),)), task.noise.counts(share_of_rows(task.noise.relation)), paid)
        n_rows, paid = max(int(released[0]), 1), None
    schedule = make_schedule(
        n_rows,
        len(task.features),
        task.loss.n_outputs,
        task.noise,
        with_model=bool(task.offsets),
        n_grids=task.n_grids,
    )
    loss, base = task.loss, np.zeros(task.loss.n_outputs)
    if not task.offsets or not task.features:
        share = schedule.base or Fraction(1, 2)
        noise = task.noise.counts(share)
        released = yield Round(CellsPlan(((_base_axis(loss),),)), noise, paid)
        paid = None
        if isinstance(loss, NumberLoss):
            base, loss = base_of_target(released, noise.variance, loss)
        else:
            base = base_of_labels(released, noise.variance)
    grower = _Grower(task, loss, schedule, n_rows, base)
    if task.features:
        plan = grower.counts_plan()
        noise = task.noise.counts(schedule.counts, len(task.features))
        grower.take_counts(plan, (yield Round(plan, noise, paid)), noise.variance)
        yield from grower.passes()
        yield from grower.random_steps()
    return grower.release()


def _base_axis(loss: Loss) -> LabelAxis | TargetAxis:
    if isinstance(loss, ClassLoss):
        return LabelAxis(loss.n_labels)
    return TargetAxis(loss.center, loss.half, _TARGET_BINS)


class _Grower:
    """The model while it grows: a state of released values."""

    def __init__(
        self, task: BoostingTask, loss: Loss, schedule: Schedule, n_rows: int, base: FloatArray
    ) -> None:
        self.task, self.loss, self.schedule, self.n_rows = task, loss, schedule, n_rows
        codes = make_codes(task.columns, schedule.n_bins)
        self.model = AdditiveModel.constant(codes, base, task.offsets)
        self.variances = [np.zeros((size, loss.n_outputs)) for size in codes.sizes]
        self.counts = [np.full(size, n_rows / size) for size in codes.sizes]
        self.groups = [np.zeros(size, dtype=np.int32) for size in codes.sizes]
        self.grids: list[tuple[CellGrid, FloatArray, FloatArray, FloatArray]] = []
        self.n_steps = 0
        n_outputs = loss.n_outputs
        self.bits = task.noise.residual_bits(schedule.step, n_outputs)
        self.noise = task.noise.residuals(schedule.step, n_outputs, self.bits)
        # Of a residual's unit: numbers have one of their own.
        self.unit = 2.0**-self.bits * (loss.clip if isinstance(loss, NumberLoss) else 1.0)

    def counts_plan(self) -> CodeCountsPlan:
        """Return the plan of the counts of all features."""
        sizes = self.model.codes.sizes
        grids = tuple(CellGrid.of_feature(j, sizes[j]) for j in self.task.features)
        return CodeCountsPlan(self.model.codes, grids)

    def take_counts(self, plan: CodeCountsPlan, released: FloatArray, variance: float) -> None:
        """Take over the noisy counts of all features, and join cells that they do not tell apart."""
        for j, counts in zip(self.task.features, plan.by_grid(released), strict=True):
            self.counts[j] = counts.astype(np.float64)
            self.groups[j] = group_cells(self.counts[j], float(np.sqrt(variance)), self.task.columns[j])

    def passes(self) -> Rounds[None]:
        """Yield the steps on single features."""
        for number in range(self.schedule.n_passes):
            for j in self.task.features:
                grid = CellGrid((j,), (self.groups[j],))
                sizes = np.bincount(self.groups[j], self.counts[j], grid.size)
                kind = StepKind(first=number == 0, numbers=isinstance(self.loss, NumberLoss))
                weights, stds = yield from self._step(grid, sizes, kind)
                self._add_to_table(j, weights[self.groups[j]], stds[self.groups[j]])

    def random_steps(self) -> Rounds[None]:
        """Yield the counts of random grids, and the steps on them."""
        free = [j for j in self.task.features if not self.task.monotone[j]]
        free = [j for j in free if len(self.counts[j]) > 1]
        if not self.schedule.n_grids or not free:
            return
        rng = np.random.default_rng(self.task.seed)
        grids = tuple(
            draw_grid(self.task.columns, free, self.counts, self.schedule.depth, rng)
            for _ in range(self.schedule.n_grids)
        )
        plan = CodeCountsPlan(self.model.codes, grids)
        released = yield Round(plan, self.task.noise.counts(self.schedule.grid_counts, len(grids)))
        kind = StepKind(random=True, numbers=isinstance(self.loss, NumberLoss))
        for grid, counts in zip(grids, plan.by_grid(released), strict=True):
            sizes = np.maximum(counts, 0).astype(np.float64)
            weights, stds = yield from self._step(grid, sizes, kind)
            self.model = self.model.with_term(grid, to_units(weights))
            self.grids.append((grid, weights, stds, sizes))

    def _step(
        self, grid: CellGrid, sizes: FloatArray, kind: StepKind
    ) -> Rounds[tuple[FloatArray, FloatArray]]:
        released = yield Round(ResidualsPlan(self.model, self.loss, grid, self.bits), self.noise)
        self.n_steps += 1
        sums = released.reshape(grid.size, -1) * self.unit
        return step_weights(sums, self.noise.variance * self.unit**2, sizes, kind)

    def _add_to_table(self, j: int, weights: FloatArray, stds: FloatArray) -> None:
        table = self.model.tables[j] + to_units(weights)
        self.variances[j] += stds**2
        if self.task.monotone[j]:
            table = project(table, self.counts[j], self.task.monotone[j], self.task.columns[j])
        self.model = self.model.with_table(j, table)

    def release(self) -> BoostingRelease:
        """Return the model."""
        return BoostingRelease(
            self.model,
            tuple(self.variances),
            tuple(self.counts),
            tuple(self.grids),
            self.n_rows,
            self.schedule,
            self.n_steps,
        )
