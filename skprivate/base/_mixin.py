# SPDX-License-Identifier: BSD-3-Clause
"""Mixins of private estimators: claims, leaks, charges, privacy labels, and declared columns."""

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Self, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d, estimator_html_repr

from .._config import are_seeds_allowed_for, get_config, is_strict_for, keep_mode_of, with_mode_of
from .._typing import Claim, FloatArray
from ..accounting import DisclosureRisk, PrivacyLedger, PrivacySpent
from ..accounting._statements import html
from ..accounting._statements.spent import reasons_of_inputs
from ..domain import TableDomain
from ..domain._labels import plain_cells
from ..exceptions import PrivacyLeakError, PrivacyLeakWarning
from ..noise._mechanisms import warn_of_large_delta
from ..utils import as_column, check_bounds, check_epsilon
from ..utils._compat import Interval, StrOptions, captioned_block
from ..utils._private_fit import draft_of, warn_user
from ..utils._public_module import declared_by, public_module, reason_against
from ..utils._tables import check_array, domain_line, read_numbers, refuse_kinds, validate_data, within_bounds
from ._public_facts import PlannedCost, PublicShape

#: Constraints of the parameters that every private estimator shares.
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "epsilon": [Fraction, Interval(Real, 0, None, closed="neither")],
    "max_rows_per_group": [Interval(Integral, 1, None, closed="left")],
    "random_state": [np.random.Generator, "random_state"],
    "ledger": [PrivacyLedger, None],
}
#: Constraints of the parameters that estimators of a trusted curator share.
CURATOR_CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "delta": [Fraction, Interval(Real, 0, 1, closed="left")],
    "mechanism": [StrOptions({"auto", "laplace", "gaussian"})],
    "domain": [TableDomain, None],
    "relation": [StrOptions({"replace-one", "add-remove"})],
}

_UNSEEDED = (
    "Leave it None. In a test or a simulation, allow it with skprivate.config_context(allow_seeds=True)."
)
# Clones of unseeded estimators: if they have a seed later, their owner did not set it. This is no attribute,
# which displays would show.
_UNSEEDED_CLONES: "weakref.WeakSet[PrivateEstimatorMixin]" = weakref.WeakSet()
# The mark of such a clone in a pickle.
_CLONED_UNSEEDED = "_cloned_unseeded"

Class = TypeVar("Class", bound=type)


# Whether a release may claim differential privacy, and the refusal of seeds in strict mode.


class ClaimArguments(TypedDict):
    """The two arguments of `PrivacySpent` for the claim, and for the reasons against it."""

    claim: Claim
    reasons: tuple[str, ...]


def claim_of(
    leaks: Iterable[str], source: str, estimator: Any = None, inputs: Iterable[str] = ()
) -> ClaimArguments:
    """Return the claim of a release, as arguments of `PrivacySpent`.

    Parameters
    ----------
    leaks : iterable of str
        Descriptions of values that were read from private rows without spending budget. They are the same as
        for `PrivateEstimatorMixin.announce_leaks`.
    source : str
        ``source`` of the entropy of the noise; "seeded" is not private.
    estimator : estimator, default=None
        An estimator whose parameters may hold bounds of `estimate_bounds`.
    inputs : iterable of str, default=()
        Names of these parameters.

    Returns
    -------
    claim : dict
        ``claim`` ("dp" without a reason against it, otherwise "not-private") and ``reasons``. Pass them as
        ``PrivacySpent(..., **claim_of(leaks, entropy.source))``.

    Notes
    -----
    **Privacy.** The claim is a function of parameters and of the source of the noise. It reveals nothing
    about rows, and it does not check the given leaks.

    Examples
    --------
    >>> from skprivate.base import claim_of
    >>> claim_of([], "os-entropy")
    {'claim': 'dp', 'reasons': ()}
    >>> claim_of(["the bounds were read from private rows"], "os-entropy")["claim"]
    'not-private'
    """
    seeded = ("random_state is seeded: who knows the seed can undo the noise",) if source == "seeded" else ()
    reasons = (*leaks, *seeded, *reasons_of_inputs(estimator, inputs))
    return {"claim": "not-private" if reasons else "dp", "reasons": reasons}


