# SPDX-License-Identifier: BSD-3-Clause
"""The consent gate: sealed answers that open only with the consents of all parties to one query."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import ConsentError
from ...utils._public_module import public_module
from .keys import KEY_BYTES, REFUSED, SEAL_BYTES, SiteKey, expand, framed, join_key, seal, split_key, unseal
from .messages import as_doubles
from .roster import Asked, Roster

_PIECE_BYTES = KEY_BYTES + SEAL_BYTES
_VALUE_BYTES = 8


@public_module("skprivate.collaborative")
class ConsentBox(Roster):
    """An all-parties consent gate: sealed answers that open when every member consents, and only then.

    What it costs first: **one party offline stops every prediction**. And it is a gate, not a computation on
    hidden values: **whoever runs the opened box sees the values**. Where only the sum of the answers is
    needed, `MaskedSum` opens nothing.

    For one query each member calls `seal` on its answers, then `consent` on the sealed answers of all; the
    opener calls `open`. Every column is sealed under a key of its own that exists nowhere until all consents
    are there: the site draws 32 fresh random bytes for each member, the key is derived from their XOR, and
    each member gets its piece encrypted. A member's consent hands its pieces of this query's columns to
    the opener. There is no dealer, and all but one of the pieces say nothing about the key.

    This is not the same as a key that is cut into shares once. Such shares, shown for one query, open every
    other one. Here a column opens once every member has consented to it under one query id. A member consents
    to no other columns under the same id.

    Parameters
    ----------
    members : mapping of str to bytes
        The public key of every site (`SiteKey.public`) by its name; the names' order is the order of the
        opened columns.
    opener : bytes of length 32
        The public key of who opens. Consents are encrypted to it, so that any transport may carry them.

    Attributes
    ----------
    members : tuple of str
        The names.
    fingerprint : str
        Digest of the roster. Members compare it over a channel that they trust: who could exchange public
        keys unseen could consent for others.

    Raises
    ------
    TypeError, ValueError
        No member; a name that is not a string; a key that is not 32 bytes, or is there twice.

    See Also
    --------
    MaskedSum : Sums without an opened answer.
    SiteKey : The key of a member or of the opener.

    Notes
    -----
    **Privacy.** Not differential privacy. Without the consent of every member the columns stay sealed by
    AES-256-GCM, whoever else works together; the number of queries shows in a message's length. With all
    consents the opener sees every value. Nothing prevents a site from sealing wrong values, or members from
    passing on what was opened. A message that is missing, altered, replayed, of another query, site or roster
    is refused, and then nothing opens. A query is its id, its rows and the names of its columns: every key,
    seal and tag is derived from their digest, so that a member who was asked other rows under the same id
    opens and consents to nothing of the rest, nor the rest to its column. Query ids must be fresh
    (`new_query`). Binding does not stop who may ask again for rows moved by a billionth: limit queries.

    References
    ----------
    .. [1] S.-B. Lin, X. Liu, Y. Wang, "Striking the Perfect Balance: Preserving Privacy While Boosting
       Utility in Collaborative Medical Prediction Platforms", section 3.

    Examples
    --------
    >>> from skprivate.collaborative import ConsentBox
    >>> box, keys, opener = ConsentBox.simulate(["north", "south"])
    >>> query = box.new_query([[38.5, 71.0], [40.0, 65.0]])
    >>> answers = {"north": [1.0, 2.0], "south": [3.0, 4.0]}
    >>> sealed = {name: box.seal(name, keys[name], query, answers[name]) for name in keys}
    >>> consents = {name: box.consent(name, keys[name], query, sealed) for name in keys}
    >>> box.open(opener, query, sealed, consents)
    array([[1., 3.],
           [2., 4.]])
    >>> del consents["south"]
    >>> box.open(opener, query, sealed, consents)
    Traceback (most recent call last):
    skprivate.exceptions.ConsentError: Nothing was opened: exactly one message, ...
    """

    _protocol = b"skprivate consent 2"

    def __init__(self, members: Mapping[str, bytes], opener: bytes) -> None:
        super().__init__(members, opener)

    def seal(self, name: str, key: SiteKey, query: bytes, values: ArrayLike) -> bytes:
        """Seal a member's answers to one query, or to one batch of queries.

        Parameters
        ----------
        name : str
            The member.
        key : SiteKey
            The member's key.
        query : bytes
            The message that the member was asked with, from ``ask`` or `new_query`: everything is bound to
            its id, rows and names of columns.
        values : array-like of shape (n_queries,)
            Any floats, in any unit; NaN is carried too.

        Returns
        -------
        sealed : bytes
            8 bytes per query, 60 per member and 79 more; for everybody to read.

        Raises
        ------
        ConsentError
            Not a member's name and key, not a query, other rows under an id that was used, or a member's
            public key that cannot be used.
        TypeError, ValueError
            The values are not a one-dimensional array of real numbers, one per row of the query.
        """
        asked, binding = self._bind(query)
        self._check_member(name, key)
        column = as_doubles(values, "values")
        if column.ndim != 1:
            raise ValueError("values must be one-dimensional: one answer per query.")
        if len(column) != asked.n_rows:
            raise ValueError("values must be as many as the query has rows.")
        self._note_rows(key, asked)
        return self._pack(binding, self._seal(name, key, binding, column.astype("<f8").tobytes()))

    def _seal(self, name: str, key: SiteKey, binding: bytes, content: bytes) -> bytes:
        pieces = split_key(len(self._order))
        column = seal(
            self._column_key(pieces, binding, name), content, self._context(b"column", binding, name)
        )
        # A piece opens beside this very column only: a member that is shown another one sees it.
        digest = hashlib.sha256(column).digest()
        parts = [
            seal(
                self._link(key, self._members[peer], b"piece", binding),
                piece,
                self._context(b"piece", binding, name, peer, about=digest),
            )
            for peer, piece in zip(self._order, pieces, strict=True)
        ]
        return b"".join([*parts, column])

    def consent(self, name: str, key: SiteKey, query: bytes, sealed: Mapping[str, bytes]) -> bytes:
        """Consent, as one member, to the opening of these sealed columns under this query id.

        The same columns may be consented to again, for a message that was lost; others under the same id not.
        Sealed values that were altered on the way are seen here. Of the key pieces a member can read its own
        only: others' that were damaged show in `open`, and the query needs a new id then.

        Parameters
        ----------
        name : str
            The member that consents.
        key : SiteKey
            The member's key.
        query : bytes
            What was asked; each member passes what it was asked itself.
        sealed : mapping of str to bytes
            What every member's `seal` returned.

        Returns
        -------
        consent : bytes
            Encrypted to the opener.

        Raises
        ------
        ConsentError
            A column is missing, of another query or roster, of another length than the rest, or altered in
            its values or this member's piece; or other columns were consented to under this query id before.
        """
        asked, binding = self._bind(query)
        self._check_member(name, key)
        columns, sealed_digest = self._check_sealed(asked, binding, sealed)
        place, head = self._order.index(name) * _PIECE_BYTES, len(self._order) * _PIECE_BYTES
        pieces = [
            unseal(
                self._link(key, self._members[sender], b"piece", binding),
                column[place : place + _PIECE_BYTES],
                self._context(b"piece", binding, sender, name, about=hashlib.sha256(column[head:]).digest()),
            )
            for sender, column in zip(self._order, columns, strict=True)
        ]
        # Last: what this member can find out from the right columns uses up no query id.
        self._note_rows(key, asked)
        if not key.remember(framed(b"consent", self._digest, asked.query_id), sealed_digest):
            raise ConsentError("this member consented to other columns under the same query id.")
        sent = seal(
            self._link(key, self._receiver, b"consent", binding),
            b"".join(pieces),
            self._context(b"consent", binding, name, about=sealed_digest),
        )
        return self._pack(binding, sent)

    def open(
        self, opener_key: SiteKey, query: bytes, sealed: Mapping[str, bytes], consents: Mapping[str, bytes]
    ) -> NDArray[np.float64]:
        """Open the columns of one query with the consents of all members.

        Parameters
        ----------
        opener_key : SiteKey
            The key that the roster names as the opener's.
        query : bytes
            What was asked; each member passes what it was asked itself.
        sealed : mapping of str to bytes
            What every member's `seal` returned.
        consents : mapping of str to bytes
            What every member's `consent` returned.

        Returns
        -------
        values : ndarray of shape (n_queries, n_members)
            Columns in the order of `members`, bit for bit as they were sealed.

        Raises
        ------
        ConsentError
            Anything is missing, altered, replayed or of another query, site or roster; nothing opens then.
        """
        asked, binding = self._bind(query)
        self._check_receiver(opener_key)
        columns, sealed_digest = self._check_sealed(asked, binding, sealed)
        given = [
            self._pieces_of(member, opener_key, binding, message, sealed_digest)
            for member, message in zip(self._order, self._complete(consents), strict=True)
        ]
        head = len(self._order) * _PIECE_BYTES
        opened = {}
        for place, (name, column) in enumerate(zip(self._order, columns, strict=True)):
            column_key = self._column_key([pieces[place] for pieces in given], binding, name)
            content = unseal(column_key, column[head:], self._context(b"column", binding, name))
            opened[name] = np.frombuffer(content, dtype="<f8")
        return np.column_stack([opened[name] for name in self._members]).astype(np.float64, copy=False)

    def _pieces_of(
        self, member: str, opener_key: SiteKey, binding: bytes, message: bytes, sealed_digest: bytes
    ) -> list[bytes]:
        """Return the pieces that one member's consent holds, one per column."""
        content = unseal(
            self._link(opener_key, self._members[member], b"consent", binding),
            self._unpack(binding, message),
            self._context(b"consent", binding, member, about=sealed_digest),
        )
        if len(content) != len(self._order) * KEY_BYTES:
            raise ConsentError(REFUSED)
        return [content[start : start + KEY_BYTES] for start in range(0, len(content), KEY_BYTES)]

    def _column_key(self, pieces: Iterable[bytes], binding: bytes, name: str) -> bytes:
        """Return the key of one column."""
        return expand(join_key(pieces), self._digest + binding + name.encode())

    def _check_sealed(
        self, asked: Asked, binding: bytes, sealed: Mapping[str, bytes]
    ) -> tuple[list[bytes], bytes]:
        """Return the columns sorted by name, and the digest of them all; refuse what cannot be opened."""
        columns = [self._unpack(binding, message) for message in self._complete(sealed)]
        length = len(self._order) * _PIECE_BYTES + SEAL_BYTES + asked.n_rows * _VALUE_BYTES
        if any(len(column) != length for column in columns):
            raise ConsentError("Nothing was opened: a sealed column is damaged, or of another length.")
        # Of digests: each column is hashed where it lies, not joined into one long copy.
        return columns, hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in columns)).digest()
