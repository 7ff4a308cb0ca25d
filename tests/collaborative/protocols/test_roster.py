# SPDX-License-Identifier: BSD-3-Clause
"""What every message is bound to, and who may stand on a roster; for both protocols."""

import itertools
import pickle

import pytest

from skprivate.collaborative import ConsentBox, MaskedSum, SiteKey
from skprivate.collaborative._protocols.messages import Query
from skprivate.exceptions import ConsentError

NAMES = ("north", "south", "west")

both = pytest.mark.parametrize("kind", [ConsentBox, MaskedSum])


@pytest.fixture
def publics(fixed_keys):
    return {name: key.public for name, key in fixed_keys([*NAMES, "platform", "other"]).items()}


@both
def test_what_a_message_is_bound_to_differs_in_every_part(kind, publics):
    box = kind({name: publics[name] for name in NAMES}, publics["platform"])
    bindings = [bytes(32), bytes(31) + b"\1"]
    names = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("ab",)]
    contexts = [
        box._context(use, binding, *who, about=about)
        for use, binding, who, about in itertools.product((b"x", b"y"), bindings, names, (b"", b"digest"))
    ]
    assert len(set(contexts)) == len(contexts) == 48
    assert all(box._digest in context for context in contexts)


@both
def test_the_key_of_a_query_differs_by_pair_use_query_and_roster(kind, publics, fixed_keys):
    keys = fixed_keys([*NAMES, "platform", "other"])
    one = kind({name: publics[name] for name in NAMES}, publics["platform"])
    two = kind({name: publics[name] for name in NAMES}, publics["other"])
    links = [
        box._link(keys["north"], publics[peer], use, binding)
        for box in (one, two)
        for peer in ("south", "west", "platform")
        for use in (b"x", b"y")
        for binding in (bytes(32), bytes(31) + b"\1")
    ]
    assert len(set(links)) == len(links)
    mirrored = one._link(keys["south"], publics["north"], b"x", bytes(32))
    assert one._link(keys["north"], publics["south"], b"x", bytes(32)) == mirrored


def test_rosters_differ_by_protocol_names_keys_and_receiver_but_not_by_order(publics):
    members = {name: publics[name] for name in NAMES}
    swapped = {**members, "north": members["south"], "south": members["north"]}
    # Names of the same order, so that the order of keys does not give them away.
    renamed = {f"{name}ern": key for name, key in members.items()}
    fewer = {name: members[name] for name in NAMES[:2]}
    rosters = [
        *(ConsentBox(some, publics["platform"]) for some in (members, swapped, renamed, fewer)),
        ConsentBox(members, publics["other"]),
        MaskedSum(members, publics["platform"]),
    ]
    assert len({roster.fingerprint for roster in rosters}) == len(rosters)
    backward = dict(reversed(members.items()))
    assert ConsentBox(backward, publics["platform"]).fingerprint == rosters[0].fingerprint
    assert ConsentBox(backward, publics["platform"]).members == NAMES[::-1]


@both
def test_a_roster_holds_no_secret_and_can_be_pickled(kind):
    roster, keys, receiver = kind.simulate(NAMES)
    text, frozen = repr(roster), pickle.dumps(roster)
    for key in (*keys.values(), receiver):
        assert key.to_bytes() not in frozen
        assert key.to_bytes().hex()[:8] not in text
    again = pickle.loads(frozen)
    assert again.fingerprint == roster.fingerprint
    assert again.members == roster.members == NAMES
    assert repr(again) == text


@both
def test_what_was_read_last_is_read_once_and_changes_nothing(kind, publics, monkeypatch):
    roster, fresh = (kind({name: publics[name] for name in NAMES}, publics["platform"]) for _ in range(2))
    one, two = (roster.new_query([[float(number)]]) for number in range(2))
    before = pickle.dumps(roster)
    for query in (one, one, two, one, bytes(bytearray(one))):
        asked, binding = roster._bind(query)
        assert (asked, binding) == fresh._bind(query)
        assert asked.digest == Query.from_bytes(query).digest
        with pytest.raises(ConsentError):
            roster._bind(query[:-1] + b"\1")
    # It holds digests and no rows, and nothing of it leaves.
    message, asked, binding = roster._last
    assert [len(part) for part in (message, asked.query_id, asked.digest, binding)] == [32, 16, 32, 32]
    assert pickle.dumps(roster) == before
    monkeypatch.setattr(Query, "from_bytes", lambda query: pytest.fail("it was read again"))
    assert roster._bind(one) == fresh._bind(one)