def warn_of_delta(spent: PrivacySpent) -> None:
    """Warn before a charge if delta is not below 1 / n. This needs n in the statement, where it is public."""
    # A statement holds the number of units, or that of all their rows.
    of_units, of_rows = ("groups", "private groups"), ("rows", "private rows", "n_rows")
    for name in (*of_units, *of_rows):
        count = spent.unprotected.get(name)
        if isinstance(count, Integral):
            n_units = int(count) if name in of_units else int(count) // spent.max_rows_per_unit
            warn_of_large_delta(spent.delta, n_units, spent.unit)
            break


def refuse_seed(random_state: Any, name: str) -> None:
    """Refuse seeded noise in strict mode, unless seeds are declared to be allowed.

    It is for functions that draw noise. Estimators call `PrivateEstimatorMixin.announce_leaks`.

    Parameters
    ----------
    random_state : None, int, RandomState or Generator
        None: there is no seed.
    name : str
        The name of the user's function, for the message.

    Raises
    ------
    PrivacyLeakError
        There is a seed, strict mode is on, and seeds are not allowed.

    Notes
    -----
    **Privacy.** Whoever knows a seed can subtract the noise. The check reads the parameter alone.

    Examples
    --------
    >>> import skprivate
    >>> from skprivate.base import refuse_seed
    >>> with skprivate.config_context(strict=True):
    ...     refuse_seed(0, "mean")
    Traceback (most recent call last):
    skprivate.exceptions.PrivacyLeakError: mean is not private: its noise is seeded by random_state. ...
    """
    config = get_config()
    if random_state is not None and config["strict"] and not config["allow_seeds"]:
        raise PrivacyLeakError(f"{name} is not private: its noise is seeded by random_state. {_UNSEEDED}")


# The privacy label below scikit-learn's diagram.


def with_privacy_label(cls: Class) -> Class:
    """Decorate a class of estimators that puts a privacy label under scikit-learn's diagram.

    In the diagram, also that of a pipeline, the caption of its box shows what was spent, or will be spent. An
    object whose ``releases_state`` is False shows parameters, and a notice instead of values. It shows
    neither fitted attributes nor statements, also inside the diagram of a pipeline.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from skprivate.base._mixin import with_privacy_label
    >>> @with_privacy_label
    ... class Rows(BaseEstimator):
    ...     releases_state = False
    ...
    ...     def fit(self, X, y=None):
    ...         self.rows_ = X
    ...         return self
    >>> page = Rows().fit([["a secret"]])._repr_html_()
    >>> "a secret" in page, "Never publish" in page
    (False, True)
    """
    # scikit-learn < 1.7 shows its diagram in `_repr_html_inner` and does not call `_html_repr`.
    cls._html_repr = cls._repr_html_inner = _html_repr  # type: ignore[attr-defined]
    for method in (_repr_mimebundle_, _sk_visual_block_, _get_fitted_attr_html):
        setattr(cls, method.__name__, method)
    return cls


def _html_repr(self: Any) -> str:
    return estimator_html_repr(self) + _label_of(self)


def _repr_mimebundle_(self: Any, **kwargs: Any) -> dict[str, str]:
    bundle: dict[str, str] = BaseEstimator._repr_mimebundle_(self, **kwargs)
    return bundle | {"text/html": self._html_repr()} if "text/html" in bundle else bundle


def _sk_visual_block_(self: Any) -> Any:
    return captioned_block(self, _caption_of(self))


def _get_fitted_attr_html(self: Any, doc_link: str = "") -> Any:
    return BaseEstimator._get_fitted_attr_html(self, doc_link) if self.releases_state else {}


def _label_of(estimator: Any) -> str:
    fitted = vars(estimator)
    if not estimator.releases_state:
        if not any(name.endswith("_") for name in fitted):
            return ""
        stated_in = [name for name in ("privacy_spent_", "disclosure_risk_") if name in fitted]
        return html.unpublishable_fragment(type(estimator).__name__, " and ".join(stated_in))
    spent, risk = fitted.get("privacy_spent_"), fitted.get("disclosure_risk_")
    if isinstance(spent, PrivacySpent):
        label = html.label_of_spent(_as_covered(estimator, spent).to_dict())
        module = declared_by(estimator)
        by_whom = f" The class is private as declared by module {module}." if module else ""
        return html.label_fragment([replace(label, scope=label.scope + by_whom)])
    if isinstance(risk, DisclosureRisk):
        return html.label_fragment([html.label_of_risk(risk.to_dict())])
    return ""


