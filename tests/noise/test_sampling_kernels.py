# SPDX-License-Identifier: BSD-3-Clause
"""The samplers against exact cell probabilities; each test has a false-alarm rate of 1e-7 over its seed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, check_entropy, laplace_sum
from skprivate.noise._mechanisms import Entropy
from skprivate.noise._sampling_kernels import (
    exceed_half_binomial,
    fill_below,
    fill_bernoulli,
    fill_binomial,
    fill_discrete_laplace,
    fill_laplace_sum,
    tabulate_half_binomials,
)
from skprivate.noise._stream_kernels import WordStream
from tests.marks import slow

pytestmark = pytest.mark.statistical

LAPLACE_DRAWS = 10_000_000
GAUSSIAN_DRAWS = 1_000_000


def noise(mechanism, n, random_state):
    return mechanism.randomize(np.zeros(n, dtype=np.int64), random_state)


def laplace_survival(m, scale):
    """P(X >= m), m integers, for the discrete Laplace law."""
    m = np.asarray(m, dtype=np.float64)
    tail = np.exp(-np.where(m > 0, m, 1 - m) / scale) / (1 + math.exp(-1 / scale))
    return np.where(m > 0, tail, 1 - tail)


def cell_edges(scale, n):
    """Each integer of 20 or more draws; at large scales, 200 intervals of like mass."""
    if scale <= 100:
        reach = int(scale * math.log(n * math.tanh(0.5 / scale) / 20))
        return np.arange(-reach, reach + 2)
    upper = np.ceil(-scale * np.log1p(-np.arange(1, 100) / 100)).astype(np.int64)
    return np.concatenate([-upper[::-1], [0], upper])


def count_cells(draws, edges):
    return np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)


def cell_probabilities(survival):
    return -np.diff(np.concatenate([[1.0], survival, [0.0]]))


@pytest.fixture
def assert_law(assert_fits):
    """Integers have this law, whose middle is the integer 0; rare ones are counted at the ends."""

    def check(name, draws, law, first=None):
        start = -(law.size // 2) if first is None else first
        inner = np.flatnonzero(law * draws.size > 40)
        low, high = inner[0], inner[-1]
        cells = law[low : high + 1].copy()
        cells[0], cells[-1] = law[: low + 1].sum(), law[high:].sum()
        counts = np.bincount(np.clip(draws - start, low, high) - low, minlength=cells.size)
        assert_fits(name, counts, cells)

    return check


def low_bits_probabilities(scale, modulus):
    """P(X mod modulus = j): the two tails are geometric series."""
    ratio = math.exp(-1 / scale)
    j = np.arange(modulus)
    positive = np.exp(-np.where(j > 0, j, modulus) / scale)
    series = (positive + np.exp(-(modulus - j) / scale)) / -math.expm1(-modulus / scale)
    return ((j == 0) + series) * (1 - ratio) / (1 + ratio)


@pytest.mark.parametrize(
    ("scale", "n"),
    [
        (1, LAPLACE_DRAWS),
        (2**40, LAPLACE_DRAWS),
        (Fraction(2**52 - 1, 2**20 + 7), 1_000_000),
        *(slow(scale, LAPLACE_DRAWS) for scale in (Fraction(10, 3), 100, 2**20)),
    ],
    ids=str,
)
def test_discrete_laplace_has_its_law(assert_fits, scale, n) -> None:
    draws = noise(DiscreteLaplaceMechanism.from_scale(scale), n, 20_040_010)
    edges = cell_edges(float(scale), n)
    probabilities = cell_probabilities(laplace_survival(edges, float(scale)))
    assert_fits(f"Laplace, scale {scale}", count_cells(draws, edges), probabilities)
    if scale >= 2**20:
        low_bits = np.bincount(draws & 255, minlength=256)
        assert_fits(f"low bits, scale {scale}", low_bits, low_bits_probabilities(float(scale), 256))


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 2), 1, Fraction(7, 3), 10, Fraction(1001, 10)], ids=lambda sigma: f"sigma={sigma}"
)
def test_discrete_gaussian_has_its_law(assert_law, sigma) -> None:
    reach = math.ceil(20 * sigma)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / float(sigma)) ** 2)
    draws = noise(DiscreteGaussianMechanism.from_sigma(sigma), GAUSSIAN_DRAWS, 7)
    assert_law(f"Gaussian, sigma {sigma}", draws, weights / weights.sum())


@pytest.mark.parametrize("sigma", [2**30, Fraction(2**52 - 1, 3)])
def test_large_gaussians_have_their_law(assert_fits, sigma) -> None:
    draws = noise(DiscreteGaussianMechanism.from_sigma(sigma), GAUSSIAN_DRAWS, 8)
    edges = np.floor(stats.norm.ppf(np.arange(1, 200) / 200) * float(sigma)).astype(np.int64)
    # The sum over integers is the integral from half a step below, to a relative 1 / (24 sigma^2).
    survival = stats.norm.sf((edges - 0.5) / float(sigma))
    assert_fits(f"Gaussian, sigma {sigma}", count_cells(draws, edges), cell_probabilities(survival))
    assert_fits("Gaussian, low bits", np.bincount(draws & 255, minlength=256), np.full(256, 1 / 256))


@pytest.mark.parametrize(("n", "scale"), [(1, 2), (3, 1), (4, Fraction(7, 2)), (30, 2), (2, Fraction(1, 9))])
def test_a_small_sum_has_the_convolved_law(assert_law, n, scale) -> None:
    single = np.exp(-np.abs(np.arange(-400, 401)) / float(scale))
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, single / single.sum())
    assert_law(f"sum of {n}, scale {scale}", laplace_sum(n, scale, size=200_000, random_state=3), law)


def test_a_sum_agrees_with_summed_draws() -> None:
    sums = laplace_sum(20, 2**20, size=20_000, random_state=4)
    drawn = noise(DiscreteLaplaceMechanism.from_scale(2**20), 400_000, 5).reshape(-1, 20).sum(axis=1)
    assert stats.ks_2samp(sums, drawn).pvalue > 1e-7


def test_a_large_sum_is_normal_with_the_right_variance() -> None:
    n, scale = 100_000, 2**20
    sums = laplace_sum(n, scale, size=400, random_state=6)
    deviation = math.sqrt(n * DiscreteLaplaceMechanism.from_scale(scale).variance)
    # n = 1e5 terms are closer to the normal law than 400 sums can tell.
    assert stats.kstest(sums / deviation, "norm").pvalue > 1e-7
    low, high = stats.chi2.ppf([5e-8, 1 - 5e-8], sums.size)
    assert low < float(((sums / deviation) ** 2).sum()) < high


def test_sums_at_large_scales_use_their_low_bits(assert_fits) -> None:
    sums = laplace_sum(100, 2**40, size=5_000, random_state=9)
    assert_fits("sum, low bits", np.bincount(sums & 15, minlength=16), np.full(16, 1 / 16))


def test_uniform_vectors_have_their_law(assert_fits) -> None:
    out = np.empty(300_000, dtype=np.int64)
    with WordStream(check_entropy(0), 30_000) as stream:
        fill_below(out, np.full(out.size, 12, dtype=np.int64), stream)
    assert_fits("below 12", np.bincount(out, minlength=12), np.full(12, 1 / 12))


def test_bernoulli_vectors_have_their_law(assert_fits) -> None:
    out = np.empty(300_000, dtype=np.uint8)
    with WordStream(check_entropy(1), 80_000) as stream:
        fill_bernoulli(out, np.full(out.size, 2**64 // 3, dtype=np.uint64), stream)
    assert_fits("Bernoulli 1/3", np.bincount(out, minlength=2), np.array([2 / 3, 1 / 3]))


@pytest.mark.parametrize("trials", [1, 5, 30])
def test_binomial_vectors_have_their_law(assert_law, trials) -> None:
    out = np.empty(100_000, dtype=np.int64)
    with WordStream(check_entropy(2), 10_000) as stream:
        fill_binomial(out, np.full(out.size, trials), np.array([2**64 // 3, 2**63], dtype=np.uint64), stream)
    assert_law(f"binomial {trials}", out, stats.binom.pmf(np.arange(trials + 1), trials, 1 / 3), first=0)


@pytest.mark.parametrize("scale", [Fraction(1, 3), 1, 5, 2**10 + 1, Fraction(20480, 7), 2**20, 2**40 + 1])
def test_as_many_words_are_planned_as_are_drawn(scale) -> None:
    # 50,000 draws: the words that they take have a standard error of a percent at most.
    drawn, noise = [], np.empty(50_000, dtype=np.int64)
    source = np.random.default_rng(4)
    entropy = Entropy("seeded", lambda size: drawn.append(size // 8) or source.bytes(size))
    with WordStream(entropy, 1) as stream:
        fill_discrete_laplace(noise, Fraction(scale).numerator, Fraction(scale).denominator, stream)
    assert DiscreteLaplaceMechanism.from_scale(scale)._expected_words(50_000) == pytest.approx(
        sum(drawn), rel=0.03
    )


@pytest.mark.parametrize("trials", [64, 200, 5000])
def test_binomials_by_tables_have_their_law(assert_law, trials) -> None:
    out, halves = np.empty(100_000, dtype=np.int64), tabulate_half_binomials()
    with WordStream(check_entropy(3), 100_000) as stream:
        fill_binomial(out, np.full(out.size, trials), np.array([2**64 // 3], dtype=np.uint64), stream, halves)
    assert_law(f"binomial {trials}", out, stats.binom.pmf(np.arange(trials + 1), trials, 1 / 3), first=0)


@pytest.mark.parametrize("power", [6, 9, 12])
def test_a_table_of_half_binomials_holds_64_digits_of_the_distribution(power) -> None:
    n, (first, *row) = 2**power, tabulate_half_binomials()[power - 6].tolist()
    below = [(total << 64) >> n for total in itertools.accumulate(math.comb(n, k) for k in range(n))]
    expected = [min(digits, 2**64 - 1) for digits in below[first:]] + len(row) * [2**64 - 1]
    assert row[256:] == expected[: len(row) - 256]
    assert max(below[:first], default=0) == 0
    assert row[:256] == [sum(digits >> 56 < byte for digits in row[256:]) for byte in range(256)]


def test_a_number_with_the_64_digits_of_a_probability_is_compared_further() -> None:
    # Of 64 bits P(B <= k) has no further digits: a number that begins with them is not below it.
    n, k = 64, 30
    below = sum(math.comb(n, j) for j in range(k + 1))
    assert exceed_half_binomial(n, below, 64) == k + 1
    assert exceed_half_binomial(n, below - 1, 64) == k
    # Of 128 bits it has 64 more.
    n, k = 128, 60
    below = sum(math.comb(n, j) for j in range(k + 1))
    assert exceed_half_binomial(n, below >> 64, 64) == -1
    assert [exceed_half_binomial(n, below - one, 128) for one in (0, 1)] == [k + 1, k]
    digits = b"".join((below >> shift & 2**32 - 1).to_bytes(4, "little") for shift in (96, 64, 32, 0))
    fixed = Entropy("seeded", lambda size: digits.ljust(size, bytes(1)))
    out = np.empty(1, dtype=np.int64)
    with WordStream(fixed, 4) as stream:
        fill_binomial(
            out, np.array([n]), np.array([2**63], dtype=np.uint64), stream, tabulate_half_binomials()
        )
    # With p = 1/2 those that drew 0 succeed.
    assert out[0] == n - (k + 1)


def test_noise_of_the_operating_system_has_its_law() -> None:
    # A right sampler fails with probability 2e-10 at most.
    draws = noise(DiscreteLaplaceMechanism.from_scale(2**20), 200_000, None)
    edges = cell_edges(2.0**20, draws.size)
    expected = draws.size * cell_probabilities(laplace_survival(edges, 2.0**20))
    statistic = ((count_cells(draws, edges) - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, expected.size - 1) > 1e-10


def test_a_tail_beyond_the_range_raises(scripted_entropy) -> None:
    # Zeros are below every survival, and 64 more steps are drawn.
    with pytest.raises(OverflowError, match="range of the sampler"):
        fill_discrete_laplace(np.empty(1, dtype=np.int64), 8, 1, WordStream(scripted_entropy(bytes(800)), 60))


# What no number of draws shows: comparisons that go on beyond the first digits.
# Fields: sign, first digit and J of a draw, w of t, digits of the first trial, and of a trial 1 / 2.
@pytest.mark.parametrize(
    ("t", "w", "digit", "fields", "expected"),
    [
        # 16 / (16 48) has the digits 5, 85, 85, ... to base 256: a larger one fails the trial, which keeps w.
        (48, 16, 6, [], 1),
        (48, 16, 5, [(86, 8)], 1),
        (48, 16, 5, [(85, 8), (85, 8), (86, 8)], 1),
        # A smaller digit passes it; trial 2 then fails on a bit 0, which rejects w.
        (48, 16, 4, [(0, 1)], None),
        (48, 16, 5, [(85, 8), (84, 8), (0, 1)], None),
        # Trial 2 passes on a bit 1 and smaller digits; trial 3, of 1 / 3, fails on a 2, which keeps w.
        (48, 16, 4, [(1, 1), (5, 8), (84, 8), (2, 2)], 1),
        # 16 / (16 32) ends after its digit 8: equality fails the trial.
        (32, 16, 8, [], 1),
        (32, 16, 7, [(0, 1)], None),
    ],
)
def test_ratios_are_compared_to_the_last_digit(
    scripted_entropy, bit_script, t, w, digit, fields, expected
) -> None:
    out = np.empty(1 if expected is None else 2, dtype=np.int64)
    n_bits = (t - 1).bit_length()
    # A second draw, J = 16 and w = 0 with a sign, shows that not a bit more was read.
    second = [(23_000 << 9 | 255 << 1 | 1, 25), (0, n_bits)]
    script = bit_script([((2**16 - 1) << 9 | digit << 1, 25), (w, n_bits), *fields, *second])
    fill_discrete_laplace(out, t, 1, WordStream(scripted_entropy(script), 8))
    assert out.tolist() == ([-t] if expected is None else [expected, -t])


def test_a_binomial_compares_all_256_digits(scripted_entropy, bit_script) -> None:
    digits = np.random.default_rng(0).integers(0, 2, 256)
    digits[0] = 0
    words = [int("".join(map(str, digits[start : start + 64])), 2) for start in range(0, 256, 64)]
    probabilities = np.array([words], dtype=np.uint64)
    out = np.empty(1, dtype=np.int64)
    for place in range(257):
        read = digits[:place].tolist() + (1 - digits[place : place + 1]).tolist()
        # The negative geometric number fails at its first digit, a 1 against 0.
        script = bit_script([(bit, 1) for bit in [*read, 1]])
        fill_laplace_sum(out, 1, probabilities, WordStream(scripted_entropy(script), 8))
        # The first digit that differs decides; a number equal to the probability is not below it.
        assert out[0] == (digits[place] if place < 256 else 0)
