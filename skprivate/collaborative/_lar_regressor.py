# SPDX-License-Identifier: BSD-3-Clause
"""The published platform as one estimator: coarsened queries, local averages and bounded swapping."""

from collections.abc import Iterable
from typing import Any, Literal

from .._typing import ActiveRule, AveragingKernel, OnSiteError, RandomSource, SwapOrder
from ..base import assign_roles
from ..preprocessing import TQMATransformer
from ..utils._public_module import public_module
from ._local_average.regressor import LocalAverageRegressor
from ._message_platform import MessagePlatform
from ._regressor import RegressionPlatform
from ._swapping import BSTDAggregator


@public_module("skprivate.collaborative")
class CollaborativeLARRegressor(RegressionPlatform):
    """Collaborative local average regression: TQMA for the queries, BSTD for the answers (TB-PPCMPP).

    Parameters
    ----------
    depth : int, array-like or dict, default=4
        Depth of the query's coarsening: each quasi-identifier has ``2 ** depth`` cells.
    p_lower, p_upper : int, default=2, 8
        Least and greatest distance in rank of two answers that are swapped.
    kernel : {"gaussian", "laplace", "epanechnikov", "partition", "knn"}, default="gaussian"
        Weights of the local averages.
    bandwidth : float or "cv", default="cv"
        Of the local averages, as a share of the bounds' widths, before it is refined to all rows' number.
    n_neighbors : int or "cv", default="cv"
        Of the kernel "knn".
    bounds : pair or dict, default=None
        Public range of every column: ``(lower, upper)``, scalars or arrays, or ``{column: (lower, upper)}``.
        None reads the ranges of the quasi-identifiers from the rows of all sites, which is announced as a
        leak, and each site scales by the ranges of its own rows, which stay there.
    quasi_identifiers : column names, positions or callable, default=None
        Columns that are perturbed. None: every column.
    order : {"fewest", "random", "top"}, default="fewest"
        Order of the swaps, as in `BSTDAggregator`.
    active_rule : {"support", "box", "receiver"} or None, default="support"
        Which answers count, as in `BSTDAggregator`. The paper's rule is "box", by which an answer below 1 / n
        counts for nothing, so that a target in a unit in which it is small is predicted as 0.
    n_jobs, on_site_error, random_state
        As in `CollaborativeRegressor`.

    Attributes
    ----------
    sites_, estimators_, site_sizes_, query_perturber_, aggregator_, disclosure_risk_
        As in `CollaborativeRegressor`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    See Also
    --------
    CollaborativeRegressor : The same with any parts.

    Notes
    -----
    **Privacy.** As in `CollaborativeRegressor`: not differential privacy, and this object is not to be
    published. Greater depth gives predictions that are closer to those of unperturbed queries, and queries
    that are easier to link. A prediction does not depend on the swap (except with
    ``active_rule="receiver"``, the rule as printed).

    References
    ----------
    Lin, Liu, Wang, Striking the Perfect Balance: Preserving Privacy While Boosting Utility in Collaborative
    Medical Prediction Platforms, algorithm 3.

    Examples
    --------
    >>> from skprivate import CollaborativeLARRegressor
    >>> from skprivate.datasets import make_parties
    >>> X, y, _ = make_parties(3000, 12, random_state=0)
    >>> sites = [row % 12 for row in range(3000)]
    >>> platform = CollaborativeLARRegressor(depth=4, bounds=(0, 1)).fit(X, y, sites=sites)
    >>> X_new, f, _ = make_parties(200, 1, noise=0, random_state=1)
    >>> platform.score(X_new, f) > 0.9
    True
    """

    declared_roles = assign_roles(
        release="depth p_lower p_upper kernel bandwidth n_neighbors bounds quasi_identifiers order "
        "active_rule on_site_error random_state",
        computing="n_jobs",
    )

    _parameter_constraints = {
        **MessagePlatform._parameter_constraints,
        **{
            name: part._parameter_constraints[name]
            for part, names in (
                (LocalAverageRegressor, ("kernel", "bandwidth", "n_neighbors")),
                (TQMATransformer, ("depth", "bounds", "quasi_identifiers")),
                (BSTDAggregator, ("p_lower", "p_upper", "order", "active_rule")),
            )
            for name in names
        },
    }

    def __init__(
        self,
        depth: Any = 4,
        p_lower: int = 2,
        p_upper: int = 8,
        *,
        kernel: AveragingKernel = "gaussian",
        bandwidth: float | Literal["cv"] = "cv",
        n_neighbors: int | Literal["cv"] = "cv",
        bounds: Any = None,
        quasi_identifiers: Any = None,
        order: SwapOrder = "fewest",
        active_rule: ActiveRule | None = "support",
        n_jobs: int | None = None,
        on_site_error: OnSiteError = "raise",
        random_state: RandomSource = None,
    ) -> None:
        self.depth = depth
        self.p_lower = p_lower
        self.p_upper = p_upper
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.bounds = bounds
        self.quasi_identifiers = quasi_identifiers
        self.order = order
        self.active_rule = active_rule
        self.n_jobs = n_jobs
        self.on_site_error = on_site_error
        self.random_state = random_state

    def _template(self, site: Any) -> LocalAverageRegressor:
        return LocalAverageRegressor(
            self.kernel, bandwidth=self.bandwidth, n_neighbors=self.n_neighbors, bounds=self.bounds
        )

    def _templates(self) -> Iterable[Any]:
        return [LocalAverageRegressor()]

    def _make_perturber(self) -> TQMATransformer:
        perturber = TQMATransformer(self.depth, self.bounds, self.quasi_identifiers)
        if self.is_strict():
            # Strict mode travels with a pickle of this object; the part is made only now.
            perturber._pickled_strict = True
        return perturber

    def _make_aggregator(self) -> BSTDAggregator:
        return BSTDAggregator(self.p_lower, self.p_upper, order=self.order, active_rule=self.active_rule)
