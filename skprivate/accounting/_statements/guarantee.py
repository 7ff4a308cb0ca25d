# SPDX-License-Identifier: BSD-3-Clause
"""A privacy guarantee with its status: proven exact, a proven bound, or an estimate with its confidence."""

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, NoReturn, Self, get_args

from ...utils import check_positive, check_probability
from ...utils._public_module import public_module
from .._checks import check_choice, check_text
from .statement import GuaranteeStatements

# Relative error of what is called exact, and what a certified lower bound may be off.
_ROUNDING = 1e-9
# Beyond it a factor is printed as a power of e; beyond the other one, as one of ten.
_LARGEST_EXPONENT = 700
_LARGEST_PLAIN = 10**6

Status = Literal["exact", "upper_bound", "estimate"]
Criterion = Literal["pml", "corollary1", "dp"]

_STATUS = {
    "exact": "exact: no bound below it holds",
    "upper_bound": "upper bound: proven, the true leakage may be less",
    "estimate": "estimate: right with confidence {}",
}
_CRITERIA = {
    "pml": "pointwise maximal leakage",
    "corollary1": "pointwise maximal leakage by the mean of the worst sensitivity",
    "dp": "differential privacy",
}
_STATEMENTS = {
    "pml": "For an adversary whose prior is {prior}, {subject} raises the best success probability of any "
    "guess about your value by at most the factor {factor}",
    "dp": "Whatever an adversary knows beforehand, your data change the probability of any outcome of "
    "{subject} by at most the factor {factor}",
}
_STATEMENTS["corollary1"] = _STATEMENTS["pml"]
_NO_SUM = (
    "leakages about one secret do not add up under a fixed prior: compute the leakage of the joint channel "
    "(joint_channel), or pml_from_ldp of the sum of the releases' local epsilons."
)


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class PrivacyGuarantee(GuaranteeStatements):
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

    def __post_init__(self) -> None:
        check_choice(self.status, "status", get_args(Status))
        check_choice(self.criterion, "criterion", get_args(Criterion))
        check_text(self.subject, "subject")
        for name in ("prior", "method"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a str, got {type(getattr(self, name)).__name__}.")
        # NumPy's scalars would change the printed form and the pickle.
        for name in ("epsilon", "allowance"):
            object.__setattr__(self, name, _number(getattr(self, name), name))
        for name in ("confidence", "lower"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _number(getattr(self, name), name))
        self._check_ranges()

    def _check_ranges(self) -> None:
        if not self.epsilon >= 0 or not 0 <= self.allowance <= self.epsilon:
            raise ValueError("epsilon must be at least 0, and allowance between 0 and epsilon.")
        if self.lower is not None and not 0 <= self.lower <= self.epsilon + _ROUNDING * max(1, self.epsilon):
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
        allowance = f" (of it {self.allowance:.2g} for the grid and for rounding)" if self.allowance else ""
        lines = [
            f"Guarantee: {_CRITERIA[self.criterion]} of {self.subject}",
            f"epsilon: {self.epsilon:.6g} nats{allowance}",
            f"status: {self._status()}",
        ]
        optional = {"prior": self.prior, "method": self.method}
        lines += [f"{name}: {text}" for name, text in optional.items() if text]
        return "\n  ".join(" ".join(line.split()) for line in lines)

    def _status(self) -> str:
        if self.status == "exact" and self.allowance:
            return "exact but for that: without a grid no bound below the rest holds"
        return _STATUS[self.status].format(_shown(self.confidence))

    def statement(self) -> str:
        """Return the sentence for the holder of the secret.

        Returns
        -------
        sentence : str
            The factor is rounded up to three digits. Of an estimate it names the confidence; without a finite
            guarantee it says so.
        """
        if math.isinf(self.epsilon):
            return f"No bound holds for what {self.subject} tells about your value."
        sentence = _STATEMENTS[self.criterion].format(
            prior=self.prior, subject=self.subject, factor=_factor(self.epsilon)
        )
        if self.confidence is not None:
            sentence += f"; this is an estimate, right with confidence {_shown(self.confidence)}"
        return f"{sentence}."

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
        """
        if self.criterion != "pml":
            raise ValueError("only criterion 'pml' moves to another prior; 'dp' holds under every prior.")
        if not self.movable:
            raise ValueError(
                "what is told about one player does not move to another prior, under which others may tell "
                "of it: take the guarantee about all players, or compute it under that prior."
            )
        ratio = check_positive(rho, "rho")
        if ratio > 1:
            raise ValueError("rho must be above 0 and at most 1.")
        level = self._joint_confidence(confidence)
        return replace(
            self,
            epsilon=self.epsilon - math.log(ratio),
            status="upper_bound" if level is None else "estimate",
            confidence=level,
            lower=None,
            prior=f"at least {_up(float(ratio))} times this one, within its support: {self.prior}",
        )

    def _joint_confidence(self, confidence: float | Fraction | None) -> float | None:
        if confidence is None:
            return self.confidence
        given = float(check_probability(confidence, "confidence"))
        return given if self.confidence is None else given + self.confidence - 1


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}.")
    return float(value)


def _factor(epsilon: float) -> str:
    """e^epsilon to three digits, rounded up (but for the last bits, so that e^log(2) is 2.00)."""
    if epsilon > _LARGEST_EXPONENT:
        return f"e^{math.ceil(epsilon)}"
    factor = max(1.0, math.exp(epsilon) * (1 - _ROUNDING))
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(factor)
    return f"{rounded:f}" if rounded < _LARGEST_PLAIN else f"{rounded:.2e}"


def _up(share: float) -> str:
    """A share to three digits, rounded up: fewer priors are above it."""
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(share * (1 - _ROUNDING))
    return f"{float(rounded):g}"


def _shown(confidence: float | None) -> str:
    """A confidence to six digits, or all of them where six say more."""
    if confidence is None:
        return ""
    text = f"{confidence:.6g}"
    return text if float(text) <= confidence * (1 + 1e-12) else repr(confidence)
