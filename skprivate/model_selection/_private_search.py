# SPDX-License-Identifier: BSD-3-Clause
"""Private search: a random number of runs fit and score candidates, and the best run is released."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, IndexArray, RandomSource, Unit
from ..accounting import PrivacyLedger, PrivacySpent, ReleaseRecord
from ..base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, PublicShape, assign_roles, claim_of, private_fit
from ..base._mixin import warn_of_delta
from ..base._pipeline_report import is_private
from ..base._stateless_steps import holds_any_row
from ..domain._labels import plain_labels
from ..noise._mechanisms import Entropy, check_entropy
from ..utils import check_positive, is_structured, select_rows
from ..utils._compat import HasMethods, Interval, StrOptions, rows_of, safe_indexing
from ..utils._private_fit import public_errors
from ..utils._public_module import public_module
from ._candidates import (
    Candidate,
    Parameters,
    SearchRun,
    SearchTask,
    best_run,
    check_candidates,
    make_candidates,
    route_metadata,
    steps_within,
)
from ._number_of_runs import NumberOfRuns, draw_below
from ._private_rows import Masks, check_masks, check_rows, check_rows_strictly
from ._scoring import Scoring, ScoringRows, check_score_epsilon, hold_out, resolve_scorer

Method = TypeVar("Method", bound=Callable[..., Any])


def _has(method: str) -> Callable[[Any], bool]:
    """Return a check that the best estimator, or the estimator before a fit, has a method."""

    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), method)
        return True

    return check


def _if_best_has(method: str) -> Callable[[Method], Method]:
    """Return a decorator: the search has the method if the best estimator has it."""
    return available_if(_has(method))


# As many fits as a plain search with its five folds. The number costs time, but no budget. With eta = 1, a
# given candidate is then tried with probability 5/6.
_RUNS_PER_CANDIDATE = 5
_LARGEST_ETA = 100

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "estimator": [HasMethods(["fit", "predict"])],
    "eta": [Fraction, Interval(Real, 0, _LARGEST_ETA, closed="both")],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "scoring": [StrOptions(set(get_args(Scoring))), callable, None],
    "score_epsilon": [*SHARED_CONSTRAINTS["epsilon"], None],
    "random_state": SHARED_CONSTRAINTS["random_state"],
    "ledger": SHARED_CONSTRAINTS["ledger"],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}


class Parts(NamedTuple):
    """The rows for training and for scores, and the units of the latter.

    Attributes
    ----------
    train, scored : ndarray of int
        Row numbers.
    scored_groups : ndarray of int or None
        Group of every row for scores, if the unit is the group.
    n_scored : int
        Number of units for scores.
    """

    train: IndexArray
    scored: IndexArray
    scored_groups: IndexArray | None
    n_scored: int


class BasePrivateSearch(MetaEstimatorMixin, PrivateEstimatorMixin, BaseEstimator):
    """Base of the private searches; a subclass defines the candidates.

    A fit plans the candidates and charges their cost (`_plan`, `_charge`), makes runs (`best_run`), and keeps
    only the best one (`_adopt`).
    """

    best_estimator_: Any
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    estimator: Any
    eta: Any
    validation_fraction: Any
    scoring: Any
    score_epsilon: Any
    random_state: Any
    n_jobs: int | None

    leak_remedy = (
        "Declare bounds and classes from public knowledge. To scale without learning from rows, use "
        "BoundsScaler. To fill and encode columns, pass domain=TableDomain(...) to the model, or use "
        "DomainEncoder."
    )

    releases_all_draws = False

    #: The parameter that holds the grid or the distributions.
    _space: str

    # Requested by default: the guarantee is about the masks and the groups.
    __metadata_request__fit = {"is_public": True, "groups": True, "is_public_validation": True}

    declared_roles: Mapping[str, str] = assign_roles(
        release="estimator eta validation_fraction scoring score_epsilon random_state",
        computing="ledger n_jobs",
    )

    @abstractmethod
    def _entries(self, entropy: Entropy) -> list[Parameters]:
        """Return the parameters of every entry. If they are drawn, no row is read."""

    @private_fit
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        is_public: Any = None,
        groups: Any = None,
        is_public_validation: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Search, and keep the best candidate without a refit.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks public rows for training. They are never held out.
        groups : array-like of shape (n_samples,), default=None
            Person of every row. Hold-out and training share no person, and the unit of privacy is the
            person. Every private step must take groups.
        is_public_validation : array-like of bool of shape (n_samples,), default=None
            Marks public rows for scores, which are then exact and free. No private row is held out, and
            post-processing parameters are tuned without further fits.
        **fit_params : dict
            Further metadata for the candidates that request it. Arrays of n_samples are split.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError, ValueError
            Rows or parameters are unusable, no private step has a known cost, there are several ledgers, or
            the fit of a candidate would fail for any rows. Nothing is charged then.
        PrivacyLeakError
            In strict mode: a candidate would read something without spending budget, or noise is seeded.
        BudgetExceededError, LedgerError
            The ledger refuses the charge. Nothing is charged or fitted, and a previous fit does not change.
        PrivateSearchError
            A run failed. Nothing is released, the charge stays, and a previous fit does not change.
        """
        if not 0 <= self.eta <= _LARGEST_ETA:  # a Fraction
            raise ValueError(f"eta must be between 0 and {_LARGEST_ETA}.")
        strict, given = self.is_strict(), y
        X, y = check_rows_strictly(self, X, y) if strict else check_rows(self, X, y)
        masks = check_masks(len(y), is_public, groups, is_public_validation, strict=strict)
        entropy = check_entropy(self.random_state)
        candidates = self._plan(y, masks, entropy, any_row_fits=holds_any_row(X))
        costs = [one.plan.cost for one in candidates]
        leaks = list(dict.fromkeys(leak for cost in costs for leak in cost.leaks))
        self.announce_leaks(leaks, seeded=any(cost.seeded for cost in costs))
        self._check_classes(y, candidates)
        parts = self._part(masks, candidates, entropy)
        check_candidates(candidates, X, self._shape_of(y, masks, parts, given))
        metadata = [
            {name: one for name, one in part.items() if one is not None}
            for part in ({"is_public": is_public, "groups": groups}, fit_params)
        ]
        jobs = []
        for one in candidates:
            routed = route_metadata(type(self).__name__, one.estimator, *metadata)
            jobs.append((one, {name: rows_of(own, parts.train, len(y)) for name, own in routed.items()}))
        task = self._task(X, y, masks, parts, candidates, seeded=not entropy.private)
        number_of_runs = self._number_of_runs(candidates)
        spent = self._describe_spending(candidates, masks, parts, number_of_runs, entropy.source)
        self._charge(spent, candidates)
        n_runs = number_of_runs.draw(entropy.random_bytes)
        drawn = [jobs[draw_below(len(jobs), entropy.random_bytes)] for _ in range(n_runs)]
        seeds = [None if entropy.private else draw_below(2**31, entropy.random_bytes) for _ in drawn]
        self._adopt(*best_run(task, drawn, seeds, self.n_jobs), spent)
        return self

    def _find_ledgers(self) -> list[PrivacyLedger]:
        given = [*self.get_params(deep=True).values(), *_values_of(getattr(self, self._space))]
        return list({value for value in given if isinstance(value, PrivacyLedger)})

    def _shape_of(self, y: Any, masks: Masks, parts: Parts, given: Any) -> PublicShape:
        """Return the public facts about the training rows."""
        names = getattr(self, "feature_names_in_", None)
        public = np.flatnonzero(masks.public)
        grouped = masks.codes is not None
        return PublicShape(
            n_features=getattr(self, "n_features_in_", None),
            feature_names=None if names is None else tuple(names),
            n_rows=masks.n_units - parts.n_scored if grouped else len(parts.train),
            grouped=grouped,
            structured=is_structured(y),
            public_labels=np.asarray(safe_indexing(y, public)) if len(public) else None,
            # From the labels as given: a column of text may be an array of objects now.
            no_targets=safe_indexing(given if is_classifier(self.estimator) else y, public[:0]),
        )

    @public_errors()
    def _plan(self, y: Any, masks: Masks, entropy: Entropy, *, any_row_fits: bool) -> list[Candidate]:
        entries = self._entries(entropy)
        if not entries:
            raise ValueError("there are no candidates: the list of grids is empty.")
        rows = {"any_public": bool(masks.public.any()), "grouped": masks.codes is not None}
        free_choice = bool(masks.validation.any())
        return make_candidates(
            self.estimator, entries, y, free_choice=free_choice, any_row_fits=any_row_fits, **rows
        )

    def _check_classes(self, y: Any, candidates: Sequence[Candidate]) -> None:
        """Refuse labels that are no classes, or one class, if they are read from rows, which was announced.

        If classes are declared, a strange label reveals nothing: it counts as the first class.
        """
        if not _read_classes(candidates) or not is_classifier(self.estimator):
            return
        labels = plain_labels(y)
        check_classification_targets(labels)
        if len(np.unique(labels)) < 2:
            raise ValueError("y holds one class; a classifier needs two.")

    def _task(
        self, X: Any, y: Any, masks: Masks, parts: Parts, candidates: Sequence[Candidate], *, seeded: bool
    ) -> SearchTask:
        # Labels for the classes if these are not declared.
        public = safe_indexing(y, np.flatnonzero(masks.public)) if masks.public.any() else None
        class_labels = y if _read_classes(candidates) else public
        scoring_rows = ScoringRows(
            X=safe_indexing(X, parts.scored),
            y=safe_indexing(y, parts.scored),
            groups=parts.scored_groups,
            n_units=parts.n_scored,
            epsilon=None if masks.validation.any() else self._score_epsilon(candidates),
        )
        return SearchTask(
            X=safe_indexing(X, parts.train),
            y=safe_indexing(y, parts.train),
            scoring_rows=scoring_rows,
            scorer=resolve_scorer(
                self.scoring,
                self.estimator,
                [one.last_step() for one in candidates],
                y,
                announced=all(one.plan.cost.leaks for one in candidates),
                class_labels=class_labels,
                public_labels=scoring_rows.y if masks.validation.any() else None,
            ),
            grouped=masks.codes is not None,
            seeded=seeded,
            strict=self.is_strict(),
        )

    @public_errors()
    def _part(self, masks: Masks, candidates: Sequence[Candidate], entropy: Entropy) -> Parts:
        """Split the rows. The private rows that are held out are random, and depend on no row."""
        if masks.validation.any():
            scored = np.flatnonzero(masks.validation)
            return Parts(np.flatnonzero(~masks.validation), scored, None, len(scored))
        held = hold_out(masks.n_units, self.validation_fraction, entropy.random_bytes)
        codes = np.arange(masks.n_units) if masks.codes is None else masks.codes
        scored = np.flatnonzero(masks.private)[held[codes]]
        is_scored = np.zeros(len(masks.public), dtype=bool)
        is_scored[scored] = True
        train = np.flatnonzero(~is_scored)
        if masks.codes is None:
            return Parts(train, scored, None, len(scored))
        scored_codes = np.unique(codes[held[codes]], return_inverse=True)[1]
        kept = select_rows(scored_codes, _max_rows(candidates), entropy.random_bytes)
        return Parts(train, scored[kept], scored_codes[kept], int(held.sum()))

    def _number_of_runs(self, candidates: Sequence[Candidate]) -> NumberOfRuns:
        n_runs = _RUNS_PER_CANDIDATE * len(candidates) if len(candidates) > 1 else 1
        eta = self.eta if isinstance(self.eta, Fraction) else Fraction(float(self.eta))
        return NumberOfRuns.of_mean(eta, n_runs)

    @public_errors()
    def _score_epsilon(self, candidates: Sequence[Candidate]) -> Fraction:
        if self.score_epsilon is None:
            epsilon = max(one.plan.cost.epsilon for one in candidates)
        else:
            epsilon = check_positive(self.score_epsilon, "score_epsilon")
        check_score_epsilon(epsilon)
        return epsilon

    def _describe_spending(
        self, candidates: Sequence[Candidate], masks: Masks, parts: Parts, number: NumberOfRuns, source: Any
    ) -> PrivacySpent:
        """Return the statement on the whole search, which is known before anything is drawn."""
        costs = [one.plan.cost for one in candidates]
        public_scores = bool(masks.validation.any())
        epsilon = max(cost.epsilon for cost in costs)
        factor = 2 + number.eta if len(candidates) > 1 else Fraction(1)
        record = partial(ReleaseRecord, times=factor)
        of_fits = record(name="fit of a candidate", mechanism="that of the candidate", epsilon=epsilon)
        releases = [replace(of_fits, rows="training rows")]
        if not public_scores:
            score_epsilon = self._score_epsilon(candidates)
            scores = record(name="score of a candidate", mechanism="discrete Laplace", epsilon=score_epsilon)
            releases.append(replace(scores, rows="rows held out"))
            epsilon = max(epsilon, score_epsilon)
        source = "seeded" if any(cost.seeded for cost in costs) else source
        leaks = dict.fromkeys(leak for cost in costs for leak in cost.leaks)
        grouped = masks.codes is not None
        unit: Unit = "group" if grouped else "row"
        facts = {
            f"private {unit}s": masks.n_units,
            "public rows": int(masks.public.sum()),
            ("public validation rows" if public_scores else f"{unit}s held out"): parts.n_scored,
            "candidates": len(candidates),
        }
        held_out = "discrete Laplace noise on held-out scores"
        scored = "exact scores on public rows" if public_scores else held_out
        mechanism = f"one run, with {scored}"
        if number.gamma != 1:
            mechanism = (
                "private selection of the best of a random number of runs (truncated negative binomial, "
                f"eta = {float(number.eta):g}), with {scored}"
            )
        return PrivacySpent(
            releases=tuple(releases),
            mechanism=mechanism,
            epsilon=factor * epsilon,
            delta=max(cost.delta for cost in costs) * number.mean,
            relation="label" if any(cost.relation == "label" for cost in costs) else "replace-one",
            unit=unit,
            max_rows_per_unit=_max_rows(candidates) if grouped else 1,
            noise_scale=None,
            noise_source=source,
            deployment="curator",
            public_inputs=("is_public_validation",) if public_scores else (),
            unprotected=facts,
            **claim_of(leaks, source),
        )

    def _charge(self, spent: PrivacySpent, candidates: Sequence[Candidate]) -> None:
        """Charge the whole search as one entry, to the ledger of the search or of its candidates."""
        warn_of_delta(spent)
        given = [self.ledger, *(value for one in candidates for value in one.removed.values())]
        ledgers = {value for value in given if isinstance(value, PrivacyLedger)}
        if len(ledgers) > 1:
            raise ValueError("the search and its candidates have several different ledgers. Pass one ledger.")
        for ledger in ledgers:
            ledger.charge(spent, estimator=type(self).__name__)

    def _adopt(self, run: SearchRun, candidate: Candidate, spent: PrivacySpent) -> None:
        """Take over the best run. From now on, its steps state the cost of the search."""
        best = run.estimator
        best.set_params(**candidate.removed)
        steps = [step for _, step in steps_within(best) if is_private(step)]
        facts: dict[str, Any] = {}
        inputs = dict.fromkeys(spent.public_inputs)
        for step in steps:
            facts |= step.privacy_spent_.unprotected
            inputs |= dict.fromkeys(step.privacy_spent_.public_inputs)
        spent = replace(spent, unprotected={**facts, **spent.unprotected}, public_inputs=tuple(inputs))
        for step in steps:
            step.privacy_spent_ = spent
        self.best_estimator_, self.best_params_ = best, dict(run.parameters)
        self.best_score_ = float(run.score)
        self.privacy_spent_ = spent

    def _ask_best(self, method: str, *arguments: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, method)(*arguments)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the best estimator; classifiers only."""
        _has("classes_")(self)
        return self.best_estimator_.classes_

    @_if_best_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        return self._ask_best("predict", X)

    @_if_best_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the best estimator's class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._ask_best("predict_proba", X)

    @_if_best_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the best estimator's logarithms of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
        """
        return self._ask_best("predict_log_proba", X)

    @_if_best_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the best estimator's decision function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._ask_best("decision_function", X)

    @_if_best_has("transform")
    def transform(self, X: Any) -> Any:
        """Transform with the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        transformed : array-like of shape (n_samples, n_outputs)
        """
        return self._ask_best("transform", X)

    @_if_best_has("score")
    def score(self, X: Any, y: Any) -> float:
        """Return the best estimator's own score, an exact function of the rows that are passed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        score : float
        """
        return self._ask_best("score", X, y)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of this search, as scikit-learn's meta-estimators do.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        return tags


