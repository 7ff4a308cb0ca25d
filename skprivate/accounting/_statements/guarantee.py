# SPDX-License-Identifier: BSD-3-Clause
"""A privacy guarantee with its status: proven exact, a proven bound, or an estimate with its confidence."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from numbers import Real
from typing import Any, NoReturn, Self, get_args

from ..._typing import Criterion, Status
from ...utils import check_positive, check_probability
from ...utils._public_module import public_module
from .._checks import check_choice, check_text
from .html import label_fragment, label_of_guarantee, label_page
from .plain_values import decode_amount, encode_amount
from .provenance import PackageRecord
from .registry import RegistryEntry, registry_entry_of_guarantee
from .schema import VERSION, check_kind, check_unchanged, readable
from .text import ROUNDING, describe_guarantee, round_up, sentence_of_guarantee

_KIND = "skprivate.privacy_guarantee"
# Floats that a statement holds as amounts.
_AMOUNTS = ("epsilon", "confidence", "lower", "allowance")
_NO_SUM = (
    "leakages about one secret do not add up under a fixed prior: compute the leakage of the joint channel "
    "(joint_channel), or pml_from_ldp of the sum of the releases' local epsilons."
)


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class PrivacyGuarantee:
    """A bound on what is released, and how far it is proven.

    Parameters
    ----------
    epsilon : float
        The bound in nats, at least 0; infinite where there is none.
    status : {"exact", "upper_bound", "estimate"}
        Whether it is attained, proven, or right with a confidence.
    criterion : {"pml", "corollary1", "dp"}
        Pointwise maximal leakage (almost surely), its simpler bound, or differential privacy.
    subject : str
        What is released, such as "your report".
    prior : str, default=""
        The prior in words; empty for differential privacy, which has none.
    confidence : float or None, default=None
        In (0, 1): of an estimate.
    lower : float or None, default=None
        A certified lower bound on the same leakage.
    allowance : float, default=0.0
        Part of `epsilon` that pays for the grid of the noise and for rounding.
    method : str, default=""
        How it was computed.
    movable : bool, default=True
        Whether what the secret makes of the outcome is the same under all priors. It is not for one player
        among others: the prior says what the player's secret tells of theirs.
    report_epsilon : Fraction or None, default=None
        Local epsilon of the one report that it is about, where that is known: `PrivacySpent.given_prior`
        takes it for no other run. It is no part of the statement, and missing in one that is read back.

    Raises
    ------
    TypeError, ValueError
        If a field is of another type or out of its range, an estimate has no confidence, or leakage no prior.

    Notes
    -----
    **Privacy**: a function of public things and of the prior, never of the secrets themselves.

    Examples
    --------
    >>> from skprivate.accounting import PrivacyGuarantee
    >>> guarantee = PrivacyGuarantee(
    ...     epsilon=0.584, status="exact", criterion="pml", subject="your report",
    ...     prior="two values with probabilities 0.7 and 0.3",
    ... )
    >>> print(guarantee.statement())
    For an adversary whose prior is two values with probabilities 0.7 and 0.3, your report raises the best
    success probability of any guess about your value by at most the factor 1.80.
    >>> guarantee + guarantee
    Traceback (most recent call last):
    TypeError: leakages about one secret do not add up under a fixed prior: ...
    """

    epsilon: float
    status: Status
    criterion: Criterion
    subject: str
    prior: str = ""
    confidence: float | None = None
    lower: float | None = None
    allowance: float = 0.0
    method: str = ""
    movable: bool = True
    report_epsilon: Fraction | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_choice(self.status, "status", get_args(Status))
        check_choice(self.criterion, "criterion", get_args(Criterion))
        check_text(self.subject, "subject")
        for name in ("prior", "method"):
            if getattr(self, name) != "":
                check_text(getattr(self, name), name)
        # NumPy's scalars would change the printed form and the pickle.
        for name in ("epsilon", "allowance"):
            object.__setattr__(self, name, _number(getattr(self, name), name))
        for name in ("confidence", "lower"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _number(getattr(self, name), name))
        if self.report_epsilon is not None:
            object.__setattr__(self, "report_epsilon", check_positive(self.report_epsilon, "report_epsilon"))
        self._check_ranges()

    def _check_ranges(self) -> None:
        if not self.epsilon >= 0 or not 0 <= self.allowance <= self.epsilon:
            raise ValueError("epsilon must be at least 0, and allowance between 0 and epsilon.")
        if self.lower is not None and not 0 <= self.lower <= self.epsilon + ROUNDING * max(1, self.epsilon):
            raise ValueError("lower must be between 0 and epsilon.")
        if (self.status == "estimate") != (self.confidence is not None):
            raise ValueError("confidence belongs to an estimate, and every estimate has one.")
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise ValueError("confidence must be above 0 and below 1.")
        if (self.criterion == "dp") != (not self.prior.strip()):
            raise ValueError("prior must be given for leakage, which depends on it, and not for 'dp'.")

    def __float__(self) -> float:
        return self.epsilon

    def __add__(self, other: Any) -> NoReturn:
        raise TypeError(_NO_SUM)

    __radd__ = __add__

    def __str__(self) -> str:
        return describe_guarantee(self.to_dict())

    def statement(self) -> str:
        """Return the sentence for the holder of the secret.

        Returns
        -------
        sentence : str
            The factor is rounded up to three digits. Of an estimate it names the confidence; without a finite
            guarantee it says so.
        """
        return sentence_of_guarantee(self._encoded())

    def under_prior(self, rho: float | Fraction, *, confidence: float | Fraction | None = None) -> Self:
        """Return what holds under another prior P' with dP'/dP >= rho whose support is within that of P.

        Parameters
        ----------
        rho : float or Fraction
            In (0, 1].
        confidence : float, Fraction or None, default=None
            In (0, 1), if rho is right with this confidence only (see `prior_ratio`): the guarantee is an
            estimate then. The errors of two estimates add up.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``log(1 / rho)`` more: no output's probability falls by more than the factor rho, and the
            largest conditional probability is over no more inputs.

        Raises
        ------
        ValueError
            rho or the confidence is out of its range, nothing is left of the confidence, the criterion is
            not "pml" (differential privacy holds under every prior as it is), or `movable` is False: under
            another prior players may depend on each other, which no rho bounds.

        Notes
        -----
        Proof: :doc:`/proofs/leakage`.
        """
        if self.criterion != "pml":
            raise ValueError("only criterion 'pml' moves to another prior; 'dp' holds under every prior.")
        if not self.movable:
            raise ValueError(
                "what is told about one player does not move to another prior, under which others may tell "
                "of it: take the guarantee about all players, or compute it under that prior."
            )
        ratio = check_positive(rho, "rho")
        if ratio > 1 or not float(ratio):
            raise ValueError("rho must be above 0, as a float too, and at most 1.")
        level = self._joint_confidence(confidence)
        return replace(
            self,
            epsilon=self.epsilon - math.log(ratio),
            status="upper_bound" if level is None else "estimate",
            confidence=level,
            lower=None,
            prior=f"at least {round_up(float(ratio))} times this one, within its support: {self.prior}",
        )

    def _joint_confidence(self, confidence: float | Fraction | None) -> float | None:
        if confidence is None:
            return self.confidence
        given = float(check_probability(confidence, "confidence"))
        return given if self.confidence is None else given + self.confidence - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the statement that machines read, of plain values that `json` writes.

        Returns
        -------
        statement : dict
            As `statement_schema` describes it.
        """
        return {**self._encoded(), "statement": self.statement()}

    def _encoded(self) -> dict[str, Any]:
        texts = ("status", "criterion", "subject", "prior", "method")
        return {
            "schema": _KIND,
            "version": VERSION,
            **{name: encode_amount(getattr(self, name)) for name in _AMOUNTS},
            **{name: getattr(self, name) for name in texts},
            "movable": self.movable,
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
        guarantee : PrivacyGuarantee

        Raises
        ------
        ValueError
            If it is no such statement, is of another version, has too much or too little, or contradicts
            itself.
        """
        check_kind(statement, _KIND)
        with readable():
            known = {item.name: statement[item.name] for item in fields(cls) if item.compare}
            for name in _AMOUNTS:
                amount = decode_amount(known[name])
                known[name] = None if amount is None else float(amount)
            guarantee = cls(**known)
            check_unchanged(guarantee.to_dict(), statement)
        return guarantee

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return the guarantee as an entry of the public registry of differential privacy deployments.

        Parameters
        ----------
        **who_and_why : str
            What the software cannot know; see `RegistryEntry`. What is not given is printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            Pointwise maximal leakage is "Custom"; an estimate, or no bound, is "Not differentially private".

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or is one that the guarantee itself states.
        ValueError
            A text is empty.
        """
        return registry_entry_of_guarantee(self.to_dict(), PackageRecord.current().to_dict(), who_and_why)

    def to_html(self) -> str:
        """Return a label of one page: a whole HTML document without scripts and without anything to load.

        Returns
        -------
        page : str
            All texts are escaped.
        """
        return label_page([label_of_guarantee(self.to_dict())])

    def _repr_html_(self) -> str:
        """Return the same label for a notebook."""
        return label_fragment([label_of_guarantee(self.to_dict())])


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}.")
    return float(value)
