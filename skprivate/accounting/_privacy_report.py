# SPDX-License-Identifier: BSD-3-Clause
"""Privacy report of a pipeline, with the claim for the whole, and the privacy section of a model card."""

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
    """What one fitted object inside a pipeline or a search did with the private rows.

    Attributes
    ----------
    path : str
        Where it stands: step names joined by " > ".
    estimator : str
        Its class.
    status : {"covered", "covered before", "stateless", "public", "uncovered"}
        It drew calibrated noise; it is a parameter that was charged separately, estimated bounds say; it
        learns nothing from rows; its user declared it public; or it read rows without paying.
    reason : str
        Why, in words.
    spent : PrivacySpent or None
        What it spent, where status is "covered" or "covered before".

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
        """Read `to_dict` back."""
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
        """The steps that read private rows without paying."""
        return tuple(step for step in self.steps if step.status == "uncovered")

    @property
    def covered(self) -> tuple[PrivacySpent, ...]:
        """What the steps that drew noise spent, and what was charged for their bounds."""
        return tuple(step.spent for step in self.steps if step.spent is not None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the whole is not private; empty if it is."""
        exposed = [step for step in self.steps if step.spent is None or not step.spent.private]
        found = tuple(str(step) for step in exposed if step.status not in ("stateless", "public"))
        return found or (() if self.private else ("no step drew noise",))

    @property
    def claim(self) -> Claim:
        """ "dp" if every step that read rows is covered and private, else "not-private"."""
        covered = bool(self.covered) and not self.uncovered and all(spent.private for spent in self.covered)
        return "dp" if covered else "not-private"

    @property
    def private(self) -> bool:
        """Whether the claim is "dp"."""
        return self.claim == "dp"

    @property
    def epsilon(self) -> Fraction | float:
        """Sum of what the steps spent, whatever they protect; `effective_epsilon` is what holds."""
        return sum((spent.epsilon for spent in self.covered), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """Sum of the steps' deltas."""
        return sum((spent.delta for spent in self.covered), Fraction(0))

    @property
    def effective_epsilon(self) -> float:
        """The epsilon that holds for the whole object.

        Infinite when it is not private, and where the steps differ in relation or unit so that no sum means
        anything; see `compose`.
        """
        return float(compose(self.covered).epsilon) if self.private else math.inf

    def headline(self) -> str:
        """Return the claim, and what was spent for it, in one line."""
        head = f"claim: {self.claim}"
        if not self.private:
            return head
        part = compose(self.covered).parts[0]
        if not part.holds:
            return f"{head}, of each step by itself: they differ in relation or unit, and do not add up"
        head += f", epsilon = {show(part.epsilon)}, relation: {part.relation}"
        return head + (f", delta = {show(part.delta)}" if part.delta else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the statement that machines read, of plain values that `json` writes.

        Returns
        -------
        statement : dict
            As `statement_schema` describes it. ``guarantee`` is None if the whole is not private, and if
            the steps differ in relation or unit: their amounts do not add up.
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
        """Read `to_dict` back.

        Parameters
        ----------
        statement : mapping
            What `to_dict` returned, possibly through JSON.

        Returns
        -------
        report : PrivacyReport

        Raises
        ------
        ValueError
            If it is no such statement, is of another version, has too much or too little, or contradicts
            itself.
        """
        check_kind(statement, _KIND)
        with readable():
            report = cls(tuple(StepReport.from_dict(step) for step in statement["steps"]))
            check_unchanged(report.to_dict(), statement)
        return report

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return the whole as an entry of the public registry of differential privacy deployments.

        Parameters
        ----------
        **who_and_why : str
            What the software cannot know; see `RegistryEntry`. What is not given is printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            A dict; its ``str()`` is the YAML text to submit. The steps' amounts are added up.

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or is one that the run itself states.
        ValueError
            A text is empty.
        """
        return registry_entry_of_report(self.to_dict(), who_and_why)

    def _labels(self) -> list[Label]:
        return labels_of_report(self.to_dict())

    def __str__(self) -> str:
        return words.describe_report(self.to_dict(), self.headline())


# The section of a model card, for a statement or for the fitted estimator that holds it.

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
        notice += words.blocks_of_text(f"Private as declared by module {module}.")[:1]
    blocks = [block for found in _statements_in(statement) for block in _blocks_of(found)]
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
    return sections.add(**{title: text})


def _statements_in(statement: Any) -> tuple[Any, ...]:
    kinds = (PrivacySpent, PrivacyReport, DisclosureRisk, PrivacyGuarantee)
    # Its own attributes only: one that a wrapper borrows from its inside would describe a part.
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


def _blocks_of(statement: Any) -> list[str]:
    if isinstance(statement, PrivacySpent):
        return words.blocks_of_spent(statement.to_dict())
    if isinstance(statement, PrivacyReport):
        return words.blocks_of_report(statement.to_dict(), statement.headline())
    return words.blocks_of_text(str(statement))
