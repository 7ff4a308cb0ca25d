# SPDX-License-Identifier: BSD-3-Clause
"""The accelerated failure time models of lifelines, fitted without privacy, in the terms of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Model of lifelines, its parameters of location and shape, and the sign of log shape in log scale.
_MODELS = {
    "weibull": ("WeibullAFTFitter", "lambda_", "rho_", -1.0),
    "loglogistic": ("LogLogisticAFTFitter", "alpha_", "beta_", -1.0),
    "lognormal": ("LogNormalAFTFitter", "mu_", "sigma_", 1.0),
}


@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """A log-location-scale model fitted by maximum likelihood, on the scale of log time.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
    intercept, scale : float
    covariance : ndarray of shape (n_features + 2, n_features + 2)
        Of the slopes, the intercept and log scale.
    """

    coef: FloatArray
    intercept: float
    scale: float
    covariance: FloatArray

    def log_quantile(self, x: FloatArray, error: float) -> tuple[float, float]:
        """Return the logarithm of a quantile at a row, and its standard error, given the error's quantile."""
        gradient = np.array([*x, 1.0, self.scale * error])
        value = float(x @ self.coef) + self.intercept + self.scale * error
        return value, float(np.sqrt(gradient @ self.covariance @ gradient))


def weibull_fit(X: FloatArray, y: NDArray[Any]) -> Callable[[], Any] | None:
    """Return what fits lifelines' model once and returns it; None, and a line, where it is not installed."""
    try:
        import pandas as pd
        from lifelines import WeibullAFTFitter
    except ImportError:
        print("lifelines is not installed: pip install lifelines")
        return None
    frame = pd.DataFrame(X).rename(columns="x{}".format).assign(time=y["time"], event=y["event"])
    return lambda: WeibullAFTFitter().fit(frame, "time", "event")


def likelihood_fit(
    distribution: str, X: FloatArray, lower: FloatArray, upper: FloatArray, entry: FloatArray | None = None
) -> LikelihoodFit:
    """Fit a model of lifelines to lifetimes that are known to lie between two times.

    Parameters
    ----------
    distribution : {"weibull", "loglogistic", "lognormal"}
    X : ndarray of shape (n, d)
    lower, upper : ndarray of shape (n,)
        Equal: the lifetime. An infinite `upper`: censored on the right; `lower` 0: on the left.
    entry : ndarray of shape (n,), default=None
        Ages from which machines were watched.
    """
    import lifelines
    import pandas as pd

    name, location, shape, sign = _MODELS[distribution]
    # About 1, and no 0 or infinity: else the log-normal model does not converge.
    unit = float(np.exp(np.median(np.log(np.where(np.isfinite(upper), upper, lower)))))
    low, high = np.maximum(lower / unit, 1e-9), np.minimum(upper / unit, 1e9)
    frame = pd.DataFrame(X).rename(columns="x{}".format).assign(event=lower == upper)
    options = {}
    if entry is not None:
        frame, options = frame.assign(entry=entry / unit), {"entry_col": "entry"}
    model = getattr(lifelines, name)()
    if np.all((lower == upper) | np.isinf(upper)):
        model.fit(frame.assign(time=low), "time", "event", **options)
    elif np.all((lower == upper) | (lower == 0)):
        model.fit_left_censoring(frame.assign(time=high), "time", "event", **options)
    else:
        model.fit_interval_censoring(
            frame.assign(lower=low, upper=high), "lower", "upper", "event", **options
        )
    order = [(location, f"x{j}") for j in range(X.shape[1])] + [(location, "Intercept"), (shape, "Intercept")]
    values = model.params_.loc[order].to_numpy()
    covariance = model.variance_matrix_.loc[order, order].to_numpy(copy=True)
    covariance[-1] *= sign
    covariance[:, -1] *= sign
    intercept = float(values[-2]) + np.log(unit)
    return LikelihoodFit(values[:-2], intercept, float(np.exp(sign * values[-1])), covariance)
