# SPDX-License-Identifier: BSD-3-Clause
"""MaskedSum: exact sums, messages that say nothing, and refusals rather than wrong sums."""

import hashlib
import hmac
import itertools
import os
import pickle
import struct
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.collaborative import MaskedSum
from skprivate.collaborative._protocols.keys import unseal
from skprivate.collaborative._protocols.masked_sum import (
    FRACTION_BITS,
    LIMIT,
    WORDS,
    settle,
    to_floats,
    to_words,
)
from skprivate.collaborative._protocols.messages import Query
from skprivate.exceptions import ConsentError, DisclosureWarning

NAMES = ("north", "south", "west", "east", "middle")
VALUES = np.random.default_rng(0).normal(size=(7, len(NAMES)))
QUERY = bytes(range(16))
# Before the masked content of a message: the protocol, and the tag of what was asked.
HEAD = len(MaskedSum._protocol) + 32


def rows(n_rows, query_id=QUERY, shift=0.0):
    return Query(query_id, np.arange(n_rows)[:, np.newaxis] + shift, ("x",)).to_bytes()


class Platform:
    """One roster with all its keys; queries are rows 0, 1, ... under an id, or messages."""

    def __init__(self, keys, platform_key):
        self.keys, self.platform_key = keys, platform_key
        self.sum = MaskedSum({name: key.public for name, key in keys.items()}, platform_key.public)

    def mask(self, query, values, sizes=1.0):
        columns = np.asarray(values).T
        weights = np.broadcast_to(sizes, columns.shape)
        query = rows(columns.shape[1], query) if len(query) == 16 else query
        return {
            name: self.sum.mask(name, key, query, column, weight)
            for (name, key), column, weight in zip(self.keys.items(), columns, weights, strict=True)
        }

    def open(self, query, messages, n_rows=7):
        query = rows(n_rows, query) if len(query) == 16 else query
        return self.sum.open(self.platform_key, query, messages)

    def binding(self, query_id, n_rows=7, shift=0.0):
        return self.sum._bind(rows(n_rows, query_id, shift))[1]

    def words(self, name, query_id, message, shift=0.0):
        """What the platform reads in one message: masked words of values and sizes."""
        binding = self.binding(query_id, (len(message) - HEAD - 28) // 64, shift)
        link = self.sum._link(self.platform_key, self.keys[name].public, b"message", binding)
        content = unseal(link, message[HEAD:], self.sum._context(b"message", binding, name))
        return np.frombuffer(content, dtype="<u4").astype(np.int64).reshape(-1, 2 * WORDS)


@pytest.fixture
def again(platform):
    """The same keys in a process that was started anew: it has forgotten what was done with them."""

    def make():
        for key in platform.keys.values():
            key._memory.remembered.clear()
        return platform

    return make


@pytest.fixture
def platform(fixed_keys):
    keys = fixed_keys([*NAMES, "platform"])
    return Platform({name: keys[name] for name in NAMES}, keys["platform"])


def refuses(task, match="Nothing was opened"):
    with pytest.raises(ConsentError, match=match) as caught:
        task()
    assert not any(character.isdigit() for character in str(caught.value))
    assert caught.value.__cause__ is None


def mask_bytes(platform, one, two, binding, n_rows):
    """The masks of two names by the standards alone: RFC 7748, RFC 5869, FIPS 202, and AES-256-CTR."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    keys = [platform.keys[name] for name in (one, two)]
    private = X25519PrivateKey.from_private_bytes(keys[0].to_bytes())
    shared = private.exchange(X25519PublicKey.from_public_bytes(keys[1].public))
    parts = [b"skprivate agree", *sorted(key.public for key in keys), b"skprivate masked sum 3"]
    info = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    secret = hmac.digest(hmac.digest(bytes(32), shared, "sha256"), info + b"\1", "sha256")
    if n_rows <= 32:
        return hashlib.shake_256(secret + b"words" + binding).digest(64 * n_rows)
    cipher = Cipher(
        algorithms.AES(hashlib.shake_256(secret + b"stream" + binding).digest(32)), modes.CTR(bytes(16))
    )
    return cipher.encryptor().update(bytes(64 * n_rows))


def binding_of(platform, n_rows, query_id=QUERY):
    """What masks are made of, besides a secret: SHA-256 of the protocol, the roster and the query."""

    def digest(width, *parts):
        return hashlib.sha256(b"".join(struct.pack(width, len(part)) + part for part in parts)).digest()

    head, publics = b"skprivate masked sum 3", {name: key.public for name, key in platform.keys.items()}
    members = [part for name in sorted(NAMES) for part in (name.encode(), publics[name])]
    shape, numbers = struct.pack(">QQ", n_rows, 1), np.arange(n_rows, dtype="<f8").tobytes()
    query = digest(">Q", b"skprivate query digest 1", query_id, b"", shape, b"names", b"x", b"<f8", numbers)
    return digest(">I", head, digest(">I", head, platform.platform_key.public, *members), query)


@pytest.mark.parametrize("n_rows", [1, 7, 32, 33, 1500])
def test_a_message_is_the_value_plus_the_masks_of_later_names_minus_earlier(platform, n_rows):
    # By Python's whole numbers and one stream per pair; north comes third of five.
    name, key = "north", platform.keys["north"]
    values = np.random.default_rng(3).normal(size=n_rows)
    words = platform.words(name, QUERY, platform.sum.mask(name, key, rows(n_rows), values, 3))
    expected = [round(value * 2**128) for pair in zip(values, [3] * n_rows, strict=True) for value in pair]
    for peer in set(NAMES) - {name}:
        masks = mask_bytes(platform, name, peer, binding_of(platform, n_rows), n_rows)
        sign = 1 if name < peer else -1
        for place in range(2 * n_rows):
            expected[place] += sign * int.from_bytes(masks[32 * place : 32 * place + 32], "little")
    got = [
        sum(int(word) << 32 * place for place, word in enumerate(number))
        for number in words.reshape(2 * n_rows, WORDS)
    ]
    assert got == [number % 2**256 for number in expected]


# What version 3 sends for fixed keys, before it is sealed: it must not change without a new version.
VECTORS = {
    1: ("a88df6affdb090e118ec973c26104cf8", "4c3220d51c00d163d601fbff817cbd8c"),
    40: ("ad5597c44c2cfc0db801e3e5a0a5697e", "73b5a374537acbac7a3ebf75c9225ee7"),
}


@pytest.mark.parametrize("n_rows", VECTORS)
def test_masked_content_stays_what_it_was(platform, n_rows):
    message = platform.mask(QUERY, np.arange(5.0 * n_rows).reshape(n_rows, 5))["north"]
    content = platform.words("north", QUERY, message).astype("<u4").tobytes()
    assert (content[:16].hex(), hashlib.sha256(content).hexdigest()[:32]) == VECTORS[n_rows]


def test_messages_of_zeros_are_uniform_and_all_different(platform, assert_fits):
    # Fixed keys and ids, so that nothing here is random; the rate is that of assert_fits, 1e-7 each.
    messages = platform.mask(QUERY, np.zeros((2000, 5)), 0.0)
    words = {name: platform.words(name, QUERY, messages[name]) for name in NAMES}
    for name in NAMES:
        for place, part in enumerate(np.split(words[name].astype("<u4"), 16, axis=1)):
            counts = np.bincount(np.frombuffer(part.tobytes(), np.uint8), minlength=256)
            assert_fits(f"{name}, word {place}", counts, np.full(256, 1 / 256))
    for one, two in itertools.combinations(NAMES, 2):
        # 32,000 pairs of words of 32 bits: one is equal with probability 7.5e-6, five with less than 1e-27.
        assert np.count_nonzero(words[one] == words[two]) < 5


@pytest.mark.parametrize("n_rows", [32, 2000])
def test_no_mask_serves_two_queries_or_two_rosters(platform, fixed_keys, again, assert_fits, n_rows):
    # Short queries by the hash, and so many of them that there are as many masks; a long one by the cipher.
    other = Platform(platform.keys, fixed_keys(["new platform"], seed=1)["new platform"])
    gaps = {(name, what): b"" for name in NAMES for what in ("id", "roster", "rows")}
    for number in range(2000 // n_rows):
        one, two = (bytes([number, which]) * 8 for which in (0, 1))
        zeros = np.zeros((n_rows, 5))
        first, second, third = platform.mask(one, zeros), platform.mask(two, zeros), other.mask(one, zeros)
        # A site that has forgotten what it did, and is asked other rows under the same id.
        fourth = again().mask(rows(n_rows, one, shift=1e-9), zeros)
        for name in NAMES:
            words = platform.words(name, one, first[name])
            found = {
                "id": platform.words(name, two, second[name]),
                "roster": other.words(name, one, third[name]),
                "rows": platform.words(name, one, fourth[name], shift=1e-9),
            }
            for what, others in found.items():
                gaps[name, what] += ((words - others) % 2**32).astype("<u4").tobytes()
    for label, gap in gaps.items():
        counts = np.bincount(np.frombuffer(gap, np.uint8), minlength=256)
        assert_fits(f"{label}, difference", counts, np.full(256, 1 / 256))


def test_rows_of_one_query_have_masks_of_their_own(platform, assert_fits):
    messages = platform.mask(QUERY, np.ones((2000, 5)))
    for name in NAMES:
        words = platform.words(name, QUERY, messages[name])
        for gap in (words[1:] - words[:-1], words[:, WORDS:] - words[:, :WORDS]):
            counts = np.bincount(
                np.frombuffer((gap % 2**32).astype("<u4").tobytes(), np.uint8), minlength=256
            )
            assert_fits(f"{name}, difference", counts, np.full(256, 1 / 256))


def test_m_minus_2_colluding_sites_still_cannot_read_one_of_the_others(platform):
    messages = platform.mask(QUERY, VALUES)
    honest, crooks = NAMES[:2], NAMES[2:]
    for name in honest:
        words = platform.words(name, QUERY, messages[name])[:, :WORDS].copy()
        for crook in crooks:
            # The crooks know the masks that they share with this site, and take them away.
            masks = mask_bytes(platform, crook, name, binding_of(platform, 7), 7)
            taken = np.frombuffer(masks, dtype="<u4").astype(np.int64).reshape(7, 2 * WORDS)
            words -= (1 if name < crook else -1) * taken[:, :WORDS]
        left = to_floats(words)
        assert (np.abs(left - VALUES[:, NAMES.index(name)]) > 1e20).all()
    # They have all but the masks of one honest pair: with those too they read the answer.
    masks = mask_bytes(platform, *honest, binding_of(platform, 7), 7)
    taken = np.frombuffer(masks, dtype="<u4").astype(np.int64).reshape(7, 2 * WORDS)
    words -= (1 if honest[1] < honest[0] else -1) * taken[:, :WORDS]
    np.testing.assert_array_equal(to_floats(words), VALUES[:, 1])


def test_a_site_masks_once_per_query_id(platform):
    platform.mask(QUERY, VALUES)
    for name, key in platform.keys.items():
        for query, values in ((rows(7), VALUES[:, 0]), (rows(7), VALUES[:, 1] + 1), (rows(1), [0.0])):
            refuses(
                lambda n=name, k=key, q=query, v=values: platform.sum.mask(n, k, q, v), match="same query id"
            )
    # The memory is the key's: another object over the same roster, pickled or new, changes nothing.
    again = pickle.loads(pickle.dumps(platform.sum))
    refuses(lambda: again.mask("north", platform.keys["north"], rows(1), [0.0]), match="same query id")


def test_a_refused_answer_does_not_use_up_the_id(platform):
    with pytest.raises(ValueError, match="finite"):
        platform.sum.mask("north", platform.keys["north"], rows(1), [np.nan])
    assert platform.mask(QUERY, VALUES)


def test_a_missing_foreign_or_double_message_is_refused(platform):
    messages = platform.mask(QUERY, VALUES)
    for bad in (
        *({name: messages[name] for name in NAMES if name != lost} for lost in NAMES),
        {**messages, "stranger": messages["north"]},
        {**messages, "north": messages["south"]},
        {**messages, "north": messages["south"], "south": messages["north"]},
        {**messages, "north": None},
        {**messages, "north": messages["north"].hex()},
        list(messages.values()),
        None,
    ):
        refuses(lambda b=bad: platform.open(QUERY, b))


def test_a_replayed_message_is_refused(platform, fixed_keys):
    other = os.urandom(16)
    first, second = platform.mask(QUERY, VALUES), platform.mask(other, VALUES)
    for name in NAMES:
        refuses(lambda n=name: platform.open(QUERY, {**first, n: second[n]}))
    refuses(lambda: platform.open(QUERY, second))
    refuses(lambda: platform.open(other, first))
    elsewhere = Platform(platform.keys, fixed_keys(["new platform"], seed=1)["new platform"])
    third = elsewhere.mask(QUERY, VALUES)
    refuses(lambda: platform.open(QUERY, third))
    refuses(lambda: elsewhere.open(QUERY, first))
    refuses(lambda: platform.sum.open(elsewhere.platform_key, rows(7), first), match="receiver")


VICTIM = "west"


def asked(rows, query_id=QUERY):
    return Query(query_id, rows, None).to_bytes()


def masked_apart(platform, query_id, rows, value=1.0):
    """What sites send that are honest, and are asked other rows under one id."""
    return {
        name: platform.sum.mask(name, key, asked(rows[name], query_id), np.full(len(rows[name]), value), 100)
        for name, key in platform.keys.items()
    }


def summed(platform, query_id, rows, messages):
    """What an operator reads who knows what each site was asked, ignores every tag, and adds."""
    words = 0
    for name, key in platform.keys.items():
        binding = platform.sum._bind(asked(rows[name], query_id))[1]
        link = platform.sum._link(platform.platform_key, key.public, b"message", binding)
        content = unseal(link, messages[name][HEAD:], platform.sum._context(b"message", binding, name))
        words = words + np.frombuffer(content, dtype="<u4").astype(np.int64).reshape(-1, 2 * WORDS)
    return to_floats(words[:, :WORDS]), to_floats(words[:, WORDS:])


def test_an_operator_who_ignores_every_tag_adds_noise(platform):
    # 1,000 times: a sum of masks is below 1e20 of the 2^127 with a probability of 6e-19 each.
    column = np.zeros((1000, 1))
    rows_ = dict.fromkeys(NAMES, column) | {VICTIM: column + 1}
    for part in summed(platform, QUERY, rows_, masked_apart(platform, QUERY, rows_, 0.0)):
        assert (np.abs(part) > 1e20).all()


def test_masks_that_are_left_are_refused_even_if_every_tag_and_seal_is_right(platform, monkeypatch):
    honest, broken = MaskedSum._masked, platform.keys[VICTIM]

    def without(self, name, key, binding, numbers):
        if key is not broken:
            return honest(self, name, key, binding, numbers)
        return settle(to_words(numbers.ravel()), 0).astype("<u4").tobytes()

    monkeypatch.setattr(MaskedSum, "_masked", without)
    messages = platform.mask(QUERY, VALUES)
    refuses(lambda: platform.open(QUERY, messages), match="masks do not cancel")


def test_unequal_numbers_of_queries_are_refused(platform, again):
    messages = platform.mask(QUERY, VALUES)
    messages["west"] = again().mask(QUERY, VALUES[:3])["west"]
    refuses(lambda: platform.open(QUERY, messages), match="other rows")
    with pytest.raises(ValueError, match="as many as the query has rows"):
        platform.sum.mask("north", platform.keys["north"], rows(7), VALUES[:3, 0])


def test_600_damaged_messages_are_all_refused(platform, corruptions):
    messages = platform.mask(QUERY, VALUES)
    for damaged in corruptions(messages, 600):
        refuses(lambda d=damaged: platform.open(QUERY, d))
    np.testing.assert_allclose(platform.open(QUERY, messages)[0], VALUES.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize(("count", "message"), [(1, "its answer"), (2, "the other's answer")])
def test_few_members_are_warned_about(platform, count, message):
    publics = {name: platform.keys[name].public for name in NAMES[:count]}
    with pytest.warns(DisclosureWarning, match=message) as caught:
        few = MaskedSum(publics, platform.platform_key.public)
    assert caught[0].filename == __file__
    sent = {name: few.mask(name, platform.keys[name], rows(1), [1.5]) for name in NAMES[:count]}
    assert few.open(platform.platform_key, rows(1), sent)[0].tolist() == [1.5 * count]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MaskedSum.simulate(["alone"])


RING = 2**256
EXTREMES = [0.0, -0.0, 5e-324, -1e-300, 2.0**-129, 2.0**-128, -(2.0**-128), 3 * 2.0**-129, 1e-29, 0.1, -1.0]
EXTREMES += [1.0 - 2**-53, 2.0**32, -(2.0**32), 2.0**53 + 2, 1e18, -1e18, 1e30, np.nextafter(LIMIT, 0)]
floats = st.one_of(
    st.sampled_from([*EXTREMES, *(-value for value in EXTREMES)]),
    st.floats(-LIMIT, LIMIT, exclude_min=True, exclude_max=True),
)


def number_of(words):
    """The whole number that a row of words stands for."""
    return sum(int(word) << 32 * place for place, word in enumerate(words))


def steps_of(value):
    return round(Fraction(value) * 2**FRACTION_BITS)


@given(floats)
def test_words_are_the_nearest_step(value):
    assert number_of(to_words(np.array([value]))[0]) == steps_of(value)


@given(st.lists(floats, min_size=1, max_size=30))
def test_sums_are_exact_and_rounded_once(values):
    total = to_words(np.array(values)).sum(axis=0, keepdims=True)
    exact = sum(map(steps_of, values))
    assert number_of(settle(total, 0)[0]) == exact % RING
    nearest = exact / 2**FRACTION_BITS
    result = to_floats(total)[0]
    assert result == nearest or abs(result - nearest) <= 2 * np.spacing(abs(nearest))
    assert (result == 0) == (exact == 0)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=WORDS, max_size=WORDS), st.sampled_from([0, -(2**31)]))
def test_settled_words_are_in_range_and_mean_the_same(words, lowest):
    settled = settle(np.array([words]), lowest)
    assert (settled >= lowest).all()
    assert (settled < lowest + 2**32).all()
    assert (number_of(settled[0]) - number_of(words)) % RING == 0


@given(st.integers(0, RING - 1), floats)
def test_a_mask_and_its_negative_cancel_exactly(mask, value):
    mask_words = np.array([[mask >> 32 * place & 0xFFFFFFFF for place in range(WORDS)]])
    plain = to_words(np.array([value]))
    masked = settle(plain + mask_words, 0)
    assert number_of(masked[0]) == (steps_of(value) + mask) % RING
    np.testing.assert_array_equal(to_floats(masked - mask_words), to_floats(plain))


def test_values_come_back_as_they_were_in_any_number_of_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=2000) * 10.0 ** rng.uniform(-20, 29, size=2000)
    np.testing.assert_array_equal(to_floats(to_words(values)), values)
    rows = np.array([to_floats(to_words(values[i : i + 1]))[0] for i in range(100)])
    np.testing.assert_array_equal(rows, values[:100])
    assert to_floats(to_words(np.zeros(0))).shape == (0,)
