# SPDX-License-Identifier: BSD-3-Clause
"""A platform: fitting sites' models, asking them here or by messages, synthesising their answers."""

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from .._typing import FloatArray, OnSiteError, RandomSource
from ..base import PrivateEstimatorMixin, assign_roles, private_fit, redact_errors
from ..exceptions import ConsentError, DisclosureWarning, SiteError, SiteWarning
from ..preprocessing import TQMATransformer
from ..utils import as_labels, check_characters
from ..utils._compat import CallbackSupportMixin, StrOptions, safe_indexing
from ..utils._private_fit import progress, warn_user
from ..utils._tables import check_array, validate_data
from ._aggregators import BSTDAggregator, SecureSumAggregator
from ._local_average.regressor import LocalAverageRegressor
from ._protocols.keys import framed
from ._protocols.messages import Answer, Query, SiteCard, make_query, refuse_masked
from ._site import CollaborativeSite, check_alike, different_columns, read_card, respond, warn_of_cards

#: Aggregators that take answers known to be valid without a second check.
_UNCHECKED = (BSTDAggregator, SecureSumAggregator)
# Seeds of local models and aggregator are below this; scikit-learn takes any of them.
_SEED_LIMIT = np.iinfo(np.int32).max


class SiteAnswers(NamedTuple):
    """Answers of shape (n_queries, n_sites, n_outputs), and the indices of the sites that answered."""

    values: FloatArray
    answered: NDArray[np.intp]


class SiteFailure(NamedTuple):
    """The type of the error of a site that failed; not its text, which may repeat rows of the site."""

    kind: str


