# SPDX-License-Identifier: BSD-3-Clause
"""The model that is computed from a release: estimates, a parametric bootstrap, intervals, and a warning."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..accounting import PrivacySpent
from ..exceptions import UtilityWarning
from ..rounds._plans.grid import MomentGrid
from ..utils._user_frame import warn_after_release
from ._censored.release import CensoredRelease, bootstrap_censored, censored_warning
from ._distributions import ErrorDistribution
from ._fit_task import FitTask
from ._moments.bootstrap import bootstrap_moments, pivotal
from ._moments.look_bootstrap import bootstrap_looks, looks_warning
from ._moments.looks import LookRelease
from ._moments.release import MomentRelease
from ._moments.solve import ScaledFit, solve_moments, unscale
from ._moments.utility import moments_warning
from ._predictions.mixin import LogLocationScalePredictions

# Of coef_interval_ and scale_interval_; `predict_quantile` has the same default.
_CONFIDENCE = 0.9
# Replicates that the warning is decided by: with 100, standard errors are known within a tenth.
_FEW = 100
# Attributes that only a fit to censored targets sets: the next fit deletes them.
_ONLY_CENSORED = ("survival_curve_", "event_share_")

AnyRelease = MomentRelease | LookRelease | CensoredRelease


class ReleasedModel(LogLocationScalePredictions):
    """Mixin of what is computed from a release and public inputs, and costs nothing."""

    method: Any
    regularization: Any

    _method: Any
    _regularization: Any
    _scale_limits: tuple[float, float]
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
        self._solve_release(release)

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

    def _warn_if_useless(self) -> None:
        if isinstance(self.release_, CensoredRelease):
            reason = censored_warning(self.release_, self.error_distribution_)
        elif isinstance(self.release_, LookRelease):
            replicates = bootstrap_looks(self.release_, self.error_distribution_, n_replicates=_FEW)
            reason = looks_warning(self.release_, replicates)
        else:
            reason = moments_warning(self.release_, self._scaled_fit)
        if reason:
            warn_after_release(f"{type(self).__name__}: {reason}", UtilityWarning)

    @property
    def replicates_(self) -> FloatArray:  # type: ignore[override]
        """Parametric bootstrap of the release, computed when it is first read."""
        check_is_fitted(self)
        if self._replicates is None:
            coef, intercept, scale = unscale(self._bootstrap(), self.grid_)
            self._replicates = np.column_stack([intercept, scale, coef])
        return self._replicates

    def _bootstrap(self) -> ScaledFit:
        if isinstance(self.release_, CensoredRelease):
            return bootstrap_censored(self.release_)
        if isinstance(self.release_, LookRelease):
            return bootstrap_looks(self.release_, self.error_distribution_)
        return bootstrap_moments(
            self.release_,
            self.error_distribution_,
            self._regularization,
            self._scale_limits,
            method=self._method,
        )

    @property
    def coef_interval_(self) -> FloatArray:
        """Confidence interval of every slope, of shape (n_features, 2)."""
        return pivotal(self.coef_, self.replicates_[:, 2:].T, _CONFIDENCE)

    @property
    def scale_interval_(self) -> FloatArray:
        """Confidence interval of the scale, of shape (2,)."""
        # The noise is added to squares: their errors are symmetric where those of the scale are not.
        squares = pivotal(self.scale_**2, self.replicates_[:, 1] ** 2, _CONFIDENCE)
        low, high = (bound * self.grid_.y_half for bound in self._scale_limits)
        return np.sqrt(np.clip(squares, low**2, high**2))


def _number_of_rounds(release: AnyRelease) -> int:
    """Return how many rounds of estimates a release is made of."""
    if isinstance(release, CensoredRelease):
        return len(release.rounds)
    return 1 + len(release.looks) if isinstance(release, LookRelease) else 1
