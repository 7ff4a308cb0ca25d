# SPDX-License-Identifier: BSD-3-Clause
"""The exact privacy loss of two neighbours, as epsilon or as rho, whichever is claimed."""

import math
from fractions import Fraction
from typing import Any

from scipy.optimize import brentq
from scipy.special import log_ndtr

# Of the discrete Gaussian's epsilon from that of the continuous one, which is compared.
_DISCRETE_GAUSSIAN_ERROR = 1e-6


def claims_rho(spent: Any) -> bool:
    """Whether a statement claims zero-concentrated differential privacy; others' may not know of it."""
    return getattr(spent, "rho", None) is not None


def claimed_loss(spent: Any) -> Any:
    """Return what is claimed: rho, or epsilon."""
    return Fraction(spent.rho if claims_rho(spent) else spent.epsilon)


def loss_as_claimed(loss: tuple[Fraction, Fraction], claim: Any) -> Any:
    """Return the loss of a pair in the terms of a claim: epsilon, rho, or epsilon at its delta."""
    delta = float(getattr(claim, "delta", 0.0) or 0.0)
    if claims_rho(claim) or not delta:
        return as_epsilon_or_rho(loss, claims_rho(claim))
    epsilon, rho = loss
    return epsilon + Fraction(epsilon_of_gaussians(math.sqrt(2 * float(rho)), delta)) if rho else epsilon


def as_epsilon_or_rho(loss: tuple[Fraction, Fraction], by_rho: bool) -> Fraction | Any:
    """Return epsilon, or rho, of a pair; epsilon-DP is epsilon^2 / 2-zCDP, and rho has no epsilon."""
    epsilon, rho = loss
    if by_rho:
        return rho + epsilon**2 / 2
    return epsilon if not rho else float("inf")


def epsilon_of_gaussians(mu: float, delta: float) -> float:
    """Return the epsilon of two unit Gaussians at distance `mu`, at a `delta` (Balle and Wang, 2018)."""

    def excess(epsilon: float) -> float:
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return float(math.exp(log_ndtr(near)) - math.exp(epsilon + log_ndtr(far)) - delta)

    if mu == 0 or excess(0.0) <= 0:
        return 0.0
    # At this epsilon the first term alone is below delta.
    most = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    return float(brentq(excess, 0.0, most)) * (1 - _DISCRETE_GAUSSIAN_ERROR)
