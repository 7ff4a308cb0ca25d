# SPDX-License-Identifier: BSD-3-Clause
"""The roster of a protocol: names and public keys of the parties, and the binding of messages to them."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from ...exceptions import ConsentError
from ...utils import check_characters
from .keys import KEY_BYTES, SiteKey, expand, framed
from .messages import DIGEST_BYTES, QUERY_ID_BYTES, Query, make_query


class Asked(NamedTuple):
    """What the protocols need to know of a query message; no row of it."""

    query_id: bytes
    #: `Query.digest`.
    digest: bytes
    n_rows: int


class Roster:
    """Members and one receiver; the base of `ConsentBox` and `MaskedSum`.

    Parameters
    ----------
    members : mapping of str to bytes
        The public key of every site by its name.
    receiver : bytes of length 32
        The public key of the platform.
    """

    #: Parts one protocol, and one version of it, from every other.
    _protocol: ClassVar[bytes]
    #: Digest of the message that was read last, what it asks, and its binding: a site, or the platform, needs
    #: them twice, and a process that plays all parties once for all.
    _last: tuple[bytes, Asked, bytes] | None = None

    def __init__(self, members: Mapping[str, bytes], receiver: bytes) -> None:
        self._members = _check_members(members, receiver)
        self._receiver = receiver
        self._order = sorted(self._members)
        parts = [part for name in self._order for part in (name.encode(), self._members[name])]
        self._digest = hashlib.sha256(framed(self._protocol, receiver, *parts)).digest()

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members, in the order in which they were given."""
        return tuple(self._members)

    @property
    def fingerprint(self) -> str:
        """Digest of all names and public keys: parties that read the same one have the same roster."""
        return self._digest.hex()

    @classmethod
    def simulate(cls, names: Iterable[str]) -> tuple[Self, dict[str, SiteKey], SiteKey]:
        """Make a roster and all its keys in one process, for trials: nobody is protected from anybody there.

        Parameters
        ----------
        names : iterable of str

        Returns
        -------
        roster : ConsentBox or MaskedSum
        keys : dict of str to SiteKey
            The key of every member.
        receiver_key : SiteKey
            The key of the platform.

        Raises
        ------
        TypeError, ValueError
            No name, a name that is not a string, or one that is there twice.
        """
        names = list(names)
        keys = {name: SiteKey.generate() for name in names}
        if len(keys) < len(names):
            raise ValueError("every member needs a name of its own.")
        receiver_key = SiteKey.generate()
        roster = cls.__new__(cls)
        # Not the subclass's own: in one process there is no point in a warning.
        Roster.__init__(roster, {name: key.public for name, key in keys.items()}, receiver_key.public)
        return roster, keys, receiver_key

    @staticmethod
    def new_query(X: Any, columns: Any = None) -> bytes:
        """Return rows to be asked as a message under 16 fresh random bytes, the same for every member.

        The platforms' ``ask`` returns such a message too.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            At least one row. Numbers must be finite; text, None and missing values travel in an object array
            or a data frame.
        columns : sequence of str, default=None
            Names of the columns, all different. None: those of a data frame, or no names.

        Returns
        -------
        query : bytes

        Raises
        ------
        TypeError, ValueError
            X or columns are not as described; X is a masked array, or holds a date.
        """
        return make_query(X, columns).to_bytes()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(members={self.members}, fingerprint={self.fingerprint[:8]}...)"

    def __getstate__(self) -> dict[str, Any]:
        # Of the query that was read last nothing leaves.
        return {name: value for name, value in vars(self).items() if name != "_last"}

    def _check_member(self, name: str, key: SiteKey) -> None:
        if name not in self._members:
            raise ConsentError("this name is not on the roster.")
        if key.public != self._members[name]:
            raise ConsentError("the key is not the one that the roster names for this member.")

    def _check_receiver(self, key: SiteKey) -> None:
        if key.public != self._receiver:
            raise ConsentError("the key is not the receiver's that the roster names.")

    def _complete(self, messages: Mapping[str, bytes]) -> list[bytes]:
        """Return one message per member, sorted by name; ConsentError names who is missing, or strange."""
        given = messages if isinstance(messages, Mapping) else {}
        missing = [repr(name) for name in self._members if not isinstance(given.get(name), bytes)]
        strange = [repr(name) for name in given if name not in self._members]
        if missing or strange:
            told = [f"of {', '.join(missing)} there is none"] * bool(missing)
            told += [f"{', '.join(strange)} is not on the roster"] * bool(strange)
            raise ConsentError(
                "Nothing was opened: exactly one message, of type bytes, of every member is needed; "
                f"{'; '.join(told)}."
            )
        return [messages[name] for name in self._order]

    def _bind(self, query: bytes) -> tuple[Asked, bytes]:
        """Return what was asked, and what all that is sent about it is bound to, the roster included."""
        if not isinstance(query, bytes) or len(query) == QUERY_ID_BYTES:
            # An id alone says nothing of what was asked.
            raise ConsentError("a query must be the message, of type bytes, that ask or new_query returned.")
        message = hashlib.sha256(query).digest()
        last = self._last
        if last is None or last[0] != message:
            found = Query.from_bytes(query)
            asked = Asked(found.query_id, found.digest, len(found.X))
            binding = hashlib.sha256(framed(self._protocol, self._digest, asked.digest)).digest()
            # In one assignment: of two threads none finds halves of two.
            self._last = last = message, asked, binding
        return last[1:]

    def _note_rows(self, key: SiteKey, asked: Asked) -> None:
        """Remember for good which rows an id stands for; refuse it for any other."""
        if not key.remember(framed(b"asked", asked.query_id), asked.digest):
            raise ConsentError("this member was asked other rows, or other columns, under the same query id.")

    def _pack(self, binding: bytes, content: bytes) -> bytes:
        """Return a message: the protocol and its version, a tag of what was asked, and the content."""
        return self._protocol + self._tag(binding) + content

    def _unpack(self, binding: bytes, message: bytes) -> bytes:
        """Return the content of a message about this very query; ConsentError for another."""
        head = len(self._protocol)
        if message[:head] != self._protocol:
            raise ConsentError(
                "Nothing was opened: a message is not of this version of the protocol; "
                "all parties need the same version of skprivate."
            )
        if message[head : head + DIGEST_BYTES] != self._tag(binding):
            raise ConsentError(
                "Nothing was opened: a member was asked other rows or columns, or under another query id or "
                "roster, or its message is altered."
            )
        return message[head + DIGEST_BYTES :]

    def _tag(self, binding: bytes) -> bytes:
        # Not the binding itself: keys are made of that. Who does not know the random id cannot try rows.
        return hashlib.sha256(framed(b"skprivate asked", binding)).digest()

    def _link(self, key: SiteKey, peer: bytes, use: bytes, binding: bytes) -> bytes:
        """Return the key of one query between two key pairs, for one use."""
        # The binding identifies roster and query, and all but the last are of fixed length.
        return expand(key.agree(peer, self._protocol), self._digest + binding + use)

    def _context(self, use: bytes, binding: bytes, *names: str, about: bytes = b"") -> bytes:
        """Return what a message is bound to, besides its key."""
        return framed(self._digest, binding, use, about, *(name.encode() for name in names))


def _check_members(members: Mapping[str, bytes], receiver: bytes) -> dict[str, bytes]:
    if not isinstance(members, Mapping) or not members:
        raise ValueError("members must be a mapping of at least one name to its public key.")
    if not all(isinstance(name, str) and name for name in members):
        raise TypeError("the names of members must be strings that are not empty.")
    for name in members:
        check_characters(name, "the name of a member")
    publics = [*members.values(), receiver]
    if not all(isinstance(public, bytes) and len(public) == KEY_BYTES for public in publics):
        raise ValueError(f"a public key is {KEY_BYTES} bytes.")
    # Two names with one key would be one party that looks like two; X25519 does not read the highest bit.
    if len({(public[:-1], public[-1] & 127) for public in publics}) != len(publics):
        raise ValueError("every member, and the receiver, needs a key of its own.")
    return dict(members)
