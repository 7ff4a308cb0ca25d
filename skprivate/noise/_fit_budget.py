# SPDX-License-Identifier: BSD-3-Clause
"""The budget of a fit: what adds up over its releases, and the guarantee that it gives."""

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..utils import check_epsilon, check_probability
from ._mechanisms import DiscreteGaussianMechanism
from ._zcdp import zcdp_to_epsilon

# Squared sensitivity for an epsilon above the key. Rho depends on the ratio of noise and sensitivity alone:
# with a large sensitivity the rounding of sigma is negligible, with a tiny epsilon a smaller one keeps sigma
# in range.
_SENSITIVITIES = {Fraction(1, 2**4): 2**80, Fraction(0): 2**40}


@dataclass(frozen=True)
class FitBudget:
    """Budget of a fit: epsilon for Laplace noise, rho for Gaussian noise.

    Attributes
    ----------
    mechanism : {"laplace", "gaussian"}
        Which noise.
    amount : Fraction
        Epsilon, or rho of zero-concentrated differential privacy: both add up over releases.
    epsilon, delta : Fraction
        The guarantee that `amount` gives; epsilon is never above the request.
    """

    mechanism: str
    amount: Fraction
    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, epsilon: Any, delta: Any, mechanism: str) -> "FitBudget":
        """Turn a request into a budget.

        Raises
        ------
        ValueError
            epsilon is not positive; delta is outside [0, 1), or is 0 with Gaussian noise.
        """
        request, probability = check_epsilon(epsilon), check_probability(delta, "delta")
        if mechanism == "laplace":
            # Not needed, so not spent; a search over mechanisms may pass one to both.
            return cls(mechanism, request, request, Fraction(0))
        if not probability:
            raise ValueError("mechanism='gaussian' needs a delta above 0, such as 1e-6.")
        return cls(mechanism, *_rho_and_epsilon(request, probability), probability)

    @property
    def rho(self) -> Fraction | None:
        """Rho, with Gaussian noise."""
        return self.amount if self.mechanism == "gaussian" else None


# A pure function of public numbers, which takes longer than the rest of the plan of a fit.
@functools.lru_cache(maxsize=256)
def _rho_and_epsilon(request: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the largest rho of a request that the rounding of sigma leaves, and its epsilon."""
    fine = next(size for least, size in _SENSITIVITIES.items() if request > least)
    rho = DiscreteGaussianMechanism(epsilon=request, delta=delta, squared_sensitivity=fine).rho
    return rho, zcdp_to_epsilon(rho, delta)
