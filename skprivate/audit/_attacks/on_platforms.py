# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on a platform of sites: the person behind a released query, and copies of a site's model."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from sklearn.base import clone

from ..._typing import FloatArray, RandomSource
from ...collaborative import LocalAverageRegressor
from ...metrics import correct_orientation_score, record_linkage_score
from ...utils import check_bounds, check_int
from ...utils._public_module import public_module
from .inputs import check_generator


@dataclass(frozen=True, kw_only=True)
class AttributeAttackResult:
    """Percentages of the released queries that an attacker linked.

    Parameters
    ----------
    mu : mapping of str to float
        Greatest distance at which the attacker links, by column.
    linked : float
        Released queries with a person of the attacker's table within `mu`, by all columns together.
    reidentified : float
        Released queries whose nearest person in the table, within `mu`, is the person of the query.
    column_linked, column_reidentified : mapping of str to float
        The same for an attacker who knows one column only.
    correct_orientation : mapping of str to float
        `skprivate.metrics.correct_orientation_score` of each column.
    """

    mu: Mapping[str, float]
    linked: float
    reidentified: float
    column_linked: Mapping[str, float]
    column_reidentified: Mapping[str, float]
    correct_orientation: Mapping[str, float]

    def __str__(self) -> str:
        together = f"{_percent(self.linked)} linked, {_percent(self.reidentified)} to the right person"
        lines = ["attribute attack", f"- all columns: {together}"]
        for name, share in self.correct_orientation.items():
            linked, right = self.column_linked[name], self.column_reidentified[name]
            lines.append(
                f"- {name}, within {self.mu[name]:g}: {_percent(linked)} linked, {_percent(right)} to the "
                f"right person, correct orientation {_percent(share)}"
            )
        return "\n".join(lines)


@public_module("skprivate.audit")
class AttributeAttack:
    """Simulate an attacker who knows people's quasi-identifiers up to a little noise.

    The attacker holds a table of the same people: their quasi-identifiers plus normal noise. Every released
    query is linked to the nearest person of the table if that person is within `mu`, by the Euclidean
    distance over all quasi-identifiers. The same is done with each column alone.

    Parameters
    ----------
    mu : float or sequence of float, default=1e-3
        Greatest distance at which the attacker links, above 0; one value, or one per column. It is in the
        units of the data, or in shares of the public range if `run` gets bounds. Columns with different `mu`
        are divided by it before distances are computed.
    noise : float or sequence of float, default=1e-3
        Standard deviation of the noise in the attacker's table, in the same units; at least 0.
    random_state : int, RandomState, Generator or None, default=None
        Seed of that noise.

    See Also
    --------
    skprivate.preprocessing.TQMATransformer : The protection that this attacks.
    skprivate.metrics.correct_orientation_score : A bound on the attack's success per column.

    Notes
    -----
    **Privacy**: this is a simulation by a person who holds the true queries. Its figures are exact functions
    of them, and nothing here is private. It is one attack by one kind of attacker: a low figure is no proof
    of protection.

    A coarsened query may also be linked by chance: with many people in the table, a person is within `mu` of
    any midpoint. ``linked`` counts such links, ``reidentified`` does not.

    References
    ----------
    Lin, Liu, Wang, Striking the Perfect Balance: Preserving Privacy While Boosting
    Utility in Collaborative Medical Prediction Platforms. Definition 1 and appendix B.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.audit import AttributeAttack
    >>> X = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> midpoints = (np.floor(X * 16) + 0.5) / 16
    >>> attack = AttributeAttack(mu=1e-3, random_state=0)
    >>> print(attack.run(X, X))
    attribute attack
    - all columns: 95.9 % linked, 31.9 % to the right person
    - column 0, within 0.001: 95.9 % linked, 31.9 % to the right person, correct orientation 100 %
    >>> print(attack.run(X, midpoints))
    attribute attack
    - all columns: 100 % linked, 1.6 % to the right person
    - column 0, within 0.001: 100 % linked, 1.6 % to the right person, correct orientation 5.9 %
    """

    def __init__(
        self,
        mu: float | Sequence[float] = 1e-3,
        *,
        noise: float | Sequence[float] = 1e-3,
        random_state: RandomSource = None,
    ) -> None:
        self.mu = mu
        self.noise = noise
        self.random_state = random_state

    def run(
        self, X: Any, X_released: Any, *, columns: Sequence[Any] | None = None, bounds: Any = None
    ) -> AttributeAttackResult:
        """Attack the released form of some queries.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            The true queries.
        X_released : array-like or data frame of shape (n_queries, n_features)
            The released queries: the same rows and columns in the same order.
        columns : sequence of str or int, default=None
            The quasi-identifiers, by name or by position. None: every column.
        bounds : pair or dict, default=None
            Public ``(lower, upper)`` of the quasi-identifiers, in the order of `columns`, or a dict
            ``{column: (lower, upper)}``. Then `mu` and `noise` are shares of these ranges.

        Returns
        -------
        result : AttributeAttackResult

        Raises
        ------
        TypeError, ValueError
            `mu` or `noise` is not a number in its range or has a wrong length. A column does not exist or
            does not hold numbers. `X` and `X_released` differ in shape. No query is complete.

        Notes
        -----
        Queries with a missing value in one of the columns are left out.
        """
        names, positions = _find_columns(X, columns)
        true, released = _numbers(X, positions, names), _numbers(X_released, positions, names)
        if true.shape != released.shape:
            raise ValueError("X and X_released must have the same rows and columns.")
        complete = np.isfinite(true + released).all(axis=1)
        if not complete.any():
            raise ValueError("no query has a value in every column.")
        mu = _per_column(self.mu, len(names), "mu", positive=True)
        noise = _per_column(self.noise, len(names), "noise", positive=False)
        # In units of mu: rows within 1 are linked.
        lower, upper = (0.0, 1.0) if bounds is None else check_bounds(bounds, len(names), names)
        unit = mu * (upper - lower)
        true, released = true[complete] / unit, released[complete] / unit
        known = true + check_generator(self.random_state).normal(size=true.shape) * noise / mu
        return _result(names, mu, true, released, known)


