# SPDX-License-Identifier: BSD-3-Clause
"""ConsentBox: opens with everybody's consent to this query, and with nothing less."""

import hmac
import itertools

import numpy as np
import pytest

from skprivate.collaborative import ConsentBox
from skprivate.collaborative._protocols.keys import unseal
from skprivate.exceptions import ConsentError

NAMES = ("north", "south", "west", "east")
VALUES = np.random.default_rng(0).normal(size=(7, len(NAMES)))
# Before the content of a message: the protocol, and the tag of what was asked.
HEAD = len(ConsentBox._protocol) + 32


def fresh(n_rows=7):
    return ConsentBox.new_query(np.arange(n_rows)[:, np.newaxis])


class Platform:
    """One box with all its keys, and what was sent for one query."""

    def __init__(self, names=NAMES, values=VALUES):
        self.box, self.keys, self.opener = ConsentBox.simulate(names)
        self.query = fresh(len(values))
        self.sealed = self.seal(self.query, values)
        self.consents = self.consent(self.query, self.sealed)

    def seal(self, query, values):
        columns = zip(self.keys.items(), np.asarray(values).T, strict=True)
        return {name: self.box.seal(name, key, query, column) for (name, key), column in columns}

    def consent(self, query, sealed):
        return {name: self.box.consent(name, key, query, sealed) for name, key in self.keys.items()}

    def open(self, **changes):
        sent = {"query": self.query, "sealed": self.sealed, "consents": self.consents, **changes}
        return self.box.open(self.opener, **sent)

    def checked(self):
        """The columns, and the digest of them all."""
        return self.box._check_sealed(*self.box._bind(self.query), self.sealed)


@pytest.fixture
def platform():
    return Platform()


def refuses(task, match="Nothing was opened"):
    """The task raises one clear error, without a value and without another error behind it."""
    with pytest.raises(ConsentError, match=match) as caught:
        task()
    assert not any(character.isdigit() for character in str(caught.value))
    assert caught.value.__cause__ is None


def test_floats_are_carried_bit_for_bit():
    column = np.array([1e-300, 1e18, -0.0, 5e-324, np.nan, np.inf, -np.inf, 1.7e308, 0.1])
    opened = Platform(values=np.column_stack([column] * 4)).open()
    assert opened.shape == (9, 4)
    assert opened.dtype == np.float64
    for place in range(4):
        assert opened[:, place].tobytes() == column.tobytes()


def test_any_missing_consent_or_column_stops_everything(platform):
    for count in range(len(NAMES)):
        for some in itertools.combinations(NAMES, count):
            refuses(
                lambda some=some: platform.open(consents={name: platform.consents[name] for name in some})
            )
            refuses(lambda some=some: platform.open(sealed={name: platform.sealed[name] for name in some}))


def test_no_proper_subset_of_pieces_opens_a_column(platform):
    box, head = platform.box, len(NAMES) * 60
    columns, digest = platform.checked()
    binding = box._bind(platform.query)[1]
    pieces = [
        box._pieces_of(name, platform.opener, binding, platform.consents[name], digest) for name in box._order
    ]
    for place, name in enumerate(box._order):
        context = box._context(b"column", binding, name)
        for count in range(len(NAMES) + 1):
            for some in itertools.combinations(range(len(NAMES)), count):
                key = box._column_key([pieces[member][place] for member in some], binding, name)
                if count == len(NAMES):
                    assert unseal(key, columns[place][head:], context)
                else:
                    refuses(lambda k=key, p=place, c=context: unseal(k, columns[p][head:], c))


def test_the_key_of_a_column_is_hkdf_of_the_exclusive_or_of_all_pieces(platform):
    box = platform.box
    pieces = np.random.default_rng(6).integers(256, size=(4, 32), dtype=np.uint8)
    for binding, name in itertools.product((bytes(32), box._bind(platform.query)[1]), NAMES):
        info = bytes.fromhex(box.fingerprint) + binding + name.encode() + b"\1"
        expected = hmac.digest(np.bitwise_xor.reduce(pieces).tobytes(), info, "sha256")
        assert box._column_key([piece.tobytes() for piece in pieces], binding, name) == expected


def test_columns_of_equal_values_look_different(platform):
    sealed = platform.seal(fresh(50), np.zeros((50, 4)))
    tails = [sealed[name][-400:] for name in NAMES]
    assert len(set(tails)) == 4
    assert all(bytes(16) not in tail for tail in tails)


def test_a_consent_opens_no_other_query(platform):
    other = fresh()
    sealed = platform.seal(other, VALUES)
    consents = platform.consent(other, sealed)
    # Every mixture of two complete queries, with either id.
    for query, columns, given in itertools.product(
        (platform.query, other), (platform.sealed, sealed), (platform.consents, consents)
    ):
        tried = (query, columns, given)
        if tried in ((platform.query, platform.sealed, platform.consents), (other, sealed, consents)):
            assert platform.open(query=query, sealed=columns, consents=given).shape == VALUES.shape
        else:
            refuses(lambda t=tried: platform.open(query=t[0], sealed=t[1], consents=t[2]))


