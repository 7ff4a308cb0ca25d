# SPDX-License-Identifier: BSD-3-Clause
"""Exact samplers from random words: integers only, and no approximation except the stated one."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from skprivate.noise._stream_kernels cimport WordStream, bit_length, popcount

cdef uint64_t MAX_SCALE = <uint64_t> 1 << 52
cdef uint64_t MAX_BLOCKS = 1024
cdef int64_t MAX_SUM = <int64_t> 1 << 62


# ---------------------------------------------------------------------------------------------------------
# Bernoulli draws
# ---------------------------------------------------------------------------------------------------------
cdef inline int bernoulli_ratio(WordStream stream, uint64_t a, uint64_t b) except -1 nogil:
    """1 with probability a / b, for 0 <= a <= b <= 2^56.

    A uniform real number is below a / b iff its digit is smaller in the first base-256 digit in which they
    differ. The digits of a / b come from long division. After a remainder of 0 all digits are zeros.
    """
    cdef uint64_t digit, drawn
    if a == b:
        return 1
    while a != 0:
        a <<= 8  # below 2^64
        digit = a // b
        drawn = stream.bits(8)
        if drawn != digit:
            return drawn < digit
        a -= digit * b
    return 0


cdef inline int bernoulli_reciprocal(WordStream stream, uint64_t k) except -1 nogil:
    """1 with probability 1 / k, k >= 2."""
    cdef uint64_t drawn
    if k == 2:
        return stream.bits(1)
    if k == 3:
        drawn = stream.bits(2)
        while drawn == 3:
            drawn = stream.bits(2)
        return drawn == 0
    return bernoulli_ratio(stream, 1, k)


# Bernoulli(exp(-g)), 0 <= g <= 1. Trial k succeeds with probability g / k. So the first k trials succeed with
# probability g^k / k!, and the first failure is at an odd k with probability
# sum_j (g^2j / (2j)! - g^(2j+1) / (2j+1)!) = exp(-g). A trial g / k is the product of independent trials
# (1 / k and the factors of g), cheapest first, so that no denominator grows.
cdef inline int bernoulli_exp(WordStream stream, uint64_t a, uint64_t b) except -1 nogil:
    """1 with probability exp(-a / b), 0 <= a <= b."""
    cdef uint64_t k = 1
    while bernoulli_ratio(stream, a, b):
        k += 1
        if not bernoulli_reciprocal(stream, k):
            break
    return k & 1


cdef inline int bernoulli_exp_half(WordStream stream) except -1 nogil:
    """1 with probability exp(-1 / 2)."""
    cdef uint64_t k = 1
    while stream.bits(1):
        k += 1
        if not bernoulli_reciprocal(stream, k):
            break
    return k & 1


cdef inline int bernoulli_exp_half_square(WordStream stream, uint64_t a, uint64_t b) except -1 nogil:
    """1 with probability exp(-(a / b)^2 / 2), 0 <= a <= b."""
    cdef uint64_t k = 1
    while stream.bits(1) and bernoulli_ratio(stream, a, b) and bernoulli_ratio(stream, a, b):
        k += 1
        if not bernoulli_reciprocal(stream, k):
            break
    return k & 1


# ---------------------------------------------------------------------------------------------------------
# Discrete Laplace
# ---------------------------------------------------------------------------------------------------------
cdef int raise_tail() except -1 with gil:
    raise OverflowError("a noise draw left the range of the sampler (probability below exp(-1000))")


# Draws are on a grid with this many points per point of the scale's grid, where few draws are rejected.
cdef enum:
    FINE = 16
    N_SURVIVALS = 64
# floor(2^64 exp(-j / FINE)), j = 1, 2, ..., N_SURVIVALS, and 0.
cdef uint64_t[65] SURVIVALS = [
    0xF07D5FDE38151E72, 0xE1EB51276C110C3C, 0xD43B4096043BDE02, 0xC75F7CF564105743, 0xBB4B296F917BF09A,
    0xAFF230AF4C747553, 0xA54938C9B7E846B1, 0x9B4597E37CB04FF3, 0x91DD49860AB457FE, 0x8906E49A4C9F3D59,
    0x80B991FEC8010361, 0x78ED03AFBF35F94B, 0x71996C787C783410, 0x6AB7782576B52D00, 0x6440442F81A5D838,
    0x5E2D58D8B3BCDF1A, 0x5878A2B41E3DFB5C, 0x531C6C91DEAC7F58, 0x4E1359C97520CCB5, 0x495860DCA9613C9C,
    0x44E6C66DA13121AC, 0x40BA18831D80B0FA, 0x3CCE2A16225603BB, 0x391F0EE496B83AC8, 0x35A91784AEE38ED3,
    0x3268CDB533DCC75F, 0x2F5AF0E6F85D04AF, 0x2C7C72FC0440E510, 0x29CA753935610B35, 0x274245674733A988,
    0x24E15B206201726F, 0x22A555477F03973F, 0x208BF7A71898E505, 0x1E9328B4C50F6BEC, 0x1CB8EF777F6DC635,
    0x1AFB718E8457F74E, 0x1958F156C9C2AE2D, 0x17CFCC2D36C51196, 0x165E78CBDD9BC0CA, 0x150385C094F424A7,
    0x13BD97FB66F892E6, 0x128B6973646D8276, 0x116BC7E08095FED3, 0x105D93892FA0102D, 0x0F5FBE22951DFBDB,
    0x0E7149C222A2D95B, 0x0D9147DF980A8FA4, 0x0CBED86667585764, 0x0BF928D58D7BBDBA, 0x0B3F736CFFC23DC7,
    0x0A90FE67DB5155FD, 0x09ED1B4290C81695, 0x0953260C52244DEA, 0x08C284C3144AAB31, 0x083AA6B98025B4B1,
    0x07BB0406393FD97D, 0x07431CFBE91328DB, 0x06D279A9870EAA50, 0x0668A9625D8EB6A6, 0x0605424D53C34A57,
    0x05A7E0FB0BC4D2D7, 0x055028026AECB880, 0x04FDBFA328F1B34A, 0x04B0556E084F3D1D, 0,
]
# Number of survivals that are larger than every number with these eight leading bits.
cdef uint8_t[256] LARGER
for _byte in range(256):
    LARGER[_byte] = sum([survival >> 56 > _byte for survival in SURVIVALS])


def compare_with_survival(drawn, n_bits, j):
    """Return the sign of a number of [drawn, drawn + 1) / 2^n_bits less exp(-j / FINE); 0: unknown."""
    from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal

    # More digits than the number has before the point, so the error is far below 1 / 2. The caller's context
    # is not used.
    context = Context(prec=n_bits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    part = context.exp(context.divide(Decimal(-j), Decimal(FINE)))
    beyond = context.subtract(Decimal(drawn), context.multiply(part, Decimal(2**n_bits)))
    return (beyond > Decimal("0.5")) - (beyond < Decimal("-1.5"))


cdef int is_below_survival(WordStream stream, int j) except -1 nogil:
    """1 if a uniform number, whose first 16 bits are those of exp(-j / FINE), is below it."""
    cdef uint64_t rest = SURVIVALS[j - 1] & 0xFFFFFFFFFFFFULL
    cdef uint64_t drawn = stream.bits(48)
    if drawn != rest:
        return drawn < rest
    with gil:
        known, n_bits, side = int(SURVIVALS[j - 1]), 64, 0
        while side == 0:
            known, n_bits = known * 2**32 + stream.bits(32), n_bits + 32
            side = compare_with_survival(known, n_bits, j)
        return side < 0


cdef inline int64_t draw_geometric(WordStream stream, uint64_t head) except -1 nogil:
    """J with P(J >= j) = exp(-j / FINE), by inversion of a uniform number with the first 16 bits `head`."""
    cdef int64_t total = 0
    cdef int j
    while True:
        j = LARGER[head >> 8]
        while head < SURVIVALS[j] >> 48:
            j += 1
        if j < N_SURVIVALS:
            if head == SURVIVALS[j] >> 48 and is_below_survival(stream, j + 1):
                j += 1
        if j < N_SURVIVALS:
            return total + j
        # The part beyond has the same distribution.
        total += N_SURVIVALS
        if total == <int64_t> (FINE * MAX_BLOCKS):
            raise_tail()
        head = stream.bits(16)


cdef inline int keep_remainder(WordStream stream, uint64_t digit, uint64_t w, uint64_t t) except -1 nogil:
    """1 with probability exp(-w / (FINE t)), w < t, `digit` the first 8 bits of the first trial's number."""
    cdef uint64_t k = 1
    cdef uint64_t a, first
    cdef int passed
    if digit >= 256 // FINE:
        return 1
    a = w * (256 // FINE)  # below 2^56
    first = a // t
    passed = digit < first if digit != first else bernoulli_ratio(stream, a - first * t, t)
    while passed:
        k += 1
        if not bernoulli_reciprocal(stream, k):
            break
        passed = bernoulli_ratio(stream, w, FINE * t)
    return k & 1


# The error value is outside the range of the draws, (-2^62, 2^62).
cdef inline int64_t draw_laplace(
    WordStream stream, uint64_t t, int t_bits, uint64_t s
) except -0x7FFFFFFFFFFFFFFF nogil:
    """X = t J + w has P(X = x) proportional to exp(-x / (FINE t)); X // (FINE s) to exp(-y s / t)."""
    cdef uint64_t head, j, w
    cdef int64_t magnitude
    while True:
        # The sign, the first digit of a trial, and the first 16 bits of another number.
        head = stream.bits(25)
        j = draw_geometric(stream, head >> 9)
        w = stream.below_within(t, t_bits)
        if not keep_remainder(stream, (head >> 1) & 255, w, t):
            continue
        # t J itself might exceed 2^64.
        w = t * (j // FINE) + (t * (j % FINE) + w) // FINE  # below 2^52 * 1024 = 2^62
        magnitude = <int64_t> (w if s == 1 else w // s)
        if not head & 1:
            return magnitude
        # Zero would be drawn with both signs, twice too often.
        if magnitude != 0:
            return -magnitude


cdef int check_scale(uint64_t numerator, uint64_t denominator) except -1:
    if not (0 < numerator <= MAX_SCALE and 0 < denominator <= MAX_SCALE):
        raise ValueError("the scale's numerator and denominator must be between 1 and 2^52")
    return 0


def fill_discrete_laplace(int64_t[::1] out, uint64_t t, uint64_t s, WordStream stream not None):
    """Fill `out` with independent draws, P(x) proportional to exp(-abs(x) s / t), all in (-2^62, 2^62).

    Algorithm 2 of Canonne, Kamath and Steinke, The discrete Gaussian for differential privacy (2020), on a
    finer grid. Exact, not constant time. OverflowError with probability below exp(-1000).
    """
    cdef Py_ssize_t i
    cdef int t_bits = bit_length(t - 1)
    check_scale(t, s)
    with nogil:
        for i in range(out.shape[0]):
            out[i] = draw_laplace(stream, t, t_bits, s)


# ---------------------------------------------------------------------------------------------------------
# Discrete Gaussian
# ---------------------------------------------------------------------------------------------------------
# A Laplace draw y of scale p / q is kept with probability exp(-g), g = (q|y| - p)^2 / (2 p^2), since
# exp(-|y| q / p) exp(-g) = exp(-(q y)^2 / (2 p^2) - 1 / 2). Let |q|y| - p| = m p + r, 0 <= r < p. Then
# g = (m + r / p)^2 / 2 = m^2 (1 / 2) + m (r / p) + (r / p)^2 / 2. Take independent trials: m^2 of
# exp(-1 / 2), m of exp(-r / p) and one of exp(-(r / p)^2 / 2). All succeed with probability exp(-g).
cdef inline int keep_gaussian(WordStream stream, uint64_t distance, uint64_t p) except -1 nogil:
    cdef uint64_t m = distance // p
    cdef uint64_t r = distance - m * p
    cdef uint64_t _trial
    for _trial in range(m * m):
        if not bernoulli_exp_half(stream):
            return 0
    for _trial in range(m):
        if not bernoulli_exp(stream, r, p):
            return 0
    return bernoulli_exp_half_square(stream, r, p)


def fill_discrete_gaussian(int64_t[::1] out, uint64_t p, uint64_t q, WordStream stream not None):
    """Fill `out` with independent draws, P(x) proportional to exp(-x^2 / (2 sigma^2)), sigma = p / q.

    Algorithm 3 of Canonne, Kamath and Steinke (2020), with a proposal of scale sigma. Exact, not constant
    time. All draws are in (-2^62, 2^62); OverflowError with probability below exp(-1000).
    """
    cdef Py_ssize_t i
    cdef int p_bits = bit_length(p - 1)
    cdef int64_t y
    cdef uint64_t scaled
    check_scale(p, q)
    with nogil:
        for i in range(out.shape[0]):
            while True:
                y = draw_laplace(stream, p, p_bits, q)
                # q |y| <= u + t v < 2^62.
                scaled = q * <uint64_t> (-y if y < 0 else y)
                if keep_gaussian(stream, scaled - p if scaled > p else p - scaled, p):
                    break
            out[i] = y


# ---------------------------------------------------------------------------------------------------------
# Sum of discrete Laplace draws
# ---------------------------------------------------------------------------------------------------------
# Half-binomials of 2^6 to 2^HALVES bits are inverted, with one row of a table for each.
cdef enum:
    HALVES = 12
    GUIDE = 257


def exceed_half_binomial(n, known, n_bits):
    """Return the number of k with P(B <= k) <= u, u in [known, known + 1) / 2^n_bits; -1: unknown."""
    total = term = 1
    for k in range(n + 1):
        # P(B <= k) = total / 2^n, exactly.
        if known * 2**n < total * 2**n_bits:
            return k if (known + 1) * 2**n <= total * 2**n_bits else -1
        term = term * (n - k) // (k + 1)
        total += term


def tabulate_half_binomials():
    """Return a table with a row for each B of 2^j bits, j = 6, ..., HALVES.

    First k of the row; for each byte, how many of the survivals' complements floor(2^64 P(B <= k)), from that
    k on, have smaller leading bytes; and these, up to the first that is 2^64 - 1, which fills up the row.
    """
    import numpy as np

    rows = []
    for n in [1 << j for j in range(6, HALVES + 1)]:
        total, term, below = 0, 1, []
        for k in range(n):
            total += term
            below.append((total << 64) >> n)
            term = term * (n - k) // (k + 1)
        first = sum([value == 0 for value in below]) - 1
        below = [value for value in below[max(first, 0):] if value < 2**64 - 1] + [2**64 - 1]
        guide = [sum([value >> 56 < byte for value in below]) for byte in range(256)]
        rows.append([max(first, 0), *guide, *below])
    width = max(map(len, rows))
    return np.array([row + [2**64 - 1] * (width - len(row)) for row in rows], dtype=np.uint64)


cdef int64_t draw_half_binomial(WordStream stream, const uint64_t[:, ::1] halves, int j) except -1 nogil:
    """Count the ones of 2^j bits, by the first 32 bits of a uniform number, or by more if needed."""
    cdef const uint64_t* row = &halves[j - 6, 0]
    cdef uint64_t head = stream.bits(32)
    cdef Py_ssize_t k = GUIDE + <Py_ssize_t> row[1 + (head >> 24)]
    while row[k] >> 32 < head:
        k += 1
    if row[k] >> 32 == head:
        head = head << 32 | stream.bits(32)
        while row[k] < head:
            k += 1
        if row[k] == head:
            with gil:
                known, n_bits, found = int(head), 64, -1
                while found < 0:
                    found = exceed_half_binomial(1 << j, known, n_bits)
                    known, n_bits = known * 2**32 + stream.bits(32), n_bits + 32
                return found
    return <int64_t> row[0] + k - GUIDE


cdef int64_t count_ones(WordStream stream, int64_t n, const uint64_t[:, ::1] halves) except -1 nogil:
    """Ones among `n` random bits, by a table if there is one."""
    cdef int64_t ones = 0
    cdef int64_t _word
    cdef int j
    if halves.shape[0] > 0:
        for j in range(HALVES, 5, -1):
            for _word in range(n >> j):
                ones += draw_half_binomial(stream, halves, j)
            n &= (<int64_t> 1 << j) - 1
    for _word in range(n >> 6):
        ones += <int64_t> popcount(stream.word())
    return ones + <int64_t> popcount(stream.bits(<int> (n & 63)))


cdef int64_t draw_binomial(
    WordStream stream, int64_t n, const uint64_t[:] p, const uint64_t[:, ::1] halves
) except -1 nogil:
    """Successes of `n` trials of probability 0.p, p read as binary digits, the highest word first.

    Each trial compares a uniform number with p digit by digit. All undecided trials draw their next digit
    at once: under a digit 1 of p those that drew 0 succeed, under a digit 0 those that drew 1 fail, and
    the trials that drew p's digit stay undecided.
    """
    cdef int64_t successes = 0
    cdef int64_t ones
    cdef Py_ssize_t digit = 0
    while n > 0 and digit < 64 * p.shape[0]:
        ones = count_ones(stream, n, halves)
        if (p[digit >> 6] >> (63 - (digit & 63))) & 1:
            successes += n - ones
            n = ones
        else:
            n -= ones
        digit += 1
    return successes


cdef int raise_sum() except -1 with gil:
    raise OverflowError("the sum of the noise draws left the range of the sampler (probability below 2^-300)")


cdef int64_t draw_geometric_sum(
    WordStream stream, int64_t n, const uint64_t[:, ::1] bit_probabilities
) except -1 nogil:
    """A geometric number is sum_i 2^i B_i with independent bits B_i; so is a sum of n, with binomials."""
    cdef int64_t total = 0
    cdef int64_t count
    cdef int i
    for i in range(<int> bit_probabilities.shape[0]):
        count = draw_binomial(stream, n, bit_probabilities[i], None)
        if count > (MAX_SUM - total) >> i:
            raise_sum()
        total += count << i
    return total


def fill_laplace_sum(
    int64_t[::1] out, int64_t n, const uint64_t[:, ::1] bit_probabilities, WordStream stream not None
):
    """Fill `out` with sums of `n` discrete Laplace draws, each the difference of two sums of geometrics.

    Row i of `bit_probabilities` holds P(bit i of a geometric is 1) as a binary fraction, the highest word
    first; the draw is exact for these probabilities.
    """
    cdef Py_ssize_t i
    cdef int64_t positive
    if n < 0 or bit_probabilities.shape[0] > 62:
        raise ValueError("n must not be negative, and there must be at most 62 bits")
    with nogil:
        for i in range(out.shape[0]):
            positive = draw_geometric_sum(stream, n, bit_probabilities)
            out[i] = positive - draw_geometric_sum(stream, n, bit_probabilities)


# ---------------------------------------------------------------------------------------------------------
# Uniform, Bernoulli and binomial vectors
# ---------------------------------------------------------------------------------------------------------
def fill_bits(uint64_t[::1] out, int k, WordStream stream not None):
    """Fill `out` with uniform numbers of `k` bits, 0 <= k <= 64."""
    cdef Py_ssize_t i
    if not 0 <= k <= 64:
        raise ValueError("k must be between 0 and 64")
    with nogil:
        for i in range(out.shape[0]):
            out[i] = stream.bits(k)


def fill_below(int64_t[::1] out, const int64_t[::1] bounds, WordStream stream not None):
    """Fill ``out[i]`` with a uniform number in [0, bounds[i])."""
    cdef Py_ssize_t i
    if out.shape[0] != bounds.shape[0]:
        raise ValueError("out and bounds must have the same length")
    for i in range(bounds.shape[0]):
        if bounds[i] < 1:
            raise ValueError("bounds must be at least 1")
    with nogil:
        for i in range(out.shape[0]):
            out[i] = <int64_t> stream.below(<uint64_t> bounds[i])


def fill_bernoulli(uint8_t[::1] out, const uint64_t[::1] thresholds, WordStream stream not None):
    """Fill ``out[i]`` with 1 with probability thresholds[i] / 2^64, else 0."""
    cdef Py_ssize_t i
    if out.shape[0] != thresholds.shape[0]:
        raise ValueError("out and thresholds must have the same length")
    with nogil:
        for i in range(out.shape[0]):
            out[i] = <uint8_t> stream.bernoulli(thresholds[i])


def fill_binomial(
    int64_t[::1] out,
    const int64_t[::1] trials,
    const uint64_t[::1] probability,
    WordStream stream not None,
    const uint64_t[:, ::1] halves=None,
):
    """Fill ``out[i]`` with the successes of trials[i] trials; `probability` is a binary fraction in words.

    Many trials take fewer random bits with `halves`, from `tabulate_half_binomials`.
    """
    cdef Py_ssize_t i
    if out.shape[0] != trials.shape[0]:
        raise ValueError("out and trials must have the same length")
    for i in range(trials.shape[0]):
        if trials[i] < 0:
            raise ValueError("trials must not be negative")
    with nogil:
        for i in range(out.shape[0]):
            out[i] = draw_binomial(stream, trials[i], probability, halves)
