# SPDX-License-Identifier: BSD-3-Clause
"""The cryptographic steps against their standards, and what happens without the library."""

import hashlib
import hmac
import itertools
import subprocess
import sys

import pytest

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


def test_without_the_library_the_extra_is_named():
    code = """
import sys
sys.modules["cryptography"] = None
from skprivate.collaborative import ConsentBox, MaskedSum, SecureSumAggregator, SiteKey
for task in (
    SiteKey.generate,
    lambda: SiteKey.from_bytes(bytes(32)),
    lambda: ConsentBox.simulate("abc"),
    lambda: MaskedSum.simulate("abc"),
    lambda: SecureSumAggregator().fit([[1.0, 2.0, 3.0]]),
):
    try:
        task()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 5
    assert all(line.endswith("pip install 'skprivate[crypto]'") for line in lines)
