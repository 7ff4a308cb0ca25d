# SPDX-License-Identifier: BSD-3-Clause
"""Regressors of one distribution each, for targets that are not times, or are logarithms of times."""

from ..utils._public_module import name_constructor, public_module
from ._base import BaseLogLocationScale
from ._shared_docstrings import share_docstring


@public_module("skprivate.linear_model")
@share_docstring
@name_constructor
class DPSEVRegressor(BaseLogLocationScale):
    """Differentially private Weibull AFT regression on the log scale: smallest extreme value errors.

    `DPLogLocationScaleRegressor` with ``distribution="sev"``: the model is
    y = intercept + X coef + scale * error on the target as passed; structured targets (event, time) are
    times, and the model is then about their logarithms.

    Parameters
    ----------
    $epsilon
    $parameters

    Attributes
    ----------
    $preset_attributes

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; lists every attribute.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPSEVRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = X @ [1.0, -0.5] + 0.3 * np.log(rng.exponential(size=20000))
    >>> model = DPSEVRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-4, 4)).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.1)
    True
    """

    distribution = "sev"


@public_module("skprivate.linear_model")
@share_docstring
@name_constructor
class DPLogisticLLSRegressor(BaseLogLocationScale):
    """Differentially private log-logistic AFT regression on the log scale: logistic errors.

    `DPLogLocationScaleRegressor` with ``distribution="logistic"``: the model is
    y = intercept + X coef + scale * error on the target as passed; structured targets (event, time) are
    times, and the model is then about their logarithms.

    Parameters
    ----------
    $epsilon
    $parameters

    Attributes
    ----------
    $preset_attributes

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; lists every attribute.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogisticLLSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = X @ [1.0, -0.5] + 0.3 * rng.logistic(size=20000)
    >>> model = DPLogisticLLSRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-4, 4)).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.1)
    True
    """

    distribution = "logistic"


@public_module("skprivate.linear_model")
@share_docstring
@name_constructor
class DPNormalLLSRegressor(BaseLogLocationScale):
    """Differentially private log-normal AFT regression on the log scale: normal errors.

    `DPLogLocationScaleRegressor` with ``distribution="normal"``: the model is
    y = intercept + X coef + scale * error on the target as passed; structured targets (event, time) are
    times, and the model is then about their logarithms.

    Parameters
    ----------
    $epsilon
    $parameters

    Attributes
    ----------
    $preset_attributes

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; lists every attribute.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPNormalLLSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = X @ [1.0, -0.5] + 0.3 * rng.normal(size=20000)
    >>> model = DPNormalLLSRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-4, 4)).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.1)
    True
    """

    distribution = "normal"
