# SPDX-License-Identifier: BSD-3-Clause
"""Keys: agreement, points that give nothing, secrets that stay, and the steps by their standards."""

import copy
import gc
import hashlib
import hmac
import itertools
import pickle
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from skprivate.collaborative import ConsentBox, MaskedSum, SecureSumAggregator, SiteKey
from skprivate.collaborative._protocols import keys
from skprivate.collaborative._protocols.keys import (
    REFUSED,
    SEAL_BYTES,
    SPARE_BYTES,
    expand,
    extract,
    framed,
    key_stream,
    read_streams,
    seal,
    stretch,
    unseal,
)
from skprivate.exceptions import ConsentError

# RFC 7748, section 6.1: Bob's private half, and what he and Alice agree on.
ALICE_PUBLIC = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")

P = 2**255 - 19
# Points of order at most 8, in every encoding of 255 bits.
LOW_ORDER = [
    *(number.to_bytes(32, "little") for number in (0, 1, P - 1, P, P + 1)),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]


def test_agreement_follows_its_standards():
    bob = SiteKey.from_bytes(BOB)
    assert bob.public == BOB_PUBLIC
    parts = [b"skprivate agree", ALICE_PUBLIC, BOB_PUBLIC, b"purpose"]
    info = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    uniform = hmac.digest(bytes(32), SHARED, "sha256")
    expected = hmac.digest(uniform, info + b"\1", "sha256")
    assert bob.agree(ALICE_PUBLIC, b"purpose") == expected


def test_agreement_is_symmetric_and_differs_by_pair_and_purpose():
    one, two, three = (SiteKey.generate() for _ in range(3))
    assert one.agree(two.public, b"a") == two.agree(one.public, b"a")
    secrets = {one.agree(two.public, b"a"), one.agree(two.public, b"b"), one.agree(three.public, b"a")}
    assert len(secrets) == 3
    assert all(len(secret) == 32 for secret in secrets)
    # From the memory the same, and purposes are not mixed up there.
    assert {one.agree(two.public, b"a"), one.agree(two.public, b"b")} < secrets


@pytest.mark.parametrize("point", LOW_ORDER)
def test_points_with_a_known_secret_are_refused(point):
    key = SiteKey.generate()
    for _ in range(2):
        with pytest.raises(ConsentError, match="nothing was agreed") as caught:
            key.agree(point, b"purpose")
        assert caught.value.__cause__ is None


def test_a_key_that_is_loaded_again_remembers_what_the_process_did():
    key = SiteKey.generate()
    assert key.remember(b"id", b"one")
    private = key.to_bytes()
    assert len(private) == 32
    del key
    gc.collect()
    again, twice = SiteKey.from_bytes(private), SiteKey.from_bytes(private)
    assert not again.remember(b"id", b"other")
    assert again.remember(b"id", b"one")
    assert twice.remember(b"later", b"one")
    assert not again.remember(b"later", b"other")


def test_a_label_stands_for_one_thing():
    key = SiteKey.generate()
    assert key.remember(b"first", b"content")
    assert key.remember(b"first", b"content")
    assert not key.remember(b"first", b"other")
    assert key.remember(b"second", b"other")


def test_of_many_threads_one_comes_first():
    key = SiteKey.generate()
    with ThreadPoolExecutor(8) as pool:
        allowed = list(pool.map(lambda i: key.remember(b"id", b"%d" % i), range(200)))
    assert sum(allowed) == 1


def test_a_forked_process_cannot_use_ids_that_its_parent_uses_too(monkeypatch):
    key = SiteKey.generate()
    assert key.remember(b"before", b"content")
    monkeypatch.setattr(keys.os, "getpid", lambda: -1)
    for label in (b"before", b"after"):
        with pytest.raises(ConsentError, match="needs its own"):
            key.remember(label, b"content")
    monkeypatch.undo()
    assert key.remember(b"after", b"other")


def test_a_forked_process_cannot_load_the_key_anew_either(monkeypatch):
    key = SiteKey.generate()
    private = key.to_bytes()
    monkeypatch.setattr(keys.os, "getpid", lambda: -1)
    with pytest.raises(ConsentError, match="needs its own"):
        SiteKey.from_bytes(private).remember(b"label", b"content")
    assert SiteKey.generate().remember(b"label", b"content")


