# SPDX-License-Identifier: BSD-3-Clause
"""Privacy report of a pipeline: what each step did with private rows, and the claim for the whole."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

from .._typing import Claim
from ..utils._public_module import public_module
from ._amounts import show
from ._composition.compose import compose
from ._statements.html import label_fragment, label_page, labels_of_report
from ._statements.plain_values import encode_amount
from ._statements.registry import RegistryEntry, registry_entry_of_report
from ._statements.schema import VERSION, check_kind, check_unchanged, readable
from ._statements.spent import PrivacySpent
from ._statements.text import describe_report, describe_step

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
    status : {"paid", "paid before", "stateless", "public", "unpaid"}
        It drew calibrated noise; it is a parameter that was paid for separately, estimated bounds say; it
        learns nothing from rows; its user declared it public; or it read rows without paying.
    reason : str
        Why, in words.
    spent : PrivacySpent or None
        What it spent, where status is "paid" or "paid before".

    Examples
    --------
    >>> from skprivate.accounting import StepReport
    >>> print(StepReport(path="scaler", estimator="StandardScaler", status="unpaid", reason="read rows"))
    scaler (StandardScaler): unpaid: read rows
    """

    path: str
    estimator: str
    status: Literal["paid", "paid before", "stateless", "public", "unpaid"]
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
        return describe_step(self.to_dict())


@public_module("skprivate.accounting")
@dataclass(frozen=True)
class PrivacyReport:
    """The privacy of a whole fitted object; made by `privacy_report`.

    Attributes
    ----------
    steps : tuple of StepReport
        Every estimator found inside.

    Examples
    --------
    >>> from skprivate.accounting import PrivacyReport, StepReport
    >>> step = StepReport(path="scaler", estimator="StandardScaler", status="unpaid", reason="read rows")
    >>> PrivacyReport((step,)).claim
    'not-private'
    """

    steps: tuple[StepReport, ...]

    @property
    def unpaid(self) -> tuple[StepReport, ...]:
        """The steps that read private rows without paying."""
        return tuple(step for step in self.steps if step.status == "unpaid")

    @property
    def paid(self) -> tuple[PrivacySpent, ...]:
        """What the steps that drew noise spent, and what was paid for their bounds."""
        return tuple(step.spent for step in self.steps if step.spent is not None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the whole is not private; empty if it is."""
        exposed = [step for step in self.steps if step.spent is None or not step.spent.private]
        found = tuple(str(step) for step in exposed if step.status not in ("stateless", "public"))
        return found or (() if self.private else ("no step drew noise",))

    @property
    def claim(self) -> Claim:
        """ "dp" if every step that read rows paid and is private, else "not-private"."""
        covered = bool(self.paid) and not self.unpaid and all(spent.private for spent in self.paid)
        return "dp" if covered else "not-private"

    @property
    def private(self) -> bool:
        """Whether the claim is "dp"."""
        return self.claim == "dp"

    @property
    def epsilon(self) -> Fraction | float:
        """Sum of what the steps spent, whatever they protect; `effective_epsilon` is what holds."""
        return sum((spent.epsilon for spent in self.paid), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """Sum of the steps' deltas."""
        return sum((spent.delta for spent in self.paid), Fraction(0))

    @property
    def effective_epsilon(self) -> float:
        """The epsilon that holds for the whole object.

        Infinite when it is not private, and where the steps differ in relation or unit so that no sum means
        anything; see `compose`.
        """
        return float(compose(self.paid).epsilon) if self.private else math.inf

    def headline(self) -> str:
        """Return the claim, and what was spent for it, in one line."""
        head = f"claim: {self.claim}"
        if not self.private:
            return head
        part = compose(self.paid).parts[0]
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
        kinds = {(spent.relation, spent.unit) for spent in self.paid}
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

    def to_html(self) -> str:
        """Return a label: a whole HTML document without scripts and without anything to load.

        Returns
        -------
        page : str
            The whole first, then every step that drew noise. All texts are escaped.
        """
        return label_page(labels_of_report(self.to_dict()))

    def _repr_html_(self) -> str:
        """Return the same labels for a notebook."""
        return label_fragment(labels_of_report(self.to_dict()))

    def __str__(self) -> str:
        return describe_report(self.to_dict(), self.headline())