class Platform(CallbackSupportMixin, PrivateEstimatorMixin, BaseEstimator):
    """A platform of sites that predicts one number per query; a classifier overrides what differs.

    It is built by `fit` or from announced sites, and asks them here or by messages. Local models, query
    perturber and aggregator are parameters, unless a subclass makes its own.
    """

    releases_state = False

    declared_roles = assign_roles(
        release="estimator query_perturber aggregator on_site_error random_state", computing="n_jobs"
    )

    _shared_constraints: ClassVar[dict[str, Any]] = {
        "n_jobs": [Integral, None],
        "on_site_error": [StrOptions({"raise", "drop"})],
        "random_state": ["random_state", np.random.Generator],
    }
    _parameter_constraints: dict[str, Any] = {
        **_shared_constraints,
        **dict.fromkeys(("estimator", "query_perturber", "aggregator"), "no_validation"),
    }
    #: The method by which a local model answers.
    _answers_by = "predict"

    def __init__(
        self,
        estimator: Any = None,
        query_perturber: Any = None,
        aggregator: Any = None,
        *,
        n_jobs: int | None = None,
        on_site_error: OnSiteError = "raise",
        random_state: RandomSource = None,
    ) -> None:
        self.estimator = estimator
        self.query_perturber = query_perturber
        self.aggregator = aggregator
        self.n_jobs = n_jobs
        self.on_site_error = on_site_error
        self.random_state = random_state

    # The parts.

    def _default_model(self) -> Any:
        return LocalAverageRegressor()

    def _template(self, site: Any) -> Any:
        """Return the unfitted model of one site; it will be cloned."""
        if self.estimator is None:
            return self._default_model()
        if not isinstance(self.estimator, Mapping):
            return self.estimator
        if site not in self.estimator:
            raise ValueError(f"estimator has no model for site {site!r}.")
        return self.estimator[site]

    def _templates(self) -> Iterable[Any]:
        """Return one template of every kind that is used."""
        if self.estimator is None:
            # Of this kind are the default models of a classifier too, and it has the tags.
            return [LocalAverageRegressor()]
        return list(self.estimator.values()) if isinstance(self.estimator, Mapping) else [self.estimator]

    def _make_perturber(self) -> Any:
        """Return the perturber of queries, or None."""
        return self.query_perturber

    def _make_aggregator(self) -> Any:
        """Return the unfitted aggregator; it will be cloned."""
        return BSTDAggregator() if self.aggregator is None else self.aggregator

    def _check_components(self) -> None:
        """Refuse components without the methods that are needed."""
        templates = [] if self.estimator is None else self._templates()
        components = [("estimator", template, self._answers_by) for template in templates]
        if self.query_perturber is not None:
            components.append(("query_perturber", self.query_perturber, "transform"))
        components.append(("aggregator", self._make_aggregator(), "predict"))
        for name, component, method in components:
            is_class = isinstance(component, type)
            if is_class or not hasattr(component, "fit") or not hasattr(component, method):
                raise TypeError(
                    f"{name} must be an estimator, not a class, with fit and {method}; "
                    f"got {component.__name__ if is_class else type(component).__name__}."
                )
        if self._answers_by == "predict" and any(map(is_classifier, templates)):
            raise TypeError("estimator must be a regressor: a classifier's answers are no numbers.")

    def _check_target(self, y: Any) -> NDArray[Any]:
        """Return y as the local models take it."""
        return np.asarray(check_target(self, y), dtype=np.float64)

    def _trainable(self, template: Any, y: NDArray[Any]) -> Any:
        """Return the model for a site with these targets."""
        return template

    def _decide(self, synthesis: FloatArray) -> NDArray[Any]:
        """Return the prediction that a synthesis of shape (n_queries, n_outputs) stands for."""
        return synthesis[:, 0]

    # Fitting.

    @private_fit
    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Fit every site's model on its own rows, and prepare the platform.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows of all sites; a simulation, or a test, of what each site does at home.
        y : array-like of shape (n_samples,)
            What is to be predicted.
        sites : array-like of shape (n_samples,), default=None
            The site that holds each row: strings or integers. None: one site. Routed by scikit-learn's
            metadata routing (``set_fit_request(sites=True)``).

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            X, y or sites are not as described.
        Exception
            A site's model cannot be fitted; with ``on_site_error="drop"``, none can. It is the model's own
            error, with a note of the site, and its text may repeat rows.
        """
        self._check_components()
        X = self._check_rows(X, reset=True)
        y = self._check_target(y)
        check_consistent_length(X, y)
        rows = _rows_of_sites(sites, len(y))
        aggregator_seed, *seeds = self._seeds(1 + len(rows))
        perturber = self._fit_perturber(X)
        models, sizes = self._fit_sites(X, y, rows, seeds)
        aggregator = self._fit_aggregator(sizes, aggregator_seed)
        self.query_perturber_, self.aggregator_ = perturber, aggregator
        self.sites_, self.estimators_, self.site_sizes_ = list(models), models, sizes
        self._set_disclosure_risk()
        return self

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        """Return rows as they can be split: a data frame as it came, anything else as an array."""
        if not reset and self._takes_floats():
            return validate_data(self, X, dtype=np.float64, reset=False, order="C")
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not reset and len(X) == 0:
                raise ValueError("Found array with 0 sample(s): there is no query.")
            return X
        allow_nan = _take_nan(self._templates() if reset else self.estimators_.values())
        return validate_data(
            self, X, dtype=None, ensure_all_finite="allow-nan" if allow_nan else True, reset=reset, order="C"
        )

    def _fit_perturber(self, X: Any) -> Any:
        perturber = self._make_perturber()
        return None if perturber is None else clone(perturber).fit(X)

    def _fit_sites(
        self, X: Any, y: NDArray[Any], rows: Mapping[Any, NDArray[np.intp]], seeds: list[int | None]
    ) -> tuple[dict[Any, Any], NDArray[np.int64]]:
        """Return the fitted models by site, and the numbers of their rows."""
        catch = self.on_site_error == "drop"
        tasks = []
        for (name, own), seed in zip(rows.items(), seeds, strict=True):
            template = self._trainable(self._template(name), y[own])
            model = _completed(template, deep=True, refine_to=len(y), random_state=seed)
            tasks.append((name, model, safe_indexing(X, own), y[own], catch))
        # As they come, for callbacks; these are not handed to local models, which would show them rows.
        calls = (delayed(_fit_model)(*task) for task in tasks)
        fits = Parallel(n_jobs=self.n_jobs, return_as="generator")(calls)
        models: dict[Any, Any] = {}
        with progress(self, "site", len(tasks)) as on_progress:
            for name, model in zip(rows, fits, strict=True):
                models[name] = model
                on_progress()
        failed = {name: model for name, model in models.items() if isinstance(model, SiteFailure)}
        if len(failed) == len(models):
            # Not a site's error but the caller's: once more, for the model's own error.
            _fit_model(*tasks[0][:-1], False)
        _report_failures(failed, len(models), catch, "fit")
        kept = {name: model for name, model in models.items() if name not in failed}
        return kept, np.array([len(rows[name]) for name in kept], dtype=np.int64)

    def _seeds(self, n: int) -> list[int | None]:
        """Return n seeds from `random_state`; None where there is none."""
        source = self.random_state
        if source is None:
            return [None] * n
        if isinstance(source, np.random.Generator):
            return source.integers(_SEED_LIMIT, size=n).tolist()
        return check_random_state(source).randint(_SEED_LIMIT, size=n).tolist()

    def _fit_aggregator(self, sizes: NDArray[np.int64], seed: int | None) -> Any:
        """Return the aggregator for parties of these sizes; it learns nothing from answers."""
        aggregator = _completed(self._make_aggregator(), deep=False, party_sizes=sizes, random_state=seed)
        return aggregator.fit(np.zeros((1, len(sizes))))

    def _set_disclosure_risk(self) -> None:
        parts = (self.query_perturber_, self.aggregator_)
        self.disclosure_risk_ = tuple(
            part.disclosure_risk_ for part in parts if hasattr(part, "disclosure_risk_")
        )

    # Asking.

    def _queries(self, X: Any) -> Any:
        """Return checked queries as they leave the asker."""
        check_is_fitted(self)
        X, perturber = self._check_rows(X, reset=False), self.query_perturber_
        if perturber is None:
            return X
        return perturber._perturb(X) if self._takes_floats() else perturber.transform(X)

    def _takes_floats(self) -> bool:
        """Whether all that a query meets here takes a checked array of floats without looking again."""
        models = list(self.estimators_.values())
        perturber = self.query_perturber_
        # Only these very classes: what a subclass adds to transform or predict must not be missed.
        local = bool(models) and all(type(model) is LocalAverageRegressor for model in models)
        return local and (perturber is None or type(perturber) is TQMATransformer)

    def _ask_sites(self, X: Any) -> SiteAnswers:
        classes, checked = getattr(self, "classes_", None), self._takes_floats()
        tasks = [(self._model(name), X, classes, checked) for name in self.sites_]
        if effective_n_jobs(self.n_jobs) == 1 or len(tasks) == 1:
            found = [_ask_model(*task) for task in tasks]
        else:
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(_ask_model)(*task) for task in tasks
            )
        return self._gather(dict(zip(self.sites_, found, strict=True)))

    def _model(self, name: Any) -> Any:
        if name not in self.estimators_:
            raise SiteError(f"the model of site {name!r} is not here: use ask and combine")
        return self.estimators_[name]

    def _gather(self, found: Mapping[Any, FloatArray | SiteFailure]) -> SiteAnswers:
        """Return the answers side by side; NaN, for no support, only where the aggregator knows it."""
        failed = {name: answer for name, answer in found.items() if isinstance(answer, SiteFailure)}
        _report_failures(failed, len(found), self.on_site_error == "drop", "answer")
        answered = [j for j, name in enumerate(found) if name not in failed]
        values = np.stack([answer for name, answer in found.items() if name not in failed], axis=1)
        if not get_tags(self.aggregator_).input_tags.allow_nan:
            values = np.where(np.isnan(values), 0.0, values)
        return SiteAnswers(values, np.array(answered))

    def _synthesise(self, answers: SiteAnswers) -> FloatArray:
        """Return the synthesis of the answers, of shape (n_queries, n_outputs)."""
        aggregator = self._aggregator_of(answers.answered)
        columns = [np.ascontiguousarray(column) for column in np.moveaxis(answers.values, 2, 0)]
        if type(aggregator) not in _UNCHECKED:
            return np.column_stack([aggregator.predict(column) for column in columns])
        # A warning about few active sites comes once for all outputs.
        return np.column_stack(
            [aggregator._combine(column, warn=output == 0) for output, column in enumerate(columns)]
        )

    def _aggregator_of(self, answered: NDArray[np.intp]) -> Any:
        """Return the aggregator for the sites that answered."""
        if len(answered) == len(self.sites_):
            return self.aggregator_
        aggregator = clone(self.aggregator_)
        sizes = aggregator.get_params(deep=False).get("party_sizes")
        if sizes is not None:
            aggregator.set_params(party_sizes=np.asarray(sizes)[answered])
        return aggregator.fit(np.zeros((1, len(answered))))

    @redact_errors
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict: perturb the queries, ask every site, synthesise the answers.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            As the asker has them.

        Returns
        -------
        predictions : ndarray of shape (n_queries,)
            Those of a batch are those of its rows.

        Raises
        ------
        SiteError
            A site failed, with ``on_site_error="raise"``, or none answered.
        """
        return self._decide(self._synthesise(self._ask_sites(self._queries(X))))

    @redact_errors
    def site_responses(self, X: Any) -> FloatArray:
        """Return what the sites answer to the perturbed queries.

        These are what aggregator and consent gate protect; an operator of the platform does not see them.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries, before their perturbation.

        Returns
        -------
        responses : ndarray of shape (n_queries, n_sites) or (n_queries, n_sites, n_classes)
            In the order of ``sites_``, sites that failed left out.

        Raises
        ------
        SiteError
            A site failed, with ``on_site_error="raise"``, or none answered.
        """
        return _squeeze(self._ask_sites(self._queries(X)).values)

    @redact_errors
    def observe(self, X: Any) -> FloatArray:
        """Return what the platform's operator sees of the sites' answers: the aggregator's released values.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            Queries, before their perturbation.

        Returns
        -------
        released : ndarray of shape (n_queries, n_sites) or (n_queries, n_sites, n_classes)
            In the aggregator's units (`BSTDAggregator.transform`).

        Raises
        ------
        TypeError
            The aggregator opens no answer.
        """
        check_is_fitted(self)
        if not hasattr(self.aggregator_, "transform"):
            raise TypeError(
                f"{type(self.aggregator_).__name__} opens no answer: there is nothing to observe."
            )
        answers = self._ask_sites(self._queries(X))
        aggregator = self._aggregator_of(answers.answered)
        return _squeeze(
            np.stack([aggregator.transform(part) for part in np.moveaxis(answers.values, 2, 0)], 2)
        )

    # Messages.

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
            There is no site, or two sites have one name, or sites differ in features, in their names or
            order, or in classes. Or the query perturber was fitted to other columns.
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
        cards = [read_card(site) for site in sites]
        platform._adopt_cards(cards)
        warn_of_cards(cards)
        here = [site for site in sites if isinstance(site, CollaborativeSite)]
        platform.estimators_ = {site.name: site.estimator for site in here}
        platform.query_perturber_ = platform._fitted_perturber()
        platform.aggregator_ = platform._fit_aggregator(platform.site_sizes_, *platform._seeds(1))
        platform._set_disclosure_risk()
        if isinstance(platform.aggregator_, SecureSumAggregator) and len(here) < len(sites):
            warn_user(
                "Answers of sites elsewhere arrive in the open: who runs combine reads every one before the "
                "secure sum. Sites that want none of theirs read mask them themselves (MaskedSum).",
                DisclosureWarning,
            )
        return platform

    def _adopt_cards(self, cards: list[SiteCard]) -> None:
        names = [card.site for card in cards]
        if not cards or len(set(names)) < len(names):
            raise ValueError("sites must be at least one, and each must have its own name.")
        check_alike(cards)
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
            The message is the same for every site. It carries a fresh random id and a digest of all sites'
            names and numbers of rows. It carries no unperturbed value of a quasi-identifier.

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

        Whoever runs this reads every answer beside its site's name, with any aggregator. Run it where that is
        allowed, or seal answers (`ConsentBox`) or mask them (`MaskedSum`) at the sites.

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
        found = {
            name: by_site[str(name)].values if str(name) in by_site else SiteFailure("no answer")
            for name in self.sites_
        }
        return self._decide(self._synthesise(self._gather(found)))

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = _take_nan(self._templates())
        return tags


