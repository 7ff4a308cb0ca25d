# SPDX-License-Identifier: BSD-3-Clause
"""Acceleration factors of a fitted model: how many times longer units last at one stress than at another."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..._typing import FloatArray
from ...base import redact_errors
from ...metrics._row_arithmetic import exp, products
from .fitted_line import FittedLine
from .replicated import check_confidence, ends_of, pivotal_bounds


class AccelerationFactors(FittedLine):
    """Acceleration factors of the regressors: functions of released values, at no further privacy cost."""

    @overload
    def acceleration_factor(
        self,
        X_use: ArrayLike,
        X_stress: ArrayLike,
        *,
        return_interval: Literal[False] = False,
        confidence: float = 0.9,
    ) -> FloatArray: ...

    @overload
    def acceleration_factor(
        self,
        X_use: ArrayLike,
        X_stress: ArrayLike,
        *,
        return_interval: Literal[True],
        confidence: float = 0.9,
    ) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def acceleration_factor(
        self, X_use: ArrayLike, X_stress: ArrayLike, *, return_interval: bool = False, confidence: float = 0.9
    ) -> FloatArray | tuple[FloatArray, FloatArray]: ...

    @redact_errors
    def acceleration_factor(
        self, X_use: Any, X_stress: Any, *, return_interval: bool = False, confidence: float = 0.9
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return how many times longer units last at use than under stress.

        Under the model every quantile of the lifetime at the first row is exp((x_use - x_stress) . coef)
        times that at the second one, whatever the quantile.

        Parameters
        ----------
        X_use, X_stress : array-like of shape (n_samples, n_features) or (1, n_features)
            Pairs of rows; one row is paired with all of the other side.
        return_interval : bool, default=False
            Whether to return confidence intervals too.
        confidence : float, default=0.9
            Of each interval, above 0 and below 1. The lower end alone is a bound at (1 + confidence) / 2.

        Returns
        -------
        factors : ndarray of shape (n_samples,)
        interval : ndarray of shape (n_samples, 2)
            Lower and upper end; only with ``return_interval=True``.

        Raises
        ------
        ValueError
            Other numbers of rows, or confidence is out of range.

        Notes
        -----
        Rows may lie outside the declared bounds, and are not clipped: the factor is then an extrapolation,
        which is right as far as the model holds there. Targets of the models that are no times, as of
        `DPSEVRegressor`, are taken for natural logarithms of times. Intervals are those of the released
        replicates by the pivotal rule on the log scale, as of ``predict_quantile``.

        **Privacy**: replicates are drawn from the released values, so intervals spend nothing.

        Examples
        --------
        >>> import numpy as np
        >>> from skprivate import DPLogLocationScaleRegressor, TableDomain
        >>> from skprivate.domain import StressColumn
        >>> rng = np.random.default_rng(0)
        >>> domain = TableDomain({"celsius": StressColumn(20, 150, "arrhenius")})
        >>> celsius = rng.choice([85.0, 105.0, 125.0], size=(20000, 1))
        >>> hours = exp(0.7 * domain.encode(celsius)[:, 0] - 14) * rng.weibull(2.0, size=20000)
        >>> model = DPLogLocationScaleRegressor(4.0, domain=domain, bounds_y=(10, 1e6)).fit(celsius, hours)
        >>> factor, interval = model.acceleration_factor([[25.0]], [[125.0]], return_interval=True)
        >>> bool(interval[0, 0] < factor[0] < interval[0, 1]), interval.shape
        (True, (1, 2))
        """
        check_is_fitted(self)
        check_confidence(confidence)
        use, stress = self.read_fitted(X_use), self.read_fitted(X_stress)
        if len(use) != len(stress) and 1 not in (len(use), len(stress)):
            raise ValueError(
                "X_use and X_stress must have as many rows as each other, or one of them one row."
            )
        shift = use - stress
        estimates = products(shift, self.coef_)
        with np.errstate(over="ignore"):
            factors: FloatArray = exp(estimates)
            if not return_interval:
                return factors
            replicates = self.replicates_
            none = np.zeros((1, len(replicates)))
            ends = pivotal_bounds(
                estimates[:, np.newaxis], shift, replicates[:, 2:], none, ends_of(confidence)
            )
            return factors, exp(ends[:, 0])
