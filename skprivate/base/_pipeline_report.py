# SPDX-License-Identifier: BSD-3-Clause
"""Privacy report on a fitted pipeline or search, and on every step in it."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..accounting import DisclosureRisk, EstimatedBounds, PrivacyReport, PrivacySpent, StepReport
from ..accounting._statements.spent import estimates_in
from ..utils import splits_by_group
from ..utils._compat import ProgressBar
from ..utils._public_module import changed_methods, declared_by, public_module, reason_against, remember
from ._mixin import PrivateEstimatorMixin
from ._stateless_steps import PublicEstimator, chosen_by_rows, learns_from_rows, may_be_sparse, refuses_sparse

# Only these classes are known to learn nothing themselves. A subclass may do anything.
CONTAINERS = (Pipeline, ColumnTransformer, FeatureUnion)
for _kind in CONTAINERS:
    remember(_kind)


@public_module("skprivate.base")
class StatelessMixin:
    """Mixin of transformers whose ``fit`` learns nothing from rows: a promise that `privacy_report` believes.

    A subclass may do more, so it does not inherit the promise. It must list the mixin among its own bases.
    The report names the module that made the promise.

    Notes
    -----
    **Privacy.** The author makes the promise. Only `skprivate.audit.check_private_pipeline` tests that
    ``fit`` reads no row.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, TransformerMixin
    >>> from skprivate.base import StatelessMixin, privacy_report
    >>> class Negate(StatelessMixin, TransformerMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         return self
    ...
    ...     def transform(self, X):
    ...         return -X
    >>> print(privacy_report(Negate()).steps[0])
    estimator (Negate): stateless: learns nothing from rows, as declared by module __main__
    """

    _declares = "StatelessMixin"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.requires_fit = False
        return tags


def privacy_report(estimator: BaseEstimator) -> PrivacyReport:
    """Report what a fitted estimator, pipeline or search did with the private rows.

    It goes through Pipeline, ColumnTransformer, FeatureUnion, searches and other meta-estimators. A step is
    uncovered unless it is a private estimator that spent budget, or is known to learn nothing: unknown means
    not private.

    It trusts the estimators of this package. It trusts classes of others if they declare themselves by
    `PrivateEstimatorMixin` or `StatelessMixin` among their own bases, and reports them with "as declared by
    module M". A subclass that does not declare itself is uncovered, even if it inherits from such a class.

    It sees the present object. It cannot know that a step was swapped after the fit, or that an estimator is
    the ``best_estimator_`` of a search.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.

    Returns
    -------
    report : PrivacyReport
        Its ``str()`` names every step by name and class. Its claim covers the whole.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        The estimator is not fitted.

    See Also
    --------
    PublicEstimator : Declares a fitted step public.
    skprivate.audit.check_private_pipeline : Tests for leaks that a report may have missed.

    Notes
    -----
    **Privacy.** Besides a `StatelessMixin` and a `PublicEstimator`, these are known to learn nothing:

    - ``Binarizer``, ``Normalizer`` except with norm "l1", ``FeatureHasher``, ``HashingVectorizer`` without
      functions of its user;
    - ``FunctionTransformer`` around functions of NumPy that never warn, or a `SilentUfunc`;
    - ``OneHotEncoder`` and ``OrdinalEncoder`` with ``categories`` given, no ``min_frequency`` or
      ``max_categories``, and a ``handle_unknown`` that neither fails nor warns (with ``drop=None``);
    - ``SimpleImputer(strategy="constant")`` with ``fill_value`` given, ``keep_empty_features=True`` and no
      indicator; ``MissingIndicator(features="all")``;
    - a ``ColumnTransformer`` whose columns are given by name, position or a pattern of names, with
      ``sparse_threshold=0`` or without steps that can return a sparse matrix; containers without ``memory``,
      ``transformer_weights``, or callbacks other than ``ProgressBar``.

    Encoders and imputers keep the type of the table. Tables of 64-bit floats and of text can hold any row, so
    their type reveals nothing. Other types count as read. A list gets its type from its rows: pass an array
    or a frame. Names and number of columns are public. A bound of `estimate_bounds` counts once, even if
    several steps use it, also inside a `PublicEstimator`. The report does not cover failures, the time of a
    fit, and the warning of scikit-learn's check for finite numbers if their sum overflows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skprivate import LocallyPrivateTreeClassifier, privacy_report
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> tree = LocallyPrivateTreeClassifier(bounds=(-5, 5), classes=[0, 1])
    >>> report = privacy_report(make_pipeline(StandardScaler(), tree).fit(X, y))
    >>> report.claim
    'not-private'
    >>> [(step.path, step.estimator) for step in report.uncovered]
    [('standardscaler', 'StandardScaler')]
    """
    check_is_fitted(estimator)
    return PrivacyReport(tuple(_walk(estimator, "", set())))


def _walk(estimator: Any, path: str, counted: set[str]) -> Iterator[StepReport]:
    step = functools.partial(StepReport, path=path or "estimator", estimator=type(estimator).__name__)
    if not is_container(estimator):
        yield from _paid_bounds(estimator, path, counted)
    spent = vars(estimator).get("privacy_spent_") if is_private(estimator) else None
    if isinstance(spent, PrivacySpent) and type(estimator).releases_state:
        doubt = reason_against(estimator, "PrivateEstimatorMixin")
        if doubt is not None:
            yield step(status="uncovered", reason=doubt)
        paid = "the noise is in the budget" if spent.private else f"not private: {'; '.join(spent.reasons)}"
        yield step(status="covered", reason=paid + _by_whom(estimator), spent=spent)
        return
    uncovered = reads_rows(estimator)
    if uncovered is not None:
        yield step(status="uncovered", reason=uncovered)
    elif type(estimator) is PublicEstimator:
        inside = type(estimator.estimator).__name__
        yield step(status="public", reason=f"declared public by you: the {inside} inside")
    elif not is_container(estimator):
        yield step(status="stateless", reason=f"learns nothing from rows{_by_whom(estimator)}")
    for name, child in _children(estimator):
        yield from _walk(child, f"{path} > {name}" if path else name, counted)


def is_container(estimator: Any) -> bool:
    """Whether this is one of the `CONTAINERS`, by identity: a metaclass may say that its class is equal."""
    return any(type(estimator) is kind for kind in CONTAINERS)


def is_private(estimator: Any) -> bool:
    """Whether the type is that of a private estimator; an object may misstate its ``__class__``."""
    return issubclass(type(estimator), PrivateEstimatorMixin)


def _by_whom(estimator: Any) -> str:
    """Return the other modules whose promises the report trusts: for an object, and for those inside it."""
    own = declared_by(estimator)
    inside = dict.fromkeys(_words_inside(estimator, {id(estimator)}))
    return "".join([f", as declared by module {own}" if own else "", *inside])


def _words_inside(estimator: Any, seen: set[int]) -> Iterator[str]:
    model = vars(estimator).get("public_model")
    if model is not None:
        yield f"; its public model, {type(model).__name__}, predicts private rows, as declared by you"
    for _, child in _children(estimator):
        if id(child) in seen:
            continue
        seen.add(id(child))
        if module := declared_by(child):
            yield f"; {type(child).__name__} inside it as declared by module {module}"
        yield from _words_inside(child, seen)


def _paid_bounds(estimator: Any, path: str, counted: set[str]) -> Iterator[StepReport]:
    """Yield the estimated bounds of a step, which were charged before, each once."""
    for name, bounds in estimates_of(estimator):
        if bounds.release_id in counted:
            continue
        counted.add(bounds.release_id)
        private = bounds.spent.private
        paid = "charged separately" if private else f"not private: {'; '.join(bounds.spent.reasons)}"
        where = f"{path} > {name}" if path else name
        yield StepReport(
            path=where, estimator="estimate_bounds", status="covered before", reason=paid, spent=bounds.spent
        )


def estimates_of(estimator: Any) -> Iterator[tuple[str, EstimatedBounds]]:
    """Yield estimated bounds among the parameters of an estimator and of those inside it, by parameter."""
    if not hasattr(estimator, "get_params"):
        return
    for name, value in sorted(estimator.get_params(deep=True).items()):
        yield from ((name, bounds) for bounds in estimates_in(value))
    # A frozen estimator hides its parameters.
    for name, part in (("", estimator), *sorted(estimator.get_params(deep=True).items())):
        if type(part) is PublicEstimator:
            inner = f"{name}__estimator" if name else "estimator"
            yield from ((f"{inner}__{below}", bounds) for below, bounds in estimates_of(part.estimator))


def reads_rows(estimator: Any, *, any_row_fits: bool = True) -> str | None:
    """Return why an estimator that spent nothing may have read private rows; None if it is known not to.

    Parameters
    ----------
    estimator : estimator
    any_row_fits : bool, default=True
        Before a fit: whether its table satisfies `holds_any_row`. A fitted estimator shows it.
    """
    if not getattr(type(estimator), "releases_state", True):
        return "holds rows of a site, and must never be published"
    # From the object or its class, not from an object to which it delegates attributes.
    risk = vars(estimator).get("disclosure_risk_", getattr(type(estimator), "disclosure_risk_", None))
    if isinstance(risk, DisclosureRisk):
        # A part of a platform states what it read.
        doubt = reason_against(estimator, "PrivateEstimatorMixin")
        return doubt or "; ".join(risk.leaks) or None
    if risk is not None:
        return "its protections are not differential privacy"
    if "cv_results_" in vars(estimator):
        return f"its scores and its choice are exact functions of private rows{_caution_of(estimator)}"
    if is_container(estimator):
        return _container_reads_rows(estimator)
    if issubclass(type(estimator), StatelessMixin):
        return reason_against(estimator, "StatelessMixin")
    return learns_from_rows(estimator, any_row_fits=any_row_fits)


def _caution_of(search: Any) -> str:
    """Return a remark on a search whose splitter kept groups together, if its fits did not protect them."""
    spent = getattr(last_step(getattr(search, "best_estimator_", None)), "privacy_spent_", None)
    if not splits_by_group(getattr(search, "cv", None)) or getattr(spent, "unit", None) != "row":
        return ""
    return (
        "; its splitter keeps groups together, but the fits protect a row, not a group: pass groups to fit "
        "with scikit-learn's metadata routing on"
    )


def _container_reads_rows(container: Any) -> str | None:
    changed = changed_methods(container)
    if changed is not None:
        return changed
    if getattr(container, "memory", None) is not None:
        return "its memory keeps the input of the steps, private rows included"
    # Other callbacks may keep rows.
    if any(type(one) is not ProgressBar for one in vars(container).get("_skl_callbacks", ())):
        return "shows private rows to its callbacks, which may keep them; call set_callbacks()"
    if getattr(container, "transformer_weights", None):
        return "its weights warn if a product with rows overflows; scale by BoundsScaler, or not at all"
    if callable(getattr(container, "verbose_feature_names_out", None)):
        return "a function of its user names its columns"
    if type(container) is not ColumnTransformer:
        return None
    reasons = [chosen_by_rows(entry[2]) for entry in container.transformers]
    if _may_be_sparse(container, True):
        reasons.append(
            "the density of private rows may decide whether its output is sparse; pass sparse_threshold=0"
        )
    return next((reason for reason in reasons if reason is not None), None)


def _may_be_sparse(step: Any, from_sparse: bool) -> bool:
    """Whether a step, or "passthrough", may return a sparse matrix."""
    if isinstance(step, str):
        return from_sparse and step == "passthrough"
    if type(step) is Pipeline:
        for _, inner in step.steps:
            from_sparse = _may_be_sparse(inner or "passthrough", from_sparse)
        return from_sparse
    if type(step) is FeatureUnion:
        return any(_may_be_sparse(inner, from_sparse) for _, inner in step.transformer_list)
    if type(step) is not ColumnTransformer:
        return may_be_sparse(step, from_sparse=from_sparse)
    # If a step that refuses sparse matrices takes some columns, there are none, or the fit fails.
    dense = any(
        refuses_sparse(_first(inner)) and _takes_some(chosen) for _, inner, chosen in step.transformers
    )
    inner_steps = [*(inner for _, inner, _ in step.transformers), step.remainder]
    return bool(step.sparse_threshold) and any(_may_be_sparse(one, not dense) for one in inner_steps)


def _first(step: Any) -> Any:
    return _first(step.steps[0][1]) if type(step) is Pipeline else step


def _takes_some(columns: Any) -> bool:
    """Whether a choice has one column or more, as far as it shows this."""
    if isinstance(columns, list | tuple):
        return any(column is not False for column in columns)
    return isinstance(columns, str | int)


def _children(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield those inside an estimator with names: every step of a container, else fitted estimators."""
    if isinstance(estimator, CONTAINERS):
        pairs = steps_of(estimator)
    else:
        learnt = [(key, value) for key, value in vars(estimator).items() if key.endswith("_")]
        found = [pair for key, value in learnt for pair in _estimators_in(key, value)]
        # Some keep the unfitted template that they cloned, which read nothing.
        pairs = [(name, child) for name, child in found if _is_fitted(child)]
    seen: set[int] = set()
    for name, child in pairs:
        if id(child) not in seen:
            seen.add(id(child))
            yield name, child


def steps_of(container: Any) -> list[tuple[str, Any]]:
    """Return names and estimators of the steps of one of the `CONTAINERS`; the fitted ones after a fit."""
    if isinstance(container, Pipeline):
        pairs = container.steps
    elif isinstance(container, FeatureUnion):
        pairs = container.transformer_list
    elif hasattr(container, "transformers_"):
        pairs = [(name, transformer) for name, transformer, _ in container.transformers_]
    else:
        named = [(name, transformer) for name, transformer, _ in container.transformers]
        pairs = [*named, ("remainder", container.remainder)]
    return [(name, step) for name, step in pairs if step is not None and not isinstance(step, str)]


def last_step(estimator: Any) -> Any:
    """Return the step that predicts: the estimator itself, or the last step of a pipeline."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def _is_fitted(estimator: BaseEstimator) -> bool:
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def _estimators_in(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseEstimator):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _estimators_in(f"{name}[{key!r}]", item)
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        for index, item in enumerate(value):
            yield from _estimators_in(f"{name}[{index}]", item)
