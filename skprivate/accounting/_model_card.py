# SPDX-License-Identifier: BSD-3-Clause
"""The privacy section of a model card, for a statement or for the fitted estimator that holds it."""

from typing import Any, TypeVar

from ..utils._public_module import declared_by, reason_against
from ._privacy_report import PrivacyReport
from ._statements.disclosure_risk import DisclosureRisk
from ._statements.guarantee import PrivacyGuarantee
from ._statements.model_card import blocks_of_report, blocks_of_spent, blocks_of_text
from ._statements.spent import PrivacySpent

Card = TypeVar("Card")


def privacy_section(statement: Any) -> str:
    """Return the text of a model card's section on privacy, in Markdown.

    Parameters
    ----------
    statement : PrivacySpent, PrivacyReport, DisclosureRisk, PrivacyGuarantee, or fitted estimator
        Of an estimator, its ``privacy_spent_`` or ``disclosure_risk_``. For a pipeline or a search, give
        ``skprivate.privacy_report(estimator)``: what its other steps read belongs to the claim.

    Returns
    -------
    markdown : str
        Texts are escaped.

    Raises
    ------
    TypeError
        There is no statement in it, or its class does not stand for one, as a subclass that does not declare
        itself.

    See Also
    --------
    add_privacy_section : Put it into a card of skops.

    Notes
    -----
    **Privacy**: it shows what the statement holds and nothing else of the estimator.

    Examples
    --------
    >>> from skprivate.accounting import PrivacySpent, privacy_section
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=0.5, relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp")
    >>> print(privacy_section(spent))  # doctest: +ELLIPSIS
    **differential privacy \\(claimed by the software, not certified\\)**
    ...
    | epsilon | 0.5 \\(exactly 1/2\\) |
    ...
    """
    notice = [] if getattr(statement, "releases_state", True) else ["**Never publish the fitted object.**"]
    if module := declared_by(statement):
        notice += blocks_of_text(f"Private as declared by module {module}.")[:1]
    blocks = [block for found in _statements(statement) for block in _blocks(found)]
    return "\n\n".join([*notice, *blocks])


def add_privacy_section(card: Card, statement: Any = None, *, title: str = "Privacy") -> Card:
    """Add the section to a model card of skops.

    Parameters
    ----------
    card : skops.card.Card
        It is changed.
    statement : statement or fitted estimator, default=None
        As `privacy_section` takes it. None: the card's model.
    title : str, default="Privacy"
        Title of the section.

    Returns
    -------
    card : skops.card.Card
        The same one.

    Raises
    ------
    TypeError
        That is no card, or there is no statement.

    Examples
    --------
    >>> from skprivate.accounting import PrivacySpent, add_privacy_section
    >>> class Card:  # stands for skops.card.Card
    ...     def add(self, **sections):
    ...         print(list(sections))
    ...         return self
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=0.5, relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp")
    >>> card = add_privacy_section(Card(), spent)
    ['Privacy']
    """
    sections: Any = card
    if not hasattr(sections, "add"):
        raise TypeError(f"card must be a skops.card.Card, not {type(card).__name__}.")
    text = privacy_section(sections.get_model() if statement is None else statement)
    changed: Card = sections.add(**{title: text})
    return changed


def _statements(statement: Any) -> tuple[Any, ...]:
    kinds = (PrivacySpent, PrivacyReport, DisclosureRisk, PrivacyGuarantee)
    # Its own attributes only: one that a wrapper borrows from its inside would tell of a part.
    learnt = getattr(statement, "__dict__", {})
    found = learnt.get("privacy_spent_", learnt.get("disclosure_risk_", statement))
    doubt = None if found is statement else reason_against(statement, "PrivateEstimatorMixin")
    if doubt is not None:
        raise TypeError(
            f"The class {type(statement).__name__} {doubt}. Pass skprivate.privacy_report(estimator), which "
            "says so."
        )
    found = found if isinstance(found, tuple) else (found,)
    if not found or not all(isinstance(item, kinds) for item in found):
        raise TypeError(
            f"{type(statement).__name__} holds no privacy statement. Fit a private estimator, or pass "
            "skprivate.privacy_report(estimator) for a pipeline or a search."
        )
    return found


def _blocks(statement: Any) -> list[str]:
    if isinstance(statement, PrivacySpent):
        return blocks_of_spent(statement.to_dict())
    if isinstance(statement, PrivacyReport):
        return blocks_of_report(statement.to_dict(), statement.headline())
    return blocks_of_text(str(statement))
