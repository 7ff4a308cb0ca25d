# SPDX-License-Identifier: BSD-3-Clause
"""Who takes part in a protocol: the names and public keys that every message is bound to."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

from ..exceptions import ConsentError
from ._keys import SiteKey
from ._messages import QUERY_ID_BYTES, new_query_id
from ._primitives import KEY_BYTES, expand, framed


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
        """
        keys = {name: SiteKey.generate() for name in names}
        receiver_key = SiteKey.generate()
        roster = cls.__new__(cls)
        # Not the subclass's own: in one process there is no point in a warning.
        Roster.__init__(roster, {name: key.public for name, key in keys.items()}, receiver_key.public)
        return roster, keys, receiver_key

    @staticmethod
    def new_query_id() -> bytes:
        """Return 16 fresh random bytes: one id for one query, or for one batch of queries.

        Returns
        -------
        query_id : bytes of length 16
        """
        return new_query_id()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(members={self.members}, fingerprint={self.fingerprint[:8]}...)"

    def _check_member(self, name: str, key: SiteKey) -> None:
        if name not in self._members:
            raise ConsentError("this name is not on the roster.")
        if key.public != self._members[name]:
            raise ConsentError("the key is not the one that the roster names for this member.")

    def _check_receiver(self, key: SiteKey) -> None:
        if key.public != self._receiver:
            raise ConsentError("the key is not the receiver's that the roster names.")

    def _complete(self, messages: Mapping[str, bytes]) -> list[bytes]:
        """Return one message per member, sorted by name; ConsentError unless there is exactly one of each."""
        names = messages.keys() if isinstance(messages, Mapping) else ()
        if set(names) != set(self._order) or not all(isinstance(messages[name], bytes) for name in names):
            raise ConsentError(
                "Nothing was opened: exactly one message, of type bytes, of every member is needed."
            )
        return [messages[name] for name in self._order]

    def _link(self, key: SiteKey, peer: bytes, use: bytes, query_id: bytes) -> bytes:
        """Return the key of one query between two key pairs, for one use."""
        # The digest tells the protocol, and all but the last are of fixed length.
        return expand(key.agree(peer, self._protocol), self._digest + query_id + use)

    def _context(self, use: bytes, query_id: bytes, *names: str, about: bytes = b"") -> bytes:
        """Return what a message is bound to, besides its key."""
        return framed(self._digest, query_id, use, about, *(name.encode() for name in names))


def check_query_id(query_id: bytes) -> None:
    """Raise ConsentError unless this can be a query id: 16 bytes."""
    if not isinstance(query_id, bytes) or len(query_id) != QUERY_ID_BYTES:
        raise ConsentError(f"a query id is {QUERY_ID_BYTES} bytes, as new_query_id returns them.")


def _check_members(members: Mapping[str, bytes], receiver: bytes) -> dict[str, bytes]:
    if not isinstance(members, Mapping) or not members:
        raise ValueError("members must be a mapping of at least one name to its public key.")
    if not all(isinstance(name, str) and name for name in members):
        raise TypeError("the names of members must be strings that are not empty.")
    publics = [*members.values(), receiver]
    if not all(isinstance(public, bytes) and len(public) == KEY_BYTES for public in publics):
        raise ValueError(f"a public key is {KEY_BYTES} bytes.")
    if len(set(publics)) != len(publics):
        # Two names with one key would be one party that looks like two.
        raise ValueError("every member, and the receiver, needs a key of its own.")
    return dict(members)
