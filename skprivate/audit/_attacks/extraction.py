# SPDX-License-Identifier: BSD-3-Clause
"""Model extraction: what the operator of a collaborative platform can copy of one site's model."""

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._typing import FloatArray, RandomSource
from ...collaborative import LocalAverageRegressor
from ...metrics import record_linkage_score
from ...utils import check_bounds, check_int
from ...utils._public_module import public_module
from .inputs import check_generator


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What came of one set of observations.

    Parameters
    ----------
    mse_replaced : float
        Mean squared error of the platform on test rows, with the victim's model replaced by the copy.
    surrogate_rmse : float
        Root mean squared distance of the copy's answers from the victim's on the test rows, in units of y.
    record_linkage : float or None
        `skprivate.metrics.record_linkage_score` of the answers as observed, in percent; None: no answers of
        single sites were observed.
    surrogate : regressor
        The copy.
    """

    mse_replaced: float
    surrogate_rmse: float
    record_linkage: float | None
    surrogate: Any = field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class ModelExtractionResult:
    """How well one site's model was copied, with the platform's protection and without.

    Parameters
    ----------
    victim : object
        Name of the attacked site.
    n_queries : int
        Number of fake queries.
    mse : float
        Mean squared error of the intact platform on the test rows.
    observed : Extraction or None
        From the victim's column of what is opened, as the paper simulates it; None where the platform opens
        no answer.
    rescaled : Extraction or None
        From the same column by an operator who knows that a swapped share is one of another site, of another
        size.
    ranked : Extraction or None
        From the value at the rank at which the victim's share mostly is, wherever it was swapped to, by an
        operator who knows that rank.
    predictions : Extraction
        From the platform's predictions alone, which anybody gets who may ask, whatever the protection.
    unprotected : Extraction
        From the victim's own answers, had every site answered in the open.
    """

    victim: Any
    n_queries: int
    mse: float
    observed: Extraction | None
    rescaled: Extraction | None
    ranked: Extraction | None
    predictions: Extraction
    unprotected: Extraction

    @property
    def ratio(self) -> float | None:
        """Mean squared error with the victim replaced, over that of the intact platform; None: no copy."""
        return None if self.observed is None else self.observed.mse_replaced / self.mse

    def __str__(self) -> str:
        found = {
            "victim's column as opened": self.observed,
            "same, scaled to other sites": self.rescaled,
            "value at the victim's rank": self.ranked,
            "platform's predictions": self.predictions,
            "victim's answers in the open": self.unprotected,
        }
        return "\n".join(
            [
                f"model extraction of site {self.victim!r} by {self.n_queries} fake queries",
                f"{'copied from':<30}{'MSE':>10}{'times':>7}{'off victim':>12}{'linkage':>10}",
                f"{'(intact platform)':<30}{self.mse:>10.3g}{1:>7.2f}",
                *(f"{source:<30}{self._describe(copied)}" for source, copied in found.items()),
            ]
        )

    def _describe(self, copied: Extraction | None) -> str:
        if copied is None:
            return "  nothing is opened, so there is no copy"
        linkage = "" if copied.record_linkage is None else f"{copied.record_linkage:>8.3g} %"
        times = copied.mse_replaced / self.mse
        return f"{copied.mse_replaced:>10.3g}{times:>7.2f}{copied.surrogate_rmse:>12.3g}{linkage}"


@public_module("skprivate.audit")
class ModelExtractionAttack:
    """Simulate an operator who copies a site's model from its answers to fake queries.

    The operator sends as many fake queries as the victim has rows, takes what arrives in the victim's column
    for its answers, fits a surrogate model on them and puts it in the victim's place. If predictions stay as
    good, the site has become dispensable.

    Parameters
    ----------
    victim : object, default=None
        Name of the attacked site, one of the platform's ``sites_``. None: the largest (the last of them).
    n_queries : int, default=None
        Number of fake queries. None: as many as the victim has rows.
    surrogate : regressor, default=None
        The copy's kind. None: a Gaussian `skprivate.collaborative.LocalAverageRegressor`, its bandwidth by
        cross-validation.
    random_state : int, RandomState, Generator or None, default=None
        Seed of fake queries that are drawn.

    See Also
    --------
    skprivate.collaborative.BSTDAggregator : The protection that this attacks.
    skprivate.collaborative.SecureSumAggregator : Opens no answer at all.

    Notes
    -----
    The platform itself is not changed; every copy is tried in a shallow copy of it.

    What is opened are shares of the synthesis, in proportion to a site's size. ``observed`` divides the
    victim's column by the victim's size, as if it were its own; when it was swapped it is another site's, and
    where the victim is larger than the others that error of scale is nearly all that makes this copy bad.
    ``rescaled`` divides by the mean size of the others instead. ``ranked`` needs no column: all values of a
    query are opened, and a site that is larger, or whose people differ, stands out among them.

    **Privacy**: this is a simulation by someone who holds every site's model; its figures are exact functions
    of them. Swapping hides which answer is whose from who does not know the sites, not what the sites agree
    on: where they hold the same kind of people, ``rescaled``, and ``predictions`` without any opened answer,
    are nearly as good as a copy from open answers. Only limits on who may ask, and how often, stand against
    that.

    References
    ----------
    Lin, Liu, Wang, Striking the Perfect Balance: Preserving Privacy While Boosting
    Utility in Collaborative Medical Prediction Platforms. Definition 3 and appendix B.1.

    Examples
    --------
    >>> import warnings
    >>> from skprivate import CollaborativeRegressor
    >>> from skprivate.audit import ModelExtractionAttack
    >>> from skprivate.collaborative import BSTDAggregator, LocalAverageRegressor
    >>> from skprivate.datasets import make_parties
    >>> from skprivate.exceptions import DisclosureWarning
    >>> X, y, sites = make_parties(2000, 10, random_state=0)
    >>> local, swap = LocalAverageRegressor(bounds=(0, 1)), BSTDAggregator(2, 7)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DisclosureWarning)  # of the site that is attacked
    ...     platform = CollaborativeRegressor(local, aggregator=swap, random_state=0).fit(X, y, sites)
    >>> queries, truth, _ = make_parties(200, 1, noise=0, random_state=1)
    >>> attack = ModelExtractionAttack(random_state=0)
    >>> print(attack.run(platform, queries, truth, bounds=(0, 1)))
    model extraction of site 9 by 424 fake queries
    copied from                          MSE  times  off victim   linkage
    (intact platform)                 0.0011   1.00
    victim's column as opened        0.004...  3.7...     0.21...     0 %
    same, scaled to other sites      0.001...  1.1...     0.06...     0 %
    value at the victim's rank       0.00116   1.05      0.0496
    platform's predictions           0.00122   1.11       0.061
    victim's answers in the open     0.00116   1.05      0.0496     100 %
    """

    def __init__(
        self,
        victim: Any = None,
        *,
        n_queries: int | None = None,
        surrogate: Any = None,
        random_state: RandomSource = None,
    ) -> None:
        self.victim = victim
        self.n_queries = n_queries
        self.surrogate = surrogate
        self.random_state = random_state

    def run(
        self, platform: Any, X_test: Any, y_test: Any, *, queries: Any = None, bounds: Any = None
    ) -> ModelExtractionResult:
        """Attack a fitted platform.

        Parameters
        ----------
        platform : CollaborativeRegressor
            Fitted; it is not changed.
        X_test : array-like or data frame of shape (n_test, n_features)
            Rows on which predictions and answers are compared.
        y_test : array-like of shape (n_test,)
            Their true values.
        queries : array-like or data frame of shape (at least n_queries, n_features), default=None
            Fake queries. None: drawn uniformly within `bounds`.
        bounds : pair or dict, default=None
            Public ``(lower, upper)`` of the features: scalars, arrays, or ``{column: (lower, upper)}``. They
            also scale the features of the default surrogate; None: by the range of `queries`.

        Returns
        -------
        result : ModelExtractionResult

        Raises
        ------
        ValueError
            No such site; neither `queries` nor `bounds`; too few `queries`; a site does not answer.
        """
        victim, n_queries = self._choose(platform)
        queries = self._fake_queries(X_test, n_queries, queries, bounds)
        trial = _Trial(platform, victim, self._model(queries, bounds), queries, X_test, y_test)
        return ModelExtractionResult(
            victim=platform.sites_[victim],
            n_queries=n_queries,
            mse=trial.mse(platform),
            **trial.extract_opened(queries),
            predictions=trial.extract(platform.predict(queries)),
            unprotected=trial.extract(trial.column(trial.submitted), 100.0),
        )

    def _choose(self, platform: Any) -> tuple[int, int]:
        """Return the victim's position among the sites, and the number of fake queries."""
        sites, sizes = list(platform.sites_), np.asarray(platform.site_sizes_)
        if self.victim is None:
            victim = len(sizes) - 1 - int(np.argmax(sizes[::-1]))
        elif self.victim in sites:
            victim = sites.index(self.victim)
        else:
            raise ValueError(f"there is no site {self.victim!r}.")
        if self.n_queries is None:
            return victim, int(sizes[victim])
        return victim, check_int(self.n_queries, "n_queries", least=1)

    def _fake_queries(self, X_test: Any, n_queries: int, queries: Any, bounds: Any) -> Any:
        if queries is not None:
            if len(queries) < n_queries:
                raise ValueError(f"queries must have at least n_queries ({n_queries}) rows.")
            return queries[:n_queries]
        if bounds is None:
            raise ValueError("pass queries, or bounds to draw them in.")
        names = list(X_test.columns) if hasattr(X_test, "columns") else None
        lower, upper = check_bounds(bounds, np.shape(X_test)[1], names)
        drawn = check_generator(self.random_state).uniform(lower, upper, size=(n_queries, len(lower)))
        # The same kind of table as the test rows: sites may ask for columns by name.
        return drawn if names is None else type(X_test)(dict(zip(names, drawn.T, strict=True)))

    def _model(self, queries: Any, bounds: Any) -> Any:
        """Return the surrogate, to be fitted."""
        if self.surrogate is not None:
            return clone(self.surrogate)
        if bounds is None:
            table = np.asarray(queries, dtype=np.float64)
            lower, upper = table.min(axis=0), table.max(axis=0)
            bounds = (lower, np.where(upper > lower, upper, lower + 1))
        return LocalAverageRegressor("gaussian", bounds=bounds)


