# SPDX-License-Identifier: BSD-3-Clause
"""What all predictions read of a fitted model: its line, its scale, and their replicates."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..._typing import FloatArray
from ...base import redact_errors
from ...base._domain_reading import DomainMixin
from ...metrics._row_arithmetic import exp, products
from .._distributions import ErrorDistribution


class FittedLine(DomainMixin):
    """Mixin of what predictions read: y = intercept + coef . x + scale * Z on the scale of the model.

    That scale is log time for life distributions. The line is the location, which for the smallest extreme
    value distribution is the 63.2 % quantile.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_, scale_ : float
    error_distribution_ : ErrorDistribution
        Distribution of Z.
    log_target_ : bool
        Whether the scale of the model is log time.
    bounds_y_ : tuple of two floats
        Bounds of the target, in the units passed to fit.
    replicates_ : ndarray of shape (n_replicates, 2 + n_features)
        Intercept, scale and slopes of fits to replicated releases.
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    coef_: FloatArray
    intercept_: float
    scale_: float
    error_distribution_: ErrorDistribution
    log_target_: bool
    bounds_y_: tuple[float, float]
    replicates_: FloatArray

    @redact_errors
    def _locations(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Validated rows, and the location of each on the scale of the model."""
        check_is_fitted(self)
        rows = self.read_fitted(X)
        return rows, products(rows, self.coef_) + self.intercept_

    def _names_of_slopes(self) -> tuple[str, ...]:
        """Names of the columns that slopes are about: x0, x1, ... where the fit saw none."""
        domain = getattr(self, "domain_", None)
        if domain is not None:
            names: tuple[str, ...] = domain.encoded_names
            return names
        unnamed = [f"x{k}" for k in range(len(self.coef_))]
        return tuple(map(str, getattr(self, "feature_names_in_", unnamed)))

    def _in_units(self, values: FloatArray) -> FloatArray:
        return exp(values) if self.log_target_ else values
