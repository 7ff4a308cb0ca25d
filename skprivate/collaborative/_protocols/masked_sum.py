# SPDX-License-Identifier: BSD-3-Clause
"""Sums of the parties' answers under pairwise masks, in fixed-point numbers modulo 2^256."""

import os
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import FloatArray
from ...exceptions import ConsentError, DisclosureWarning
from ...utils._private_fit import warn_user
from ...utils._public_module import public_module
from .keys import KEY_BYTES, SPARE_BYTES, SiteKey, framed, key_stream, read_streams, seal, stretch, unseal
from .mask_kernels import mask_rows
from .messages import as_doubles
from .roster import Asked, Roster

#: Words of 32 bits, the lowest first. In int64 there is room to add 2^30 of them before carries are settled.
WORDS = 8
BITS = 32
#: The step of the grid is 2^-128, about 3e-39.
FRACTION_BITS = 128
#: 2^100, about 1.3e30: with any number of parties below 2^27 a sum stays in the half-ring of its sign.
LIMIT = 2.0**100
_SCALES = 2.0 ** (-BITS * np.arange(WORDS + 1))
_WEIGHTS = [2.0 ** (BITS * word - FRACTION_BITS) for word in range(WORDS)]
# Two fixed-point numbers per query, one for the values and one for the sizes, of 32 bytes each.
_ROW_BYTES = 4 * 2 * WORDS
# Up to so many rows a hash is cheaper than to set up a cipher: up to 36 to 41, measured for 3, 20 and 100
# parties. Both sites of a pair must choose alike: another number is another version of the protocol.
_STRETCHED_ROWS = 32
# Streams are read for so many rows at a time: a megabyte for 20 parties.
_BLOCK_ROWS = 1024


@public_module("skprivate.collaborative")
class MaskedSum(Roster):
    """Secure aggregation: each site masks its answers, and only the sum over all sites can be read.

    Every two sites share a secret. For one query both stretch it to the same random words; one site adds them
    to its answers and the other subtracts them. Each message alone is uniformly random; in the sum over all
    sites the masks cancel exactly. **A site that drops out stops the query**: the masks of the others no
    longer cancel, and nothing is returned rather than a wrong sum.

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
    curious, public keys that are authentic, and X25519, HKDF-SHA256, SHAKE-256 and AES-256. Then the
    platform, together with up to m - 2 of the m sites, learns of the others only the two sums over them; with
    m - 1 sites it learns the last one's answer as the difference. What the sums reveal is not protected:

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
    compares a tag of the digest in every message, and refuses. A mask is SHAKE-256 of the
    pair's secret and that digest, or from 33 rows on the AES-256 stream of such a key, so that no mask serves
    two queries. Proof, with what is assumed of the cryptography: :doc:`/proofs/swapping`.

    Binding does not stop differencing: every opened sum reveals information about rows near the query. Let a
    query be opened once, limit the number of queries, and add noise to sums that many may see.

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

    _protocol = b"skprivate masked sum 3"

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
        return self._mask(name, key, *self._bind(query), _as_pairs(values, sizes))

    def _mask(self, name: str, key: SiteKey, asked: Asked, binding: bytes, numbers: FloatArray) -> bytes:
        self._check_member(name, key)
        if len(numbers) != asked.n_rows:
            raise ValueError("values must be as many as the query has rows.")
        self._note_rows(key, asked)
        # Fresh content: no second use under this id is the same as the first.
        if not key.remember(framed(b"mask", self._digest, asked.query_id), os.urandom(16)):
            raise ConsentError("this site masked an answer under the same query id before.")
        content = self._masked(name, key, binding, numbers)
        link = self._link(key, self._receiver, b"message", binding)
        return self._pack(binding, seal(link, content, self._context(b"message", binding, name)))

    def _masked(self, name: str, key: SiteKey, binding: bytes, numbers: FloatArray) -> bytes:
        """Return numbers in fixed point plus the masks shared with later names, less those with earlier."""
        place = self._order.index(name)
        secrets = [key.agree(self._members[peer], self._protocol) for peer in self._order if peer != name]
        blocks = []
        for start, masks in _masks(secrets, binding, len(numbers)):
            rows = to_words(numbers[start : start + _BLOCK_ROWS].ravel()).reshape(-1, 2 * WORDS)
            block = bytearray(_ROW_BYTES * len(rows))
            mask_rows(rows, masks, place, block)
            blocks.append(block)
        return b"".join(blocks)

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
        asked, binding = self._bind(query)
        self._check_receiver(platform_key)
        contents = (
            unseal(
                self._link(platform_key, self._members[name], b"message", binding),
                self._unpack(binding, message),
                self._context(b"message", binding, name),
            )
            for name, message in zip(self._order, self._complete(messages), strict=True)
        )
        return self._add(contents, asked.n_rows)

    def _add(self, contents: Iterable[bytes], n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Return the sums of what all sites masked."""
        total = np.zeros((2 * n_rows, WORDS), dtype=np.int64)
        for content in contents:
            if len(content) != n_rows * _ROW_BYTES:
                raise ConsentError("Nothing was opened: a site answered another number of queries.")
            total += np.frombuffer(content, dtype="<u4").reshape(total.shape)
        values, sizes = to_floats(total).reshape(-1, 2).T
        # Every honest addend is below 2^100, every size at least 0; a mask that is left is uniform.
        most = len(self._order) * LIMIT
        if (np.abs(values) > most).any() or (sizes < 0).any() or (sizes > most).any():
            raise ConsentError(
                "Nothing was opened: the masks do not cancel, or a site masked what is no answer."
            )
        return values, sizes


