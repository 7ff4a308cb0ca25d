# SPDX-License-Identifier: BSD-3-Clause
"""Privacy report of a whole pipeline, and the privacy section of a model card."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self, TypeVar

from .._typing import Claim
from ..utils._public_module import declared_by, public_module, reason_against
from ._composition.compose import compose
from ._privacy_amounts import show
from ._statements import text as words
from ._statements.fields import VERSION, check_kind, check_unchanged, encode_amount, readable
from ._statements.guarantees import DisclosureRisk, PrivacyGuarantee
from ._statements.html import Label, Labelled, labels_of_report
from ._statements.registry import RegistryEntry, registry_entry_of_report
from ._statements.spent import PrivacySpent

_KIND = "skprivate.privacy_report"


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class StepReport:
    """How one fitted object inside a pipeline or a search used the private rows.

    Attributes
    ----------
    path : str
        Path of the object: step names joined by " > ".
    estimator : str
        Name of its class.
    status : {"covered", "covered before", "stateless", "public", "uncovered"}
        "covered": it drew calibrated noise. "covered before": it is a parameter that was charged separately,
        such as estimated bounds. "stateless": it learns nothing from rows. "public": its user declared it
        public. "uncovered": it read private rows outside the budget.
    reason : str
        Reason for the status, in words.
    spent : PrivacySpent or None
        Its statement, if status is "covered" or "covered before".

    Examples
    --------
    >>> from skprivate.accounting import StepReport
    >>> print(StepReport(path="scaler", estimator="StandardScaler", status="uncovered", reason="read rows"))
    scaler (StandardScaler): uncovered: read rows
    """

    path: str
    estimator: str
    status: Literal["covered", "covered before", "stateless", "public", "uncovered"]
    reason: str
    spent: PrivacySpent | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values that `json` writes."""
        return {**vars(self), "spent": None if self.spent is None else self.spent.to_dict()}

    @classmethod
    def from_dict(cls, step: Mapping[str, Any]) -> Self:
        """Return the record that `to_dict` wrote."""
        spent = None if step["spent"] is None else PrivacySpent.from_dict(step["spent"])
        return cls(**{**step, "spent": spent})

    def __str__(self) -> str:
        return words.describe_step(self.to_dict())


