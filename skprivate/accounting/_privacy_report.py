# SPDX-License-Identifier: BSD-3-Clause
"""What the fitted objects inside a pipeline did with the private rows, and the claim for the whole."""

import math
from dataclasses import dataclass
from fractions import Fraction

from ..utils._public_module import public_module
from ._composition.compose import compose
from ._statements.pipeline_statement import ReportStatements
from ._statements.spent import PrivacySpent


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
    status: str
    reason: str
    spent: PrivacySpent | None = None

    def __str__(self) -> str:
        return f"{self.path} ({self.estimator}): {self.status}: {self.reason}"


@public_module("skprivate.accounting")
@dataclass(frozen=True)
class PrivacyReport(ReportStatements):
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
    def claim(self) -> str:
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
        head += f", epsilon = {float(part.epsilon):.6g}, relation: {part.relation}"
        return head + (f", delta = {float(part.delta):.3g}" if part.delta else "")

    def __str__(self) -> str:
        lines = [self.headline(), *(f"- {step}" for step in self.steps)]
        for step in self.steps:
            if step.spent is not None:
                lines += ["", f"{step.path} ({step.estimator})", str(step.spent)]
        return "\n".join(lines)
