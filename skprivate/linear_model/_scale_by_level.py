# SPDX-License-Identifier: BSD-3-Clause
"""Scale of the errors by level of declared columns: counts of residuals by level, and estimates from them.

A last release counts the residuals about the fit by level. Location and scale of each level are fitted to its
counts. The location moves intercept and slopes of the level's columns, and predictions use its scale.
"""

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.stats import chi2

from .._typing import BoolArray, FloatArray, IntArray
from ..domain import BooleanColumn, TableDomain
from ..rounds._driver import Rounds
from ..rounds._plans.cells import CellsPlan, ErrorAxis, LevelAxis
from ..rounds._plans.moments import FINEST, STEEPEST, MomentGrid
from ..rounds._rows import PreparedRows
from ..utils._public_module import public_module
from ._censored.histograms import PARTS, LawFit, ResidualHistogram
from ._censored.population import REACH, VISIBLE, Cells, peaks_of, still_watched
from ._censored.rounds import counts_round
from ._distributions import ErrorDistribution
from ._moments.released_moments import FitTask, ScaledFit

# Share of the budget of the counts by level. Of 0.15, 0.25 and 0.4, on complete times of which 5 % have 4
# times the scale, 0.15 made the error of their scale a quarter larger, 0.4 that of other slopes half larger.
LEVEL_SHARE = Fraction(1, 4)
# Candidates for cells: their number, and the tails of the distribution of all rows that are in the open cells
# at the ends. They are compared for levels that have these multiples of the scale of all rows. Set by hand.
_NUMBERS, _TAILS, _SCALES = (8, 12, 16, 24, 32, 48, 64, 96), (2e-3, 1e-2, 3e-2), (0.5, 1.0, 2.0)
# Largest number of levels of all columns together: each has the noise of its own cells. Set by hand.
_MOST_LEVELS = 64
# A level is known if the standard error of its log scale is below this: a factor of 1.6 each way at 90 %.
_KNOWN = 0.3
# Events of a level that are no noise, in standard deviations of their sum: noise is in one of a million.
_STANDS_OUT = 5.0
# Probability of the verdict that spread differs, if it does not.
_ALPHA = 0.05
# Errors of log scales beyond it are made by noise alone, and would overflow.
_FARTHEST = 30.0


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class LevelPlan:
    """What is public about the levels.

    Attributes
    ----------
    places : tuple of (int, int, int or None)
        For each column: the first encoded column, their number, and the one of missing cells.
    names : tuple of str
        Names of the levels. The last axis is the fastest.
    possible : ndarray of bool of shape (n_levels,)
        Whether a row can be at the level by the declarations.
    columns : ndarray of int
        Encoded columns of the levels.
    values : ndarray of shape (n_levels, n_columns)
        Their values at each level.
    """

    places: tuple[tuple[int, int, int | None], ...]
    names: tuple[str, ...]
    possible: BoolArray
    columns: IntArray
    values: FloatArray

    @classmethod
    def of(cls, scale_by: Any, domain: TableDomain | None) -> Self:
        """Resolve names of columns; ValueError if they have no levels, or too many."""
        wanted = [scale_by] if isinstance(scale_by, str) else list(scale_by)
        if domain is None:
            raise ValueError("scale_by names columns of a domain: declare domain=TableDomain(...).")
        groups = {group.name: group for group in domain.groups}
        unknown = [name for name in wanted if name not in groups]
        if not wanted or unknown or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"scale_by must name different columns of the domain, one at least; not {wanted!r}."
            )
        parts: list[list[tuple[str, bool, FloatArray]]] = []
        places: list[tuple[int, int, int | None]] = []
        columns: list[int] = []
        for name in wanted:
            group = groups[name]
            size = group.n_levels or int(isinstance(domain.columns[name], BooleanColumn))
            if not size or (group.n_levels == 1 and group.indicator is None):
                raise ValueError(
                    f"scale_by: {name!r} must be a boolean, or have two or more levels without an order."
                )
            places.append((group.start, size, group.indicator))
            inside = slice(group.start, group.start + size)
            columns += range(group.start, group.start + size)
            labels = domain.encoded_names[inside] if group.n_levels else [name]
            missing = bool(not group.n_levels or group.absent or group.indicator is not None)
            other = f"{name}: missing" if group.n_levels else f"not {name}"
            # The last level has no column of its own.
            values, possible = np.eye(size + 1, size), [True] * size + [missing]
            parts.append(list(zip([*labels, other], possible, values, strict=True)))
        products = list(product(*parts))
        if len(products) > _MOST_LEVELS:
            raise ValueError(f"scale_by: {len(products)} levels are too many; at most {_MOST_LEVELS}.")
        order = np.argsort(columns)
        return cls(
            tuple(places),
            tuple(", ".join(one[0] for one in cell) for cell in products),
            np.array([all(one[1] for one in cell) for cell in products]),
            np.array(columns)[order],
            np.array([np.concatenate([one[2] for one in cell])[order] for cell in products]),
        )

    @property
    def axes(self) -> tuple[LevelAxis, ...]:
        """The axes of the counts."""
        return tuple(LevelAxis(*place) for place in self.places)

    def codes(self, rows: FloatArray) -> IntArray:
        """Return the level of every encoded row."""
        prepared, found = PreparedRows(rows), np.zeros(len(rows), dtype=np.int64)
        for axis in self.axes:
            found = found * axis.size + axis.codes(prepared)
        return found


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class LevelRelease:
    """Noisy counts of residuals by level, and their fits.

    Attributes
    ----------
    edges : ndarray of shape (n_cells + 1,)
        Ends of the cells, in standardised errors about the fit of all rows.
    counts : ndarray of shape (n_levels, 2, n_cells)
        By level, censored rows and events, and cells of the standardised error about that fit.
    noise_std : float
        Standard deviation of the noise of every count.
    laws : tuple of LawFit
        Location and log scale of each level, in scales of that fit.
    settled : ndarray of bool of shape (n_levels,)
    fit : ScaledFit
        The fit that residuals were taken about.
    mechanism : {"laplace", "gaussian"}
    """

    edges: FloatArray
    counts: FloatArray
    noise_std: float
    laws: tuple[LawFit, ...]
    settled: BoolArray
    fit: ScaledFit
    mechanism: str