class _Trial:
    """One victim, one set of fake queries, one set of test rows."""

    def __init__(
        self, platform: Any, victim: int, model: Any, queries: Any, X_test: Any, y_test: Any
    ) -> None:
        self.platform, self.victim, self.model = platform, victim, model
        self.X_test, self.y_test = X_test, np.asarray(y_test, dtype=np.float64)
        perturber = platform.query_perturber_
        self.inputs = queries if perturber is None else perturber.transform(queries)
        sizes = np.asarray(platform.site_sizes_, dtype=np.float64)
        # What is opened are the sites' shares of the synthesis, in these units of their answers.
        self.units = sizes / sizes.mean()
        answers = platform.site_responses(queries)
        if answers.shape != (len(queries), len(sizes)):
            raise ValueError("platform must be a collaborative regressor whose sites all answer.")
        # A site that has nothing to say submits 0.
        self.submitted = np.nan_to_num(answers) * self.units
        self.truth = platform.site_responses(X_test)[:, victim]

    def mse(self, platform: Any) -> float:
        return float(np.mean((platform.predict(self.X_test) - self.y_test) ** 2))

    def column(self, opened: FloatArray) -> FloatArray:
        """Take the victim's column for its answers."""
        return opened[:, self.victim] / self.units[self.victim]

    def extract_opened(self, queries: Any) -> dict[str, Extraction | None]:
        """Return what comes of the values that the operator sees; None where no value of a site is opened."""
        if not hasattr(self.platform.aggregator_, "transform"):
            return dict.fromkeys(("observed", "rescaled", "ranked"))
        opened = np.asarray(self.platform.observe(queries), dtype=np.float64)
        linkage = float(record_linkage_score(self.submitted, opened))
        # The rank at which the victim's share mostly is.
        ranks = np.sum(self.submitted > self.submitted[:, [self.victim]], axis=1)
        usual = np.bincount(ranks).argmax()
        others = np.delete(self.units, self.victim)
        scale = self.units[self.victim] / others.mean() if len(others) else 1.0
        return {
            "observed": self.extract(self.column(opened), linkage),
            "rescaled": self.extract(self.column(opened) * scale, linkage),
            "ranked": self.extract(np.sort(opened, axis=1)[:, -1 - usual] / self.units[self.victim]),
        }

    def extract(self, answers: FloatArray, record_linkage: float | None = None) -> Extraction:
        """Fit the surrogate on what is held for the victim's answers, and put it in the victim's place."""
        surrogate = clone(self.model).fit(self.inputs, answers)
        replaced = copy.copy(self.platform)
        replaced.estimators_ = {**replaced.estimators_, replaced.sites_[self.victim]: surrogate}
        off = replaced.site_responses(self.X_test)[:, self.victim] - self.truth
        return Extraction(
            mse_replaced=self.mse(replaced),
            surrogate_rmse=float(np.sqrt(np.nanmean(off**2))),
            record_linkage=record_linkage,
            surrogate=surrogate,
        )