def _masks(secrets: list[bytes], binding: bytes, n_rows: int) -> Iterator[tuple[int, bytes | memoryview]]:
    """Yield the first row of each block, and its masks: of one secret after the other, 64 bytes a row.

    The next block may take the place of the last in memory. A binding determines the number of rows, so that
    it is stretched to one length. The labels differ in their first byte.
    """
    if n_rows <= _STRETCHED_ROWS:
        context = b"words" + binding
        yield 0, b"".join([stretch(secret, context, _ROW_BYTES * n_rows) for secret in secrets])
        return
    streams = [key_stream(stretch(secret, b"stream" + binding, KEY_BYTES)) for secret in secrets]
    masks = bytearray(_ROW_BYTES * min(_BLOCK_ROWS, n_rows) * len(secrets) + SPARE_BYTES)
    for start in range(0, n_rows, _BLOCK_ROWS):
        yield start, read_streams(streams, _ROW_BYTES * min(_BLOCK_ROWS, n_rows - start), masks)


def _as_pairs(values: ArrayLike, sizes: ArrayLike) -> FloatArray:
    """Return values and sizes side by side."""
    numbers, weights = as_doubles(values, "values"), as_doubles(sizes, "sizes")
    if numbers.ndim != 1:
        raise ValueError("values must be one-dimensional: one per query.")
    if weights.shape not in ((), numbers.shape):
        raise ValueError("sizes must be one number, or one per query.")
    pairs = np.empty((len(numbers), 2))
    pairs[:, 0], pairs[:, 1] = numbers, weights
    # Written so that NaN fails too.
    if not (np.abs(pairs) < LIMIT).all():
        name = "sizes" if (np.abs(numbers) < LIMIT).all() else "values"
        raise ValueError(f"{name} must be finite and below 2^100 in magnitude; choose a larger unit of y.")
    if (weights < 0).any():
        raise ValueError("sizes must not be negative.")
    return pairs


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


# Fixed-point numbers modulo 2^256 in units of 2^-128, whose sums are exact and can be masked.


def to_words(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return floats below 2^100 in magnitude as signed words, exactly but for what lies below the grid.

    Parameters
    ----------
    values : ndarray of shape (n,)

    Returns
    -------
    words : ndarray of shape (n, 8)
        All of the value's sign; carries are for `settle`.
    """
    # A double above 2^53 steps is a whole number of steps already: rint changes small ones only.
    steps = np.rint(np.ldexp(np.abs(values), FRACTION_BITS))
    # Exact: powers of two, floors, and differences that fit 32 bits.
    whole = np.floor(steps[:, np.newaxis] * _SCALES)
    words = whole[:, :-1] - whole[:, 1:] * 2.0**BITS
    return np.copysign(words, values[:, np.newaxis]).astype(np.int64)


def settle(words: NDArray[np.int64], lowest: int) -> NDArray[np.int64]:
    """Carry, so that every word lies in [lowest, lowest + 2^32); what leaves the top is dropped.

    Parameters
    ----------
    words : ndarray of shape (n, 8)
        Any sum of words.
    lowest : int
        0, or -2^31 for the representation in which the highest word that is not 0 has the number's sign.

    Returns
    -------
    words : ndarray of shape (n, 8)
        The same numbers modulo 2^256.
    """
    # Word by word, all numbers at once; a carry out of the highest word is a multiple of 2^256.
    settled = np.ascontiguousarray(words.T) - lowest
    for word in range(WORDS - 1):
        settled[word + 1] += settled[word] >> BITS
    settled &= 2**BITS - 1
    settled += lowest
    return settled.T


def to_floats(words: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the numbers in (-2^127, 2^127) that words stand for, within 2 units in the last place.

    Parameters
    ----------
    words : ndarray of shape (n, 8)
        Any sum of words, masked parts included once the masks have cancelled.

    Returns
    -------
    values : ndarray of shape (n,)
    """
    settled = settle(words, -(2 ** (BITS - 1))).astype(np.float64)
    # From the lowest word up, in one order for any number of rows; what is added last is by far the largest.
    total = np.zeros(len(settled))
    for word, weight in enumerate(_WEIGHTS):
        total += settled[:, word] * weight
    return total
