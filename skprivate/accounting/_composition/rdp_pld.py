# SPDX-License-Identifier: BSD-3-Clause
"""Epsilon of many runs at one delta: by Rényi divergences, and by privacy loss distributions."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..._typing import FloatArray

# Dense near 1, for tiny epsilons, and beyond 2; the best order of them is taken.
_ORDERS = np.concatenate([1 + np.geomspace(1e-4, 1, 400), np.geomspace(2.01, 1e6, 2000)])
_ROUNDING = 1e-9  # added to results in floats, many times their error
_LOG_ERROR = 1e-13  # relative to 1 + the logarithm, where it cancels
# Of delta, which the Fourier transforms of dp-accounting may err by: against exact sums, 1e-15 and less.
_TRANSFORMS, _TRANSFORMS_PER_RUN = 1e-13, 1e-16
_STEP = 1e-4  # of the grid of losses, to which each run's are rounded up
# Beyond it noise on one real number stands for the discrete noise, at 2 / shift more (`Amount.laplace`).
_LARGEST_SHIFT = 1000
# From this shift on there is room for integers of several scales.
SEVERAL_SCALES = 2**30
_LARGEST_SUPPORT = 2**22  # points of one loss distribution: 32 MB


class Amount(NamedTuple):
    """What a run is known by; shift and scale are those of discrete Laplace noise that is all of it."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None
    shift: int | None = None
    scale: Fraction | None = None

    @property
    def laplace(self) -> Fraction | None:
        """Epsilon of Laplace noise on one real number that leaks no less.

        On integers the hockey-stick divergence is that of real numbers at losses of the shift's parity, and
        linear in e^loss between them: a loss of 2 / scale more covers it, for each scale that there is.
        """
        if self.shift is None or self.scale is None:
            return None
        more = 2 if self.shift < SEVERAL_SCALES else self.shift // 2**14
        return (self.shift + more) / self.scale


def rdp_epsilon(amounts: Counter[Amount], delta: Fraction) -> float:
    """Return the epsilon of all runs at this delta by Rényi divergences."""
    left = delta - sum(amount.delta * count for amount, count in amounts.items() if amount.rho is None)
    if left <= 0:
        raise ValueError("the deltas of the runs use up delta: give a larger one, or method='basic'.")
    divergence = np.zeros_like(_ORDERS)
    for amount, count in amounts.items():
        divergence += count * _divergence(amount)
    # A million orders: epsilon(a) = D(a) + log(1 - 1/a) - (log delta + log a) / (a - 1).
    spent = np.log1p(-1 / _ORDERS) - (math.log(left) + np.log(_ORDERS)) / (_ORDERS - 1)
    return max(0.0, float(np.min(divergence + spent))) * (1 + _ROUNDING) + _ROUNDING


def pld_epsilon(amounts: Counter[Amount], delta: Fraction) -> float:
    """Return the epsilon of all runs at this delta by the pairs that dominate them; needs dp-accounting."""
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise ImportError(
            "method='pld' needs dp-accounting: pip install 'skprivate[accounting]'. Without it, use 'rdp'."
        ) from error
    if not amounts:
        return 0.0
    step = _step(amounts)
    composed: Any = None
    for amount, count in Counter(_without_rho(amounts)).items():
        single = _dominating(amount, step, privacy_loss_distribution, common)
        several = single.self_compose(count)
        composed = several if composed is None else composed.compose(several)
    unsure = _TRANSFORMS + _TRANSFORMS_PER_RUN * sum(amounts.values())
    target = float(delta) * (1 - _ROUNDING) - unsure
    return float(composed.get_epsilon_for_delta(target)) + _ROUNDING if target > 0 else math.inf


def _dominating(amount: Amount, step: float, losses: Any, common: Any) -> Any:
    # Never below the exact amounts.
    if amount.shift is not None and amount.scale is not None:
        if amount.shift <= _LARGEST_SHIFT:
            rate = round_up(1 / amount.scale)
            return losses.from_discrete_laplace_mechanism(
                rate, amount.shift, value_discretization_interval=step
            )
        rate = 1 / round_up(amount.laplace or amount.epsilon)
        return losses.from_laplace_mechanism(rate, value_discretization_interval=step)
    pair = common.DifferentialPrivacyParameters(round_up(amount.epsilon), round_up(amount.delta))
    return losses.from_privacy_parameters(pair, value_discretization_interval=step)


def _divergence(amount: Amount) -> FloatArray:
    if amount.rho is not None:
        return float(amount.rho) * _ORDERS
    response = _response_divergence(amount)
    if amount.laplace is None:
        return response
    # log(a / (2a - 1) e^((a-1) epsilon) + (a - 1) / (2a - 1) e^(-a epsilon)) / (a - 1)
    epsilon = float(amount.laplace)
    forward = np.log(_ORDERS / (2 * _ORDERS - 1)) + (_ORDERS - 1) * epsilon
    backward = np.log((_ORDERS - 1) / (2 * _ORDERS - 1)) - _ORDERS * epsilon
    laplace = (np.logaddexp(forward, backward) + _LOG_ERROR) / (_ORDERS - 1)
    return np.minimum(response, np.maximum(laplace, 0.0))


def _response_divergence(amount: Amount) -> FloatArray:
    # log(p^a q^(1-a) + q^a p^(1-a)) with log p = -log(1 + e^-epsilon), log q = log p - epsilon.
    epsilon = float(amount.epsilon)
    log_p = -math.log1p(math.exp(-epsilon))
    forward = log_p + epsilon * (_ORDERS - 1)
    backward = log_p - epsilon * _ORDERS
    # Near order 1 the logarithm cancels, and its error is paid for; epsilon and a epsilon^2 / 2 bound it too.
    exact = (np.logaddexp(forward, backward) + _LOG_ERROR) / (_ORDERS - 1)
    return np.minimum(np.maximum(exact, 0.0), np.minimum(epsilon, _ORDERS * epsilon**2 / 2))


def _without_rho(amounts: Counter[Amount]) -> Counter[Amount]:
    merged: Counter[Amount] = Counter()
    for amount, count in amounts.items():
        merged[amount._replace(rho=None)] += count
    return merged


def _step(amounts: Counter[Amount]) -> float:
    """A step that divides the smallest epsilon, within what memory and time allow."""
    smallest = float(min(amount.epsilon for amount in amounts))
    largest = 2 * sum(float(amount.epsilon) * count for amount, count in amounts.items())
    wanted = max(min(_STEP, smallest / 20), largest / _LARGEST_SUPPORT)
    return smallest / max(1, round(smallest / wanted))


def round_up(amount: Fraction) -> float:
    """Return a float that is not below."""
    number = float(amount)
    return number if number >= amount else math.nextafter(number, math.inf)
