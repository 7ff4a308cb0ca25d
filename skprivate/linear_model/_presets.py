# SPDX-License-Identifier: BSD-3-Clause
"""Presets for targets that are logarithms already, or that never were times."""

from typing import Any

from ..utils._public_module import public_module
from ._base import LLS_CONSTRAINTS, BaseLogLocationScale


@public_module("skprivate.linear_model")
class DPSEVRegressor(BaseLogLocationScale):
    """Differentially private Weibull AFT regression on the log scale: smallest extreme value errors.

    `DPLogLocationScaleRegressor` with ``distribution="sev"``: the model is
    y = intercept + X coef + scale * error on the target as passed; structured targets (event, time) are
    times, and the model is then about their logarithms.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Greatest privacy loss of the fit, > 0 and finite.
    delta : float or Fraction, default=0.0
        In [0, 1); needed by ``mechanism="gaussian"``, which loses more than epsilon with at most this
        probability, and not spent otherwise.
    mechanism : {"laplace", "gaussian"}, default="laplace"
        Exact discrete Laplace noise (epsilon), or exact discrete Gaussian noise (epsilon and delta, by rho of
        zero-concentrated differential privacy), which is smaller with many features.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. Values outside are clipped silently. None: read from the
        rows, which is a leak, unless ``x_norm`` is given.
    bounds_y : pair of floats, default=None
        ``(lower, upper)`` of the target in the units passed to ``fit``, for times above 0. Values outside are
        clipped silently; where targets may be censored, an event after the upper bound counts as censored
        there. None: read from the rows, which is a leak.
    x_norm : float, default=None
        Public bound on the norm of a row of X minus the centre of ``bounds_X`` (minus 0 without them): the
        sum of absolute values with Laplace noise, the Euclidean norm with Gaussian noise. Longer rows are
        shrunk to it. Features then share one unit. Better than a box where it fits.
    method : {"moments", "taylor"}, default="moments"
        "moments" is consistent for every distribution; "taylor" is the paper's truncated likelihood, for
        comparison, without censoring.
    regularization : {"floor", "trim", "zhang", "none"}, default="floor"
        What is done about directions that the noise drowns: their moments are raised to the level of the
        noise, or dropped, or a ridge is added, or nothing. Post-processing. With censored targets anything
        but "none" shrinks the noise in the curvature.
    scale_bounds : pair of floats, default=None
        ``scale_`` ends between them, on the scale of the model. None: between .001 and 2 half-widths of the
        target's bounds.
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Neighbouring tables: of the same, public size, or of sizes that differ by one row; the number of rows
        is then protected too, and released with noise.
    max_iter : int or "auto", default="auto"
        With censored targets: rounds after the histogram; a smaller scale needs more, fewer have less noise.
        "auto": 3 to 8, by released values.
    hazard_clip : float or "auto", default="auto"
        With censored targets: cumulative hazard, from 0.1 to 100, at which a row counts as censored in a
        round; less means less noise, and less use of late rows. "auto": 1, and .5 where the released share
        of events is below a tenth. Logistic errors need none.
    max_rows_per_group : int, default=1
        With ``groups``: rows of one person that count, drawn at random; the noise grows in proportion.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    coef_ : ndarray of shape (n_features,)
        Slopes of the location, in the units of X, in the units of y (log time where y is structured).
    intercept_, scale_ : float
        Location at X = 0, and scale of the errors.
    coef_interval_, scale_interval_ : ndarray of shape (n_features, 2) and (2,)
        90 % confidence intervals.
    release_ : object
        All that was released about private rows. The other attributes are those of
        `DPLogLocationScaleRegressor`.

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; says more about every parameter.

    Notes
    -----
    **Privacy.** Relation: ``relation``, of rows, or with ``groups`` of persons with at most
    ``max_rows_per_group`` rows each. Numbers are observed: the sums of products of (1, y, x), scaled to
    [-1, 1] by the bounds and rounded toward zero to integers, are released once with exact noise; their
    sensitivity follows from the bounds (proofs: ``doc/proofs/moments.rst``). Censored
    targets: a histogram of 64 bins of log time by event with a fifth of the budget, then ``max_iter`` rounds
    of weighted sums. All else, coefficients, intervals, curves and warnings, is a function of these. Whoever
    runs ``fit`` sees the rows and is trusted. Not protected: the number of rows (of persons, with ``groups``)
    unless ``relation="add-remove"``, and the bounds. A seeded fit, or one that reads bounds from the rows,
    claims "not-private".

    References
    ----------
    Sheng, Fang, Differentially private log-location-scale regression using functional mechanism, 2024.

    Ferrando, Wang, Sheldon, Parametric bootstrap for differentially private confidence intervals, 2022.

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

    _parameter_constraints: dict[str, list[Any]] = LLS_CONSTRAINTS

    def __init__(
        self,
        epsilon: Any = 1.0,
        *,
        delta: Any = 0.0,
        mechanism: str = "laplace",
        bounds_X: Any = None,
        bounds_y: Any = None,
        x_norm: Any = None,
        method: str = "moments",
        regularization: str = "floor",
        scale_bounds: Any = None,
        relation: str = "replace-one",
        max_iter: Any = "auto",
        hazard_clip: Any = "auto",
        max_rows_per_group: int = 1,
        random_state: Any = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.x_norm = x_norm
        self.method = method
        self.regularization = regularization
        self.scale_bounds = scale_bounds
        self.relation = relation
        self.max_iter = max_iter
        self.hazard_clip = hazard_clip
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger


@public_module("skprivate.linear_model")
class DPLogisticLLSRegressor(BaseLogLocationScale):
    """Differentially private log-logistic AFT regression on the log scale: logistic errors.

    `DPLogLocationScaleRegressor` with ``distribution="logistic"``: the model is
    y = intercept + X coef + scale * error on the target as passed; structured targets (event, time) are
    times, and the model is then about their logarithms.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Greatest privacy loss of the fit, > 0 and finite.
    delta : float or Fraction, default=0.0
        In [0, 1); needed by ``mechanism="gaussian"``, which loses more than epsilon with at most this
        probability, and not spent otherwise.
    mechanism : {"laplace", "gaussian"}, default="laplace"
        Exact discrete Laplace noise (epsilon), or exact discrete Gaussian noise (epsilon and delta, by rho of
        zero-concentrated differential privacy), which is smaller with many features.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. Values outside are clipped silently. None: read from the
        rows, which is a leak, unless ``x_norm`` is given.
    bounds_y : pair of floats, default=None
        ``(lower, upper)`` of the target in the units passed to ``fit``, for times above 0. Values outside are
        clipped silently; where targets may be censored, an event after the upper bound counts as censored
        there. None: read from the rows, which is a leak.
    x_norm : float, default=None
        Public bound on the norm of a row of X minus the centre of ``bounds_X`` (minus 0 without them): the
        sum of absolute values with Laplace noise, the Euclidean norm with Gaussian noise. Longer rows are
        shrunk to it. Features then share one unit. Better than a box where it fits.
    method : {"moments", "taylor"}, default="moments"
        "moments" is consistent for every distribution; "taylor" is the paper's truncated likelihood, for
        comparison, without censoring.
    regularization : {"floor", "trim", "zhang", "none"}, default="floor"
        What is done about directions that the noise drowns: their moments are raised to the level of the
        noise, or dropped, or a ridge is added, or nothing. Post-processing. With censored targets anything
        but "none" shrinks the noise in the curvature.
    scale_bounds : pair of floats, default=None
        ``scale_`` ends between them, on the scale of the model. None: between .001 and 2 half-widths of the
        target's bounds.
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Neighbouring tables: of the same, public size, or of sizes that differ by one row; the number of rows
        is then protected too, and released with noise.
    max_iter : int or "auto", default="auto"
        With censored targets: rounds after the histogram; a smaller scale needs more, fewer have less noise.
        "auto": 3 to 8, by released values.
    hazard_clip : float or "auto", default="auto"
        With censored targets: cumulative hazard, from 0.1 to 100, at which a row counts as censored in a
        round; less means less noise, and less use of late rows. "auto": 1, and .5 where the released share
        of events is below a tenth. Logistic errors need none.
    max_rows_per_group : int, default=1
        With ``groups``: rows of one person that count, drawn at random; the noise grows in proportion.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    coef_ : ndarray of shape (n_features,)
        Slopes of the location, in the units of X, in the units of y (log time where y is structured).
    intercept_, scale_ : float
        Location at X = 0, and scale of the errors.
    coef_interval_, scale_interval_ : ndarray of shape (n_features, 2) and (2,)
        90 % confidence intervals.
    release_ : object
        All that was released about private rows. The other attributes are those of
        `DPLogLocationScaleRegressor`.

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; says more about every parameter.

    Notes
    -----
    **Privacy.** Relation: ``relation``, of rows, or with ``groups`` of persons with at most
    ``max_rows_per_group`` rows each. Numbers are observed: the sums of products of (1, y, x), scaled to
    [-1, 1] by the bounds and rounded toward zero to integers, are released once with exact noise; their
    sensitivity follows from the bounds (proofs: ``doc/proofs/moments.rst``). Censored
    targets: a histogram of 64 bins of log time by event with a fifth of the budget, then ``max_iter`` rounds
    of weighted sums. All else, coefficients, intervals, curves and warnings, is a function of these. Whoever
    runs ``fit`` sees the rows and is trusted. Not protected: the number of rows (of persons, with ``groups``)
    unless ``relation="add-remove"``, and the bounds. A seeded fit, or one that reads bounds from the rows,
    claims "not-private".

    References
    ----------
    Sheng, Fang, Differentially private log-location-scale regression using functional mechanism, 2024.

    Ferrando, Wang, Sheldon, Parametric bootstrap for differentially private confidence intervals, 2022.

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

    _parameter_constraints: dict[str, list[Any]] = LLS_CONSTRAINTS

    def __init__(
        self,
        epsilon: Any = 1.0,
        *,
        delta: Any = 0.0,
        mechanism: str = "laplace",
        bounds_X: Any = None,
        bounds_y: Any = None,
        x_norm: Any = None,
        method: str = "moments",
        regularization: str = "floor",
        scale_bounds: Any = None,
        relation: str = "replace-one",
        max_iter: Any = "auto",
        hazard_clip: Any = "auto",
        max_rows_per_group: int = 1,
        random_state: Any = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.x_norm = x_norm
        self.method = method
        self.regularization = regularization
        self.scale_bounds = scale_bounds
        self.relation = relation
        self.max_iter = max_iter
        self.hazard_clip = hazard_clip
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger


@public_module("skprivate.linear_model")
class DPNormalLLSRegressor(BaseLogLocationScale):
    """Differentially private log-normal AFT regression on the log scale: normal errors.

    `DPLogLocationScaleRegressor` with ``distribution="normal"``: the model is
    y = intercept + X coef + scale * error on the target as passed; structured targets (event, time) are
    times, and the model is then about their logarithms.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Greatest privacy loss of the fit, > 0 and finite.
    delta : float or Fraction, default=0.0
        In [0, 1); needed by ``mechanism="gaussian"``, which loses more than epsilon with at most this
        probability, and not spent otherwise.
    mechanism : {"laplace", "gaussian"}, default="laplace"
        Exact discrete Laplace noise (epsilon), or exact discrete Gaussian noise (epsilon and delta, by rho of
        zero-concentrated differential privacy), which is smaller with many features.
    bounds_X : pair or dict, default=None
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``; in
        the units of X, from public knowledge. Values outside are clipped silently. None: read from the
        rows, which is a leak, unless ``x_norm`` is given.
    bounds_y : pair of floats, default=None
        ``(lower, upper)`` of the target in the units passed to ``fit``, for times above 0. Values outside are
        clipped silently; where targets may be censored, an event after the upper bound counts as censored
        there. None: read from the rows, which is a leak.
    x_norm : float, default=None
        Public bound on the norm of a row of X minus the centre of ``bounds_X`` (minus 0 without them): the
        sum of absolute values with Laplace noise, the Euclidean norm with Gaussian noise. Longer rows are
        shrunk to it. Features then share one unit. Better than a box where it fits.
    method : {"moments", "taylor"}, default="moments"
        "moments" is consistent for every distribution; "taylor" is the paper's truncated likelihood, for
        comparison, without censoring.
    regularization : {"floor", "trim", "zhang", "none"}, default="floor"
        What is done about directions that the noise drowns: their moments are raised to the level of the
        noise, or dropped, or a ridge is added, or nothing. Post-processing. With censored targets anything
        but "none" shrinks the noise in the curvature.
    scale_bounds : pair of floats, default=None
        ``scale_`` ends between them, on the scale of the model. None: between .001 and 2 half-widths of the
        target's bounds.
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Neighbouring tables: of the same, public size, or of sizes that differ by one row; the number of rows
        is then protected too, and released with noise.
    max_iter : int or "auto", default="auto"
        With censored targets: rounds after the histogram; a smaller scale needs more, fewer have less noise.
        "auto": 3 to 8, by released values.
    hazard_clip : float or "auto", default="auto"
        With censored targets: cumulative hazard, from 0.1 to 100, at which a row counts as censored in a
        round; less means less noise, and less use of late rows. "auto": 1, and .5 where the released share
        of events is below a tenth. Logistic errors need none.
    max_rows_per_group : int, default=1
        With ``groups``: rows of one person that count, drawn at random; the noise grows in proportion.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the fit reproducible, and not private.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What was spent, on what unit, and what is claimed.
    coef_ : ndarray of shape (n_features,)
        Slopes of the location, in the units of X, in the units of y (log time where y is structured).
    intercept_, scale_ : float
        Location at X = 0, and scale of the errors.
    coef_interval_, scale_interval_ : ndarray of shape (n_features, 2) and (2,)
        90 % confidence intervals.
    release_ : object
        All that was released about private rows. The other attributes are those of
        `DPLogLocationScaleRegressor`.

    See Also
    --------
    DPLogLocationScaleRegressor : The same for times; says more about every parameter.

    Notes
    -----
    **Privacy.** Relation: ``relation``, of rows, or with ``groups`` of persons with at most
    ``max_rows_per_group`` rows each. Numbers are observed: the sums of products of (1, y, x), scaled to
    [-1, 1] by the bounds and rounded toward zero to integers, are released once with exact noise; their
    sensitivity follows from the bounds (proofs: ``doc/proofs/moments.rst``). Censored
    targets: a histogram of 64 bins of log time by event with a fifth of the budget, then ``max_iter`` rounds
    of weighted sums. All else, coefficients, intervals, curves and warnings, is a function of these. Whoever
    runs ``fit`` sees the rows and is trusted. Not protected: the number of rows (of persons, with ``groups``)
    unless ``relation="add-remove"``, and the bounds. A seeded fit, or one that reads bounds from the rows,
    claims "not-private".

    References
    ----------
    Sheng, Fang, Differentially private log-location-scale regression using functional mechanism, 2024.

    Ferrando, Wang, Sheldon, Parametric bootstrap for differentially private confidence intervals, 2022.

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

    _parameter_constraints: dict[str, list[Any]] = LLS_CONSTRAINTS

    def __init__(
        self,
        epsilon: Any = 1.0,
        *,
        delta: Any = 0.0,
        mechanism: str = "laplace",
        bounds_X: Any = None,
        bounds_y: Any = None,
        x_norm: Any = None,
        method: str = "moments",
        regularization: str = "floor",
        scale_bounds: Any = None,
        relation: str = "replace-one",
        max_iter: Any = "auto",
        hazard_clip: Any = "auto",
        max_rows_per_group: int = 1,
        random_state: Any = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.x_norm = x_norm
        self.method = method
        self.regularization = regularization
        self.scale_bounds = scale_bounds
        self.relation = relation
        self.max_iter = max_iter
        self.hazard_clip = hazard_clip
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.ledger = ledger