def _caption_of(estimator: Any) -> str:
    """Return the label in a few words, from parameters or the statement, and no other attribute."""
    fitted = vars(estimator)
    if not estimator.releases_state:
        return html.CAPTION_OF_HOLDER if any(name.endswith("_") for name in fitted) else ""
    spent = fitted.get("privacy_spent_")
    if isinstance(spent, PrivacySpent):
        return html.caption_of_spent(_as_covered(estimator, spent).to_dict())
    if isinstance(fitted.get("disclosure_risk_"), DisclosureRisk):
        return html.CAPTION_OF_RISK
    try:
        return html.caption_of_plan(check_epsilon(fitted.get("epsilon")))
    except (TypeError, ValueError):  # a fit will refuse it, or there is no epsilon
        return ""


def _as_covered(estimator: Any, spent: PrivacySpent) -> PrivacySpent:
    """Return the statement, without its claim if the class is not trusted."""
    doubt = reason_against(estimator, "PrivateEstimatorMixin")
    if doubt is None:
        return spent
    return replace(spent, claim="not-private", reasons=(*spent.reasons, f"the class {doubt}"))


@with_privacy_label
class PrivacyHTMLMixin:
    """Mixin of estimators with a privacy label inside private ones."""

    releases_state: bool = True


# The contract of a private estimator.