def level_rounds(
    plan: LevelPlan, inner: Rounds[Any], task: FitTask, grid: MomentGrid, solve: Any, count: Any
) -> Rounds[tuple[Any, LevelRelease]]:
    """Yield the rounds of a fit, and then the counts of residuals about it by level.

    `solve` and `count` return the fit to a release of the rounds, and its number of events.

    Notes
    -----
    **Privacy**: a row is in one cell of one level, whatever the fit is. Replacing it moves the counts by 2 in
    L1 and in squared L2, adding or removing it by 1; c rows of a person by c times that, or c squared. The
    counts take a quarter of the budget, and the rounds before them the rest.
    """
    release = yield from inner
    fit, distribution = solve(release), task.distribution
    amount = LEVEL_SHARE * task.budget.amount
    noise = counts_round(task, CellsPlan(((),)), amount, "one").noise
    n_events = count(release) / len(plan.names)
    # The cells that suit levels of so many events, with a scale about that of all rows.
    found = []
    for edges, expected in _candidates(distribution):
        variances = [of(max(n_events, 1.0), float(noise.std[0])) for of in expected]  # type: ignore[attr-defined]
        found.append((float(np.trace(np.sum(variances, axis=0))), edges))
    edges = min(found, key=lambda one: one[0])[1]
    theta = np.r_[-fit.intercept, 1.0, -fit.coef] / fit.scale
    axis = ErrorAxis(replace(grid, exponent=FINEST), np.clip(theta, -STEEPEST, STEEPEST), edges[1:-1])
    cells = CellsPlan(((*plan.axes, axis),))
    step = counts_round(task, cells, amount, "counts of residuals by level")
    counts = (yield step).reshape(len(plan.names), 2, -1) / PARTS
    std = float(step.noise.std[0])  # type: ignore[attr-defined]
    laws, settled = zip(*(_fit_level(edges, one, std, distribution) for one in counts), strict=True)
    return release, LevelRelease(edges, counts, std, laws, np.array(settled), fit, task.budget.mechanism)


