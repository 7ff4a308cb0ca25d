# SPDX-License-Identifier: BSD-3-Clause
"""Disclosure risk of a protection without differential privacy: one attack, one metric, one bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ...utils._public_module import public_module
from .._checks import check_text
from .frozen_mapping import FrozenMapping
from .html import label_fragment, label_of_risk, label_page
from .provenance import PackageRecord
from .registry import RegistryEntry, registry_entry_of_risk
from .schema import check_unchanged, readable
from .text import describe_risk

_TEXTS = ("protection", "attack", "metric", "assumption")
_LISTS = ("unprotected", "leaks")


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class DisclosureRisk:
    """What is claimed for a protection against one attack; it is not differential privacy.

    There is no epsilon here: such a protection says nothing about any other attack, nor about an attacker who
    knows more than is assumed.

    Parameters
    ----------
    protection : str
        What is done, with its parameters.
    attack : str
        Who does what with which knowledge.
    metric : str
        What is counted, in percent.
    bound : mapping of str to float
        Greatest expected value of the metric in percent, per column or party.
    assumption : str
        What must be true for the bound to hold.
    unprotected : tuple of str, default=()
        What the attacker sees all the same.
    leaks : tuple of str, default=()
        What was read from rows that should have been declared.

    Raises
    ------
    ValueError
        A bound is not in [0, 100], or a text holds control characters.

    Examples
    --------
    >>> from skprivate.accounting import DisclosureRisk
    >>> print(DisclosureRisk(
    ...     protection="TQMA of depth 4", attack="linkage within 0.001 by age",
    ...     metric="correct orientation", bound={"age": 6.4}, assumption="ages are uniform"))
    TQMA of depth 4 (not differential privacy)
    - attack: linkage within 0.001 by age
    - correct orientation at most: age 6.4 %
    - assumed: ages are uniform
    """

    protection: str
    attack: str
    metric: str
    bound: Mapping[str, float]
    assumption: str
    unprotected: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if getattr(self, name) != "":
                check_text(getattr(self, name), name)
        if not all(0 <= value <= 100 for value in self.bound.values()):
            raise ValueError("a bound is a percentage, in [0, 100].")
        object.__setattr__(self, "bound", FrozenMapping(self.bound))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values that `json` writes; it is no statement of `statement_schema`.

        Returns
        -------
        risk : dict
        """
        return {
            **{name: getattr(self, name) for name in _TEXTS},
            "bound": {name: float(value) for name, value in self.bound.items()},
            **{name: list(getattr(self, name)) for name in _LISTS},
        }

    @classmethod
    def from_dict(cls, risk: Mapping[str, Any]) -> Self:
        """Read `to_dict` back.

        Parameters
        ----------
        risk : mapping
            What `to_dict` returned, possibly through JSON.

        Returns
        -------
        risk : DisclosureRisk

        Raises
        ------
        ValueError
            If something is missing, left over or out of its range.
        """
        with readable():
            found = cls(**{**risk, **{name: tuple(risk[name]) for name in _LISTS}})
            check_unchanged(found.to_dict(), risk)
        return found

    def to_html(self) -> str:
        """Return a label of one page: a whole HTML document without scripts and without anything to load.

        Returns
        -------
        page : str
            All texts are escaped. It says that this is not differential privacy.
        """
        return label_page([label_of_risk(self.to_dict())])

    def _repr_html_(self) -> str:
        """Return the same label for a notebook."""
        return label_fragment([label_of_risk(self.to_dict())])

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return an entry of the registry of differential privacy deployments that says that it is none.

        Parameters
        ----------
        **who_and_why : str
            What the software cannot know; see `RegistryEntry`. What is not given is printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            Without any epsilon; attack, metric and bound stand in its description of the parameters.

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or is one that is stated here.
        ValueError
            A text is empty.
        """
        return registry_entry_of_risk(self.to_dict(), PackageRecord.current().to_dict(), who_and_why)

    def __str__(self) -> str:
        return describe_risk(self.to_dict())
