# SPDX-License-Identifier: BSD-3-Clause
"""Platforms whose queries and answers are messages in bytes, so that sites may be elsewhere."""

import contextlib
import hashlib
import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..base import redact_errors
from ..exceptions import ConsentError, DisclosureWarning, UtilityWarning
from ..utils._user_frame import warn_user
from ._base import BaseCollaborative, SiteFailure, report_failures
from ._local_average.bandwidth import BANDWIDTHS
from ._protocols.messages import Answer, Query, SiteCard, make_query, refuse_masked
from ._protocols.primitives import framed
from ._secure_sum import SecureSumAggregator
from ._site import CollaborativeSite, different_columns


class MessagePlatform(BaseCollaborative):
    """A platform that is built by `fit` or from announced sites, and asks them here or by messages.

    Subclasses define how the synthesis becomes a prediction (`_decide`), and their components.
    """

    @classmethod
    def from_sites(cls, sites: Any, **parameters: Any) -> Self:
        """Build a platform from sites that have fitted their models themselves.

        Parameters
        ----------
        sites : list of CollaborativeSite, tuple or bytes
            Sites in this process, also as ``(name, fitted model, number of rows)``; or announcements of sites
            elsewhere (``site.announce()``), which only `ask` and `combine` reach.
        **parameters
            Of the estimator. A query perturber that learns from rows must be fitted, and one that names
            columns where no site announces names.

        Returns
        -------
        platform : estimator
            Ready to predict; nothing is fitted but the query perturber, if it was not.

        Raises
        ------
        TypeError, ValueError
            No site, two sites of one name, or sites that differ in features, in their names or order, or in
            classes; a query perturber that was fitted to other columns.
        ConsentError
            An announcement is damaged.

        Warns
        -----
        DisclosureWarning
            Sites elsewhere with a `SecureSumAggregator`: their messages are not masked. Sizes that single a
            site out (`BSTDAggregator`).
        UtilityWarning
            One site's announced weight is over one half, so that it outvotes all others; or sites smooth for
            another number of rows than all sites announce together, ``refine_to`` was forgotten for instance;
            or sites announce no names of columns, so that their order cannot be compared.
        """
        platform = cls(**parameters)
        sites = [CollaborativeSite(*site) if isinstance(site, tuple) else site for site in sites]
        cards = [_read_card(site) for site in sites]
        platform._adopt_cards(cards)
        _warn_of_cards(cards)
        platform.estimators_ = {
            site.name: site.estimator for site in sites if isinstance(site, CollaborativeSite)
        }
        platform.query_perturber_ = platform._fitted_perturber()
        platform.aggregator_ = platform._fit_aggregator(platform.site_sizes_, *platform._seeds(1))
        platform._set_disclosure_risk()
        platform._warn_of_open_answers()
        return platform

    def _adopt_cards(self, cards: list[SiteCard]) -> None:
        names = [card.site for card in cards]
        if not cards or len(set(names)) < len(names):
            raise ValueError("sites must be at least one, and each must have its own name.")
        _check_alike(cards)
        if (cards[0].classes is not None) != is_classifier(self):
            raise ValueError("sites must announce classes to a classifier, and none to a regressor.")
        self.sites_ = names
        self.site_sizes_ = np.array([card.n_samples for card in cards], dtype=np.int64)
        self.n_features_in_ = cards[0].n_features
        columns = next((card.columns for card in cards if card.columns is not None), None)
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        if cards[0].classes is not None:
            self.classes_: NDArray[Any] = np.asarray(cards[0].classes)

    def _warn_of_open_answers(self) -> None:
        if isinstance(self.aggregator_, SecureSumAggregator) and len(self.estimators_) < len(self.sites_):
            warn_user(
                "Answers of sites elsewhere arrive in the open: who runs combine reads every one before the "
                "secure sum. Sites that want none of theirs read mask them themselves (MaskedSum).",
                DisclosureWarning,
            )

    def _fitted_perturber(self) -> Any:
        """Return the perturber as it is if fitted; else fit it on a row of zeros."""
        perturber = self._make_perturber()
        if perturber is None:
            return None
        width = getattr(perturber, "n_features_in_", None)
        if width is not None:
            if width != self.n_features_in_:
                raise ValueError(
                    f"the query perturber was fitted to {width} columns, the sites to {self.n_features_in_}."
                )
            names = getattr(perturber, "feature_names_in_", None)
            if names is not None:
                # In another order its quasi-identifiers would leave as they are.
                difference = different_columns(names, getattr(self, "feature_names_in_", names))
                if difference is not None:
                    raise ValueError(f"the query perturber has other columns than the sites: {difference}.")
                self.feature_names_in_ = names
            return perturber
        if getattr(perturber, "bounds", ()) is None:
            raise ValueError("a query perturber needs declared bounds here: the platform has no rows.")
        zeros: Any = np.zeros((1, self.n_features_in_))
        if hasattr(self, "feature_names_in_"):
            # Without pandas nobody asks with a frame of it, and columns have numbers.
            with contextlib.suppress(ImportError):
                import pandas as pd

                zeros = pd.DataFrame(zeros, columns=self.feature_names_in_)
        return self._fit_perturber(zeros)

    def site(self, name: Any) -> CollaborativeSite:
        """Return one site of this process, which answers messages.

        Parameters
        ----------
        name : label
            Among ``sites_``.

        Returns
        -------
        site : CollaborativeSite
            Its name is the label as a string.
        """
        check_is_fitted(self)
        if name not in self.sites_:
            raise ValueError(f"there is no site {name!r}.")
        size = int(self.site_sizes_[self.sites_.index(name)])
        classes, columns = (getattr(self, known, None) for known in ("classes_", "feature_names_in_"))
        return CollaborativeSite(str(name), self._model(name), size, classes, columns)

    @redact_errors
    def ask(self, X: Any) -> bytes:
        """Return perturbed queries as a message; run it where the queries are, before anything leaves.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)

        Returns
        -------
        query : bytes
            The same message for every site; it carries a fresh random id, a digest of all sites' names and
            numbers of rows, and no unperturbed value of a quasi-identifier.

        Raises
        ------
        TypeError, ValueError
            The perturbed rows cannot travel: an infinite number, or NaN among numbers (pass missing values
            as cells of an object array); a masked array; a date; two columns of one name.
        """
        refuse_masked(X, "a query")
        rows = self._queries(X)
        return make_query(rows, getattr(self, "feature_names_in_", None), self._roster()).to_bytes()

    def _roster(self) -> bytes:
        """Return the digest of who is asked: names and numbers of rows of all sites."""
        sizes = map(str, self.site_sizes_.tolist())
        listed = sorted(zip(map(str, self.sites_), sizes, strict=True))
        parts = [part.encode() for site in listed for part in site]
        return hashlib.sha256(framed(b"skprivate sites 1", *parts)).digest()

    def combine(self, *answers: bytes, query: bytes | None = None) -> NDArray[Any]:
        """Return the predictions from the sites' answers to one query.

        Whoever runs this reads every answer beside its site's name, whatever the aggregator: run it where
        that is allowed, or seal answers (`ConsentBox`) or mask them (`MaskedSum`) at the sites.

        Parameters
        ----------
        *answers : bytes
            One answer of every site, in any order.
        query : bytes, default=None
            What was asked. Given, answers to another query are refused; without it the answers must only
            agree with each other, so that old answers would pass. Either way all sites must have been
            asked the same rows, by the same names of columns, under one id.

        Returns
        -------
        predictions : ndarray of shape (n_queries,) or (n_queries, n_classes)
            What ``predict`` gives for the same queries; a classifier's probabilities.

        Raises
        ------
        ConsentError
            An answer is damaged, of another query, of an unknown site or comes twice.
        SiteError
            A site's answer is missing, with ``on_site_error="raise"``.
        """
        check_is_fitted(self)
        read = [Answer.from_bytes(answer) for answer in answers]
        expected = Query.from_bytes(query) if query is not None else None
        self._check_answers(read, expected)
        by_site = {answer.site: answer for answer in read}
        missing = {name: SiteFailure("no answer") for name in self.sites_ if str(name) not in by_site}
        report_failures(missing, len(self.sites_), self.on_site_error == "drop", "answer")
        present = [j for j, name in enumerate(self.sites_) if str(name) in by_site]
        found = self._stack([by_site[str(self.sites_[j])].values for j in present], present)
        return self._decide(self._synthesise(found))

    def _check_answers(self, answers: list[Answer], expected: Query | None) -> None:
        names = [answer.site for answer in answers]
        sizes = dict(zip(map(str, self.sites_), self.site_sizes_.tolist(), strict=True))
        for place, answer in enumerate(answers):
            if answer.site not in sizes or answer.site in names[:place]:
                raise ConsentError(
                    f"an answer is of site {answer.site!r}, which is unknown here or has answered already."
                )
            if answer.n_samples != sizes[answer.site]:
                raise ConsentError(
                    f"the answer of site {answer.site!r} states another number of rows than it announced."
                )
        if len({answer.values.shape for answer in answers}) > 1:
            raise ConsentError("the answers are not of one shape.")
        wanted = {answer.query_id for answer in answers} | ({expected.query_id} if expected else set())
        if len(wanted) > 1 or (expected and any(len(a.values) != len(expected.X) for a in answers)):
            raise ConsentError("an answer is not of this query.")
        if len({answer.asked for answer in answers} | ({expected.digest} if expected else set())) > 1:
            raise ConsentError("a site was asked other rows, columns or sites under the same query id.")
        if expected and expected.roster != self._roster():
            raise ConsentError("the query was made for other sites, or other numbers of rows.")
        outputs = len(self.classes_) if hasattr(self, "classes_") else 1
        if any(answer.values.shape[1] != outputs for answer in answers):
            raise ConsentError("an answer does not hold one finite value per query and output.")

    @abstractmethod
    def _decide(self, synthesis: NDArray[np.float64]) -> NDArray[Any]:
        """Return the prediction that a synthesis of shape (n_queries, n_outputs) stands for."""


def _read_card(site: Any) -> SiteCard:
    if isinstance(site, CollaborativeSite):
        return SiteCard.from_bytes(site.announce())
    if isinstance(site, bytes):
        return SiteCard.from_bytes(site)
    raise TypeError(
        f"a site must be a CollaborativeSite or an announcement in bytes, not {type(site).__name__}."
    )


def _check_alike(cards: list[SiteCard]) -> None:
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


def _warn_of_cards(cards: list[SiteCard]) -> None:
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
    """Whether the site smooths as for all rows, as far as the grid of bandwidths tells one from the next.

    h^e with e = ln n / ln n_j: another n' moves ln h^e by ln h (ln n' - ln n) / ln n_j, which is the largest
    for the smallest h of the grid, and does not count below half a step of it.
    """
    if card.refined_to is None or card.n_samples == 1:
        return True
    half_step = math.log(BANDWIDTHS[0] / BANDWIDTHS[1]) / 2
    moved = math.log(BANDWIDTHS[0] / BANDWIDTHS[-1]) * abs(math.log(card.refined_to / total))
    return moved <= half_step * math.log(card.n_samples)
