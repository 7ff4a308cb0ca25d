# SPDX-License-Identifier: BSD-3-Clause
"""Cryptographic primitives of the protocols: key derivation, sealing, stretching, a key stream."""

import functools
import hashlib
import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ...exceptions import ConsentError

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
#: What a sealed message is longer than its content.
SEAL_BYTES = NONCE_BYTES + TAG_BYTES
#: The library wants room for a block less a byte behind what it writes.
SPARE_BYTES = 15

REFUSED = (
    "Nothing was opened: a message is altered, replayed, or made with another key, query id, site or roster."
)


@functools.cache
def library() -> Any:
    """Return the parts of ``cryptography`` that are used; an ImportError names the extra."""
    try:
        from cryptography import exceptions
        from cryptography.hazmat.primitives import ciphers, hashes
        from cryptography.hazmat.primitives.asymmetric import x25519
        from cryptography.hazmat.primitives.ciphers import aead
        from cryptography.hazmat.primitives.kdf import hkdf
    except ImportError as error:
        raise ImportError(
            "Keys, consent and secure sums need cryptography: pip install 'skprivate[crypto]'"
        ) from error
    return SimpleNamespace(
        AESGCM=aead.AESGCM,
        HKDF=hkdf.HKDF,
        HKDFExpand=hkdf.HKDFExpand,
        InvalidTag=exceptions.InvalidTag,
        PrivateKey=x25519.X25519PrivateKey,
        PublicKey=x25519.X25519PublicKey,
        sha256=hashes.SHA256(),
        ciphers=ciphers,
    )


def framed(*parts: bytes) -> bytes:
    """Join parts so that no two different sequences give the same bytes: each behind its length."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def extract(secret: bytes, context: bytes) -> bytes:
    """Return a uniform key from a secret that is not uniform, as a point of a curve is (HKDF-SHA256)."""
    crypto = library()
    key: bytes = crypto.HKDF(crypto.sha256, KEY_BYTES, None, context).derive(secret)
    return key


def expand(key: bytes, context: bytes) -> bytes:
    """Return the key for one context from a key that is uniform already (the second half of HKDF)."""
    crypto = library()
    derived: bytes = crypto.HKDFExpand(crypto.sha256, KEY_BYTES, context).derive(key)
    return derived


def seal(key: bytes, content: bytes, context: bytes) -> bytes:
    """Encrypt under AES-256-GCM, bound to a context that is not sent; a fresh nonce stands in front."""
    nonce = os.urandom(NONCE_BYTES)
    message: bytes = nonce + library().AESGCM(key).encrypt(nonce, content, context)
    return message


def unseal(key: bytes, message: bytes, context: bytes) -> bytes:
    """Return what `seal` was given; ConsentError for any other key, context or message."""
    crypto = library()
    if len(message) < SEAL_BYTES:
        raise ConsentError(REFUSED)
    nonce, sealed = message[:NONCE_BYTES], message[NONCE_BYTES:]
    try:
        content: bytes = crypto.AESGCM(key).decrypt(nonce, sealed, context)
    except crypto.InvalidTag:
        raise ConsentError(REFUSED) from None
    return content


def stretch(key: bytes, context: bytes, length: int) -> bytes:
    """Return so many bytes for one context under a uniform key (SHAKE-256 of the one behind the other).

    Two contexts give bytes that tell nothing about each other; one context must not be stretched to two
    lengths, of which the shorter is the start of the longer.
    """
    return hashlib.shake_256(key + context).digest(length)


def key_stream(key: bytes) -> Any:
    """Return an object whose ``update(zeros)`` gives as many bytes of the AES-256-CTR stream of a key.

    The counter starts at 0: a key must be used for one stream only.
    """
    ciphers = library().ciphers
    return ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.CTR(bytes(16))).encryptor()


def read_streams(streams: Sequence[Any], length: int, out: bytearray) -> memoryview:
    """Return so many next bytes of every stream, one behind the other; `out` has SPARE_BYTES more."""
    zeros, room = bytes(length), memoryview(out)
    for place, stream in enumerate(streams):
        stream.update_into(zeros, room[place * length : (place + 1) * length + SPARE_BYTES])
    return room[: len(streams) * length]
