# SPDX-License-Identifier: BSD-3-Clause
"""HTML representation of a private estimator: scikit-learn's diagram with a privacy label below it."""

from typing import Any

from sklearn.utils import estimator_html_repr

from ..accounting import DisclosureRisk, PrivacySpent
from ..accounting._statements.html import (
    label_fragment,
    label_of_risk,
    label_of_spent,
    unpublishable_fragment,
)


class PrivacyHTMLMixin:
    """Mixin that puts a privacy label under scikit-learn's diagram; to be placed before its mixins.

    An object whose ``releases_state`` is False shows parameters, and a notice instead of values: neither its
    fitted attributes nor its statements, inside a pipeline's diagram neither.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from skprivate.base._html_repr import PrivacyHTMLMixin
    >>> class Rows(PrivacyHTMLMixin, BaseEstimator):
    ...     releases_state = False
    ...
    ...     def fit(self, X, y=None):
    ...         self.rows_ = X
    ...         return self
    >>> page = Rows().fit([["a secret"]])._repr_html_()
    >>> "a secret" in page, "Never publish" in page
    (False, True)
    """

    releases_state: bool = True
    #: Whether a ``privacy_spent_`` of such an object is its own statement.
    _may_claim: bool = False

    def _html_repr(self) -> str:
        return estimator_html_repr(self) + self._privacy_block()

    def _privacy_block(self) -> str:
        fitted = vars(self)
        if not self.releases_state:
            if not any(name.endswith("_") for name in fitted):
                return ""
            stated_in = [name for name in ("privacy_spent_", "disclosure_risk_") if name in fitted]
            return unpublishable_fragment(type(self).__name__, " and ".join(stated_in))
        spent, risk = fitted.get("privacy_spent_"), fitted.get("disclosure_risk_")
        if isinstance(spent, PrivacySpent):
            return label_fragment([label_of_spent(spent.to_dict())])
        if isinstance(risk, DisclosureRisk):
            return label_fragment([label_of_risk(risk.to_dict())])
        return ""

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        if not self.releases_state:
            return {}
        return super()._get_fitted_attr_html(doc_link)  # type: ignore[misc]