def test_keys_do_not_leave_by_repr_pickle_or_copy():
    key = SiteKey.generate()
    key.agree(SiteKey.generate().public, b"purpose")
    private = key.to_bytes()
    for text in (repr(key), str(key), f"{key}"):
        assert private.hex()[:8] not in text
        assert text == f"SiteKey(public={key.public.hex()[:8]}...)"
    assert not hasattr(key, "__dict__")
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            leave(key)


def test_keys_are_fresh():
    assert len({SiteKey.generate().public for _ in range(50)}) == 50


KEY = bytes(range(32))


def hkdf(secret, info):
    """RFC 5869 with SHA-256, no salt and one block."""
    uniform = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(uniform, info + b"\1", "sha256")


def test_extract_and_expand_are_hkdf():
    assert extract(b"secret", b"info") == hkdf(b"secret", b"info")
    assert expand(KEY, b"info") == hmac.digest(KEY, b"info\1", "sha256")


def test_frames_tell_every_sequence_of_parts_apart():
    parts = [b"", b"a", b"b", b"ab", b"\0\0\0\1a"]
    sequences = [seq for k in range(4) for seq in itertools.product(parts, repeat=k)]
    assert len({framed(*seq) for seq in sequences}) == len(sequences)


def test_a_key_stream_is_aes_256_in_counter_mode():
    # Encrypting counter blocks one by one; the library's own block mode is the reference.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    blocks = b"".join(counter.to_bytes(16, "big") for counter in range(5))
    expected = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor().update(blocks)
    stream = key_stream(KEY)
    assert stream.update(bytes(48)) + stream.update(bytes(32)) == expected


@pytest.mark.parametrize("count", [0, 1, 3])
def test_streams_are_read_one_behind_the_other_and_go_on(count):
    keys = [bytes([place]) * 32 for place in range(count)]
    streams, out = [key_stream(key) for key in keys], bytearray(count * 70 + SPARE_BYTES)
    whole = [key_stream(key).update(bytes(110)) for key in keys]
    assert bytes(read_streams(streams, 70, out)) == b"".join(text[:70] for text in whole)
    assert bytes(read_streams(streams, 40, out)) == b"".join(text[70:] for text in whole)


def test_stretching_is_shake_256_of_key_and_context():
    sponge = hashlib.new("shake_256")
    sponge.update(KEY)
    sponge.update(b"context")
    assert stretch(KEY, b"context", 300) == sponge.digest(300)
    # FIPS 202: of nothing, the first bytes.
    assert stretch(b"", b"", 8).hex() == "46b9dd2b0ba88d13"


def test_sealing_the_same_twice_gives_two_messages_that_open():
    first, second = seal(KEY, b"content", b"context"), seal(KEY, b"content", b"context")
    assert first != second
    assert len(first) == len(b"content") + SEAL_BYTES
    assert unseal(KEY, first, b"context") == unseal(KEY, second, b"context") == b"content"


@pytest.mark.parametrize("length", [0, 1, 27])
def test_what_is_too_short_is_refused(length):
    with pytest.raises(ConsentError, match=REFUSED):
        unseal(KEY, bytes(length), b"context")


def test_every_bit_of_a_message_its_key_and_its_context_counts():
    message, context = seal(KEY, b"content", b"context"), b"context"

    def flipped(text):
        for place, bit in itertools.product(range(len(text)), range(8)):
            yield text[:place] + bytes([text[place] ^ 1 << bit]) + text[place + 1 :]

    tries = [
        *((KEY, bad, context) for bad in flipped(message)),
        *((bad, message, context) for bad in flipped(KEY)),
        *((KEY, message, bad) for bad in flipped(context)),
    ]
    for key, text, about in tries:
        with pytest.raises(ConsentError) as caught:
            unseal(key, text, about)
        assert str(caught.value) == REFUSED
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "task",
    [
        SiteKey.generate,
        lambda: SiteKey.from_bytes(bytes(32)),
        lambda: ConsentBox.simulate("abc"),
        lambda: MaskedSum.simulate("abc"),
        lambda: SecureSumAggregator().fit([[1.0, 2.0, 3.0]]),
    ],
)
def test_without_the_library_the_extra_is_named(task, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    keys.library.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'skprivate\[crypto\]'$"):
        task()
