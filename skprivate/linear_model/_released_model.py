# SPDX-License-Identifier: BSD-3-Clause
"""The model that is computed from a release: estimates, a parametric bootstrap, intervals, and a warning.

It is kept on the regressor, `self` in all functions, and follows from released values and public inputs.
"""

from typing import Any

import numpy as np

from .._config import get_config
from .._typing import FloatArray
from ..accounting import PrivacySpent
from ..base._likely_mistakes import (
    bounded_columns,
    columns_at_a_bound,
    least_missing,
    mean_at_a_bound,
    mostly_missing,
    warn_of_mistakes,
)
from ..domain import TableDomain
from ..rounds._plans.moments import MomentGrid
from ._censored.histograms import beyond_bounds, kaplan_meier
from ._censored.release import CensoredRelease, bootstrap_censored, censored_warning
from ._moments.looks import LookRelease
from ._moments.released_moments import FitTask, MomentRelease, ScaledFit, solve_moments, unscale
from ._moments.replicates import bootstrap_looks, bootstrap_moments, looks_warning, moments_warning, pivotal

# Of coef_interval_ and scale_interval_; predictions have the same default.
CONFIDENCE = 0.9
# Replicates that the warning is decided by: with 100, standard errors are known within a tenth.
_FEW = 100
# Attributes that only a fit to censored targets sets: the next fit deletes them.
_ONLY_CENSORED = ("survival_curve_", "event_share_")

AnyRelease = MomentRelease | LookRelease | CensoredRelease


def adopt(self: Any, release: AnyRelease, grid: MomentGrid, task: FitTask, spent: PrivacySpent) -> None:
    """Store a release with its public inputs, and compute the model from it."""
    self.error_distribution_, self.log_target_ = task.distribution, task.log_target
    self.bounds_, self.bounds_y_ = task.bounds, task.bounds_y
    self.release_, self.grid_ = release, grid
    self.privacy_spent_ = spent
    for name in _ONLY_CENSORED:
        vars(self).pop(name, None)
    # Intervals are computed when they are first read, with the parameters of this fit: set_params may have
    # changed the others by then.
    self._method, self._regularization = self.method, self.regularization
    self._scale_limits = task.scale_limits(grid)
    self._rows_per_unit = task.neighbours.rows_per_unit
    self._constant = constant_directions(self.domain)
    self._was_strict = get_config()["strict"]
    solve_release(self)
    if isinstance(release, CensoredRelease):
        self.n_iter_ = len(release.rounds)
        self.event_share_ = release.event_share
        if len(release.histogram.counts) == 2:
            times, survival = kaplan_meier(release.histogram)
            self.survival_curve_ = (np.exp(times), survival)
    else:
        self.n_iter_ = 1 + len(release.looks) if isinstance(release, LookRelease) else 1


def constant_directions(domain: TableDomain | None) -> FloatArray | None:
    """Return unit vectors along which the encoded columns of every row are equal by declaration.

    Of a category without an order, the columns of its levels and of a missing cell add up to one; not where
    a row with a missing cell is 0 in all of them. The bounds of these columns are alike.

    Returns
    -------
    constant : ndarray of shape (k, n_encoded) or None
        None where there is no such category, or no domain.
    """
    if domain is None:
        return None
    groups = [group for group in domain.groups if group.n_levels and not group.absent]
    if not groups:
        return None
    constant = np.zeros((len(groups), len(domain.encoded_names)))
    for row, group in zip(constant, groups, strict=True):
        row[group.start : group.end] = 1.0 / np.sqrt(group.end - group.start)
    return constant


def solve_release(self: Any) -> None:
    """Compute the estimates; the bootstrap waits until it is read."""
    self._replicates = None
    if isinstance(self.release_, MomentRelease):
        self._scaled_fit = solve_moments(
            self.release_, self.error_distribution_, self._regularization, self._scale_limits, self._method
        )
    else:
        self._scaled_fit = self.release_.fit
    self.coef_, self.intercept_, self.scale_ = unscale(self._scaled_fit, self.grid_)


