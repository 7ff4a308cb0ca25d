# SPDX-License-Identifier: BSD-3-Clause
"""Sums of the parties' answers under pairwise masks: the platform learns the sums and no answer."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import ConsentError, DisclosureWarning
from ...utils._public_module import public_module
from ...utils._user_frame import warn_user
from .fixed_point import LIMIT, WORDS, settle, to_floats, to_words
from .keys import SiteKey
from .messages import Query, as_doubles
from .primitives import framed, key_stream, seal, unseal
from .roster import Roster

# Two fixed-point numbers per query, one for the values and one for the sizes, of 32 bytes each.
_ROW_WORDS = 2 * WORDS
_ROW_BYTES = 4 * _ROW_WORDS
# Masks are made for so many queries at a time: a megabyte for 20 parties.
_BLOCK_ROWS = 1024


@public_module("skprivate.collaborative")
class MaskedSum(Roster):
    """Secure aggregation: each site masks its answers, and only the sum over all sites can be read.

    Every two sites share a secret; for one query both stretch it to the same stream of random words, which
    one adds to its answers and the other subtracts. Each message alone is uniformly random; in the sum over
    all sites the masks cancel exactly. **A site that drops out stops the query**: the masks of the
    others no longer cancel, and nothing is returned rather than a wrong sum.

    Parameters
    ----------
    members : mapping of str to bytes
        The public key of every site (`SiteKey.public`) by its name.
    platform : bytes of length 32
        The public key of who adds. Messages are encrypted to it.

    Attributes
    ----------
    members : tuple of str
        The names.
    fingerprint : str
        Digest of the roster. Sites compare it over a channel that they trust: who could exchange public keys
        unseen could read every answer.

    Raises
    ------
    TypeError, ValueError
        No member; a name that is not a string; a key that is not 32 bytes, or is there twice.

    Warns
    -----
    DisclosureWarning
        One member: the sum is its answer. Two: each learns the other's from the sum.

    See Also
    --------
    SecureSumAggregator : The estimator that runs this protocol for the sites of one process.
    ConsentBox : Where single answers must be opened.

    Notes
    -----
    **Privacy.** Not differential privacy. Assumed: a platform and sites that follow the protocol but are
    curious, public keys that are authentic, and X25519, HKDF-SHA256 and AES-256. Then the platform, together
    with up to m - 2 of the m sites, learns of the others only the two sums over them; with m - 1 sites it
    learns the last one's answer as the difference. What the sums tell is not protected:

    - the sum of sizes shows how many sites, or which, are active, and if it is one, its answer;
    - one query put to two rosters that differ in one site gives that site's answer as a difference, and so do
      two queries whose rows differ by a billionth: a site should be on one roster only, and answer few
      queries;
    - membership in the data can be inferred from a sum as from any other prediction, against which noise on
      the released sum is the remedy;
    - a site that lies falsifies the sum, and nobody notices.

    Masks are made of what was asked: of the digest of id, rows and names of columns (with the types, signs of
    zero and order of all values) and of the roster. A platform, or an asker, that shows one site other rows
    than the rest under one id gets messages whose masks do not cancel, a sum that is noise; and `open`
    compares a tag of the digest in every message, and refuses. *Proof.* A mask of two sites is the stream of
    a key that HKDF derives from their secret and the digest, which is injective but for collisions of
    SHA-256 (``_protocols/query_digest.py``). A site that was asked something else uses keys that no other
    honest site uses in any message; as long as one other honest site is left, its message is masked by at
    least one stream that appears nowhere else, and is uniform. The sums: :doc:`/proofs/swapping`.

    Binding does not stop differencing: every opened sum tells about rows near the query. Let a query be
    opened once, limit the number of queries, and add noise to sums that many may see.

    A site must never mask under the same query id twice: its `SiteKey` remembers the ids, and the rows
    that they stood for, and refuses. The memory is lost with the process, so a site that restarts makes a
    new key, and takes only queries under fresh ids (`new_query`).

    Values are added exactly, modulo 2^256, on a grid of 2^-128 (3e-39): the sum is right within half of
    that per site and two units in the last place of a float, in any unit of y between 1e-29 and 1e30.

    References
    ----------
    .. [1] K. Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS
       2017, section 4, the variant without recovery of drop-outs.

    Examples
    --------
    >>> from skprivate.collaborative import MaskedSum
    >>> total, keys, platform = MaskedSum.simulate(["north", "south", "west"])
    >>> query = total.new_query([[38.5, 71.0], [40.0, 65.0]])
    >>> messages = {name: total.mask(name, key, query, [0.25, -1.0], 10) for name, key in keys.items()}
    >>> total.open(platform, query, messages)
    (array([ 0.75, -3.  ]), array([30., 30.]))
    >>> del messages["west"]
    >>> total.open(platform, query, messages)
    Traceback (most recent call last):
    skprivate.exceptions.ConsentError: Nothing was opened: exactly one message, ...
    """

    _protocol = b"skprivate masked sum 2"

    def __init__(self, members: Mapping[str, bytes], platform: bytes) -> None:
        super().__init__(members, platform)
        warn_few_parties(len(members))

    def mask(self, name: str, key: SiteKey, query: bytes, values: ArrayLike, sizes: ArrayLike = 1.0) -> bytes:
        """Mask a site's answers to one query, or to one batch of queries; once per query id.

        Parameters
        ----------
        name : str
            The site.
        key : SiteKey
            The site's key.
        query : bytes
            The message that the site was asked with, from ``ask`` or `new_query`: its id, rows and names of
            columns make the masks.
        values : array-like of shape (n_queries,)
            What is to be summed, its number of rows times its answer for a weighted mean; 0 where the site
            is not active. Below 2^100, about 1e30, in magnitude.
        sizes : float or array-like of shape (n_queries,), default=1.0
            Its number of rows, 0 where it is not active. At least 0 and below 2^100.

        Returns
        -------
        message : bytes
            64 bytes per query and 82 more, encrypted to the platform.

        Raises
        ------
        ConsentError
            Not a site's name and key; not a query; the id was used before, for these rows or for others; or
            another site's public key cannot be used.
        TypeError, ValueError
            Values or sizes are not such numbers, or not as many as the query has rows; the message repeats
            none.
        """
        return self._mask(name, key, *self._bind(query), _as_words(values, sizes))

    def _mask(self, name: str, key: SiteKey, asked: Query, binding: bytes, words: NDArray[np.int64]) -> bytes:
        self._check_member(name, key)
        if len(words) != len(asked.X):
            raise ValueError("values must be as many as the query has rows.")
        self._note_rows(key, asked)
        # Fresh content: no second use under this id is the same as the first.
        if not key.remember(framed(b"mask", self._digest, asked.query_id), os.urandom(16)):
            raise ConsentError("this site masked an answer under the same query id before.")
        self._add_masks(words, name, key, binding)
        content = settle(words.reshape(-1, WORDS), 0).astype("<u4").tobytes()
        link = self._link(key, self._receiver, b"message", binding)
        return self._pack(binding, seal(link, content, self._context(b"message", binding, name)))

    def open(
        self, platform_key: SiteKey, query: bytes, messages: Mapping[str, bytes]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Add the messages of all sites.

        Parameters
        ----------
        platform_key : SiteKey
            The key that the roster names as the platform's.
        query : bytes
            What the sites were asked.
        messages : mapping of str to bytes
            What every site's `mask` returned.

        Returns
        -------
        sum_values : ndarray of shape (n_queries,)
        sum_sizes : ndarray of shape (n_queries,)

        Raises
        ------
        ConsentError
            A message is missing, altered, replayed, or of another query, site or roster; a site was asked
            other rows or columns under this id; or the masks do not cancel. No sum is returned then.
        """
        return self._open(platform_key, *self._bind(query), messages)

    def _open(
        self, platform_key: SiteKey, asked: Query, binding: bytes, messages: Mapping[str, bytes]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        self._check_receiver(platform_key)
        total = np.zeros((len(asked.X), _ROW_WORDS), dtype=np.int64)
        for name, message in zip(self._order, self._complete(messages), strict=True):
            content = unseal(
                self._link(platform_key, self._members[name], b"message", binding),
                self._unpack(binding, message),
                self._context(b"message", binding, name),
            )
            if len(content) != len(asked.X) * _ROW_BYTES:
                raise ConsentError("Nothing was opened: a site answered another number of queries.")
            total += np.frombuffer(content, dtype="<u4").reshape(total.shape)
        values, sizes = to_floats(total[:, :WORDS]), to_floats(total[:, WORDS:])
        # Every honest addend is below 2^100, every size at least 0; a mask that is left is uniform.
        most = len(self._order) * LIMIT
        if (np.abs(values) > most).any() or (sizes < 0).any() or (sizes > most).any():
            raise ConsentError(
                "Nothing was opened: the masks do not cancel, or a site masked what is no answer."
            )
        return values, sizes

    def _add_masks(self, words: NDArray[np.int64], name: str, key: SiteKey, binding: bytes) -> None:
        """Add the streams shared with later names, and subtract those shared with earlier ones, in place."""
        place = self._order.index(name)
        streams = [
            key_stream(self._link(key, self._members[peer], b"mask", binding))
            for peer in self._order
            if peer != name
        ]
        for start in range(0, len(words), _BLOCK_ROWS):
            block = words[start : start + _BLOCK_ROWS]
            block += _sum_of(streams[place:], block.shape) - _sum_of(streams[:place], block.shape)


def _sum_of(streams: list[Any], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the sum of the next words of every stream; below 2^32 each, so that int64 cannot overflow."""
    zeros = bytes(4 * shape[0] * shape[1])
    joined = b"".join(stream.update(zeros) for stream in streams)
    masks = np.frombuffer(joined, dtype="<u4").reshape(len(streams), *shape)
    return np.asarray(masks.sum(axis=0, dtype=np.int64))


def _as_words(values: ArrayLike, sizes: ArrayLike) -> NDArray[np.int64]:
    """Return values and sizes side by side in fixed point."""
    numbers, weights = _as_numbers(values, "values"), _as_numbers(sizes, "sizes")
    if numbers.ndim != 1:
        raise ValueError("values must be one-dimensional: one per query.")
    if weights.shape not in ((), numbers.shape):
        raise ValueError("sizes must be one number, or one per query.")
    if (weights < 0).any():
        raise ValueError("sizes must not be negative.")
    return np.hstack([to_words(numbers), to_words(np.broadcast_to(weights, numbers.shape))])


def _as_numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = as_doubles(values, name)
    # Written so that NaN fails too.
    if not (np.abs(array) < LIMIT).all():
        raise ValueError(f"{name} must be finite and below 2^100 in magnitude; choose a larger unit of y.")
    return array


def warn_few_parties(n_parties: int) -> None:
    """Warn where a sum hides nothing."""
    if n_parties > 2:
        return
    reason = (
        "the sum over one party is its answer"
        if n_parties == 1
        else "of two parties each learns the other's answer from the sum"
    )
    warn_user(f"A secure sum protects nothing: {reason}.", DisclosureWarning)