def check_target(estimator: Any, y: Any) -> NDArray[Any]:
    """Return a target as a column; ValueError, as scikit-learn's checks expect, where y is None."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    return column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)


def _squeeze(values: FloatArray) -> FloatArray:
    """Return values per site, without an axis of outputs where there is one only."""
    return values if values.shape[2] > 1 else values[:, :, 0]


def _report_failures(failed: Mapping[Any, SiteFailure], n_sites: int, drop: bool, verb: str) -> None:
    """Warn that sites are left out; raise if they must not be, or if nobody is left."""
    if not failed:
        return
    listed = ", ".join(f"{name!r} ({failure.kind})" for name, failure in failed.items())
    if not drop:
        raise SiteError(
            f"could not {verb}: site {listed}; the model's own predict says why, at the site; "
            "on_site_error='drop' goes on without it"
        )
    if len(failed) == n_sites:
        raise SiteError(f"no site could {verb}: {listed}")
    warn_user(f"left out, could not {verb}: site {listed}", SiteWarning)


def _rows_of_sites(sites: Any, n_rows: int) -> dict[Any, NDArray[np.intp]]:
    """Return the numbers of the rows of every site, sorted by its name."""
    if sites is None:
        return {0: np.arange(n_rows)}
    labels = np.asarray(as_labels(sites))
    if labels.shape != (n_rows,):
        raise ValueError(f"sites must have shape ({n_rows},), one label per row of X, not {labels.shape}.")
    if labels.dtype.kind == "O" and len({type(label) for label in labels.tolist()}) > 1:
        raise TypeError("sites must hold labels of one type, strings or integers.")
    labels = np.asarray(labels.tolist())
    if labels.dtype.kind not in "iuUb":
        raise TypeError("sites must hold strings or integers.")
    names, codes = np.unique(labels, return_inverse=True)
    for name in names.tolist() if labels.dtype.kind == "U" else ():
        check_characters(name, "the name of a site")
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return dict(zip(names.tolist(), rows, strict=True))


def _take_nan(models: Iterable[Any]) -> bool:
    return all(get_tags(model).input_tags.allow_nan for model in models)


def _completed(template: Any, *, deep: bool, **given: Any) -> Any:
    """Return a copy that knows what is given, where a parameter of that name wants it and is None."""
    model = clone(template)
    known = {name: value for name, value in given.items() if value is not None}
    wanted = {
        name: known[name.rsplit("__", 1)[-1]]
        for name, value in model.get_params(deep=deep).items()
        if value is None and name.rsplit("__", 1)[-1] in known
    }
    if wanted:
        model.set_params(**wanted)
    return model


def _fit_model(site: Any, model: Any, X: Any, y: NDArray[Any], catch: bool) -> Any:
    try:
        return model.fit(X, y)
    except Exception as error:
        if not catch:
            error.add_note(f"while fitting the model of site {site!r}")
            raise
        return SiteFailure(type(error).__name__)


def _ask_model(model: Any, X: Any, classes: NDArray[Any] | None, checked: bool) -> FloatArray | SiteFailure:
    """Return a model's answers, of shape (n_queries, n_outputs), or how it failed."""
    try:
        return respond(model, X, classes, checked=checked)
    except Exception as error:
        return SiteFailure(type(error).__name__)
