# SPDX-License-Identifier: BSD-3-Clause
"""The word stream: every bit used once, exact draws, wiped buffers, sized requests."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from skprivate.noise._sampling_kernels import fill_below, fill_bernoulli, fill_bits, fill_discrete_laplace
from skprivate.noise._stream_kernels import WordStream


def bits(stream, count, k):
    out = np.empty(count, dtype=np.uint64)
    fill_bits(out, k, stream)
    return [int(value) for value in out]


def below(stream, bounds):
    out = np.empty(len(bounds), dtype=np.int64)
    fill_below(out, np.array(bounds, dtype=np.int64), stream)
    return out.tolist()


@pytest.mark.parametrize("planned", [640, 5])
@pytest.mark.parametrize("k", [1, 3, 7, 16, 33, 63, 64])
def test_bits_come_once_each_and_in_order(scripted_entropy, k, planned) -> None:
    # Of the requests after a small plan, most come while bits of the last one are left over.
    script = np.random.default_rng(0).bytes(8 * 640)
    count = 640 * 64 // k
    entropy = scripted_entropy(script)
    drawn = bits(WordStream(entropy, planned), count, k)
    joined = sum(value << (k * i) for i, value in enumerate(drawn))
    assert joined == int.from_bytes(script, "little") & ((1 << (k * count)) - 1)
    assert planned < 640 or entropy.requests == [8 * 640]


def test_zero_bits_cost_nothing(scripted_entropy) -> None:
    entropy = scripted_entropy()
    assert bits(WordStream(entropy, 10), 3, 0) == [0, 0, 0]
    assert below(WordStream(entropy, 10), [1, 1]) == [0, 0]
    assert entropy.requests == []


def test_a_whole_word_leaves_the_left_over_bits(scripted_entropy, bit_script) -> None:
    # 4 bits of the first word, the whole second word, then 60 bits of the first.
    script = bit_script([(5, 4), (99, 60), (123456789, 64)])
    stream = WordStream(scripted_entropy(script), 4)
    assert bits(stream, 1, 4) + bits(stream, 1, 64) + bits(stream, 1, 60) == [5, 123456789, 99]


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 100])
def test_below_accepts_each_number_once(scripted_entropy, bit_script, n) -> None:
    k = (n - 1).bit_length()
    outcomes = np.random.default_rng(n).permutation(1 << k)
    # The field behind all outcomes shows that rejected blocks cost k bits and no more.
    script = bit_script([(int(value), k) for value in outcomes] + [(n - 1, k)])
    drawn = below(WordStream(scripted_entropy(script), 64), [n] * (n + 1))
    assert drawn == [value for value in outcomes if value < n] + [n - 1]


def test_below_reaches_large_bounds(scripted_entropy) -> None:
    n = 2**62 + 1
    script = np.array([2**62, 0], dtype=np.uint64).tobytes()
    assert below(WordStream(scripted_entropy(script), 4), [n, 2]) == [2**62, 0]


@pytest.mark.parametrize("threshold", [0, 1, 2**48, 5 * 2**48 + 17, 2**63, 2**64 - 1])
def test_bernoulli_has_the_exact_probability(scripted_entropy, bit_script, threshold) -> None:
    head, low = divmod(threshold, 2**48)
    fields = []
    for value in range(2**16):
        fields += [(value, 16)] + ([(max(low - 1, 0), 48)] if value == head else [])
    fields += [(head, 16), (low, 48)]
    out = np.empty(2**16 + 1, dtype=np.uint8)
    stream = WordStream(scripted_entropy(bit_script(fields)), 2**14)
    fill_bernoulli(out, np.full(out.size, threshold, dtype=np.uint64), stream)
    # Heads below the threshold's are true; on a tie the tails below the threshold's are.
    assert out[:-1].sum() == head + (low > 0)
    assert out[-1] == 0


def test_requests_follow_the_plan(scripted_entropy) -> None:
    small, medium, large = scripted_entropy(), scripted_entropy(), scripted_entropy()
    bits(WordStream(small, 0), 9, 64)
    bits(WordStream(medium, 320), 331, 64)
    bits(WordStream(large, 10000), 10000, 64)
    assert small.requests == [32, 32, 32]
    assert medium.requests == [8 * 320, 8 * 10, 8 * 10]
    assert large.requests == [65536, 8 * (10000 - 8192)]


def test_used_and_left_over_bytes_are_wiped(scripted_entropy) -> None:
    entropy = scripted_entropy(b"\xff" * 64)
    stream = WordStream(entropy, 4)
    bits(stream, 5, 64)
    assert entropy.chunks[0] == bytes(32)
    assert entropy.chunks[1] == b"\xff" * 32
    stream.close()
    assert entropy.chunks[1] == bytes(32)


def test_bytes_of_a_callers_own_generator_stay(scripted_entropy) -> None:
    entropy = scripted_entropy(b"\xff" * 64)
    entropy.private = False
    stream = WordStream(entropy, 4)
    bits(stream, 5, 64)
    stream.close()
    assert entropy.chunks == [b"\xff" * 32] * 2


def test_a_dropped_stream_and_a_left_block_wipe(scripted_entropy) -> None:
    entropy = scripted_entropy(b"\xff" * 64)
    stream = WordStream(entropy, 4)
    bits(stream, 1, 64)
    del stream
    assert entropy.chunks[0] == bytes(32)
    with WordStream(entropy, 4) as stream:
        bits(stream, 1, 3)
        assert entropy.chunks[1] == b"\xff" * 32
    assert entropy.chunks[1] == bytes(32)
    with pytest.raises(ValueError, match="closed"):
        bits(stream, 1, 3)


def test_a_failing_source_is_reported(scripted_entropy) -> None:
    class Broken:
        def random_bytes(self, n):
            raise OSError("no entropy")

    class Short:
        def random_bytes(self, n):
            return bytes(bytearray(n - 1))

    for source, error in ((Broken(), OSError), (Short(), ValueError)):
        for fill in (lambda s: bits(s, 1, 1), lambda s: below(s, [3])):
            with pytest.raises(error):
                fill(WordStream(source, 4))
        with pytest.raises(error):
            fill_discrete_laplace(np.empty(1, dtype=np.int64), 5, 1, WordStream(source, 4))


@pytest.mark.parametrize("drawn_before", [0, 4])
def test_another_thread_gets_no_words_of_a_stream(scripted_entropy, drawn_before) -> None:
    entropy = scripted_entropy()
    stream = WordStream(entropy, 4)
    bits(stream, drawn_before, 64)
    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="for the thread that made it"):
        pool.submit(bits, stream, 1, 64).result()
    assert len(entropy.requests) == drawn_before // 4
    assert bits(stream, 1, 64) == [0]
