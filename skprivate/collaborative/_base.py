# SPDX-License-Identifier: BSD-3-Clause
"""Base of the platforms: fitting the sites' models, asking them, and synthesising their answers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._typing import FloatArray
from ..base import PrivateEstimatorMixin, private_fit, redact_errors
from ..exceptions import SiteError, SiteWarning
from ..preprocessing import TQMATransformer
from ..utils import as_labels, check_characters
from ..utils._compat import CallbackSupportMixin, StrOptions, safe_indexing
from ..utils._progress import progress
from ..utils._table_validation import validate_data
from ..utils._user_frame import warn_user
from ._local_average.regressor import LocalAverageRegressor
from ._secure_sum import SecureSumAggregator
from ._site import respond
from ._swapping import BSTDAggregator

#: Aggregators that take answers known to be valid without a second check.
_UNCHECKED = (BSTDAggregator, SecureSumAggregator)

#: Seeds of local models and aggregator are below this; scikit-learn takes any of them.
SEED_LIMIT = np.iinfo(np.int32).max


class SiteAnswers(NamedTuple):
    """Answers of shape (n_queries, n_sites, n_outputs), and the indices of the sites that answered."""

    values: FloatArray
    answered: NDArray[np.intp]


class BaseCollaborative(CallbackSupportMixin, PrivateEstimatorMixin, BaseEstimator, ABC):
    """Splitting rows by site, fitting the local models, asking them, and synthesising their answers.

    Subclasses define what is predicted, and the local models, query perturber and aggregator.
    """

    releases_state = False

    _parameter_constraints: dict[str, Any] = {
        "n_jobs": [Integral, None],
        "on_site_error": [StrOptions({"raise", "drop"})],
        "random_state": ["random_state", np.random.Generator],
    }
    n_jobs: int | None
    on_site_error: str
    random_state: Any

    # What a subclass provides.

    @abstractmethod
    def _template(self, site: Any) -> Any:
        """Return the unfitted model of one site; it will be cloned."""

    @abstractmethod
    def _templates(self) -> Iterable[Any]:
        """Return one template of every kind that is used."""

    @abstractmethod
    def _make_perturber(self) -> Any:
        """Return the unfitted perturber of queries, or None."""

    @abstractmethod
    def _make_aggregator(self) -> Any:
        """Return the unfitted aggregator; it will be cloned."""

    @abstractmethod
    def _check_target(self, y: Any) -> NDArray[Any]:
        """Return y as the local models take it."""

    def _check_components(self) -> None:
        """Refuse components without the methods that are needed; none to refuse where they are made here."""

    def _trainable(self, template: Any, y: NDArray[Any]) -> Any:
        """Return the model for a site with these targets."""
        return template

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
        names, rows = _rows_of_sites(sites, len(y))
        aggregator_seed, *seeds = self._seeds(1 + len(names))
        perturber = self._fit_perturber(X)
        models, sizes = self._fit_sites(X, y, dict(zip(names, rows, strict=True)), seeds)
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
        templates = [
            _prepare(self._trainable(self._template(name), y[own]), len(y), seed)
            for (name, own), seed in zip(rows.items(), seeds, strict=True)
        ]
        catch = self.on_site_error == "drop"
        tasks = [
            (name, template, safe_indexing(X, own), y[own], catch)
            for (name, own), template in zip(rows.items(), templates, strict=True)
        ]
        models = dict(zip(rows, self._fit_models(tasks), strict=True))
        failed = {name: model for name, model in models.items() if isinstance(model, SiteFailure)}
        if len(failed) == len(models):
            # Not a site's error but the caller's: once more, for the model's own error.
            _fit_model(*tasks[0][:-1], False)
        report_failures(failed, len(models), catch, "fit")
        kept = {name: model for name, model in models.items() if name not in failed}
        return kept, np.array([len(rows[name]) for name in kept], dtype=np.int64)

    def _fit_models(self, tasks: list[tuple[Any, ...]]) -> list[Any]:
        """Return a fitted model or a `SiteFailure` for each task, and report progress to callbacks."""
        models: list[Any] = []
        # As they come, for callbacks; these are not handed to local models, which would show them rows.
        fits = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(_fit_model)(*task) for task in tasks
        )
        with progress(self, "site", len(tasks)) as on_progress:
            for model in fits:
                models.append(model)
                on_progress()
        return models

    def _seeds(self, n: int) -> list[int | None]:
        """Return n seeds from `random_state`; None where there is none."""
        if self.random_state is None:
            return [None] * n
        source = self.random_state
        if isinstance(source, np.random.Generator):
            return source.integers(SEED_LIMIT, size=n).tolist()
        return check_random_state(source).randint(SEED_LIMIT, size=n).tolist()

    def _fit_aggregator(self, sizes: NDArray[np.int64], seed: int | None) -> Any:
        """Return the aggregator for parties of these sizes; it learns nothing from answers."""
        aggregator = clone(self._make_aggregator())
        parameters = aggregator.get_params(deep=False)
        if "party_sizes" in parameters and parameters["party_sizes"] is None:
            aggregator.set_params(party_sizes=sizes)
        unseeded = "random_state" in parameters and parameters["random_state"] is None
        if seed is not None and unseeded:
            aggregator.set_params(random_state=seed)
        return aggregator.fit(np.zeros((1, len(sizes))))

    def _set_disclosure_risk(self) -> None:
        parts = (self.query_perturber_, self.aggregator_)
        self.disclosure_risk_ = tuple(
            part.disclosure_risk_ for part in parts if hasattr(part, "disclosure_risk_")
        )

    # Asking.

    def _perturb(self, X: Any) -> Any:
        perturber = self.query_perturber_
        if perturber is None:
            return X
        return perturber._perturb(X) if self._takes_floats() else perturber.transform(X)

    def _queries(self, X: Any) -> Any:
        """Return checked queries as they leave the asker."""
        check_is_fitted(self)
        return self._perturb(self._check_rows(X, reset=False))

    def _takes_floats(self) -> bool:
        """Whether all that a query meets here takes a checked array of floats without looking again."""
        models = list(self.estimators_.values())
        perturber = self.query_perturber_
        # Only these very classes: what a subclass adds to transform or predict must not be missed.
        local = bool(models) and all(type(model) is LocalAverageRegressor for model in models)
        return local and (perturber is None or type(perturber) is TQMATransformer)

    def _ask_sites(self, X: Any) -> SiteAnswers:
        classes = getattr(self, "classes_", None)
        models = [self._model(name) for name in self.sites_]
        checked = self._takes_floats()
        if effective_n_jobs(self.n_jobs) == 1 or len(models) == 1:
            found = [_ask_model(model, X, classes, checked) for model in models]
        else:
            tasks = (delayed(_ask_model)(model, X, classes, checked) for model in models)
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks)
        failed = {
            name: answer
            for name, answer in zip(self.sites_, found, strict=True)
            if isinstance(answer, SiteFailure)
        }
        report_failures(failed, len(models), self.on_site_error == "drop", "answer")
        came = [(j, answer) for j, answer in enumerate(found) if not isinstance(answer, SiteFailure)]
        return self._stack([answer for _, answer in came], [j for j, _ in came])

    def _model(self, name: Any) -> Any:
        if name not in self.estimators_:
            raise SiteError(f"the model of site {name!r} is not here: use ask and combine")
        return self.estimators_[name]

    def _stack(self, answers: list[FloatArray], answered: list[int]) -> SiteAnswers:
        """Return the answers side by side; NaN, for no support, only where the aggregator knows it."""
        values = np.stack(answers, axis=1)
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = _take_nan(self._templates())
        return tags


def check_target_given(estimator: Any, y: Any) -> None:
    """Raise the ValueError that scikit-learn's checks expect where y is None."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )


