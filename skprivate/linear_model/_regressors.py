# SPDX-License-Identifier: BSD-3-Clause
"""The private log-location-scale regressors of times, and of targets on the scale of the model."""

import re
from collections.abc import Sequence
from fractions import Fraction
from inspect import cleandoc
from string import Template
from typing import Any, Literal, TypeVar

from sklearn.utils import Tags

from .._typing import (
    CentralMechanism,
    CentralRelation,
    Distribution,
    MomentMethod,
    Observation,
    RandomSource,
    Regularization,
)
from ..accounting import PrivacyLedger
from ..domain import TableDomain
from ..utils._compat import StrOptions
from ..utils._public_module import name_constructor, public_module
from ._distributions import DISTRIBUTIONS, models_log_target
from ._estimator import LLS_CONSTRAINTS, LLS_ROLES, BaseLogLocationScale

# Sections of docstrings that the regressors share, and the decorator that puts them in.

Regressor = TypeVar("Regressor", bound=type)


def share_docstring(regressor: Regressor) -> Regressor:
    """Put the shared sections in the place of their names in the docstring of a class.

    Parameters
    ----------
    regressor : type
        Its docstring names a section as ``$epsilon``, ``$parameters``, ``$preset_attributes``, ``$privacy``
        or ``$references``. None, as under ``python -OO``, stays None.

    Returns
    -------
    regressor : type
        The same class.

    Raises
    ------
    KeyError
        The docstring names a section that there is not.

    Examples
    --------
    >>> from skprivate.linear_model._regressors import share_docstring
    >>> @share_docstring
    ... class Regressor:
    ...     '''A regressor.
    ...
    ...     References
    ...     ----------
    ...     $references
    ...     '''
    >>> Regressor.__doc__.splitlines()[4].split(",")[0]
    'Sheng'
    """
    shared = BaseLogLocationScale.__doc__
    if regressor.__doc__ is not None and shared is not None:
        _, *parts = re.split(r"\n\n([A-Z]\w+)\n-+\n", cleandoc(shared))
        sections = dict(zip(parts[::2], parts[1::2], strict=True))
        epsilon, parameters = sections["Parameters"].split("\ndelta ", 1)
        regressor.__doc__ = Template(cleandoc(regressor.__doc__)).substitute(
            epsilon=epsilon,
            parameters=f"delta {parameters}",
            preset_attributes=sections["Attributes"],
            privacy=sections["Notes"],
            references=sections["References"],
        )
    return regressor


# The private log-location-scale regressor of times, censored or not.


@public_module("skprivate.linear_model")
@share_docstring
class DPLogLocationScaleRegressor(BaseLogLocationScale):
    """Differentially private Weibull AFT, log-logistic AFT and log-normal AFT regression, with censoring.

    Fits the accelerated failure time model log T = intercept + X coef + scale * error to private releases.
    Targets may be right-censored; a private survival curve is then estimated at no further cost.

    Parameters
    ----------
    $epsilon
    distribution : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}, default="weibull"
        Distribution of the target. The first three take times above 0 and model their logarithms; the others
        take numbers as they are. "sev" is the smallest extreme value distribution, that of the logarithm of a
        Weibull time. Structured targets (event, time) are always times.
    $parameters

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    coef_ : ndarray of shape (n_features,)
        Slopes of the location, in the units of X, on the scale of the model (log time).
    intercept_ : float
        Location at X = 0.
    scale_ : float
        Scale sigma of the errors, on the scale of the model (log time).
    coef_interval_ : ndarray of shape (n_features, 2)
        90 % confidence interval of every slope, from a parametric bootstrap of the release.
    scale_interval_ : ndarray of shape (2,)
        The same for ``scale_``.
    replicates_ : ndarray of shape (n_replicates, 2 + n_features)
        The bootstrap: intercept, scale and slopes of every replicate.
    bounds_ : tuple of two ndarrays of shape (n_features,)
        Bounds of X.
    bounds_y_ : tuple of two floats
        Bounds of the target, in the units passed to ``fit``.
    release_ : object
        Everything that was released about private rows, and the scale of its noise: moments and, beside
        them, ``residuals`` (counts of standardised residuals) and ``looks``.
    survival_curve_ : tuple of two ndarrays
        With censored targets: times, and the private Kaplan-Meier estimate of surviving them. It is left out
        where intervals, earlier events or entries are declared, to which that estimate does not apply.
    event_share_ : float
        With censored targets: released share of rows whose event was observed, or is known to have come.
    n_iter_ : int
        Number of Newton rounds with censored targets, otherwise of releases of moments and looks.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.
    domain_ : TableDomain
        The domain of the fit. Only with ``domain``.

    See Also
    --------
    DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor : The same for targets that are logarithms.
    MomentAccumulator : Adds rows batch by batch, from files or from a cluster, and fits once.
    skprivate.preprocessing.estimate_bounds : Estimates bounds privately where none are known.

    Notes
    -----
    $privacy

    References
    ----------
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> rng = np.random.default_rng(0)
    >>> load = rng.uniform(0, 10, size=(20000, 1))
    >>> hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=20000)
    >>> model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(0, 10), bounds_y=(10, 20000))
    >>> model = model.fit(load, hours)
    >>> bool(abs(model.coef_[0] + 0.2) < 0.05), bool(abs(model.scale_ - 0.5) < 0.1)
    (True, True)
    >>> b10, interval = model.predict_quantile([[5.0]], 0.1, return_interval=True)
    >>> bool(interval[0, 0] < b10[0] < interval[0, 1])
    True
    >>> model.privacy_spent_.private, model.privacy_spent_.epsilon
    (True, Fraction(1, 1))
    """

    declared_roles = {**LLS_ROLES, "distribution": "release"}

    _parameter_constraints: dict[str, list[Any]] = {
        **LLS_CONSTRAINTS,
        "distribution": [StrOptions(set(DISTRIBUTIONS))],
    }

    def __init__(
        self,
        epsilon: float | Fraction = 1.0,
        *,
        distribution: Distribution = "weibull",
        delta: float | Fraction = 0.0,
        mechanism: CentralMechanism = "auto",
        bounds_X: Any = None,
        domain: TableDomain | None = None,
        bounds_y: Any = None,
        x_norm: float | None = None,
        method: MomentMethod = "moments",
        regularization: Regularization = "floor",
        scale_bounds: Any = None,
        relation: CentralRelation = "replace-one",
        max_iter: int | Literal["auto"] = "auto",
        hazard_clip: float | Literal["auto"] = "auto",
        observations: Sequence[Observation] | None = None,
        max_rows_per_group: int = 1,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta=delta,
            mechanism=mechanism,
            bounds_X=bounds_X,
            domain=domain,
            bounds_y=bounds_y,
            x_norm=x_norm,
            method=method,
            regularization=regularization,
            scale_bounds=scale_bounds,
            relation=relation,
            max_iter=max_iter,
            hazard_clip=hazard_clip,
            observations=observations,
            max_rows_per_group=max_rows_per_group,
            random_state=random_state,
            ledger=ledger,
        )
        self.distribution = distribution

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = models_log_target(self.distribution)
        return tags


# Regressors of one distribution each, for targets that are not times, or are logarithms of times.


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
