# SPDX-License-Identifier: BSD-3-Clause
"""The random number of runs of a private search: a truncated negative binomial, drawn exactly."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

RandomBytes = Callable[[int], bytes]

_HALVINGS = 200
# Of gamma, which any rational number may be.
_LARGEST_DENOMINATOR = 10**9


@dataclass(frozen=True)
class NumberOfRuns:
    """Distribution of the number of runs K: the truncated negative binomial of (eta, gamma).

    ``P(K = k)`` is proportional to ``(1 - gamma)^k prod_{l < k} (l + eta) / (l + 1)`` for k = 1, 2, ...; with
    eta = 1 that is the geometric distribution, and with eta = 0, as a limit, the logarithmic one.

    Attributes
    ----------
    eta : Fraction
        At least 0.
    gamma : Fraction
        Above 0 and at most 1; 1 means one run.

    Notes
    -----
    **Privacy.** Let Q be the distribution of a random candidate's run, on pairs (score, model), and A the
    pair of the highest score among K independent runs. (All runs share one hold-out: Q is the distribution
    given the hold-out, which was drawn without looking at rows, and mixing the distributions of A over hold-
    outs keeps what is shown.) With f the probability generating function of K, f'(x) is proportional to (1 -
    (1 - gamma) x)^-(1 + eta), and

        P(A = a) = Q(a) * integral over u in [0, 1] of f'(Q(E_u)),

    where E_u is the event of a lower score than a's, or of the same score and a coin of bias u. (Runs of one
    score have the same distribution, so to take the first is to take one at random.) Now
    1 - (1 - gamma) Q(E) = gamma Q(E) + Q(not E). If Q is epsilon-DP, both terms fall by the factor e^-epsilon
    at most from one neighbour to the other, so f' grows by e^((1 + eta) epsilon) at most; Q(a) by e^epsilon.
    Together: (2 + eta) epsilon, whatever gamma and whatever K was. The score is part of a.

    If Q is (epsilon, delta)-DP, then for two neighbours Q = (1 - delta) Q0 + delta B, with Q0 the
    distributions of an epsilon-DP pair and B anything. Given that no run came from B, which has probability
    f(1 - delta) >= 1 - delta E[K], the number of runs is again truncated negative binomial, with
    (1 - gamma)(1 - delta) in the place of 1 - gamma, and every run is one of Q0. So A is
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
        """Return the distribution with a mean close to this number; 1 means always one run."""
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
        """An upper bound on the mean, above it by less than a millionth part."""
        if self.gamma == 1:
            return Fraction(1)
        if self.eta == 1:
            return 1 / self.gamma
        # It grows with eta; tiny floats have no digits left.
        eta = float(max(self.eta, Fraction(1, 2**100))) if self.eta else 0.0
        return Fraction(_mean(eta, math.log(self.gamma))) * (1 + Fraction(1, 2**20))

    def draw(self, random_bytes: RandomBytes) -> int:
        """Draw a number of runs, exactly.

        Notes
        -----
        With m = max(1, ceil(eta)), the number of failures before the m-th success of trials that succeed with
        probability gamma has the weights (1 - gamma)^k prod (l + m) / (l + 1). The k-th failure, k > 1, is
        kept with probability (k - 1 + eta) / (k - 1 + m), else all starts again; so does it without failures.
        What is left are the weights wanted. All probabilities are rational, and no float is involved.

        The time that it takes depends on the number drawn.
        """
        if self.gamma == 1:
            return 1
        wanted = max(1, math.ceil(self.eta))
        while True:
            failures = self._failures(wanted, random_bytes)
            if failures:
                return failures

    def _failures(self, wanted: int, random_bytes: RandomBytes) -> int:
        """Number of failures before so many successes; 0 where it was not kept."""
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
    """Mean of the distribution; 1 where gamma is 1."""
    if log_gamma == 0.0:
        return 1.0
    odds = math.expm1(-log_gamma)  # (1 - gamma) / gamma
    return odds / -log_gamma if eta == 0 else odds * eta / -math.expm1(eta * log_gamma)


def _happens(probability: Fraction, random_bytes: RandomBytes) -> bool:
    return draw_below(probability.denominator, random_bytes) < probability.numerator


def draw_below(n: int, random_bytes: RandomBytes) -> int:
    """Draw one of 0, ..., n - 1, all equally likely.

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