def test_one_replayed_message_stops_everything(platform):
    other = fresh()
    sealed = platform.seal(other, VALUES)
    consents = platform.consent(other, sealed)
    for name in NAMES:
        replayed = {**platform.sealed, name: sealed[name]}
        refuses(lambda r=replayed: platform.open(sealed=r))
        refuses(lambda n=name: platform.open(consents={**platform.consents, n: consents[n]}))
        for member in NAMES:
            refuses(lambda r=replayed, m=member: platform.box.consent(m, platform.keys[m], platform.query, r))


def test_a_member_consents_to_one_set_of_columns_per_query(platform):
    again = platform.seal(platform.query, VALUES)
    for name, key in platform.keys.items():
        for changed in (again, {**platform.sealed, "south": again["south"]}):
            refuses(
                lambda n=name, k=key, c=changed: platform.box.consent(n, k, platform.query, c),
                match="other columns under the same query id",
            )
    # The same set may be consented to again, for a message that was lost.
    np.testing.assert_array_equal(
        platform.open(consents=platform.consent(platform.query, platform.sealed)), VALUES
    )


def test_garbage_does_not_use_up_a_query(platform):
    query = fresh()
    sealed = platform.seal(query, VALUES)
    garbage = {**sealed, "west": bytes(len(sealed["west"]))}
    refuses(lambda: platform.box.consent("north", platform.keys["north"], query, garbage))
    assert platform.box.consent("north", platform.keys["north"], query, sealed)


def test_columns_under_anothers_name_are_refused(platform):
    for one, two in itertools.combinations(NAMES, 2):
        for part in ("sealed", "consents"):
            sent = getattr(platform, part)
            swapped = {**sent, one: sent[two], two: sent[one]}
            doubled = {**sent, one: sent[two]}
            refuses(lambda p=part, s=swapped: platform.open(**{p: s}))
            refuses(lambda p=part, d=doubled: platform.open(**{p: d}))


def test_unequal_numbers_of_queries_are_refused_before_anyone_consents(platform):
    query = fresh()
    sealed = platform.seal(query, VALUES)
    sealed["west"] = platform.box.seal("west", platform.keys["west"], fresh(3), VALUES[:3, 2])
    for name, key in platform.keys.items():
        refuses(lambda n=name, k=key: platform.box.consent(n, k, query, sealed), match="other rows")
    refuses(lambda: platform.open(query=query, sealed=sealed), match="other rows")


def test_colluding_members_cannot_consent_for_one_more(platform):
    # All but one hand over their keys; for the last they send what they like, as anyone they like.
    query = fresh()
    sealed = platform.seal(query, VALUES)
    honest, *crooks = NAMES
    consents = {name: platform.box.consent(name, platform.keys[name], query, sealed) for name in crooks}
    for crook in crooks:
        refuses(
            lambda c=crook: platform.open(
                query=query, sealed=sealed, consents={**consents, honest: consents[c]}
            )
        )
    refuses(
        lambda: platform.box.consent(honest, platform.keys[crooks[0]], query, sealed), match="not the one"
    )


@pytest.mark.parametrize("part", ["sealed", "consents"])
def test_600_damaged_messages_are_all_refused(platform, corruptions, part):
    for damaged in corruptions(getattr(platform, part), 600):
        refuses(lambda d=damaged: platform.open(**{part: d}))
    np.testing.assert_array_equal(platform.open(), VALUES)


def test_400_damaged_columns_find_no_consent_of_all(platform, corruptions):
    for damaged in corruptions(platform.sealed, 400, seed=1):
        for key in platform.keys.values():
            key._memory.remembered.clear()
        refuses(lambda d=damaged: platform.consent(platform.query, d))
        refuses(lambda d=damaged: platform.open(sealed=d))


def test_every_member_sees_values_that_were_altered(platform):
    # Who shows members different columns, to open one of them, is seen: each piece knows the right one.
    sealed = {**platform.sealed, "south": bytearray(platform.sealed["south"])}
    sealed["south"][-1] ^= 1
    sealed["south"] = bytes(sealed["south"])
    for name, key in platform.keys.items():
        key._memory.remembered.clear()
        refuses(lambda n=name, k=key: platform.box.consent(n, k, platform.query, sealed))
        assert platform.box.consent(name, key, platform.query, platform.sealed)


def test_consents_to_other_rows_open_nothing(platform):
    other = ConsentBox.new_query(np.arange(7)[:, np.newaxis] + 1e-9)
    refuses(lambda: platform.open(query=other), match="asked other rows")
    for name, key in platform.keys.items():
        refuses(lambda n=name, k=key: platform.box.consent(n, k, other, platform.sealed), match="asked other")
    # With tags of the right rows in front, the keys are still those of other ones.
    binding = platform.box._bind(other)[1]
    forged = {
        part: {
            name: platform.box._pack(binding, sent[HEAD:]) for name, sent in getattr(platform, part).items()
        }
        for part in ("sealed", "consents")
    }
    refuses(lambda: platform.open(query=other, **forged))
