# SPDX-License-Identifier: BSD-3-Clause
"""A privacy guarantee with its status: proven exact, a proven bound, or an estimate with its confidence."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, Self, get_args

Status = Literal["exact", "upper_bound", "estimate"]
Criterion = Literal["pml", "corollary1", "dp"]

_STATUS = {
    "exact": "exact: no bound below it holds",
    "upper_bound": "upper bound: proven, the true leakage may be less",
    "estimate": "estimate from samples of the prior, right with confidence {:.6g}",
}
_CRITERIA = {
    "pml": "pointwise maximal leakage",
    "corollary1": "pointwise maximal leakage by the mean of the worst sensitivity",
    "dp": "differential privacy",
}
_NO_SUM = (
    "leakages about one secret do not add up under a fixed prior: compute the leakage of the joint channel "
    "(joint_channel), or pml_from_ldp of the sum of the releases' local epsilons."
)


@dataclass(frozen=True, kw_only=True)
class PrivacyGuarantee:
    """A bound on what is released, and how far it is proven.

    Parameters
    ----------
    epsilon : float
        The bound in nats, at least 0; infinite where there is none.
    status : {"exact", "upper_bound", "estimate"}
        Whether it is attained, proven, or read from samples of the prior.
    criterion : {"pml", "corollary1", "dp"}
        Pointwise maximal leakage (almost surely), its simpler bound, or differential privacy.
    subject : str
        Whose secret it is about, such as "your report" or "all 10 players".
    prior : str, default=""
        The prior in words; empty for differential privacy, which has none.
    confidence : float or None, default=None
        In (0, 1): of an estimate.
    lower : float or None, default=None
        A certified lower bound on the same leakage; `epsilon` itself if exact.
    allowance : float, default=0.0
        Part of `epsilon` that pays for the grid of the noise and for rounding.
    method : str, default=""
        How it was computed.

    Raises
    ------
    ValueError
        If a field is out of its range, or an estimate has no confidence.

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
    success probability of any guess about your value by at most the factor 1.79.
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

    def __post_init__(self) -> None:
        for name, choices in {"status": get_args(Status), "criterion": get_args(Criterion)}.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}.")
        if not self.epsilon >= 0 or not 0 <= self.allowance <= self.epsilon:
            raise ValueError("epsilon must be at least 0, and allowance between 0 and epsilon.")
        if (self.status == "estimate") != (self.confidence is not None):
            raise ValueError("confidence belongs to an estimate, and every estimate has one.")

    def __float__(self) -> float:
        return self.epsilon

    def __add__(self, other: Any) -> NoReturn:
        raise TypeError(_NO_SUM)

    __radd__ = __add__

    def __str__(self) -> str:
        lines = [
            f"Guarantee: {_CRITERIA[self.criterion]} of {self.subject}",
            f"epsilon: {self.epsilon:.6g} nats (of it {self.allowance:.2g} for the grid and for rounding)",
            f"status: {_STATUS[self.status].format(self.confidence)}",
        ]
        return "\n  ".join(lines)

    def statement(self) -> str:
        """Return the sentence for the holder of the secret.

        Returns
        -------
        sentence : str
        """
        raise NotImplementedError

    def under_prior(self, rho: float) -> Self:
        """Return what holds under another prior P' with dP'/dP >= rho whose support is within that of P.

        Parameters
        ----------
        rho : float
            In (0, 1].

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``log(1 / rho)`` more.
        """
        return replace(self, epsilon=self.epsilon + math.log(1 / rho), status="upper_bound", lower=None)
