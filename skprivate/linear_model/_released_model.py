# SPDX-License-Identifier: BSD-3-Clause
"""The model that is computed from a release: estimates, a parametric bootstrap, intervals, and a warning."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

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
from ._distributions import ErrorDistribution
from ._fit_plan import FitTask
from ._goodness_of_fit import GoodnessOfFit, goodness_of_fit
from ._moments.looks import LookRelease
from ._moments.released_moments import MomentRelease, ScaledFit, solve_moments, unscale
from ._moments.replicates import bootstrap_looks, bootstrap_moments, looks_warning, moments_warning, pivotal
from ._predictions import LogLocationScalePredictions, check_confidence
from ._summary import ModelSummary, facts_of, summarize

# Of coef_interval_ and scale_interval_; predictions have the same default.
_CONFIDENCE = 0.9
# Replicates that the warning is decided by: with 100, standard errors are known within a tenth.
_FEW = 100
# Attributes that only a fit to censored targets sets: the next fit deletes them.
_ONLY_CENSORED = ("survival_curve_", "event_share_")

AnyRelease = MomentRelease | LookRelease | CensoredRelease


class ReleasedModel(LogLocationScalePredictions):
    """Mixin of what is computed from a release and public inputs, and costs nothing."""

    domain: TableDomain | None
    method: Any
    regularization: Any

    _method: Any
    _regularization: Any
    _scale_limits: tuple[float, float]
    _rows_per_unit: int
    _constant: FloatArray | None
    _was_strict: bool = False
    _replicates: FloatArray | None
    _scaled_fit: ScaledFit
    release_: AnyRelease
    grid_: MomentGrid
    error_distribution_: ErrorDistribution

    def _adopt(self, release: AnyRelease, grid: MomentGrid, task: FitTask, spent: PrivacySpent) -> None:
        """Store a release with its public inputs, and compute the model from it."""
        self.error_distribution_, self.log_target_ = task.distribution, task.log_target
        self.bounds_, self.bounds_y_ = task.bounds, task.bounds_y
        self.release_, self.grid_ = release, grid
        self.privacy_spent_ = spent
        self.n_iter_ = _number_of_rounds(release)
        for name in _ONLY_CENSORED:
            self.__dict__.pop(name, None)
        # Intervals are computed when they are first read, with the parameters of this fit: set_params may
        # have changed the others by then.
        self._method, self._regularization = self.method, self.regularization
        self._scale_limits = task.scale_limits(grid)
        self._rows_per_unit = task.neighbours.rows_per_unit
        self._constant = constant_directions(self.domain)
        self._was_strict = get_config()["strict"]
        self._solve_release(release)
        if isinstance(release, CensoredRelease):
            self.event_share_ = release.event_share
            if len(release.histogram.counts) == 2:
                times, survival = kaplan_meier(release.histogram)
                self.survival_curve_ = (np.exp(times), survival)

    def _solve_release(self, release: AnyRelease) -> None:
        self._replicates: FloatArray | None = None
        self._scaled_fit = self._solve(release)
        self.coef_, self.intercept_, self.scale_ = unscale(self._scaled_fit, self.grid_)

    def _solve(self, release: AnyRelease) -> ScaledFit:
        if isinstance(release, CensoredRelease | LookRelease):
            return release.fit
        return solve_moments(
            release, self.error_distribution_, self._regularization, self._scale_limits, self._method
        )

    def _why_useless(self) -> str | None:
        reasons = [self._why_clipped(self.release_), self._why_noisy(self.release_)]
        return " And ".join(filter(None, reasons)) or None

    def _why_clipped(self, release: AnyRelease) -> str | None:
        """Return what released counts, or the mean, say of values of the target beyond its bounds."""
        if release.ends is not None:
            return beyond_bounds(release.ends)
        if isinstance(release, CensoredRelease):
            return beyond_bounds(release.histogram)
        moments = release.moments if isinstance(release, LookRelease) else release
        n = max(float(moments.matrix[0, 0]), 1.0)
        center, half = self.grid_.y_center, self.grid_.y_half
        mean, noise = float(moments.matrix[0, 1]) / n, float(moments.noise_std[0, 1]) / n
        return mean_at_a_bound(center + half * mean, half * noise, self.grid_.target)

    def _why_noisy(self, release: AnyRelease) -> str | None:
        if isinstance(release, CensoredRelease):
            law, constant = self.error_distribution_, self._constant
            return censored_warning(release, law, constant, strict=self._was_strict)
        if isinstance(release, LookRelease):
            replicates = bootstrap_looks(
                release,
                self.error_distribution_,
                rows_per_unit=self._rows_per_unit,
                n_replicates=_FEW,
                by_steps=True,
                constant=self._constant,
            )
            return looks_warning(release, replicates, self._constant)
        return moments_warning(release, self._scaled_fit, self._constant)

    def _warn_if_useless(self) -> None:
        warn_of_mistakes(type(self).__name__, *self._misfits(), self._why_useless())

    def _misfits(self) -> tuple[str | None, ...]:
        """Return the sentences on columns that are not what is declared, where the release tells of them."""
        if isinstance(self.release_, CensoredRelease):
            return ()
        moments = self.release_.moments if isinstance(self.release_, LookRelease) else self.release_
        n_rows, grid = max(float(moments.matrix[0, 0]), 1.0), self.grid_
        # Columns in their own units, and not in those of the grid.
        means = grid.center + grid.half * moments.matrix[0, 2:] / n_rows
        std, bounds = grid.half * moments.noise_std[0, 2:] / n_rows, (grid.lower, grid.upper)
        columns = bounded_columns(self.domain, self._names_of_slopes(), bounds, means, std)
        return (
            mostly_missing(self.domain, least_missing(self.domain, means, std)),
            columns_at_a_bound(columns),
        )

    @property
    def replicates_(self) -> FloatArray:  # type: ignore[override]
        """Parametric bootstrap of the release, computed when it is first read."""
        check_is_fitted(self)
        if self._replicates is None:
            self._replicates = self._replicate()
        return self._replicates

    def _replicate(self, with_noise: bool = True) -> FloatArray:
        """Intercept, scale and slopes of every replicate, in the units of X and the target."""
        coef, intercept, scale = unscale(self._bootstrap(with_noise), self.grid_)
        return np.column_stack([intercept, scale, coef])

    def _bootstrap(self, with_noise: bool) -> ScaledFit:
        if isinstance(self.release_, CensoredRelease):
            return bootstrap_censored(
                self.release_,
                rows_per_unit=self._rows_per_unit,
                with_noise=with_noise,
                constant=self._constant,
            )
        if isinstance(self.release_, LookRelease):
            return bootstrap_looks(
                self.release_,
                self.error_distribution_,
                rows_per_unit=self._rows_per_unit,
                with_noise=with_noise,
                constant=self._constant,
            )
        return bootstrap_moments(
            self.release_,
            self.error_distribution_,
            self._regularization,
            self._scale_limits,
            method=self._method,
            rows_per_unit=self._rows_per_unit,
            with_noise=with_noise,
            constant=self._constant,
        )

    @property
    def coef_interval_(self) -> FloatArray:
        """Confidence interval of every slope, of shape (n_features, 2)."""
        return self._interval_of_coef(_CONFIDENCE)

    @property
    def scale_interval_(self) -> FloatArray:
        """Confidence interval of the scale, of shape (2,)."""
        return self._interval_of_scale(_CONFIDENCE)

    def summary(self, *, confidence: float = _CONFIDENCE) -> ModelSummary:
        """Return estimates with intervals, the share of the noise in their errors, and what was spent.

        Parameters
        ----------
        confidence : float, default=0.9
            Of each interval by itself, above 0 and below 1.

        Returns
        -------
        summary : ModelSummary
            It prints as a table, in notebooks too; ``to_frame`` returns a frame of pandas.

        Raises
        ------
        NotFittedError
            There is no fit yet.
        ValueError
            The confidence is out of range.

        Notes
        -----
        The share of the noise is that by which the variance of the replicates goes down where only the rows
        are drawn anew.

        **Privacy**: a function of released values, which spends nothing.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        intercept = pivotal(self.intercept_, self.replicates_[:, 0], confidence)
        ends = [intercept, self._interval_of_scale(confidence), *self._interval_of_coef(confidence)]
        facts = facts_of(
            self.privacy_spent_, self._noisy_rows(), getattr(self, "event_share_", None), self._why_useless()
        )
        return summarize(
            distribution=self.error_distribution_,
            log_target=self.log_target_,
            names=self._names_of_slopes(),
            estimates=np.array([self.intercept_, self.scale_, *self.coef_]),
            intervals=np.array(ends),
            replicates=self.replicates_,
            without_noise=self._replicate(with_noise=False),
            facts=facts,
            confidence=confidence,
            target=self.grid_.target,
            widths=self.bounds_[1] - self.bounds_[0],
        )

    def goodness_of_fit(self, *, confidence: float = _CONFIDENCE) -> GoodnessOfFit:
        """Compare the released residuals with the distribution of the fit.

        Parameters
        ----------
        confidence : float, default=0.9
            Of each interval by itself, above 0 and below 1.

        Returns
        -------
        fit : GoodnessOfFit
            It prints as a sentence; `skprivate.inspection.ResidualDisplay` draws it.

        Raises
        ------
        NotFittedError
            There is no fit yet.
        ValueError
            The fit released no histogram of residuals about its estimates, or the confidence is out of range.

        Notes
        -----
        **Privacy**: a function of released values, which spends nothing.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        residuals = getattr(self.release_, "residuals", None)
        # A fit may count residuals about an earlier line; such a histogram has no cells of the final errors.
        if residuals is None or len(residuals.edges) != residuals.counts.shape[1] + 1:
            raise ValueError(
                "the fit released no histogram of residuals about its estimates: nothing that was released "
                "shows whether its distribution is right."
            )
        return goodness_of_fit(
            residuals.edges,
            residuals.counts,
            residuals.noise_std,
            self.error_distribution_,
            self.release_.mechanism,
            confidence=confidence,
        )

    def _noisy_rows(self) -> float:
        """Number of rows that was released, with or without noise."""
        if isinstance(self.release_, CensoredRelease):
            return float(self.release_.histogram.counts.sum())
        moments = self.release_.moments if isinstance(self.release_, LookRelease) else self.release_
        return float(moments.matrix[0, 0])

    def _interval_of_coef(self, confidence: float) -> FloatArray:
        return pivotal(self.coef_, self.replicates_[:, 2:].T, confidence)

    def _interval_of_scale(self, confidence: float) -> FloatArray:
        # The noise is added to squares: their errors are symmetric where those of the scale are not.
        squares = pivotal(self.scale_**2, self.replicates_[:, 1] ** 2, confidence)
        low, high = (bound * self.grid_.y_half for bound in self._scale_limits)
        return np.sqrt(np.clip(squares, low**2, high**2))


def _number_of_rounds(release: AnyRelease) -> int:
    """Return how many rounds of estimates a release is made of."""
    if isinstance(release, CensoredRelease):
        return len(release.rounds)
    return 1 + len(release.looks) if isinstance(release, LookRelease) else 1


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
