# SPDX-License-Identifier: BSD-3-Clause
"""Keys: derivation, pieces, sealing, streams, and the key pair of a site with its memory of queries."""

import functools
import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn, Self
from weakref import WeakValueDictionary

from ...exceptions import ConsentError
from ...utils._public_module import public_module

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
    return crypto.HKDF(crypto.sha256, KEY_BYTES, None, context).derive(secret)


def expand(key: bytes, context: bytes) -> bytes:
    """Return the key for one context from a key that is uniform already (the second half of HKDF)."""
    crypto = library()
    return crypto.HKDFExpand(crypto.sha256, KEY_BYTES, context).derive(key)


def split_key(n_pieces: int) -> list[bytes]:
    """Return fresh random pieces of a key that exists nowhere yet; all but one say nothing about it."""
    return [os.urandom(KEY_BYTES) for _ in range(n_pieces)]


def join_key(pieces: Iterable[bytes]) -> bytes:
    """Return the key of all pieces, their XOR: without any one piece it is as good as any 32 bytes."""
    whole = 0
    for piece in pieces:
        whole ^= int.from_bytes(piece, "big")
    return whole.to_bytes(KEY_BYTES, "big")


def seal(key: bytes, content: bytes, context: bytes) -> bytes:
    """Encrypt under AES-256-GCM, bound to a context that is not sent; a fresh nonce comes first."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + library().AESGCM(key).encrypt(nonce, content, context)


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

    Two contexts give bytes that reveal nothing about each other. Do not stretch one context to two lengths:
    the shorter is the start of the longer.
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


class _Memory:
    """What was done with one key pair in this process, by whichever object holds it."""

    __slots__ = ("__weakref__", "process", "remembered")

    def __init__(self) -> None:
        self.remembered: dict[bytes, bytes] = {}
        self.process = os.getpid()


#: By public key. A pair whose private half has left, or came from outside, can come again: kept for good.
_MEMORIES: WeakValueDictionary[bytes, _Memory] = WeakValueDictionary()
_KEPT: dict[bytes, _Memory] = {}
_LOCK = threading.Lock()


@public_module("skprivate.collaborative")
class SiteKey:
    """The X25519 key pair of one site, or of the platform that collects; made by `generate`.

    The other parties get `public` over a channel that they trust: who can exchange public keys on the way can
    read and write everything. The pair also remembers under which query ids it was used, because a site
    that masks two answers under one id gives away their difference.

    Attributes
    ----------
    public : bytes of length 32
        The public half, for the others.

    See Also
    --------
    ConsentBox : Answers that open only when every party consents.
    MaskedSum : Sums of answers that are never opened.

    Notes
    -----
    **Privacy.** The private half is in no repr and refuses to be pickled or copied; `to_bytes` is the only
    way out. It writes the key but not the memory of used query ids. Within one process that memory
    belongs to the pair: a key that is loaded again remembers. A process that restarts, and every further
    process of a site, should `generate` a key of its own rather than load the old one; in a forked process
    the old one refuses, loaded again or not.
    Agreed secrets are kept in memory as long as the object, so that a query costs symmetric work only. Who
    gets hold of a private half can read what was encrypted to it before: renew keys now and then.

    References
    ----------
    .. [1] RFC 7748, Elliptic Curves for Security (X25519); RFC 5869, HKDF.

    Examples
    --------
    >>> from skprivate.collaborative import SiteKey
    >>> north, south = SiteKey.generate(), SiteKey.generate()
    >>> north.agree(south.public, b"example") == south.agree(north.public, b"example")
    True
    """

    __slots__ = ("_agreed", "_memory", "_private", "public")

    public: bytes

    def __init__(self, private: Any) -> None:
        # Any object that is not such a key, bytes for instance, fails here rather than at its first use.
        self.public = private.public_key().public_bytes_raw()
        self._private = private
        self._agreed: dict[tuple[bytes, bytes], bytes] = {}
        # Without it two threads that load one key at once would each get a memory of its own.
        with _LOCK:
            self._memory = _KEPT[self.public] = _MEMORIES.setdefault(self.public, _Memory())

    @classmethod
    def generate(cls) -> Self:
        """Make a new key pair from the entropy of the operating system.

        Returns
        -------
        key : SiteKey

        Raises
        ------
        ImportError
            ``cryptography`` is not installed.
        """
        key = cls(library().PrivateKey.generate())
        # Nobody else holds this private half yet: the memory may go with the key.
        del _KEPT[key.public]
        return key

    @classmethod
    def from_bytes(cls, private: bytes) -> Self:
        """Load what `to_bytes` gave, with what this process did with it; in a new process that is nothing.

        Parameters
        ----------
        private : bytes of length 32

        Returns
        -------
        key : SiteKey

        Raises
        ------
        ValueError
            Not 32 bytes.
        """
        if not isinstance(private, bytes) or len(private) != KEY_BYTES:
            raise ValueError(f"a private key is {KEY_BYTES} bytes.")
        return cls(library().PrivateKey.from_private_bytes(private))

    def to_bytes(self) -> bytes:
        """Return the private half: whoever reads it is this site.

        Returns
        -------
        private : bytes of length 32
        """
        _KEPT[self.public] = self._memory
        return self._private.private_bytes_raw()

    def agree(self, peer_public: bytes, purpose: bytes) -> bytes:
        """Return the secret that this pair and another share, the same on both sides.

        Parameters
        ----------
        peer_public : bytes of length 32
            The other's `public`.
        purpose : bytes
            A label of the protocol; secrets for two purposes reveal nothing about each other.

        Returns
        -------
        secret : bytes of length 32
            HKDF-SHA256 of the exchange, bound to both public keys and to the purpose.

        Raises
        ------
        ConsentError
            Not a public key, or one of the few points with which every exchange gives a known secret.
        """
        # A dict's get and setitem are atomic; two threads at worst compute the same secret twice.
        secret = self._agreed.get((peer_public, purpose))
        if secret is None:
            try:
                shared = self._private.exchange(library().PublicKey.from_public_bytes(peer_public))
            except (TypeError, ValueError):
                # The library refuses a wrong length, and an exchange whose result is zero.
                raise ConsentError("a public key is not usable: nothing was agreed.") from None
            context = framed(b"skprivate agree", *sorted((self.public, peer_public)), purpose)
            secret = self._agreed[peer_public, purpose] = extract(shared, context)
        return secret

    def remember(self, label: bytes, content: bytes) -> bool:
        """Note what is done under a label, for good; later calls return whether it is the same.

        Parameters
        ----------
        label : bytes
            What may be done only once, a query id for instance.
        content : bytes
            What is done.

        Returns
        -------
        allowed : bool
            True if nothing was done under the label before, or the very same.

        Raises
        ------
        ConsentError
            This is a forked process: what it and its parent note is not known to the other.
        """
        # Of the memory, not of the object: a key that is loaded in the fork is no other key.
        if self._memory.process != os.getpid():
            raise ConsentError("this process is a fork of the one that made the key, and needs its own.")
        # setdefault is atomic: of two threads one comes first.
        return self._memory.remembered.setdefault(label, content) == content

    def __repr__(self) -> str:
        return f"SiteKey(public={self.public.hex()[:8]}...)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SiteKey cannot be pickled or copied: use to_bytes at the site that owns it")
