# SPDX-License-Identifier: BSD-3-Clause
"""The random number of runs of a private search: a truncated negative binomial, drawn exactly."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

RandomBytes = Callable[[int], bytes]

_HALVINGS = 200
# Largest denominator of gamma, which may be any rational number.
_LARGEST_DENOMINATOR = 10**9


@dataclass(frozen=True)
class NumberOfRuns:
    """Distribution of the number of runs K: the truncated negative binomial of (eta, gamma).

    ``P(K = k)`` is proportional to ``(1 - gamma)^k prod_{l < k} (l + eta) / (l + 1)`` for k = 1, 2, ...
    With eta = 1 this is the geometric distribution, and with eta = 0, as a limit, the logarithmic one.

    Attributes
    ----------
    eta : Fraction
        At least 0.
    gamma : Fraction
        Above 0 and at most 1; 1 means one run.

    Notes
    -----
    **Privacy.** Let Q be the distribution of a run of a random candidate, on pairs (score, model). Let A be
    the pair with the highest score among K independent runs. (All runs share one hold-out, which is drawn
    without reading rows. Q is the distribution given the hold-out. The bound still holds after mixing over
    hold-outs.) With f the probability generating function of K, f'(x) is proportional to
    (1 - (1 - gamma) x)^-(1 + eta), and

        P(A = a) = Q(a) * integral over u in [0, 1] of f'(Q(E_u)),

    where E_u is the event of a lower score than a's, or of the same score and a coin of bias u. (Runs with
    the same score have the same distribution, so taking the first is taking one at random.) Now
    1 - (1 - gamma) Q(E) = gamma Q(E) + Q(not E). If Q is epsilon-DP, both terms fall by at most the factor
    e^-epsilon from one neighbour to the other. So f' grows by at most e^((1 + eta) epsilon), and Q(a) by at
    most e^epsilon. Together: (2 + eta) epsilon, for any gamma and any K. The score is part of a.

    If Q is (epsilon, delta)-DP, then for two neighbours Q = (1 - delta) Q0 + delta B, with Q0 the
    distributions of an epsilon-DP pair and B anything. No run comes from B with probability
    f(1 - delta) >= 1 - delta E[K]. Given this, the number of runs is again truncated negative binomial, with
    (1 - gamma)(1 - delta) instead of 1 - gamma, and every run has the distribution Q0. So A is
    ((2 + eta) epsilon, delta E[K])-DP.

    References
    ----------
    Papernot, Steinke, Hyperparameter tuning with Renyi differential privacy, 2022.

    Kairouz, Oh, Viswanath, The composition theorem for differential privacy, 2015 (the decomposition).
    """

    eta: Fraction
    gamma: Fraction

    @classmethod
    def of_mean(cls, eta: Fraction, mean: int) -> "NumberOfRuns":
        """Return the distribution with a mean close to this number. A mean of 1 is always one run."""
        if mean <= 1:
            return cls(eta, Fraction(1))
        low, high = -700.0, 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _mean(float(eta), middle) < mean else (middle, high)
        gamma = Fraction(math.exp(high)).limit_denominator(_LARGEST_DENOMINATOR)
        return cls(eta, max(gamma, Fraction(1, _LARGEST_DENOMINATOR)))

    @property
    def mean(self) -> Fraction:
        """An upper bound on the mean; it is too large by less than a millionth."""
        if self.gamma == 1:
            return Fraction(1)
        if self.eta == 1:
            return 1 / self.gamma
        # The mean grows with eta. Tiny floats have no digits left.
        eta = float(max(self.eta, Fraction(1, 2**100))) if self.eta else 0.0
        return Fraction(_mean(eta, math.log(self.gamma))) * (1 + Fraction(1, 2**20))

    def draw(self, random_bytes: RandomBytes) -> int:
        """Draw a number of runs, exactly.

        Notes
        -----
        Let m = max(1, ceil(eta)), and count the failures before the m-th success of trials that succeed with
        probability gamma. Their number has the weights (1 - gamma)^k prod (l + m) / (l + 1). The k-th
        failure, k > 1, is kept with probability (k - 1 + eta) / (k - 1 + m). Otherwise, and without failures,
        all starts again. The result has the wanted weights. All probabilities are rational, without floats.

        The running time depends on the number drawn.
        """
        if self.gamma == 1:
            return 1
        wanted = max(1, math.ceil(self.eta))
        while True:
            failures = self._failures(wanted, random_bytes)
            if failures:
                return failures

    def _failures(self, wanted: int, random_bytes: RandomBytes) -> int:
        """Number of failures before so many successes; 0 if one was not kept."""
        failures = successes = 0
        while successes < wanted:
            if _happens(self.gamma, random_bytes):
                successes += 1
                continue
            failures += 1
            kept = (failures - 1 + self.eta) / (failures - 1 + wanted) if failures > 1 else Fraction(1)
            if not _happens(kept, random_bytes):
                return 0
        return failures


def _mean(eta: float, log_gamma: float) -> float:
    """Mean of the distribution; 1 if gamma is 1."""
    if log_gamma == 0.0:
        return 1.0
    odds = math.expm1(-log_gamma)  # (1 - gamma) / gamma
    return odds / -log_gamma if eta == 0 else odds * eta / -math.expm1(eta * log_gamma)


def _happens(probability: Fraction, random_bytes: RandomBytes) -> bool:
    return draw_below(probability.denominator, random_bytes) < probability.numerator


def draw_below(n: int, random_bytes: RandomBytes) -> int:
    """Draw one of 0, ..., n - 1 with equal probabilities.

    Parameters
    ----------
    n : int
        At least 1.
    random_bytes : callable
        ``random_bytes(size)`` returns so many random bytes.
    """
    bits = (n - 1).bit_length()
    size = -(-bits // 8)
    while size:
        value = int.from_bytes(random_bytes(size)) >> (8 * size - bits)
        if value < n:
            return value
    return 0