@public_module("skprivate.base")
@with_privacy_label
class PrivateEstimatorMixin:
    """Mixin of every private estimator: it announces leaks, and charges costs before noise is drawn.

    Place it before the scikit-learn mixins: ``class DPThing(PrivateEstimatorMixin, RegressorMixin,
    BaseEstimator)``. A subclass of a private estimator must list it again, as its last base: a report trusts
    no class that does not declare itself. Decorate ``fit`` with `private_fit`, and collect leaks in a list.
    Call `announce_leaks` and `charge` when everything deterministic is done, and draw the noise last.
    :doc:`/extending` describes the whole contract.

    Attributes
    ----------
    releases_state : bool, class attribute
        True: fitted attributes and pickles hold released values and public inputs only. False: the object
        holds a site's rows and must never be published.
    releases_all_draws : bool, class attribute
        True: all that a fit draws counts as released. False: the fit releases less than its mechanisms
        return, such as the position of the largest noisy score, and the proof shows why that costs less. The
        battery then tests the attributes of fitted objects.
    declared_roles : dict, class attribute
        Role of every parameter of the constructor, made by `assign_roles`. Other parameters have the role
        "release".
    leak_remedy : str, class attribute
        The remedy of a leak, as a sentence for the message.

    Notes
    -----
    **Privacy.** The mixin makes the order of a fit (announce, charge, draw) possible and testable. It proves
    nothing. The author must prove that the noise fits the sensitivity.
    `skprivate.audit.check_private_estimator` attacks the claim.

    Examples
    --------
    A private count of the rows whose first column is positive, in full:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from skprivate import PrivacySpent
    >>> from skprivate.base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, claim_of, private_fit
    >>> from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
    >>> class DPCount(PrivateEstimatorMixin, BaseEstimator):
    ...     _parameter_constraints = {k: SHARED_CONSTRAINTS[k] for k in ("epsilon", "random_state", "ledger")}
    ...
    ...     def __init__(self, epsilon=1.0, *, random_state=None, ledger=None):
    ...         self.epsilon, self.random_state, self.ledger = epsilon, random_state, ledger
    ...
    ...     @private_fit
    ...     def fit(self, X, y=None):
    ...         exact = np.array([np.count_nonzero(np.asarray(X)[:, 0] > 0)])
    ...         entropy = check_entropy(self.random_state)
    ...         self.announce_leaks([])
    ...         mechanism = DiscreteLaplaceMechanism(self.epsilon, sensitivity=1)
    ...         spent = PrivacySpent(
    ...             mechanism="discrete Laplace", epsilon=mechanism.epsilon, relation="replace-one",
    ...             sensitivity=1, noise_scale=mechanism.scale, noise_source=entropy.source,
    ...             deployment="curator", **claim_of([], entropy.source))
    ...         self.charge(spent)
    ...         self.count_ = int(mechanism.randomize(exact, entropy)[0])
    ...         self.privacy_spent_ = spent
    ...         return self
    >>> counter = DPCount(epsilon=0.5).fit(np.ones((1000, 1)))
    >>> abs(counter.count_ - 1000) < 100, counter.privacy_spent_.private
    (True, True)
    """

    releases_state: bool = True
    releases_all_draws: bool = True
    _declares = "PrivateEstimatorMixin"
    ledger: PrivacyLedger | None
    domain: TableDomain | None
    domain_: TableDomain
    bounds_: tuple[FloatArray, FloatArray]
    n_features_in_: int

    #: The parameter that declares bounds of X without a domain.
    _bounds_parameter = "bounds"

    def is_strict(self) -> bool:
        """Return whether strict mode holds for this object, by the process or by its pickle.

        Returns
        -------
        strict : bool
        """
        return is_strict_for(self)

    def __getstate__(self) -> dict[str, Any]:
        state = with_mode_of(self, super().__getstate__())
        if self in _UNSEEDED_CLONES:
            state[_CLONED_UNSEEDED] = True
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        if _CLONED_UNSEEDED in state:
            _UNSEEDED_CLONES.add(self)
        super().__setstate__(  # type: ignore[misc]
            {name: value for name, value in state.items() if name != _CLONED_UNSEEDED}
        )

    def __sklearn_clone__(self) -> Any:
        copy = keep_mode_of(self, super().__sklearn_clone__())  # type: ignore[misc]
        # Also for the clone of a clone: one meta-estimator may hold another.
        if self in _UNSEEDED_CLONES or getattr(self, "random_state", 0) is None:
            _UNSEEDED_CLONES.add(copy)
        return copy

    def _draft(self) -> Self:
        """Return the copy that a fit changes until it is complete."""
        draft: Self = draft_of(self)
        if self in _UNSEEDED_CLONES:
            _UNSEEDED_CLONES.add(draft)
        return draft

    leak_remedy: str = "Declare them from public knowledge (bounds=..., classes=...) or pass public rows."

    def announce_leaks(self, leaks: list[str], *, seeded: bool = False) -> None:
        """Warn once about everything that makes a fit not private by accident; raise in strict mode.

        These are values that were read from private rows, and a seed that a meta-estimator set on its clone
        of an unseeded estimator. A seed of the user gives no warning, but is an error in strict mode. Seeds
        that are declared (``allow_seeds``) are neither.

        Parameters
        ----------
        leaks : list of str
            Descriptions of everything that would be read from private rows, without its values. Empty: only
            seeds are checked.
        seeded : bool, default=False
            Whether noise is seeded by anything except ``random_state`` of this estimator.

        Raises
        ------
        PrivacyLeakError
            In strict mode, if there is a leak or a seed.

        Warns
        -----
        PrivacyLeakWarning
            Outside strict mode.
        """
        strict, reasons, remedies = self.is_strict(), list(leaks), [self.leak_remedy] if leaks else []
        names = getattr(self, "feature_names_in_", None)
        if names is not None and hasattr(self, "domain") and any("bounds of X" in leak for leak in leaks):
            line = domain_line(dict.fromkeys(names, np.dtype(float)))
            remedies.append(f"For a table with other columns than numbers: {line}.")
        own_seed = getattr(self, "random_state", None) is not None
        declared = get_config()["allow_seeds"]
        if own_seed and not strict and not declared and self in _UNSEEDED_CLONES:
            reasons.append("its noise is seeded, by what cloned it without a seed and set random_state")
            remedies.append("Fit it outside such a meta-estimator, or seed it yourself in a simulation.")
        elif (own_seed or seeded) and strict and not are_seeds_allowed_for(self):
            reasons.append("its noise is seeded by random_state")
            remedies.append(_UNSEEDED)
        if not reasons:
            return
        message = f"{type(self).__name__} is not private: {'; '.join(reasons)}. {' '.join(remedies)}"
        if strict:
            raise PrivacyLeakError(message)
        warn_user(message, PrivacyLeakWarning)

    def _find_ledgers(self) -> list[PrivacyLedger]:
        """Return the ledgers in which a fit is charged, or counted as failed."""
        ledger = getattr(self, "ledger", None)
        return [ledger] if isinstance(ledger, PrivacyLedger) else []

    def charge(self, spent: PrivacySpent, *, charge_id: str | None = None) -> None:
        """Charge the ledger, if there is one. Call it before any noise is drawn.

        Parameters
        ----------
        spent : PrivacySpent
            The statement that the fit will store as ``privacy_spent_``.
        charge_id : str, default=None
            Public text with which the ledger counts this charge once, see `PrivacyLedger.charge`.

        Raises
        ------
        BudgetExceededError, LedgerError
            The ledger refuses the charge. Nothing is charged.

        Warns
        -----
        UserWarning
            Delta is not below 1 / n, and the number n of rows or groups is public: a weak guarantee.
        """
        warn_of_delta(spent)
        if self.ledger is not None:
            named = {} if charge_id is None else {"charge_id": charge_id}
            self.ledger.charge(spent, estimator=type(self).__name__, **named)

    declared_roles: Mapping[str, str] = {}

    def roles_for(self, y: Any = None) -> Mapping[str, str]:
        """Return the roles of the parameters as they are set. Override it if values change roles.

        Parameters
        ----------
        y : array-like, default=None
            The targets of the fit. Only their shape and type may be used.

        Returns
        -------
        roles : dict
            See `parameter_roles`. Here: ``declared_roles``.
        """
        return self.declared_roles

    def planned_cost(self, any_public: bool) -> PlannedCost:
        """Return an upper bound on the cost of a fit. Estimators for a private search override it.

        Parameters
        ----------
        any_public : bool
            Whether the fit will be given public rows.

        Returns
        -------
        cost : PlannedCost
            It is a function of parameters alone.

        Raises
        ------
        TypeError
            The estimator does not override it: it states no epsilon before a fit.
        """
        raise TypeError(
            f"{type(self).__name__} states no epsilon before it is fitted, so a private search cannot charge "
            "for it."
        )

    def check_public(self, shape: PublicShape) -> None:
        """Raise the errors of a fit that any rows of such a shape would cause; to be overridden.

        A fit calls it when it knows the shape of its rows. A private search calls it for every candidate
        before the charge.

        Parameters
        ----------
        shape : PublicShape
        """

    def post_processed(self, parameters: Mapping[str, Any]) -> Self:
        """Return a fitted copy with other post-processing of the same release; to be overridden.

        Parameters
        ----------
        parameters : dict
            New values of parameters of role "post-processing".

        Returns
        -------
        estimator : estimator
            A copy. This estimator does not change, and no row is read.

        Raises
        ------
        TypeError
            The estimator does not override it: it has no such parameters.
        """
        raise TypeError(f"{type(self).__name__} has no parameters that are post-processing.")

    def resolve_bounds(
        self, bounds: Any, X: FloatArray, public_rows: FloatArray | None, *, name: str = "bounds"
    ) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of X: the declared ones, else those of the public rows, else of all rows.

        Parameters
        ----------
        bounds : pair, dict or None
            The parameter.
        X : ndarray of shape (n_rows, n_features)
        public_rows : ndarray of shape (n_public, n_features) or None
        name : str, default="bounds"
            The parameter's name, for messages.

        Returns
        -------
        lower, upper : ndarray of shape (n_features,)

        Raises
        ------
        TypeError, ValueError
            They are no bounds of such columns, or they are read from rows with NaN or infinity.

        Notes
        -----
        **Privacy.** Bounds of all rows are a leak. The caller passes it to `announce_leaks` and `claim_of`.
        """
        if bounds is not None:
            names = getattr(self, "feature_names_in_", None)
            return check_bounds(bounds, X.shape[1], names, name=name)
        rows = public_rows if public_rows is not None and len(public_rows) else X
        lower, upper = rows.min(axis=0), rows.max(axis=0)
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise ValueError(f"the rows that the bounds are read from hold NaN or infinity: declare {name}.")
        return lower, upper

    def read_numbers(self, X: Any) -> FloatArray:
        """Validate a table in strict mode. Only its type can fail; cells that are no numbers become NaN.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        table : ndarray of float64 of shape (n_rows, n_features)
            The caller moves NaN and infinities within the declared bounds, by `within_bounds`.

        Raises
        ------
        TypeError, ValueError
            It is no table, or a table of dates, masks or complex numbers.
        """
        return read_numbers(self, X, least_rows=0 if self.may_lack_rows() else 1)

    def may_lack_rows(self) -> bool:
        """Return whether a fit works without private rows: in strict mode, if the relation is "add-remove".

        Returns
        -------
        may_lack_rows : bool

        Notes
        -----
        **Privacy.** Under "add-remove", one row and no row are neighbours. An error for only one of them
        spends no epsilon and distinguishes them with certainty. The sums of no rows are 0 and get the same
        noise, so that the bound on the loss holds without a special case. Under the other relations the
        number of private rows is public. Outside strict mode a table without rows is an error, as
        scikit-learn's checks require, and the ledger counts it.
        """
        return self.is_strict() and getattr(self, "relation", None) == "add-remove"

    def read_labels(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Validate labels in strict mode: a label that is neither text nor a number is in no class.

        White space around text in objects is removed. Labels that are neither become None.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
        n_rows : int

        Returns
        -------
        labels : ndarray of shape (n_rows,)

        Raises
        ------
        TypeError, ValueError
            There are no labels, or not one per row, or they are dates or masks.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        refuse_kinds(y, "y")
        labels = np.asarray(as_column(y))
        labels = labels if labels.ndim == 1 else column_or_1d(labels, warn=True)
        if len(labels) != n_rows:
            raise ValueError("X and y must have one label per row.")
        return plain_cells(labels)

    # Estimators with a parameter ``domain`` read their tables through it. Without a domain, X is not encoded.
    # ``n_features_in_`` and ``feature_names_in_`` are about columns of the raw table, and
    # ``domain_.encoded_names`` about the encoded columns.

    @property
    def _declared_bounds(self) -> Any:
        return getattr(self, self._bounds_parameter)

    def _check_domain(self) -> None:
        """Raise ValueError if bounds are declared beside a domain, which has its own."""
        if self.domain is not None and self._declared_bounds is not None:
            raise ValueError(f"domain declares the bounds of X: pass domain or {self._bounds_parameter}.")

    def _encode_rows(self, X: Any) -> Any:
        """Return the rows of a fit, encoded as numbers if there is a domain."""
        vars(self).pop("domain_", None)
        if self.domain is None:
            return X
        return self.domain.encode(X, strict=self.is_strict())

    def _name_columns(self) -> None:
        """Set the number and the names of the raw columns, and keep the domain, if there is one."""
        if self.domain is not None:
            self.domain_ = self.domain
            self.n_features_in_ = len(self.domain.names)
            self.feature_names_in_ = np.array(self.domain.names, dtype=object)

    def _names_of_features(self) -> tuple[str, ...] | None:
        """Return the names of the columns of the model; None if they have no names."""
        if self.domain is not None:
            return self.domain.encoded_names
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def _read_fitted(self, X: Any, **options: Any) -> FloatArray:
        """Validate rows for a fitted model; `options` are those of scikit-learn's ``check_array``.

        In strict mode no cell makes it fail: cells that are no finite numbers are moved within the bounds.
        """
        domain = getattr(self, "domain_", None)
        if domain is not None:
            return check_array(domain.encode(X, strict=self.is_strict()), **options)
        if self.is_strict():
            return within_bounds(read_numbers(self, X, reset=False), *self.bounds_)
        return validate_data(self, X, dtype=np.float64, reset=False, **options)

    def _after_release(self) -> None:
        """Warn about released values, when the fit is complete."""

    def _encoded_shape(self, shape: PublicShape) -> PublicShape:
        """Return the shape of encoded rows from that of the table; ValueError for other columns."""
        if self.domain is None or shape.n_features is None:
            return shape
        self._check_domain()
        names, found = self.domain.names, shape.feature_names
        if len(names) != shape.n_features or (found is not None and set(found) != set(names)):
            missing = [repr(name) for name in names if found is not None and name not in found]
            what = f": it lacks {', '.join(missing)}" if missing else ""
            raise ValueError(f"the columns of X are not those of domain{what}.")
        return replace(shape, n_features=len(self.domain.encoded_names), feature_names=None)
