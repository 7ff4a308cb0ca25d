# SPDX-License-Identifier: BSD-3-Clause
"""Conversion of zero-concentrated differential privacy (rho) to (epsilon, delta), with a proven error."""

from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, exp, log, log1p

from ..utils import check_positive

# For the error that `zcdp_to_epsilon` proves.
DECIMALS = Context(prec=120, Emin=-(10**9), Emax=10**9)
STEP = 2**64  # an epsilon is rounded up to a multiple of 1 / STEP
GOLDEN = 0.6180339887498949  # (sqrt(5) - 1) / 2, the ratio of a golden section


def zcdp_to_epsilon(rho: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho : float or Fraction
        Positive and finite.
    delta : float or Fraction
        In (0, 1).

    Returns
    -------
    epsilon : Fraction
        A proven upper bound, within 1e-9 or so of the best that zCDP implies by this route.

    Raises
    ------
    ValueError
        If rho is not positive and finite or delta is outside (0, 1).

    Notes
    -----
    For every alpha > 1, rho-zCDP implies the epsilon
    alpha rho + log(1 - 1 / alpha) + (log(1 / delta) - log(alpha)) / (alpha - 1)
    (Canonne, Kamath and Steinke, 2020). As every alpha is valid, a rough numerical minimum costs accuracy,
    never soundness. The chosen alpha - 1 is a decimal of 7 digits between 1e-27 and 1e27; there the formula,
    evaluated with 120 decimals, errs by less than 1e-60 of its largest term, which is at most epsilon + 62.
    1e-40 (1 + epsilon) is added, and the sum rounded up to a multiple of 2^-64.

    Proof: :doc:`/proofs/discrete_noise`.

    Examples
    --------
    >>> from skprivate.noise import zcdp_to_epsilon
    >>> round(float(zcdp_to_epsilon(0.5, 1e-6)), 2)
    5.22
    """
    rho, delta = check_positive(rho, "rho"), check_positive(delta, "delta")
    if delta >= 1:
        raise ValueError("delta must be between 0 and 1, both excluded")
    gap = Decimal(f"{_best_gap(rho, delta):.6e}")
    epsilon = max(Fraction(_epsilon_at(rho, delta, gap)), Fraction(0))
    return Fraction(ceil((epsilon + (1 + epsilon) / 10**40) * STEP), STEP)


def _epsilon_at(rho: Fraction, delta: Fraction, gap: Decimal) -> Decimal:
    """The formula of `zcdp_to_epsilon` at alpha = 1 + gap."""
    order = DECIMALS.add(1, gap)
    # Operators would round to the digits of the caller's own decimal context.
    log_ratio = DECIMALS.minus(DECIMALS.add(_ln(_decimal(delta)), _ln(order)))
    quotient = DECIMALS.divide(log_ratio, gap)
    shrink = _ln(DECIMALS.divide(gap, order))
    return DECIMALS.add(DECIMALS.add(DECIMALS.multiply(order, _decimal(rho)), shrink), quotient)


def _best_gap(rho: Fraction, delta: Fraction) -> float:
    """Roughly the alpha - 1 of the smallest epsilon, by golden section in its logarithm."""
    # The cap keeps the floats below in range; only the choice of alpha depends on them.
    log_rho, log_ratio = min(_log(rho), 600.0), -_log(delta)

    def epsilon_at(x: float) -> float:
        log_order = log1p(exp(x))
        return exp(log_order + log_rho) + x - log_order + (log_ratio - log_order) * exp(-x)

    # Without the small terms the minimum is at alpha - 1 = sqrt(log(1 / delta) / rho).
    centre = min(max((log(log_ratio + 1) - log_rho) / 2, -50.0), 50.0)
    low, high = centre - 12.0, centre + 12.0
    for _ in range(60):
        inner_low, inner_high = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if epsilon_at(inner_low) < epsilon_at(inner_high):
            high = inner_high
        else:
            low = inner_low
    return exp((low + high) / 2)


def _ln(x: Decimal) -> Decimal:
    return DECIMALS.ln(x)


def _decimal(x: Fraction) -> Decimal:
    return DECIMALS.divide(Decimal(x.numerator), Decimal(x.denominator))


def _log(x: Fraction) -> float:
    # Numerator and denominator may exceed the range of floats.
    return log(x.numerator) - log(x.denominator)
