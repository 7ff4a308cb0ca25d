# SPDX-License-Identifier: BSD-3-Clause
"""A site of a collaboration: its model, its answers, and its announcement, compared with the others'."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..domain._labels import class_positions
from ..exceptions import UtilityWarning
from ..utils import check_characters, check_int
from ..utils._private_fit import warn_user
from ..utils._public_module import public_module
from ._local_average.regressor import BANDWIDTHS, LocalAverageRegressor
from ._protocols.messages import Answer, Query, SiteCard, check_columns, column_names


@public_module("skprivate.collaborative")
class CollaborativeSite:
    """A site that answers queries with its own model.

    The model and its rows stay here; only answers leave. The asker's query reaches it perturbed, if the
    platform has a query perturber.

    Parameters
    ----------
    name : str
        Name of the site, the same at all parties.
    estimator : regressor or classifier
        Fitted, of any kind.
    n_samples : int
        Number of rows that it was fitted on: the weight of its answers. It is known to the platform.
    classes : array-like, default=None
        For a classifier: all classes of the collaboration, in the order of the answers' columns. None: those
        of the estimator.
    columns : sequence of str, default=None
        Names of the features, in the order in which the estimator was fitted to them. They are public: the
        platform compares them with those of all other sites and of queries. None: the names of the data frame
        that the estimator was fitted to; without one there are none, and `from_sites` warns.

    Attributes
    ----------
    name, estimator, n_samples, classes, columns
        As passed.

    See Also
    --------
    CollaborativeRegressor.from_sites : The platform that asks sites.
    ConsentBox : Seals answers until every party has consented.

    Notes
    -----
    **Privacy.** This is not differential privacy. Never publish this object: it holds the model, and a local
    average holds the rows. An answer is exact and carries this site's name: whoever runs the platform's
    ``combine`` reads both, whatever the aggregator, and so does the transport. A site that wants neither
    masks what `respond` returns (`MaskedSum`), or seals it until all consent (`ConsentBox`). A site answers
    whatever it is asked, as often as it is asked: limits are the caller's. Messages carry a checksum against
    accidents; who must resist forgers seals them (`ConsentBox`, or an authenticated transport).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skprivate.collaborative import CollaborativeRegressor, CollaborativeSite, LocalAverageRegressor
    >>> from skprivate.datasets import make_parties
    >>> X, y, _ = make_parties(1200, 12, n_features=2, random_state=0)
    >>> X, sites = pd.DataFrame(X, columns=["age", "dose"]), np.arange(1200) % 12
    >>> models = [LocalAverageRegressor(refine_to=1200).fit(X[sites == j], y[sites == j]) for j in range(12)]
    >>> hospitals = [CollaborativeSite(f"h{j}", model, (sites == j).sum()) for j, model in enumerate(models)]
    >>> platform = CollaborativeRegressor.from_sites([site.announce() for site in hospitals])
    >>> query = platform.ask(X[:2])
    >>> platform.combine(*(site.answer(query) for site in hospitals), query=query).shape
    (2,)
    """

    def __init__(
        self,
        name: str,
        estimator: Any,
        n_samples: int,
        classes: Any = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        check_is_fitted(estimator)
        self.name = str(name)
        if not self.name:
            raise ValueError("a site needs a name.")
        check_characters(self.name, "the name of a site")
        self.estimator = estimator
        self.n_samples = check_int(n_samples, "n_samples", least=1)
        self.classes = getattr(estimator, "classes_", None) if classes is None else np.asarray(classes)
        self.columns = _columns_of(estimator, columns)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {type(self.estimator).__name__}, {self.n_samples} rows)"

    def announce(self) -> bytes:
        """Return what the platform needs to know of this site, and no model.

        Returns
        -------
        card : bytes
            Name, numbers of rows and of features, names of the features, classes, and the number of rows for
            which a local average was refined (``refine_to``; without it the site's own), which a platform
            compares with the sum.
        """
        classes = None if self.classes is None else tuple(class_positions(self.classes))
        # The site's own number if the model was not refined; None if it cannot be.
        refined = (int(total or self.n_samples) for total in _refinement_targets(self.estimator))
        features, refined_to = int(self.estimator.n_features_in_), min(refined, default=None)
        return SiteCard(self.name, self.n_samples, features, classes, refined_to, self.columns).to_bytes()

    def respond(self, X: Any) -> FloatArray:
        """Return the model's answers.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or bytes
            Rows as the model takes them, or a query message (``ask``, ``new_query``).

        Returns
        -------
        values : ndarray of shape (n_queries, 1) or (n_queries, n_classes)
            NaN where a local average has no row within its kernel's support.

        Raises
        ------
        ValueError
            The rows have other columns than the model's, or the same in another order. Or the model answered
            with another shape, or with values that are not finite.
        ConsentError
            The message is not a query, or damaged.
        """
        if isinstance(X, bytes):
            X = self._rows(Query.from_bytes(X))
        self._check_names(column_names(X))
        return respond(self.estimator, X, self.classes)

    def _rows(self, asked: Query) -> Any:
        # Before a frame is made of a hostile number of columns, which takes a while.
        if asked.X.shape[1] != self.estimator.n_features_in_:
            raise ValueError("the query has another number of columns than the site's model.")
        self._check_names(asked.names)
        return asked.rows(named=hasattr(self.estimator, "feature_names_in_"))

    def _check_names(self, names: Any) -> None:
        """Refuse columns of other names, or in another order; without names there is nothing to compare."""
        if names is not None and self.columns is not None:
            difference = different_columns(tuple(map(str, names)), self.columns)
            if difference is not None:
                raise ValueError(f"site {self.name!r} was asked about other columns: {difference}.")

    def answer(self, query: bytes) -> bytes:
        """Answer a query message.

        Parameters
        ----------
        query : bytes
            From the platform's ``ask``.

        Returns
        -------
        answer : bytes
            For the platform's ``combine``; it carries the digest of the rows, names, id and roster asked.

        Raises
        ------
        ConsentError
            The message is not a query, or damaged.
        """
        asked = Query.from_bytes(query)
        values = self.respond(self._rows(asked))
        return Answer(asked.query_id, self.name, self.n_samples, values, asked.digest).to_bytes()


def _columns_of(estimator: Any, columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of the columns that a model takes, as declared or as it learned them."""
    learned = getattr(estimator, "feature_names_in_", None)
    own = None if learned is None else check_columns(list(map(str, learned)), len(learned))
    if columns is None:
        return own
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError("columns must be a list of names.")
    names = check_columns(columns, int(estimator.n_features_in_))
    difference = None if own is None else different_columns(names, own)
    if difference is not None:
        raise ValueError(f"columns are not those that the model was fitted to: {difference}.")
    return names


def different_columns(names: Sequence[str], expected: Sequence[str]) -> str | None:
    """Return the first difference of two lists of columns in words, None if there is none."""
    if len(names) != len(expected):
        return f"{len(names)} columns, and not {len(expected)}"
    differ = [j for j, (name, other) in enumerate(zip(names, expected, strict=True)) if name != other]
    if not differ:
        return None
    order = " (the same columns in another order)" if set(names) == set(expected) else ""
    return f"column {differ[0]} is {names[differ[0]]!r}, and not {expected[differ[0]]!r}{order}"


def _refinement_targets(estimator: Any) -> Iterator[int | None]:
    """Yield every ``refine_to`` of a model and its parts; what is frozen shows no parameters by itself."""
    if isinstance(estimator, FrozenEstimator):
        yield from _refinement_targets(estimator.estimator)
    elif hasattr(estimator, "get_params"):
        for name, value in estimator.get_params(deep=True).items():
            if name.rsplit("__", 1)[-1] == "refine_to":
                yield value
            elif isinstance(value, FrozenEstimator):
                yield from _refinement_targets(value)


def read_card(site: Any) -> SiteCard:
    """Return the announcement of a site, here or in bytes."""
    if isinstance(site, CollaborativeSite):
        return SiteCard.from_bytes(site.announce())
    if isinstance(site, bytes):
        return SiteCard.from_bytes(site)
    raise TypeError(
        f"a site must be a CollaborativeSite or an announcement in bytes, not {type(site).__name__}."
    )


def check_alike(cards: list[SiteCard]) -> None:
    """Refuse sites that differ in features, in their names or order, or in classes."""
    for card in cards[1:]:
        if (card.n_features, card.classes) != (cards[0].n_features, cards[0].classes):
            raise ValueError(
                f"site {card.site!r} differs from {cards[0].site!r}: all sites must have the same number of "
                "features and the same classes; where one knows some classes only, pass all of them as "
                "classes= to every CollaborativeSite."
            )
    first, *others = [card for card in cards if card.columns is not None] or cards[:1]
    for card in others:
        difference = different_columns(card.columns or (), first.columns or ())
        if difference is not None:
            raise ValueError(
                f"site {card.site!r} announces other columns than site {first.site!r}: {difference}. Fit the "
                "models of all sites to the same columns in the same order."
            )


def warn_of_cards(cards: list[SiteCard]) -> None:
    """Warn of a site that outvotes all others, of smoothing for other numbers of rows, of missing names."""
    total = sum(card.n_samples for card in cards)
    # The prediction w f + (1 - w) g is nearer to f than to g, whatever g is, exactly where w > 1/2.
    heavy = [card.site for card in cards if 2 * card.n_samples > total]
    if heavy and len(cards) > 1:
        warn_user(
            f"site {heavy[0]!r} announces more rows than all others together: every prediction is nearer "
            "to its answer than to the others' mean. Confirm its number of rows before it joins.",
            UtilityWarning,
        )
    unrefined = [repr(card.site) for card in cards if not _is_refined(card, total)]
    if unrefined:
        warn_user(
            f"site {', '.join(unrefined)}: the local average is not refined to the number of rows of all "
            "sites, so that their mean smooths twice; fit it with refine_to=, the sum of all sites' numbers "
            "of rows.",
            UtilityWarning,
        )

    unnamed = [repr(card.site) for card in cards if card.columns is None and card.n_features > 1]
    if unnamed:
        warn_user(
            f"site {', '.join(unnamed)}: announced without the names of its columns. If its model was fitted "
            "to columns in another order than the others', its answers are wrong, and nothing shows it. Fit "
            "the model to a data frame, or pass columns=[...], names in its order, to CollaborativeSite.",
            UtilityWarning,
        )


def _is_refined(card: SiteCard, total: int) -> bool:
    """Whether the site smooths as for all rows, up to the grid of bandwidths.

    h^e with e = ln n / ln n_j: another n' moves ln h^e by ln h (ln n' - ln n) / ln n_j, which is the largest
    for the smallest h of the grid, and does not count below half a step of it.
    """
    if card.refined_to is None or card.n_samples == 1:
        return True
    half_step = math.log(BANDWIDTHS[0] / BANDWIDTHS[1]) / 2
    moved = math.log(BANDWIDTHS[0] / BANDWIDTHS[-1]) * abs(math.log(card.refined_to / total))
    return moved <= half_step * math.log(card.n_samples)


def respond(model: Any, X: Any, classes: NDArray[Any] | None = None, *, checked: bool = False) -> FloatArray:
    """Return a model's checked answers, one column per output; NaN where it has no support.

    With ``checked``, X is an array of finite floats with the right number of columns.
    """
    # Only this very class: what a subclass adds to predict, noise say, must not be missed.
    if type(model) is LocalAverageRegressor:
        values, support = model._respond(X) if checked else model.responses(X)
        return np.where(support, values, np.nan)[:, None]
    if is_classifier(model):
        return _probabilities(model, X, classes)
    values = np.asarray(model.predict(X), dtype=np.float64)
    _check_values(values, (len(X),))
    return values[:, None]


def _probabilities(model: Any, X: Any, classes: NDArray[Any] | None) -> FloatArray:
    """Return probabilities of all classes of the collaboration; 0 for a class that the site never saw."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    own = list(class_positions(model.classes_))
    _check_values(found, (len(X), len(own)))
    if classes is None:
        return found
    places = class_positions(classes)
    if not places.keys() >= set(own):
        raise ValueError("the model knows a class that is not among those of the collaboration")
    values = np.zeros((len(found), len(classes)))
    values[:, [places[label] for label in own]] = found
    return values


def _check_values(values: FloatArray, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise ValueError("the model answered with another number of values than it was asked for")
    if not np.isfinite(values).all():
        raise ValueError("the model answered with values that are not finite")
