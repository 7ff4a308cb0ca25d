# SPDX-License-Identifier: BSD-3-Clause
"""SiteKey: agreement, points that give nothing, secrets that stay, ids that are used once."""

import copy
import gc
import hmac
import pickle
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from skprivate.collaborative import SiteKey
from skprivate.collaborative._protocols import keys
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


@pytest.mark.parametrize("public", [b"", bytes(31), bytes(33), "text" * 8, None])
def test_what_is_no_public_key_is_refused(public):
    with pytest.raises(ConsentError, match="not usable"):
        SiteKey.generate().agree(public, b"purpose")


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


def test_a_pair_that_comes_as_an_object_remembers_when_it_comes_again():
    private = keys.library().PrivateKey.generate()
    key = SiteKey(private)
    assert key.remember(b"id", b"one")
    del key
    gc.collect()
    assert not SiteKey(private).remember(b"id", b"other")


def test_the_memory_of_a_key_that_cannot_come_back_goes_with_it():
    key = SiteKey.generate()
    public = key.public
    assert public in keys._MEMORIES
    del key
    gc.collect()
    assert public not in keys._MEMORIES


@pytest.mark.parametrize("private", [b"", bytes(31), "x" * 32, None])
def test_what_is_no_private_key_is_refused_without_being_repeated(private):
    with pytest.raises(ValueError, match="a private key is 32 bytes"):
        SiteKey.from_bytes(private)


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
