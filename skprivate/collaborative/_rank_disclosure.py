# SPDX-License-Identifier: BSD-3-Clause
"""How far the rank of a swapped share discloses its party, from the parties' sizes alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Half-way from a guess to certainty: from this advantage on the rank tells more about a party than it hides.
STANDS_OUT = 0.5
# Nodes of the integral over a response; the integrand rises from 0 to 1, so that the error is below 1/4096.
_NODES = (np.arange(2048) + 0.5) / 2048


def rank_advantage(sizes: FloatArray) -> float:
    """Return how far beyond guessing the largest share of a query points at the largest party.

    What is opened are shares n_j f_j, in some order. The largest is the largest party's in every query in
    which no other response is n_1 / n_j times as large as its own: certainly, where responses agree within
    the ratio of the two largest sizes. Sizes are public, responses are not; taken to be as different as can
    be, independent and uniform between 0 and a common bound (of all such distributions the one of
    greatest entropy), the probability is the integral over u in [0, 1] of the product over j > 1 of
    min(1, u n_1 / n_j). The more they agree, the nearer it is to 1.

    Parameters
    ----------
    sizes : ndarray of shape (n_parties,)
        Positive, at least two. Their reciprocals give the same for the smallest share and the smallest party.

    Returns
    -------
    advantage : float
        (p - 1 / m) / (1 - 1 / m) for that probability p: 0 is a guess among m parties, 1 certainty. For one
        party r times as large as each of the others it is 1 - 1 / r.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._rank_disclosure import rank_advantage
    >>> round(rank_advantage(np.array([1.0, 1.0, 4.0])), 3)
    0.75
    """
    largest = int(np.argmax(sizes))
    return _beyond_guess(_first_probability(sizes[largest] / np.delete(sizes, largest)), len(sizes))


def stands_out(sizes: FloatArray) -> bool:
    """Tell whether the rank of some party's share is worth half the way from a guess to certainty.

    A party between smaller and larger ones is found by its rank as the largest and the smallest are: its
    share is above those of all smaller parties, with the probability p of `rank_advantage` among them, and
    below those of all larger ones, with the same by reciprocals. The product of both is taken for it.

    Parameters
    ----------
    sizes : ndarray of shape (n_parties,)
        Positive, at least two.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._rank_disclosure import stands_out
    >>> stands_out(np.array([1.0] * 9 + [10.0] + [100.0] * 10)), stands_out(np.ones(20))
    (True, False)
    """
    ordered, n = np.sort(sizes), len(sizes)
    # Against the neighbours in size alone each factor is 1 - 1/(2 r): no more is reached with all others.
    factors = 1 - ordered[:-1] / ordered[1:] / 2
    most = np.append(1.0, factors) * np.append(factors, 1.0)
    # Both factors are above 1/2 there, their product about 1/2: sizes grow so fast that there are few.
    likely = np.flatnonzero(_beyond_guess(most, n) >= STANDS_OUT)
    for k in likely:
        above, below = ordered[k] / ordered[:k], ordered[k + 1 :] / ordered[k]
        if _beyond_guess(_first_probability(above) * _first_probability(below), n) >= STANDS_OUT:
            return True
    return False


def _first_probability(ratios: FloatArray) -> float:
    """Return the integral over u in [0, 1] of the product of min(1, u r); 1 without ratios."""
    log_product = np.zeros(len(_NODES))
    for ratio, count in zip(*np.unique(ratios, return_counts=True), strict=True):
        log_product += count * np.log(np.minimum(1.0, ratio * _NODES))
    return float(np.exp(log_product).mean())


def _beyond_guess(probability: Any, n_parties: int) -> Any:
    guess = 1 / n_parties
    return (probability - guess) / (1 - guess)
