# SPDX-License-Identifier: BSD-3-Clause
"""The private regressor of life data."""

from typing import Any

from sklearn.utils import Tags

from ..utils._compat import StrOptions
from ..utils._public_module import public_module
from ._base import LLS_CONSTRAINTS, BaseLogLocationScale
from ._distributions import DISTRIBUTIONS, family_of
from ._planned_cost import LLS_ROLES


@public_module("skprivate.linear_model")
class DPLogLocationScaleRegressor(BaseLogLocationScale):
    """Differentially private Weibull AFT, log-logistic AFT and log-normal AFT regression, with censoring.

    The accelerated failure time model log T = intercept + X coef + scale * error, fitted from one private
    release. Targets may be right-censored; a private survival curve then comes for free.

    Parameters
    ----------
    epsilon : float or Fraction, default=1.0
        Greatest privacy loss of the fit, > 0 and finite.
    distribution : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}, default="weibull"
        Distribution of the target. The first three take times above 0 and model their logarithms; the others
        take numbers as they are, "sev" being the smallest extreme value distribution, that of the logarithm
        of a Weibull time. Structured targets (event, time) are always times.
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
        All that was released about private rows: noisy moments, and the noise that they carry.
    survival_curve_ : tuple of two ndarrays
        With censored targets: times, and the private Kaplan-Meier estimate of surviving them.
    event_share_ : float
        With censored targets: released share of rows whose event was observed.
    n_newton_ : int
        With censored targets: rounds made.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X had string names.

    See Also
    --------
    DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor : The same for targets that are logarithms.
    MomentAccumulator : Feeds a fit batch by batch, from files or from a cluster.
    skprivate.preprocessing.estimate_bounds : Pays for bounds that nobody knows.

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
        epsilon: Any = 1.0,
        *,
        distribution: str = "weibull",
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
        self.distribution = distribution
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = family_of(self.distribution)[1]
        return tags