def _values_of(space: Any) -> list[Any]:
    """Return all values in the lists of a grid, or of several grids."""
    tables = space if isinstance(space, list) else [space]
    lists = [values for table in tables if isinstance(table, Mapping) for values in table.values()]
    return [value for values in lists if isinstance(values, list | tuple) for value in values]


def _read_classes(candidates: Sequence[Candidate]) -> bool:
    """Whether a candidate has announced that it reads something, and declares no classes."""
    return any(
        one.plan.cost.leaks and getattr(one.last_step(), "classes", None) is None for one in candidates
    )


@public_errors()
def _max_rows(candidates: Sequence[Candidate]) -> int:
    return max(one.plan.max_rows_per_group for one in candidates)


@public_module("skprivate.model_selection")
class PrivateGridSearch(BasePrivateSearch):
    """Grid search with an end-to-end guarantee: (2 + eta) times the epsilon of one candidate.

    A random number of runs is made. Each run draws a candidate at random, fits it on the training rows and
    scores it. Only the best run is released. The cost does not depend on the number of candidates. For
    candidates of epsilon it is 3 epsilon. A plain search of 20 candidates in 5 folds spends 101 times epsilon
    and does not protect its scores. The scores come from a hold-out (there is no cross-validation), or from
    public rows.

    Parameters
    ----------
    estimator : estimator
        A private estimator whose cost is known in advance, or a pipeline with such steps.
    param_grid : dict or list of dict
        Values to try, by parameter, as in scikit-learn's GridSearchCV.
    eta : float or Fraction, default=1
        Shape of the distribution of the number of runs, from 0 to 100. The search costs ``2 + eta`` times the
        largest cost of a candidate. 1: geometric. 0: logarithmic, with a smaller cost and often few runs.
    validation_fraction : float, default=0.2
        Share of the private rows (of the persons, with ``groups``) for scores instead of training, in (0, 1).
        It has no effect if ``is_public_validation`` is passed.
    scoring : str, callable or None, default=None
        A score; higher is better. "balanced_accuracy", "roc_auc" (of two classes) and "neg_log_loss" (in
        nats) are scikit-learn's on public validation rows. On held-out rows they are computed from noisy
        numbers (see Notes). They count rare classes. "accuracy", "absolute_error", "squared_error" and
        callables score every row between 0 and 1, and the mean is taken. The score of an error is 1 minus the
        error in units of the width of the estimator's ``bounds_y``, and at least 0. A callable gets
        (estimator, X, y) and returns one score per row. Private rows come one at a time, in tables of one
        row, and the callable must keep nothing between calls. Values outside 0 and 1 are clipped without a
        warning, and NaN counts as 0. None: "accuracy" for classifiers, "absolute_error" for regressors.
    score_epsilon : float, Fraction or None, default=None
        Greatest privacy loss of the score of one run, > 0 and finite. It is not added to that of the fit, but
        a larger one makes the search cost more. None: the largest epsilon of a candidate.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the search and its fits reproducible, and
        not private.
    ledger : PrivacyLedger, default=None
        Charged once, before the number of runs is drawn. None: the ledger of the estimator. Its fits charge
        nothing in either case.
    n_jobs : int or None, default=None
        Number of parallel runs, by joblib.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted on the training rows. Its private steps state the cost of the search.
    best_params_ : dict
        Its entry of the grid.
    best_score_ : float
        Its score. It is exact on public validation rows. Otherwise it is noisy, and may be outside the range
        of the score.
    privacy_spent_ : PrivacySpent
        The budget that the whole search spent, its unit, and the claim.
    classes_ : ndarray of shape (n_classes,)
        Classifiers only.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X has string names.

    Raises
    ------
    PrivateSearchError
        In ``fit``, if a run failed. Nothing is released, and the charge stays.

    See Also
    --------
    PrivateRandomizedSearch : The same with entries that are drawn from distributions.
    skprivate.base.parameter_roles : The parameters that need a fit, and those that are free.
    skprivate.PrivacyLedger : Adds up the costs of searches.

    Notes
    -----
    **Privacy.** The relation is replace-one for a trusted curator, also if candidates have another one. It is
    "label" if a candidate protects labels only. The unit is the row, or the person with ``groups``. The
    model, parameters and score of the best run are released. Other runs and their number are not kept, shown
    or logged, but whoever can time ``fit`` learns about their number. Not protected: the number of rows or
    groups, public rows, and the grid.

    Proof: :doc:`/proofs/private_search`, :doc:`/proofs/rows`.

    A run is private with the larger epsilon of its fit and its score. The units that are held out are random,
    and depend on no row. Given these, a replaced unit is either in training or held out. In training, the fit
    protects it, and the score is computed from the fit and other rows. Held out, it is not in the fit, and
    the noise of the score protects it. Under replace-one a local report costs its own epsilon, and an
    add-remove release costs twice its own. The best of a truncated negative binomial number of such runs,
    with its score, is then (2 + eta) epsilon private (Papernot and Steinke; the proof is in
    ``skprivate.model_selection._number_of_runs``). If fits have a delta, it is multiplied by the expected
    number of runs, five per candidate. A single candidate is run once, and costs one epsilon.

    With any scoring, the score of a run is computed from one release of that epsilon. For scores per row it
    is the noisy sum of the units' scores. A replaced unit moves it by at most 1. For "neg_log_loss", the loss
    of a row is divided by a bound and cut off there. For the other scores it is a table in which a unit has
    the mass 1 (with ``groups``, shared among its rows), so that a replaced unit moves it by at most 2 in L1.
    For "balanced_accuracy" it counts classes by right and wrong, and for "roc_auc" classes by public
    intervals of the probability. The numbers of rows, of classes and of intervals are public, and the bound
    is a function of them. A candidate declares its classes or takes them from public rows. If one reads them
    from private rows, the claim is "not-private".

    With ``is_public_validation``, scores use no private row. Entries that differ only in parameters of role
    "post-processing" are then one candidate. It is fitted once, and the best of them is chosen on the public
    rows. With a hold-out, every entry is a candidate of its own.

    A failed run is reported with the type of its error, and with the message if this package wrote it. The
    guarantee does not cover this, as for any fit. In strict mode no value in a row makes a step of this
    package fail. A row on which a scorer fails counts as 0. For "balanced_accuracy" it counts as wrong, and
    for "roc_auc" as one of equal probabilities. Scorers get copies of the model and of the rows. The claim is
    "not-private" if the search or a candidate is seeded, if a candidate reads bounds or classes from private
    rows, or if a step learns from rows without spending budget. Choose the values of a grid from public
    knowledge. A grid over epsilon costs (2 + eta) times the largest. It is for planning on public or
    simulated rows.

    *Noise of the scores.* Let n units be held out, and s = 8^(1/2) / epsilon. A mean of scores between 0 and
    1 has noise of standard deviation s / (2 n). The noise of the log loss is this times its bound L. Here
    L exp(L + 1) = (K - 1) epsilon n / 2^(1/2) for K classes, and L is at least log(2 K). If probabilities are
    right, the bias by cutting off is then no larger than the noise. With N_k rows of class k and recalls r_k,
    the noise of the balanced accuracy is about s / K times the root of the sum over k of
    (r_k^2 + (1 - r_k)^2) / N_k^2. A recall is shrunk towards the accuracy of all rows if N_k is no larger
    than the noise, and an AUC towards 1/2 if its noise is as large as the number of pairs. The AUC counts two
    rows in one interval as a tie. There are about (n / s)^0.4 intervals, narrower near 0 and 1.

    Search only what an estimator does not choose by itself. Parameters with "auto" in trees are chosen from
    the release of the tree at no cost, and this beat a search of the same total (``python -m benchmarks
    private_search``). Public rows that follow another rule than the private ones mislead as
    ``is_public_validation``.

    References
    ----------
    Papernot, Steinke, Hyperparameter tuning with Renyi differential privacy, 2022.

    Liu, Talwar, Private selection from private candidates, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.model_selection import PrivateGridSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(5000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> tree = DPTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], rule="random")
    >>> search = PrivateGridSearch(tree, {"max_depth": [1, 4], "prune": [False, True]}).fit(X, y)
    >>> search.privacy_spent_.epsilon, search.privacy_spent_.private
    (Fraction(3, 1), True)
    >>> sorted(search.best_params_)
    ['max_depth', 'prune']
    """

    _space = "param_grid"
    _parameter_constraints: dict[str, list[Any]] = {**SEARCH_CONSTRAINTS, "param_grid": [dict, list]}

    declared_roles: Mapping[str, str] = {
        **BasePrivateSearch.declared_roles,
        **assign_roles(release="param_grid"),
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        eta: float | Fraction = 1,
        validation_fraction: float = 0.2,
        scoring: Scoring | Callable[..., Any] | None = None,
        score_epsilon: float | Fraction | None = None,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.eta = eta
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.score_epsilon = score_epsilon
        self.random_state = random_state
        self.ledger = ledger
        self.n_jobs = n_jobs

    def _entries(self, entropy: Entropy) -> list[Parameters]:
        return list(ParameterGrid(self.param_grid))


@public_module("skprivate.model_selection")
class PrivateRandomizedSearch(BasePrivateSearch):
    """Randomised search with an end-to-end guarantee: (2 + eta) times the epsilon of one candidate.

    A `PrivateGridSearch` whose entries are drawn from distributions, before any row is read.

    Parameters
    ----------
    estimator : estimator
        A private estimator whose cost is known in advance, or a pipeline with such steps.
    param_distributions : dict or list of dict
        Lists or distributions (with ``rvs``), by parameter, as in scikit-learn's RandomizedSearchCV.
    n_candidates : int, default=10
        Number of entries that are drawn, at most all of them if all are lists. It is not the number of runs,
        and does not change the cost.
    eta, validation_fraction, scoring, score_epsilon, random_state, ledger, n_jobs
        As in `PrivateGridSearch`. A seed determines the entries, too.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted on the training rows. Its private steps state the cost of the search.
    best_params_ : dict
        Its entry.
    best_score_ : float
        Its score. The other attributes are those of `PrivateGridSearch`.
    privacy_spent_ : PrivacySpent
        The budget that the whole search spent, its unit, and the claim.

    See Also
    --------
    PrivateGridSearch : The same over a grid, with all notes on privacy.

    Notes
    -----
    **Privacy.** As in `PrivateGridSearch`. The entries are drawn without reading rows, and the guarantee
    there holds for any entries. The cost is that of the drawn entry with the largest cost.

    Proof: :doc:`/proofs/private_search`, :doc:`/proofs/rows`.

    References
    ----------
    Papernot, Steinke, Hyperparameter tuning with Renyi differential privacy, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import randint
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.model_selection import PrivateRandomizedSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(5000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> tree = DPTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], rule="random")
    >>> search = PrivateRandomizedSearch(tree, {"max_depth": randint(1, 6)}, n_candidates=4).fit(X, y)
    >>> search.privacy_spent_.epsilon, search.privacy_spent_.private
    (Fraction(3, 1), True)
    """

    _space = "param_distributions"
    _parameter_constraints: dict[str, list[Any]] = {
        **SEARCH_CONSTRAINTS,
        "param_distributions": [dict, list],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
    }

    declared_roles: Mapping[str, str] = {
        **BasePrivateSearch.declared_roles,
        **assign_roles(release="param_distributions n_candidates"),
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        n_candidates: int = 10,
        *,
        eta: float | Fraction = 1,
        validation_fraction: float = 0.2,
        scoring: Scoring | Callable[..., Any] | None = None,
        score_epsilon: float | Fraction | None = None,
        random_state: RandomSource = None,
        ledger: PrivacyLedger | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_candidates = n_candidates
        self.eta = eta
        self.validation_fraction = validation_fraction
        self.scoring = scoring
        self.score_epsilon = score_epsilon
        self.random_state = random_state
        self.ledger = ledger
        self.n_jobs = n_jobs

    def _entries(self, entropy: Entropy) -> list[Parameters]:
        seed = int.from_bytes(entropy.random_bytes(4))
        n_candidates, distributions = self.n_candidates, self.param_distributions
        tables: list[Any] = distributions if isinstance(distributions, list) else [distributions]
        if not any(hasattr(value, "rvs") for table in tables for value in table.values()):
            n_candidates = min(n_candidates, len(ParameterGrid(tables)))
        return list(ParameterSampler(tables, n_candidates, random_state=np.random.RandomState(seed)))