def _result(
    names: list[str], mu: FloatArray, true: FloatArray, released: FloatArray, known: FloatArray
) -> AttributeAttackResult:
    """Link by all columns and by each; all tables are in units of mu."""
    alone = [_link(known[:, [j]], released[:, [j]]) for j in range(len(names))]
    linked, right = _link(known, released)
    oriented = correct_orientation_score(true, released, mu=1.0)
    return AttributeAttackResult(
        mu=dict(zip(names, mu.tolist(), strict=True)),
        linked=linked,
        reidentified=right,
        column_linked=dict(zip(names, (found[0] for found in alone), strict=True)),
        column_reidentified=dict(zip(names, (found[1] for found in alone), strict=True)),
        correct_orientation=dict(zip(names, oriented.tolist(), strict=True)),
    )


def _link(known: FloatArray, released: FloatArray) -> tuple[float, float]:
    """Return the percentages of released rows linked within 1, and linked to the right person."""
    # Among equally near people the position decides, which is right as often as a random guess.
    distance, nearest = KDTree(known).query(released)
    within = distance <= 1
    right = within & (nearest == np.arange(len(released)))
    return 100 * float(within.mean()), 100 * float(right.mean())


def _find_columns(X: Any, columns: Sequence[Any] | None) -> tuple[list[str], list[int]]:
    """Return labels for print and positions of the chosen columns."""
    labels = list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))
    chosen = labels if columns is None else list(columns)
    positions = []
    for column in chosen:
        if column in labels:
            positions.append(labels.index(column))
        elif isinstance(column, int | np.integer) and 0 <= column < len(labels):
            positions.append(int(column))
        else:
            raise ValueError(f"there is no column {column!r}.")
    if not positions or len(set(positions)) < len(positions):
        raise ValueError("columns must name at least one column, and none twice.")
    return [x if isinstance(x, str) else f"column {x}" for x in (labels[p] for p in positions)], positions


def _numbers(X: Any, positions: list[int], names: list[str]) -> FloatArray:
    """Return columns as floats; the message must not repeat a value that is not a number."""
    table = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    found = np.empty((len(table), len(positions)))
    for j, (position, name) in enumerate(zip(positions, names, strict=True)):
        try:
            found[:, j] = table[:, position].astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold numbers.") from None
    return found


def _per_column(value: Any, n_columns: int, name: str, *, positive: bool) -> FloatArray:
    values = np.asarray(value)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a number, or one per column.")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_columns):
        raise ValueError(f"{name} must be one number or one per column ({n_columns}).")
    if not np.isfinite(values).all() or (values < 0).any() or (positive and (values == 0).any()):
        raise ValueError(f"{name} must be finite and {'above' if positive else 'at least'} 0.")
    return np.array(np.broadcast_to(values, n_columns), dtype=np.float64)