def _squeeze(values: FloatArray) -> FloatArray:
    """Return values per site, without an axis of outputs where there is one only."""
    return values if values.shape[2] > 1 else values[:, :, 0]


class SiteFailure(NamedTuple):
    """The type of the error of a site that failed; not its text, which may repeat rows of the site."""

    kind: str


def report_failures(failed: Mapping[Any, SiteFailure], n_sites: int, drop: bool, verb: str) -> None:
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


def _rows_of_sites(sites: Any, n_rows: int) -> tuple[list[Any], list[NDArray[np.intp]]]:
    """Return the names of the sites, sorted, and the numbers of their rows."""
    if sites is None:
        return [0], [np.arange(n_rows)]
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
    return names.tolist(), np.split(order, np.cumsum(np.bincount(codes))[:-1])


def _take_nan(models: Iterable[Any]) -> bool:
    return all(get_tags(model).input_tags.allow_nan for model in models)


def _prepare(template: Any, n_total: int, seed: int | None) -> Any:
    """Return a copy that knows the number of all rows, where it wants it, and its seed."""
    model = clone(template)
    parameters = model.get_params(deep=True)
    wanted: dict[str, Any] = {}
    for name, value in parameters.items():
        last = name.rsplit("__", 1)[-1]
        if value is None and last == "refine_to":
            wanted[name] = n_total
        if value is None and last == "random_state" and seed is not None:
            wanted[name] = seed
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