@public_module("skprivate.accounting")
@dataclass(frozen=True)
class PrivacyReport(Labelled):
    """The privacy of a whole fitted object; made by `privacy_report`.

    Attributes
    ----------
    steps : tuple of StepReport
        Every estimator found inside.

    Examples
    --------
    >>> from skprivate.accounting import PrivacyReport, StepReport
    >>> step = StepReport(path="scaler", estimator="StandardScaler", status="uncovered", reason="read rows")
    >>> PrivacyReport((step,)).claim
    'not-private'
    """

    steps: tuple[StepReport, ...]

    @property
    def uncovered(self) -> tuple[StepReport, ...]:
        """Steps that read private rows outside the budget."""
        return tuple(step for step in self.steps if step.status == "uncovered")

    @property
    def covered(self) -> tuple[PrivacySpent, ...]:
        """Statements of the steps that drew noise, and of estimated bounds."""
        return tuple(step.spent for step in self.steps if step.spent is not None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the whole object is not private; empty if it is private."""
        exposed = [step for step in self.steps if step.spent is None or not step.spent.private]
        found = tuple(str(step) for step in exposed if step.status not in ("stateless", "public"))
        return found or (() if self.private else ("no step drew noise",))

    @property
    def claim(self) -> Claim:
        """ "dp" if every step that read rows is covered and private, otherwise "not-private"."""
        covered = bool(self.covered) and not self.uncovered and all(spent.private for spent in self.covered)
        return "dp" if covered else "not-private"

    @property
    def private(self) -> bool:
        """Whether the claim is "dp"."""
        return self.claim == "dp"

    @property
    def epsilon(self) -> Fraction | float:
        """Sum of the steps' epsilons, whatever they protect; `effective_epsilon` is the one that holds."""
        return sum((spent.epsilon for spent in self.covered), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """Sum of the steps' deltas."""
        return sum((spent.delta for spent in self.covered), Fraction(0))

    @property
    def effective_epsilon(self) -> float:
        """The epsilon that holds for the whole object.

        Infinite if the object is not private, and if its steps differ in relation or unit, so that a sum has
        no meaning; see `compose`.
        """
        return float(compose(self.covered).epsilon) if self.private else math.inf

    def headline(self) -> str:
        """Return the claim and the spent budget in one line."""
        head = f"claim: {self.claim}"
        if not self.private:
            return head
        part = compose(self.covered).parts[0]
        if not part.holds:
            return f"{head}, of each step by itself: steps of different relation or unit do not add up"
        head += f", epsilon = {show(part.epsilon)}, relation: {part.relation}"
        return head + (f", delta = {show(part.delta)}" if part.delta else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the machine-readable statement, with plain values that `json` writes.

        Returns
        -------
        statement : dict
            In the form of `statement_schema`. ``guarantee`` is None if the whole object is not private, and
            if the steps differ in relation or unit, because their amounts do not add up.
        """
        kinds = {(spent.relation, spent.unit) for spent in self.covered}
        charged = {"epsilon": encode_amount(self.epsilon), "delta": encode_amount(self.delta)}
        return {
            "schema": _KIND,
            "version": VERSION,
            "claim": self.claim,
            "private": self.private,
            "guarantee": dict(charged) if self.private and len(kinds) == 1 else None,
            "charged": charged,
            "reasons": list(self.reasons),
            "steps": [step.to_dict() for step in self.steps],
        }

    @classmethod
    def from_dict(cls, statement: Mapping[str, Any]) -> Self:
        """Return the report that `to_dict` wrote.

        Parameters
        ----------
        statement : mapping
            Output of `to_dict`, possibly through JSON.

        Returns
        -------
        report : PrivacyReport

        Raises
        ------
        ValueError
            It is not such a statement, is of another version, has missing or unknown parts, or contradicts
            itself.
        """
        check_kind(statement, _KIND)
        with readable():
            report = cls(tuple(StepReport.from_dict(step) for step in statement["steps"]))
            check_unchanged(report.to_dict(), statement)
        return report

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return the whole object as an entry of the public registry of differential privacy deployments.

        Parameters
        ----------
        **who_and_why : str
            Fields that the software cannot know; see `RegistryEntry`. Missing fields are printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            A dict; its ``str()`` is the YAML text to submit. The steps' amounts are added up.

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or the run itself states it.
        ValueError
            A text is empty.
        """
        return registry_entry_of_report(self.to_dict(), who_and_why)

    def _labels(self) -> list[Label]:
        return labels_of_report(self.to_dict())

    def __str__(self) -> str:
        return words.describe_report(self.to_dict(), self.headline())


# The privacy section of a model card, for a statement or for the fitted estimator that holds it.

Card = TypeVar("Card")


def privacy_section(statement: Any) -> str:
    """Return the privacy section of a model card, in Markdown.

    Parameters
    ----------
    statement : PrivacySpent, PrivacyReport, DisclosureRisk, PrivacyGuarantee, or fitted estimator
        For an estimator, the section shows its ``privacy_spent_`` or ``disclosure_risk_``. For a pipeline or
        a search, pass ``skprivate.privacy_report(estimator)``, because its other steps belong to the claim.

    Returns
    -------
    markdown : str
        Texts are escaped.

    Raises
    ------
    TypeError
        The object holds no statement, or its class does not vouch for the statement, such as a subclass that
        does not declare itself.

    See Also
    --------
    add_privacy_section : Adds it to a card of skops.

    Notes
    -----
    **Privacy**: it shows the statement and nothing else of the estimator.

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
        notice += words.blocks_of_text(f"Private as declared by module {module}.")[:1]
    blocks = [block for found in _statements_in(statement) for block in _blocks_of(found)]
    return "\n\n".join([*notice, *blocks])


def add_privacy_section(card: Card, statement: Any = None, *, title: str = "Privacy") -> Card:
    """Add the section to a model card of skops.

    Parameters
    ----------
    card : skops.card.Card
        The card, which is changed in place.
    statement : statement or fitted estimator, default=None
        As in `privacy_section`. None: the card's model.
    title : str, default="Privacy"
        Title of the section.

    Returns
    -------
    card : skops.card.Card
        The same card.

    Raises
    ------
    TypeError
        ``card`` is not a card, or there is no statement.

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
    return sections.add(**{title: text})


def _statements_in(statement: Any) -> tuple[Any, ...]:
    kinds = (PrivacySpent, PrivacyReport, DisclosureRisk, PrivacyGuarantee)
    # Own attributes only: an attribute that a wrapper takes from its inner estimator describes only a part.
    learnt = getattr(statement, "__dict__", {})
    found = learnt.get("privacy_spent_", learnt.get("disclosure_risk_", statement))
    doubt = None if found is statement else reason_against(statement, "PrivateEstimatorMixin")
    if doubt is not None:
        raise TypeError(
            f"The class {type(statement).__name__} {doubt}. Pass skprivate.privacy_report(estimator), which "
            "reports that."
        )
    found = found if isinstance(found, tuple) else (found,)
    if not found or not all(isinstance(item, kinds) for item in found):
        raise TypeError(
            f"{type(statement).__name__} holds no privacy statement. Fit a private estimator, or pass "
            "skprivate.privacy_report(estimator) for a pipeline or a search."
        )
    return found


def _blocks_of(statement: Any) -> list[str]:
    if isinstance(statement, PrivacySpent):
        return words.blocks_of_spent(statement.to_dict())
    if isinstance(statement, PrivacyReport):
        return words.blocks_of_report(statement.to_dict(), statement.headline())
    return words.blocks_of_text(str(statement))