def _percent(share: float) -> str:
    return f"{share:.3g} %"


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The copy of a model from one set of observations.

    Parameters
    ----------
    mse_replaced : float
        Mean squared error of the platform on test rows, with the victim's model replaced by the copy.
    surrogate_rmse : float
        Root mean squared distance of the copy's answers from the victim's on the test rows, in units of y.
    record_linkage : float or None
        `skprivate.metrics.record_linkage_score` of the observed answers, in percent; None: no answers of
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
    """How well one site's model was copied, with and without the platform's protection.

    Parameters
    ----------
    victim : object
        Name of the attacked site.
    n_queries : int
        Number of fake queries.
    mse : float
        Mean squared error of the intact platform on the test rows.
    observed : Extraction or None
        Copy from the victim's column of the opened answers, as in the paper's simulation. None if the
        platform opens no answer.
    rescaled : Extraction or None
        Copy from the same column, by an operator who knows that a swapped share belongs to another site of
        another size.
    ranked : Extraction or None
        Copy from the values at the most frequent rank of the victim's share, wherever it was swapped to, by
        an operator who knows that rank.
    predictions : Extraction
        Copy from the platform's predictions alone, which every user can get, whatever the protection.
    unprotected : Extraction
        Copy from the victim's own answers, as if every site answered in the open.
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

    The operator sends as many fake queries as the victim has rows, and takes the values in the victim's
    column as its answers. It fits a surrogate model on them and replaces the victim's model by it. If the
    predictions remain as good, the platform no longer needs the site.

    Parameters
    ----------
    victim : object, default=None
        Name of the attacked site, one of the platform's ``sites_``. None: the largest (the last of them).
    n_queries : int, default=None
        Number of fake queries. None: as many as the victim has rows.
    surrogate : regressor, default=None
        Model of the copy. None: a Gaussian `skprivate.collaborative.LocalAverageRegressor`, with its
        bandwidth by cross-validation.
    random_state : int, RandomState, Generator or None, default=None
        Seed of drawn fake queries.

    See Also
    --------
    skprivate.collaborative.BSTDAggregator : The protection that this attacks.
    skprivate.collaborative.SecureSumAggregator : Opens no answer at all.

    Notes
    -----
    The platform itself is not changed. Every copy is tried in a shallow copy of the platform.

    The opened values are shares of the synthesis, in proportion to a site's size. ``observed`` divides the
    victim's column by the victim's size, as if the share were its own. A swapped share belongs to another
    site. If the victim is larger than the others, this wrong scale is nearly the whole error of the copy.
    ``rescaled`` divides by the mean size of the others instead. ``ranked`` needs no column: all values of a
    query are opened, and a site that is larger, or whose people differ, is conspicuous among them.

    **Privacy**: this is a simulation by a person who holds every site's model. Its figures are exact
    functions of them. Swapping hides the site of an answer from a person who does not know the sites. It does
    not hide common properties of the sites. If the sites hold the same kind of people, ``rescaled`` is nearly
    as good as a copy from open answers. So is ``predictions``, without any opened answer. Only limits on the
    users and their number of queries help against that.

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
            also scale the features of the default surrogate. None: the range of `queries` scales them.

        Returns
        -------
        result : ModelExtractionResult

        Raises
        ------
        ValueError
            The site does not exist. Neither `queries` nor `bounds` are given, or there are too few `queries`.
            A site does not answer.
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
        # The same kind of table as the test rows, because sites may select columns by name.
        return drawn if names is None else type(X_test)(dict(zip(names, drawn.T, strict=True)))

    def _model(self, queries: Any, bounds: Any) -> Any:
        """Return the unfitted surrogate."""
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
        # The opened values are the sites' shares of the synthesis, in these units of their answers.
        self.units = sizes / sizes.mean()
        answers = platform.site_responses(queries)
        if answers.shape != (len(queries), len(sizes)):
            raise ValueError("platform must be a collaborative regressor whose sites all answer.")
        # A site without an answer submits 0.
        self.submitted = np.nan_to_num(answers) * self.units
        self.truth = platform.site_responses(X_test)[:, victim]

    def mse(self, platform: Any) -> float:
        return float(np.mean((platform.predict(self.X_test) - self.y_test) ** 2))

    def column(self, opened: FloatArray) -> FloatArray:
        """Return the victim's column as its answers."""
        return opened[:, self.victim] / self.units[self.victim]

    def extract_opened(self, queries: Any) -> dict[str, Extraction | None]:
        """Return the copies from the values that the operator sees; None if no value of a site is opened."""
        if not hasattr(self.platform.aggregator_, "transform"):
            return dict.fromkeys(("observed", "rescaled", "ranked"))
        opened = np.asarray(self.platform.observe(queries), dtype=np.float64)
        linkage = float(record_linkage_score(self.submitted, opened))
        # The most frequent rank of the victim's share.
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
        """Fit the surrogate on the supposed answers of the victim, and replace the victim's model by it."""
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
