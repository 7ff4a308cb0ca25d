# SPDX-License-Identifier: BSD-3-Clause
"""The statements of a whole pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

from .html import NO_EPSILON, Label, figure_of, label_fragment, label_of_spent, label_page
from .plain_values import encode_amount
from .registry import RegistryEntry, registry_entry
from .schema import VERSION, check_kind, check_unchanged, readable


class ReportStatements:
    """The statements of a `PrivacyReport`."""

    def to_dict(self: Any) -> dict[str, Any]:
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
            "schema": "skprivate.privacy_report",
            "version": VERSION,
            "claim": self.claim,
            "private": self.private,
            "guarantee": dict(charged) if self.private and len(kinds) == 1 else None,
            "charged": charged,
            "reasons": list(self.reasons),
            "steps": [_encode_step(step) for step in self.steps],
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
        check_kind(statement, "skprivate.privacy_report")
        with readable():
            report = cast(Any, cls)(tuple(_decode_step(step) for step in statement["steps"]))
            check_unchanged(report.to_dict(), statement)
        return cast(Self, report)

    def to_registry(self: Any, **who_and_why: Any) -> RegistryEntry:
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
        return registry_entry(self.paid, list(self.reasons), who_and_why)

    def to_html(self: Any) -> str:
        """Return a label: a whole HTML document without scripts and without anything to load.

        Returns
        -------
        page : str
            The whole first, then every step that drew noise. All texts are escaped.
        """
        return label_page(labels_of_report(self))

    def _repr_html_(self: Any) -> str:
        """Return the same labels for a notebook."""
        return label_fragment(labels_of_report(self))


def labels_of_report(report: Any) -> list[Label]:
    """Return the labels of the whole and of every step that drew noise."""
    statement = report.to_dict()["guarantee"]
    none = "see each step" if report.private else NO_EPSILON
    whole = Label(
        subject="All steps together",
        private=report.private,
        verdict=(
            "Differential privacy (claimed by the software, not certified)"
            if report.private
            else "NOT PRIVATE"
        ),
        figure=figure_of(report.epsilon, report.delta) if statement else none,
        rows=[(f"{step.path} ({step.estimator})", f"{step.status}: {step.reason}") for step in report.steps],
        scope="Of the whole fitted object. How each step counts is in the details.",
    )
    return [whole, *(_step_label(step, report.private) for step in report.steps if step.spent is not None)]


def _step_label(step: Any, whole_private: bool) -> Label:
    label = replace(
        label_of_spent(step.spent), subject=f"{step.path} ({step.estimator}): {step.spent.mechanism}"
    )
    if whole_private or not label.private:
        return label
    # Noise on what an unpaid step made of the rows protects nobody.
    return replace(
        label,
        private=False,
        figure=f"{NO_EPSILON} for the whole",
        verdict=f"NOT PRIVATE with the other steps; of this step alone, given its input: {label.verdict}",
    )


def _encode_step(step: Any) -> dict[str, Any]:
    texts = {name: getattr(step, name) for name in ("path", "estimator", "status", "reason")}
    return {**texts, "spent": None if step.spent is None else step.spent.to_dict()}


def _decode_step(step: Mapping[str, Any]) -> Any:
    from .._privacy_report import StepReport
    from .spent import PrivacySpent

    spent = None if step["spent"] is None else PrivacySpent.from_dict(step["spent"])
    return StepReport(**{**step, "spent": spent})
