# SPDX-License-Identifier: BSD-3-Clause
"""The budget of a fit: what adds up over its releases, and the guarantee that it gives."""

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..utils import check_epsilon, check_probability
from ..utils._private_fit import warn_user
from ._mechanisms import DiscreteGaussianMechanism, zcdp_to_epsilon

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
            epsilon is not positive; delta is outside [0, 1), or does not fit the mechanism.
        """
        request, probability = check_epsilon(epsilon), check_probability(delta, "delta")
        if resolve_mechanism(mechanism, probability) == "laplace":
            return cls("laplace", request, request, Fraction(0))
        return cls("gaussian", *_rho_and_epsilon(request, probability), probability)

    @property
    def rho(self) -> Fraction | None:
        """Rho, with Gaussian noise."""
        return self.amount if self.mechanism == "gaussian" else None


def resolve_mechanism(mechanism: str, delta: Any) -> str:
    """Return the noise of a fit: of "auto" Gaussian noise where delta is above 0, else Laplace noise.

    Raises
    ------
    ValueError
        Gaussian noise without a delta, or Laplace noise with one, which would have no effect.
    """
    if mechanism == "auto":
        return "gaussian" if delta > 0 else "laplace"
    if mechanism == "gaussian" and not delta:
        raise ValueError("mechanism='gaussian' needs a delta above 0, such as 1e-6.")
    if mechanism == "laplace" and delta:
        raise ValueError(
            "delta has no effect with mechanism='laplace': pass delta=0, or leave mechanism='auto', which "
            "takes Gaussian noise where delta is above 0."
        )
    return mechanism


def warn_of_large_delta(delta: Fraction, n_units: int, unit: str = "row") -> None:
    """Warn before a charge where delta is so large that publishing whole rows would satisfy it.

    Parameters
    ----------
    delta : Fraction
    n_units : int
        The number of units, where it is public.
    unit : {"row", "group", "client"}
    """
    if delta * n_units < 1:
        return
    # A hundredth of 1 / n at most: at it, a release that published each unit with probability delta would
    # publish any of them with a probability of a hundredth at most.
    wanted = f"1e-{len(str(n_units)) + 2:02d}"
    warn_user(
        f"delta = {float(delta):.3g} is not below 1 / n, with n = {n_units} {unit}s. The guarantee is weak: "
        f"a release that publishes each {unit} with probability delta would satisfy it. Pass a delta far "
        f"below 1 / n, such as {wanted}.",
        UserWarning,
    )


# A pure function of public numbers, which takes longer than the rest of the plan of a fit.
@functools.lru_cache(maxsize=256)
def _rho_and_epsilon(request: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the largest rho of a request that the rounding of sigma leaves, and its epsilon."""
    fine = next(size for least, size in _SENSITIVITIES.items() if request > least)
    rho = DiscreteGaussianMechanism(epsilon=request, delta=delta, squared_sensitivity=fine).rho
    return rho, zcdp_to_epsilon(rho, delta)
