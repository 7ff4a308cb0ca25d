# SPDX-License-Identifier: BSD-3-Clause
"""The samplers bit by bit: what they draw from given words is what a plain reference draws from them.

Statistics see neither what is rare (the fifth trial of an exponential, a gap of three sigma) nor a bit that
is used twice; here every draw must agree, and the next one starts at the same bit.
"""

import functools
from decimal import Decimal, localcontext
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


@functools.cache
def survival(j, n_bits):
    """Return floor(2^n_bits exp(-j / 16))."""
    with localcontext(prec=200):
        return int((Decimal(-j) / 16).exp() * 2**n_bits)


def geometric(bits, head):
    """Invert a uniform number of 16 bits, and of 48 more where these are those of a survival."""
    j = sum(head < survival(j, 16) for j in range(1, 65))
    if j == 64:
        return 64 + geometric(bits, bits(16))
    if head == survival(j + 1, 16):
        j += (head << 48) + bits(48) < survival(j + 1, 64)
    return j


def laplace(bits, t, s):
    while True:
        head = bits(25)
        x = t * geometric(bits, head >> 9) + (w := bits.below(t))
        digit, rest = divmod(Fraction(16 * w, t), 1)
        first, drawn = [head >> 1 & 255], head >> 1 & 255

        def trial():
            if first:  # noqa: B023
                first.pop()  # noqa: B023
                return has_ratio(bits, rest) if drawn == digit else drawn < digit  # noqa: B023
            return has_ratio(bits, Fraction(w, 16 * t))

        if has_exponential(bits, trial):
            y = x // (16 * s)
            if y or not head & 1:
                return -y if head & 1 else y


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


@pytest.mark.parametrize("j", range(1, 65))
def test_a_survival_is_compared_to_the_last_digit(scripted_entropy, bit_script, j) -> None:
    """Digits 17 to 64 of exp(-j / 16), then 32 at a time: what is below it is J >= j."""
    head, rest = divmod(survival(j, 64), 2**48)
    following = [survival(j, 64 + 32 * k) % 2**32 for k in (1, 2)]
    for fields, expected in [
        ([(rest - 1, 48)], j),
        ([(rest + 1, 48)], j - 1),
        *(([(rest, 48), (following[0] + way, 32)], j - (way > 0)) for way in (-2, 2)),
        *(([(rest, 48), (following[0], 32), (following[1] + way, 32)], j - (way > 0)) for way in (-2, 2)),
    ]:
        # A first digit of 255 keeps w = 0; as many as 64 begin anew, with a number that is above all.
        more = [(2**16 - 1, 16)] if expected == 64 else []
        script = bit_script([(head << 9 | 255 << 1, 25), *fields, *more, (0, 4)])
        # The caller's own decimals change nothing.
        with localcontext(prec=2):
            fill_discrete_laplace(
                out := np.empty(1, np.int64), 16, 1, WordStream(scripted_entropy(script), 8)
            )
        assert out[0] == expected


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