@functools.cache
def _candidates(
    distribution: ErrorDistribution,
) -> list[tuple[FloatArray, list[Callable[[float, float], FloatArray]]]]:
    """Return cells, and what is expected in them at several scales: functions of the distribution alone."""
    found = []
    places = [np.array([0.0, np.log(scale)]) for scale in _SCALES]
    for number, lower, upper in product(_NUMBERS, _TAILS, _TAILS):
        low, high = distribution.quantile([lower, 1.0 - upper])
        edges = np.r_[-np.inf, np.linspace(low, high, number + 1), np.inf]
        cells = Cells(edges, distribution, edges[1:-1], np.ones(number + 1), np.zeros(number))
        found.append((edges, [cells.expected_variance(at) for at in places]))
    return found


def _fit_level(
    edges: FloatArray, counts: FloatArray, noise_std: float, distribution: ErrorDistribution
) -> tuple[LawFit, bool]:
    """Fit location and log scale of one level; rows cease to be watched evenly within a cell."""
    seen = np.where(counts > VISIBLE * noise_std, counts, 0.0)
    watched = still_watched(seen)[:-1]
    # Rows censored at one time, anywhere in their cell.
    peaks = peaks_of(seen[0], noise_std, float(counts.sum()))
    cells = Cells(edges, distribution, edges[1:-1], watched, peaks)
    law, settled = cells.solve(ResidualHistogram(edges, counts, noise_std))
    if float(counts[1].sum()) > _STANDS_OUT * noise_std * np.sqrt(counts.shape[1]):
        return law, settled
    # It is noise alone: any value within reach is possible.
    return replace(law, location=0.0, log_scale=0.0, information=np.eye(2) / REACH**2), False


@public_module("skprivate.linear_model")
@dataclass(frozen=True, kw_only=True, eq=False)
class SpreadByLevel:
    """Scale of the errors at each level of the columns of ``scale_by``.

    Attributes
    ----------
    names : tuple of str
    scales : ndarray of shape (n_levels,)
    intervals : ndarray of shape (n_levels, 2)
        90 % confidence intervals, each by itself.
    noise_shares : ndarray of shape (n_levels,)
        Share of the noise of the release in the variance of the log scale.
    known : ndarray of bool of shape (n_levels,)
        Whether the released counts determine the scale of the level within a factor of 1.6. Otherwise it
        means nothing, and neither do predictions at this level.
    differs : bool
        Whether the scales differ by more than noise and sampling, at the level of 5 %.
    p_value : float
        Of equal scales, by the levels that are known; 1 if fewer than two are.

    Notes
    -----
    **Privacy**: a function of released values, which spends nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._scale_by_level import SpreadByLevel
    >>> print(SpreadByLevel(names=("new", "not new"), scales=np.array([0.5, 0.4]), p_value=1e-4,
    ...     noise_shares=np.array([0.5, 0.1]),
    ...     intervals=np.array([[0.48, 0.52], [0.39, 0.41]]), known=np.array([True, True]), differs=True))
    Spread differs by level (p = 0.0001).
    new: 0.5 (0.48 to 0.52)
    not new: 0.4 (0.39 to 0.41)
    """

    names: tuple[str, ...]
    scales: FloatArray
    intervals: FloatArray
    noise_shares: FloatArray
    known: BoolArray
    differs: bool
    p_value: float

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.differs:
            return f"differs by level (p = {self.p_value:.2g})"
        return f"no sign that it differs by level (p = {self.p_value:.2g})"

    def __str__(self) -> str:
        lines = [f"Spread {self.verdict}." if self.differs else f"Spread: {self.verdict}."]
        for name, scale, (low, high), known in zip(
            self.names, self.scales, self.intervals, self.known, strict=True
        ):
            lines.append(f"{name}: {scale:.3g} ({low:.3g} to {high:.3g})" if known else f"{name}: unknown")
        return "\n".join(lines)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False)
