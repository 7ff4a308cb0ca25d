# SPDX-License-Identifier: BSD-3-Clause
"""HTML representation of a private estimator: scikit-learn's diagram with a privacy label below it."""

from dataclasses import replace
from typing import Any

from sklearn.utils import estimator_html_repr

from ..accounting import DisclosureRisk, PrivacySpent
from ..accounting._statements.html import (
    CAPTION_OF_HOLDER,
    CAPTION_OF_RISK,
    caption_of_plan,
    caption_of_spent,
    label_fragment,
    label_of_risk,
    label_of_spent,
    unpublishable_fragment,
)
from ..utils import check_epsilon
from ..utils._compat import captioned_block
from ..utils._public_module import declared_by, reason_against


class PrivacyHTMLMixin:
    """Mixin that puts a privacy label under scikit-learn's diagram; to be placed before its mixins.

    In the diagram, also that of a pipeline, its box says in a caption what was spent, or will be. An object
    whose ``releases_state`` is False shows parameters, and a notice instead of values: neither its
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

    def _html_repr(self) -> str:
        return estimator_html_repr(self) + self._privacy_block()

    # scikit-learn < 1.7 shows its diagram in both without asking `_html_repr`.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        return bundle | {"text/html": self._html_repr()} if "text/html" in bundle else bundle

    def _privacy_block(self) -> str:
        fitted = vars(self)
        if not self.releases_state:
            if not any(name.endswith("_") for name in fitted):
                return ""
            stated_in = [name for name in ("privacy_spent_", "disclosure_risk_") if name in fitted]
            return unpublishable_fragment(type(self).__name__, " and ".join(stated_in))
        spent, risk = fitted.get("privacy_spent_"), fitted.get("disclosure_risk_")
        if isinstance(spent, PrivacySpent):
            label = label_of_spent(self._as_covered(spent).to_dict())
            module = declared_by(self)
            by_whom = f" The class is private as declared by module {module}." if module else ""
            return label_fragment([replace(label, scope=label.scope + by_whom)])
        if isinstance(risk, DisclosureRisk):
            return label_fragment([label_of_risk(risk.to_dict())])
        return ""

    def _sk_visual_block_(self) -> Any:
        return captioned_block(self, self._privacy_caption())

    def _privacy_caption(self) -> str:
        """Return the label in a few words: parameters, or the statement, and no other attribute."""
        fitted = vars(self)
        if not self.releases_state:
            return CAPTION_OF_HOLDER if any(name.endswith("_") for name in fitted) else ""
        spent = fitted.get("privacy_spent_")
        if isinstance(spent, PrivacySpent):
            return caption_of_spent(self._as_covered(spent).to_dict())
        if isinstance(fitted.get("disclosure_risk_"), DisclosureRisk):
            return CAPTION_OF_RISK
        try:
            return caption_of_plan(check_epsilon(fitted.get("epsilon")))
        except (TypeError, ValueError):  # a fit will refuse it, or none is asked for
            return ""

    def _as_covered(self, spent: PrivacySpent) -> PrivacySpent:
        """Return the statement without its claim where the class does not stand for it."""
        doubt = reason_against(self, "PrivateEstimatorMixin")
        if doubt is None:
            return spent
        return replace(spent, claim="not-private", reasons=(*spent.reasons, f"the class {doubt}"))

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        if not self.releases_state:
            return {}
        return super()._get_fitted_attr_html(doc_link)  # type: ignore[misc]
