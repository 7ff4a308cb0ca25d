# SPDX-License-Identifier: BSD-3-Clause
"""The samplers bit by bit: what they draw from given words is what a plain reference draws from them.

Statistics see neither what is rare (the fifth trial of an exponential, a gap of three sigma) nor a bit that
is used twice; here every draw must agree, and the next one starts at the same bit.
"""

from fractions import Fraction

import numpy as np
import pytest

from skprivate.noise._mechanisms import geometric_bit_probabilities
from skprivate.noise._sampling_kernels import fill_discrete_gaussian, fill_discrete_laplace, fill_laplace_sum
from skprivate.noise._stream_kernels import WordStream

SCRIPT = np.random.default_rng(2020).bytes(2**16)


def has_ratio(bits, p):
    """1 with probability p, a fraction: base-256 digits of p against those of a uniform number."""
    while 0 < p < 1:
        digit, p = divmod(256 * p, 1)
        if (drawn := bits(8)) != digit:
            return drawn < digit
    return p == 1


def has_reciprocal(bits, k):
    if k > 3:
        return has_ratio(bits, Fraction(1, k))
    return bits(1) if k == 2 else bits.below(3) == 0


def has_exponential(bits, trial):
    """1 with probability exp(-g): trial k, of probability g / k, is the first to fail for an odd k."""
    k = 1
    while trial():
        k += 1
        if not has_reciprocal(bits, k):
            break
    return k % 2


def laplace(bits, t, s):
    while True:
        u = bits.below(t)
        if not has_exponential(bits, lambda: has_ratio(bits, Fraction(u, t))):  # noqa: B023
            continue
        while has_exponential(bits, lambda: True):
            u += t
        if not bits(1):
            return u // s
        if u // s:
            return -(u // s)


def gaussian(bits, p, q):
    while True:
        y = laplace(bits, p, q)
        m, r = divmod(Fraction(abs(q * abs(y) - p), p), 1)
        if (
            all(has_exponential(bits, lambda: bits(1)) for _ in range(m * m))
            and all(has_exponential(bits, lambda: has_ratio(bits, r)) for _ in range(m))  # noqa: B023
            and has_exponential(bits, lambda: bits(1) and has_ratio(bits, r) and has_ratio(bits, r))  # noqa: B023
        ):
            return y


@pytest.mark.parametrize(
    ("fill", "draw"), [(fill_discrete_laplace, laplace), (fill_discrete_gaussian, gaussian)]
)
@pytest.mark.parametrize(
    ("numerator", "denominator"), [(1, 1), (3, 1), (7, 2), (1, 5), (2**40, 1), (2**52 - 1, 2**21 + 7)]
)
def test_a_draw_is_that_of_the_reference(
    scripted_entropy, bit_reader, fill, draw, numerator, denominator
) -> None:
    out = np.empty(400, dtype=np.int64)
    fill(out, numerator, denominator, WordStream(scripted_entropy(SCRIPT), len(SCRIPT) // 8))
    bits = bit_reader(SCRIPT)
    assert out.tolist() == [draw(bits, numerator, denominator) for _ in out]


def count_ones(bits, n):
    return sum(bits.word().bit_count() for _ in range(n // 64)) + bits(n % 64).bit_count()


def binomial(bits, n, digits):
    """Numbers below the binary fraction: under a digit 1 those that draw 0, under a 0 none of them."""
    successes = 0
    for digit in digits:
        if n == 0:
            break
        ones = count_ones(bits, n)
        successes += (n - ones) * digit
        n = ones if digit else n - ones
    return successes


@pytest.mark.parametrize("n", [1, 63, 64, 200, 1000])
def test_a_sum_is_that_of_the_reference(scripted_entropy, bit_reader, n) -> None:
    probabilities = geometric_bit_probabilities(n, Fraction(7, 2))
    digits = [[int(d) for d in "".join(f"{word:064b}" for word in row)] for row in probabilities.tolist()]
    out = np.empty(4, dtype=np.int64)
    fill_laplace_sum(out, n, probabilities, WordStream(scripted_entropy(SCRIPT), len(SCRIPT) // 8))
    bits = bit_reader(SCRIPT)

    def geometric_sum():
        return sum(binomial(bits, n, row) << i for i, row in enumerate(digits))

    assert out.tolist() == [geometric_sum() - geometric_sum() for _ in out]


def test_a_sum_beyond_the_range_raises(scripted_entropy, bit_script) -> None:
    # Bits 0 to 60 have probability 0, and fail at once on ones; bit 61 succeeds at once on zeros.
    probabilities = np.zeros((62, 4), dtype=np.uint64)
    probabilities[61] = 2**64 - 1
    for n in (2, 3):
        script = bit_script([(2**n - 1, n)] * 61 + [(0, n)] + [(2**n - 1, n)] * 61 + [(0, n)])
        stream = WordStream(scripted_entropy(script), 8)
        if n == 2:  # 2^62 less 2^62
            fill_laplace_sum(out := np.ones(1, dtype=np.int64), n, probabilities, stream)
            assert out[0] == 0
            continue
        with pytest.raises(OverflowError, match="range of the sampler"):
            fill_laplace_sum(np.empty(1, dtype=np.int64), n, probabilities, stream)