def moments_of(release: MomentRelease | LookRelease) -> MomentRelease:
    """Return the moments of a release, after which there may have been looks."""
    return release.moments if isinstance(release, LookRelease) else release


def warn_of_release(self: Any) -> None:
    """Warn of columns that are not what is declared, of clipped targets, and where noise hides the model."""
    misfits: tuple[str | None, ...] = ()
    if not isinstance(self.release_, CensoredRelease):
        moments, grid = moments_of(self.release_), self.grid_
        n_rows = max(float(moments.matrix[0, 0]), 1.0)
        # Columns in their own units, and not in those of the grid.
        means = grid.center + grid.half * moments.matrix[0, 2:] / n_rows
        std, bounds = grid.half * moments.noise_std[0, 2:] / n_rows, (grid.lower, grid.upper)
        columns = bounded_columns(self.domain, self.names_of_features(), bounds, means, std)
        missing = mostly_missing(self.domain, least_missing(self.domain, means, std))
        misfits = missing, columns_at_a_bound(columns)
    warn_of_mistakes(type(self).__name__, *misfits, why_useless(self))


def why_useless(self: Any) -> str | None:
    """Return why the model may be of no use, as far as released values show it."""
    return " And ".join(filter(None, [_why_clipped(self), _why_noisy(self)])) or None


def _why_clipped(self: Any) -> str | None:
    """Return what released counts, or the mean, say of values of the target beyond its bounds."""
    release, grid = self.release_, self.grid_
    if release.ends is not None:
        return beyond_bounds(release.ends)
    if isinstance(release, CensoredRelease):
        return beyond_bounds(release.histogram)
    moments = moments_of(release)
    n = max(float(moments.matrix[0, 0]), 1.0)
    mean, noise = float(moments.matrix[0, 1]) / n, float(moments.noise_std[0, 1]) / n
    return mean_at_a_bound(grid.y_center + grid.y_half * mean, grid.y_half * noise, grid.target)


def _why_noisy(self: Any) -> str | None:
    release, constant = self.release_, self._constant
    if isinstance(release, CensoredRelease):
        return censored_warning(release, self.error_distribution_, constant, strict=self._was_strict)
    if isinstance(release, LookRelease):
        replicates = bootstrap_looks(
            release,
            self.error_distribution_,
            rows_per_unit=self._rows_per_unit,
            n_replicates=_FEW,
            by_steps=True,
            constant=constant,
        )
        return looks_warning(release, replicates, constant)
    return moments_warning(release, self._scaled_fit, constant)


def replicate(self: Any, with_noise: bool = True) -> FloatArray:
    """Return a parametric bootstrap: intercept, scale and slopes of every replicate, in units of X and y."""
    coef, intercept, scale = unscale(bootstrap(self, with_noise), self.grid_)
    return np.column_stack([intercept, scale, coef])


def bootstrap(self: Any, with_noise: bool) -> ScaledFit:
    """Return fits to replicated releases, in scaled units."""
    release, distribution = self.release_, self.error_distribution_
    options: dict[str, Any] = {
        "rows_per_unit": self._rows_per_unit,
        "with_noise": with_noise,
        "constant": self._constant,
    }
    if isinstance(release, CensoredRelease):
        return bootstrap_censored(release, **options)
    if isinstance(release, LookRelease):
        return bootstrap_looks(release, distribution, **options)
    regularization, limits = self._regularization, self._scale_limits
    return bootstrap_moments(release, distribution, regularization, limits, method=self._method, **options)


def interval_of_coef(self: Any, confidence: float) -> FloatArray:
    """Return the confidence interval of every slope."""
    return pivotal(self.coef_, self.replicates_[:, 2:].T, confidence)


def interval_of_scale(self: Any, confidence: float) -> FloatArray:
    """Return the confidence interval of the scale."""
    # The noise is added to squares: their errors are symmetric where those of the scale are not.
    squares = pivotal(self.scale_**2, self.replicates_[:, 1] ** 2, confidence)
    low, high = (bound * self.grid_.y_half for bound in self._scale_limits)
    return np.sqrt(np.clip(squares, low**2, high**2))
