# SPDX-License-Identifier: BSD-3-Clause
"""The contract of a private estimator."""

import warnings
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from . import _config
from ._html_repr import PrivacyHTMLMixin
from ._pipeline_report import CONTAINERS as CONTAINERS
from ._pipeline_report import StatelessMixin, privacy_report
from ._pipeline_report import estimates_of as estimates_of
from ._pipeline_report import last_step as last_step
from ._pipeline_report import reads_rows as reads_rows
from ._pipeline_report import steps_of as steps_of
from ._planning import PlannedCost, assign_roles, parameter_roles
from ._public_steps import PublicEstimator
from ._trusted_types import trusted_types
from .accounting import PrivacyLedger, PrivacyReport, PrivacySpent, StepReport
from .exceptions import PrivacyLeakError, PrivacyLeakWarning
from .utils import check_bounds
from .utils._compat import Interval
from .utils._fit import fit_context, without_private_text

__all__ = [
    "PlannedCost",
    "PrivacyReport",
    "PrivateEstimatorMixin",
    "PublicEstimator",
    "StatelessMixin",
    "StepReport",
    "assign_roles",
    "fit_context",
    "parameter_roles",
    "privacy_report",
    "trusted_types",
    "without_private_text",
]

FloatArray = NDArray[np.float64]

#: Constraints of the parameters that every private estimator shares.
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "epsilon": [Fraction, Interval(Real, 0, None, closed="neither")],
    "max_rows_per_group": [Interval(Integral, 1, None, closed="left")],
    "random_state": [np.random.Generator, "random_state"],
    "ledger": [PrivacyLedger, None],
}


class PrivateEstimatorMixin(PrivacyHTMLMixin):
    """Mixin of every private estimator: leaks are announced, costs are charged before noise is drawn.

    Place it before the scikit-learn mixins: ``class DPThing(PrivateEstimatorMixin, RegressorMixin,
    BaseEstimator)``. Decorate ``fit`` with `fit_context`, collect leaks in a list, call `_announce_leaks` and
    `_charge` when everything deterministic is done, and draw the noise last.

    Attributes
    ----------
    releases_state : bool, class attribute
        True: fitted attributes and pickles hold released values and public inputs only. False: the object
        holds a site's rows and must never be published.

    Examples
    --------
    A private count of positive rows, in full:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from skprivate import PrivacySpent
    >>> from skprivate.base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, fit_context
    >>> from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
    >>> class DPCount(PrivateEstimatorMixin, BaseEstimator):
    ...     _parameter_constraints = {k: SHARED_CONSTRAINTS[k] for k in ("epsilon", "random_state", "ledger")}
    ...
    ...     def __init__(self, epsilon=1.0, *, random_state=None, ledger=None):
    ...         self.epsilon, self.random_state, self.ledger = epsilon, random_state, ledger
    ...
    ...     @fit_context
    ...     def fit(self, X, y=None):
    ...         exact = np.array([np.count_nonzero(np.asarray(X) > 0)])
    ...         entropy = check_entropy(self.random_state)
    ...         mechanism = DiscreteLaplaceMechanism(self.epsilon, sensitivity=1)
    ...         seeded = () if entropy.private else ("the run is seeded",)
    ...         spent = PrivacySpent(
    ...             mechanism="discrete Laplace", epsilon=mechanism.epsilon, relation="replace-one",
    ...             sensitivity=1, noise_scale=mechanism.scale, noise_source=entropy.source,
    ...             deployment="curator", claim="not-private" if seeded else "dp", reasons=seeded)
    ...         self._charge(spent)
    ...         self.count_ = int(mechanism.randomize(exact, entropy)[0])
    ...         self.privacy_spent_ = spent
    ...         return self
    >>> counter = DPCount(epsilon=0.5).fit(np.ones((1000, 1)))
    >>> abs(counter.count_ - 1000) < 100, counter.privacy_spent_.private
    (True, True)
    """

    releases_state: bool = True
    _may_claim = True
    ledger: PrivacyLedger | None
    # Set on objects that were unpickled, and on their clones: strict mode travels with them.
    _pickled_strict: bool

    def _is_strict(self) -> bool:
        return _config.get_config()["strict"] or getattr(self, "_pickled_strict", False)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if self._is_strict():
            state["_pickled_strict"] = True
        return state

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]
        if getattr(self, "_pickled_strict", False):
            copy._pickled_strict = True
        return copy

    #: What to do about a leak, as the message says it.
    _remedy: str = "Declare them from public knowledge (bounds=..., classes=...) or pass public rows."

    def _announce_leaks(self, leaks: list[str]) -> None:
        """Warn once about everything that was read from private rows; an error in strict mode."""
        if not leaks:
            return
        message = f"{type(self).__name__} is not private: {'; '.join(leaks)}. {self._remedy}"
        if self._is_strict():
            raise PrivacyLeakError(message)
        warnings.warn(message, PrivacyLeakWarning, stacklevel=_USER_FRAME)

    def _charge(self, spent: PrivacySpent) -> None:
        """Charge the ledger, if there is one; to be called before any noise is drawn."""
        if self.ledger is not None:
            self.ledger.charge(spent, estimator=type(self).__name__)

    #: Whether all noise that a fit draws is in what it releases; a search drops what its losers drew.
    _releases_all_draws: bool = True

    #: Role of every parameter of the constructor: see `parameter_roles`, and `assign_roles`.
    _parameter_roles: Mapping[str, str] = {}

    def _roles_of_parameters(self, y: Any = None) -> Mapping[str, str]:
        """Roles of the parameters as they are set, for a fit to such targets."""
        return self._parameter_roles

    def _planned_cost(self, any_public: bool) -> PlannedCost:
        """What a fit will cost at most, from parameters alone; private searches ask for it."""
        raise TypeError(
            f"{type(self).__name__} states no epsilon before it is fitted, so a private search cannot pay "
            "for it in advance."
        )

    def _post_processed(self, parameters: Mapping[str, Any]) -> Self:
        """Return a fitted copy with other parameters of role "post-processing", from the same release."""
        raise TypeError(f"{type(self).__name__} has no parameters that are post-processing.")

    def _resolve_bounds(
        self, bounds: Any, X: FloatArray, public_rows: FloatArray | None, *, name: str = "bounds"
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of X: as declared, else those of the public rows, else of all rows (a leak to announce)."""
        if bounds is not None:
            names = getattr(self, "feature_names_in_", None)
            return check_bounds(bounds, X.shape[1], names, name=name)
        rows = public_rows if public_rows is not None and len(public_rows) else X
        return rows.min(axis=0), rows.max(axis=0)


# Frames between warnings.warn and the user's call of fit: _announce_leaks, fit, scikit-learn's context,
# without_private_text, fit_context.
_USER_FRAME = 6


def reasons_against(leaks: Iterable[str], source: str) -> tuple[str, ...]:
    """Return why a release cannot claim to be private: what leaked, and noise that is not secret."""
    seeded = ("random_state is seeded: who knows the seed can undo the noise",) if source == "seeded" else ()
    return (*leaks, *seeded)