class LevelModel:
    """Location and scale of a fitted model by level.

    Attributes
    ----------
    plan : LevelPlan
    release : LevelRelease
    scales : ndarray of shape (n_levels,)
        Of the errors, on the scale of the model.
    covariances : ndarray of shape (n_levels, 2, 2)
        Of the errors of (location, log scale), with their noise.
    common : float
        Standard error that the log scales of all levels have in common. With censored rows, other slopes
        would have another scale, so it is that of the fit of all rows. Otherwise it is 0.
    center : ndarray of shape (n_features,)
        Means of the features: errors of other slopes move no location there.
    unit : float
        Scale of the fit of all rows.
    move : ndarray of shape (1 + n_columns, n_levels)
        Change of the intercept and of the slopes of the levels' columns, per unit of each level's location.
    rows_per_unit : int
    """

    plan: LevelPlan
    release: LevelRelease
    scales: FloatArray
    covariances: FloatArray
    common: float
    center: FloatArray
    unit: float
    move: FloatArray
    rows_per_unit: int = field(default=1)

    @classmethod
    def of(
        cls, plan: LevelPlan, release: LevelRelease, unit: float, common: float, center: FloatArray, rows: int
    ) -> Self:
        """Compute it from the release."""
        laws, std = release.laws, release.noise_std
        covariances = np.stack([rows * law.inverse + law.noise(std) for law in laws])
        covariances[:, 1, 1] += common**2
        scales = unit * np.exp([law.log_scale for law in laws])
        weights = 1.0 / np.sqrt(np.maximum(covariances[:, 0, 0], 1e-300))
        # A level that no row can be at determines nothing.
        weights = np.where(plan.possible, weights, 0.0)
        design = np.column_stack([np.ones(len(laws)), plan.values])
        # Columns that add up to one at every level include the intercept.
        if np.linalg.matrix_rank(design[plan.possible]) == np.linalg.matrix_rank(plan.values[plan.possible]):
            design[:, 0] = 0.0
        move = np.linalg.pinv(weights[:, None] * design) * weights
        return cls(plan, release, scales, covariances, common, center, unit, move, rows)

    @property
    def residuals(self) -> list[ResidualHistogram]:
        """Counts of the levels that are known, about the location and in the scale of each."""
        counted = self.release
        return [
            ResidualHistogram(counted.edges, counts, counted.noise_std).moved(
                law.location, np.exp(law.log_scale)
            )
            for counts, law, known in zip(counted.counts, counted.laws, self.known, strict=True)
            if known
        ]

    @property
    def known(self) -> BoolArray:
        """Whether the counts determine the scale of each level."""
        return self.release.settled & (np.sqrt(self.covariances[:, 1, 1]) < _KNOWN)

    def moved(self, intercept: float, coef: FloatArray) -> tuple[float, FloatArray]:
        """Return intercept and slopes with the locations of the levels."""
        by = self.move @ (self.unit * np.array([law.location for law in self.release.laws]))
        coef = coef.copy()
        coef[self.plan.columns] += by[1:]
        return intercept + float(by[0]), coef

    def draw(self, n: int, with_noise: bool) -> FloatArray:
        """Draw errors of (location, log scale) of every level, of shape (n, n_levels, 2)."""
        rng = np.random.default_rng(0)
        found = np.empty((n, len(self.scales), 2))
        for k, law in enumerate(self.release.laws):
            rows = self.rows_per_unit * law.inverse
            found[:, k] = rng.multivariate_normal(np.zeros(2), rows, n, method="eigh")
            if with_noise:
                found[:, k] += law.draw(self.release.noise_std, self.release.mechanism, rng, n)
        return found

    def replicates(
        self, others: FloatArray, intercept: float, coef: FloatArray, with_noise: bool = True
    ) -> FloatArray:
        """Return replicates (intercept, scale, slopes), with those of the levels' columns by their counts.

        The residuals of a level are about the fitted line. At the means of the features of a level, errors of
        the other slopes do not move the location of its rows. These means are taken for those of all rows.
        """
        columns = self.plan.columns
        missed = others[:, 2:] - coef
        missed[:, columns] = 0.0
        moved = self.unit * self.draw(len(others), with_noise)[..., 0] @ self.move.T
        found = others.copy()
        found[:, 0] = intercept + moved[:, 0] - missed @ self.center
        found[:, 2:] = coef + missed
        found[:, 2 + columns] += moved[:, 1:]
        return found

    def model_of(self, model: Any, level: int) -> Any:
        """Return the model with the scale of one level."""
        one = copy.copy(model)
        one._level_model, one.scale_ = None, float(self.scales[level])
        return one

    def scaled(self, replicates: FloatArray, level: int, errors: FloatArray) -> FloatArray:
        """Return replicates with the scale of one level, whose logarithm has these errors."""
        found = replicates.copy()
        shared = np.log(replicates[:, 1] / self.unit) if self.common else 0.0
        found[:, 1] = self.scales[level] * np.exp(np.clip(errors[:, level] + shared, -_FARTHEST, _FARTHEST))
        return found

    def spread(self, width: float) -> SpreadByLevel:
        """Return scales with intervals of `width` standard errors, and the verdict."""
        shown, known = self.plan.possible, self.known & self.plan.possible
        errors = np.sqrt(self.covariances[:, 1, 1])
        noise = np.array([law.noise(self.release.noise_std)[1, 1] for law in self.release.laws])
        logs = np.log(self.scales[known])
        # The common error of all levels is no difference.
        weights = 1.0 / (errors[known] ** 2 - self.common**2)
        p_value = 1.0
        if len(logs) > 1:
            excess = weights @ (logs - weights @ logs / weights.sum()) ** 2
            p_value = float(chi2.sf(excess, len(logs) - 1))
        with np.errstate(over="ignore"):
            ends = self.scales[:, None] * np.exp(width * errors[:, None] * np.array([-1.0, 1.0]))
        return SpreadByLevel(
            names=tuple(name for name, one in zip(self.plan.names, shown, strict=True) if one),
            scales=self.scales[shown],
            intervals=ends[shown],
            noise_shares=((noise + self.common**2) / errors**2)[shown],
            known=known[shown],
            differs=p_value < _ALPHA,
            p_value=p_value,
        )

    def warning(self) -> str | None:
        """Return which levels are not known, by released values."""
        unknown = self.plan.possible & ~self.known
        if not unknown.any():
            return None
        names = "; ".join(name for name, one in zip(self.plan.names, unknown, strict=True) if one)
        return (
            f"by the released counts, too few events determine the scale at levels of scale_by: {names}. "
            "Predictions there mean nothing. Join levels, leave out scale_by, use more rows or more epsilon."
        )


def each_level(
    model: Any, rows: FloatArray, intervals: bool, without: FloatArray | None = None
) -> Iterator[tuple[Any, Any]]:
    """Yield which rows are at a level, and the model with its scale; all rows at once without ``scale_by``.

    With `intervals` the model also has replicates of that scale. `without` are those of the rows alone, to be
    scaled as well.
    """
    levels = model._level_model
    if levels is None:
        yield slice(None), model
        return
    codes, drawn = levels.plan.codes(rows), {}
    if intervals:
        drawn["_replicates"] = model.replicates_, levels.draw(len(model.replicates_), True)[..., 1]
    if without is not None:
        drawn["_without_noise"] = without, levels.draw(len(without), False)[..., 1]
    for level in np.unique(codes).tolist():
        one = levels.model_of(model, level)
        for name, (replicates, errors) in drawn.items():
            setattr(one, name, levels.scaled(replicates, level, errors))
        yield np.flatnonzero(codes == level), one