@both
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"north": None}, ValueError, "32 bytes"),
        ({"north": bytes(31)}, ValueError, "32 bytes"),
        ({"north": "x" * 32}, ValueError, "32 bytes"),
        ({"": bytes(32)}, TypeError, "not empty"),
        ({3: bytes(32)}, TypeError, "strings"),
        ({"nor\ud800th": bytes(32)}, ValueError, "lone surrogates"),
    ],
)
def test_bad_members_are_refused(kind, publics, change, error, message):
    members = {**{name: publics[name] for name in NAMES}, **change}
    with pytest.raises(error, match=message):
        kind(members, publics["platform"])


@both
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"south": None}, "of 'south' there is none[.]"),
        ({"south": "text"}, "of 'south' there is none[.]"),
        ({"south": None, "north": None}, "of 'north', 'south' there is none[.]"),
        ({"pole": b"message"}, "'pole' is not on the roster[.]"),
        ({"south": None, "South": b"message"}, "of 'south' there is none; 'South' is not on the roster[.]"),
        (None, "of 'north', 'south', 'east' there is none[.]"),
    ],
)
def test_a_missing_message_is_told_by_the_name_of_its_site(kind, change, match):
    roster, keys, receiver = kind.simulate(["north", "south", "east"])
    query = roster.new_query([[1.0]])
    write = roster.mask if kind is MaskedSum else roster.seal
    messages = {name: write(name, keys[name], query, [1.0]) for name in keys}
    some = None
    if change is not None:
        some = {name: one for name, one in {**messages, **change}.items() if one is not None}
    steps = [lambda: roster.open(receiver, query, some)]
    if kind is ConsentBox:
        steps = [
            lambda: roster.consent("north", keys["north"], query, some),
            lambda: roster.open(receiver, query, messages, some),
        ]
    for step in steps:
        with pytest.raises(ConsentError, match=f"Nothing was opened: .*; {match}"):
            step()


@both
def test_one_key_stands_for_one_party(kind, publics):
    members = {name: publics[name] for name in NAMES}
    for pair in (({**members, "west": members["north"]}, publics["platform"]), (members, members["north"])):
        with pytest.raises(ValueError, match="a key of its own"):
            kind(*pair)
    # The highest bit of a key is not read: it is the same key.
    twin = members["north"][:-1] + bytes([members["north"][-1] ^ 128])
    with pytest.raises(ValueError, match="a key of its own"):
        kind({**members, "west": twin}, publics["platform"])
    for nobody in ({}, None, [*members]):
        with pytest.raises(ValueError, match="at least one"):
            kind(nobody, publics["platform"])


@both
def test_only_a_members_own_key_and_a_real_query_id_are_taken(kind):
    roster, keys, receiver = kind.simulate(NAMES)
    query = roster.new_query([[1.0]])
    send = roster.seal if kind is ConsentBox else roster.mask
    messages = {name: send(name, keys[name], query, [1.0]) for name in NAMES}
    extra = (messages,) if kind is ConsentBox else ()
    for name, key in (("north", keys["south"]), ("north", receiver), ("east", keys["north"])):
        with pytest.raises(ConsentError, match=r"roster"):
            send(name, key, query, [1.0])
    for bad in (b"", bytes(15), bytes(17), "x" * 16, None):
        with pytest.raises(ConsentError, match=r"query must be the message|not a skprivate-query"):
            send("north", keys["north"], bad, [1.0])
        with pytest.raises(ConsentError, match=r"query must be the message|not a skprivate-query"):
            roster.open(receiver, bad, messages, *extra)
    with pytest.raises(ConsentError, match="receiver"):
        roster.open(keys["north"], query, messages, *extra)


@both
def test_a_point_with_a_known_secret_on_the_roster_stops_the_others(kind, publics, fixed_keys):
    members = {"north": publics["north"], "south": publics["south"], "evil": bytes(32)}
    box = kind(members, publics["platform"])
    send = box.seal if kind is ConsentBox else box.mask
    with pytest.raises(ConsentError, match="not usable"):
        send("north", fixed_keys(NAMES)["north"], box.new_query([[1.0]]), [1.0])


def test_keys_made_by_hand_and_from_bytes_work_together():
    keys = {name: SiteKey.generate() for name in NAMES}
    platform = SiteKey.generate()
    publics = {name: key.public for name, key in keys.items()}
    messages, query = {}, MaskedSum.new_query([[1.0]])
    for name in NAMES:
        # Every site builds its own roster and loads its own key.
        site = MaskedSum(dict(reversed(publics.items())), platform.public)
        own = SiteKey.from_bytes(keys[name].to_bytes())
        messages[name] = site.mask(name, own, query, [2.0], 3)
    total, size = MaskedSum(publics, platform.public).open(platform, query, messages)
    assert (total.tolist(), size.tolist()) == ([6.0], [9.0])


@both
def test_two_members_of_one_name_are_not_one(kind):
    with pytest.raises(ValueError, match="a name of its own"):
        kind.simulate(["a", "b", "a"])
